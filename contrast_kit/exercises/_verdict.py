"""What the reader sees: a coloured sign and a sentence in Jupyter, the same words as plain text everywhere else; and
which exercises of the course are done, noted in a small file beside the notebooks."""

import contextlib
import html
import json
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from contrast_kit._util import shipped

SIGNS = {True: ("✓", "#2b8a3e"), False: ("✗", "#e03131"), None: ("·", "#868e96")}
"""For right, wrong and no answer yet: a sign, and a colour that stands out on white and on black."""
FILE = ".exercises.json"
"""In the folder in which the notebook runs. CONTRAST_KIT_PROGRESS names another; if it is empty, nothing is kept."""
_HERE: dict[str, bool] = {}  # from this kernel: what counts where no file can be written


def in_notebook() -> bool:
    """True inside a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@dataclass(frozen=True)
class Verdict:
    """The result of `judge`: `right` is None where there is no answer yet."""

    name: str
    right: bool | None
    text: str

    def __str__(self) -> str:
        return f"{SIGNS[self.right][0]} {self.name}: {self.text}"

    def _repr_mimebundle_(self, **_):
        colour = SIGNS[self.right][1]
        page = (
            f'<div style="border-left:4px solid {colour};padding:.1em .8em">{sign(self.right)} '
            f"<b>{html.escape(self.name)}</b>: {marked_up(self.text)}</div>"
        )
        return {"text/plain": str(self), "text/html": page}


def sign(right) -> str:
    """The coloured sign as HTML."""
    character, colour = SIGNS[right]
    return f'<b style="color:{colour}">{character}</b>'


def marked_up(text: str) -> str:
    """Plain text as HTML; what stands in `backticks` is code, and what stands in *stars* is stressed.

    >>> from contrast_kit.exercises._verdict import marked_up
    >>> marked_up("*All* of `a < b`: 2 * x * y.")
    '<em>All</em> of <code>a &lt; b</code>: 2 * x * y.'
    """
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"(?<![\w*])\*(?=\S)([^*<>]+?)(?<=\S)\*(?![\w*])", r"<em>\1</em>", text)


def show(verdict: Verdict) -> None:
    """Display it in a notebook, print it elsewhere."""
    if in_notebook():
        from IPython.display import display

        display(verdict)
    else:
        print(verdict)


def place() -> Path | None:
    """The file of tries; None where nothing is kept: outside of notebooks, or where CONTRAST_KIT_PROGRESS is empty."""
    name = os.environ.get("CONTRAST_KIT_PROGRESS", FILE * in_notebook())
    return Path(name).expanduser() if name else None


def known() -> dict[str, bool]:
    """Exercise -> True if it was once done, False if only tried: in this kernel, and in those before it."""
    states = {}
    with contextlib.suppress(OSError, ValueError, TypeError):  # no file, or a broken one
        states = dict(json.loads((place() or Path()).read_text(encoding="utf-8")))
    for name, done in _HERE.items():
        states[name] = done or states.get(name, False)
    return states


def note(name: str, right: bool) -> None:
    """Remember a try. What was done stays done; where the file cannot be written, this kernel remembers."""
    file = place()
    if file is None:
        return
    _HERE[name] = right or _HERE.get(name, False)
    with contextlib.suppress(OSError):
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_text(json.dumps(known(), indent=1) + "\n", encoding="utf-8")
        draft.replace(file)  # in one step, so that two notebooks never leave half a file


@dataclass(frozen=True)
class Progress:
    """What `progress` returns: a table in Jupyter, the same as text elsewhere.

    Attributes:
        states: exercise -> True if done, False if tried, None if not yet.
    """

    states: dict[str, bool | None]

    def __str__(self) -> str:
        return "\n".join(self._lines("{}: {}", "  ", lambda state: SIGNS[state][0]))

    def _repr_mimebundle_(self, **_):
        cell = '<td style="text-align:left">'
        row = f"<tr>{cell}{{}}</td>{cell}{{}}</td></tr>"
        summary, *rows = self._lines(row, " &ensp; ", sign)
        page = f"<p>{summary}</p><table>{''.join(rows)}</table>"
        return {"text/plain": str(self), "text/html": page}

    def _lines(self, line, between, sign):
        """How many are done; then a line for each notebook, with its exercises."""
        counts = Counter(self.states.values())
        done = f"{counts[True]} of {len(self.states)} exercises done ✓"
        lines = [f"{done}, {counts[False]} tried ✗, {counts[None]} not yet ·"]
        for number, names in groupby(self.states, lambda name: name.partition(".")[0]):
            title = number  # alone where the notebook is not there
            for file in shipped("notebooks").glob(f"{number}_*.ipynb"):
                title = file.stem.replace("_", " ")
            words = [
                f"{sign(self.states[name])} {name.partition('.')[2]}" for name in names
            ]
            lines.append(line.format(title, between.join(words)))
        return lines
