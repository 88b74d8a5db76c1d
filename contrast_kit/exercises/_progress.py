"""Which exercises of the course the reader has done: noted in a small file beside the notebooks, shown by notebook."""

import contextlib
import html
import json
import os
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

from contrast_kit._util import shipped
from contrast_kit.exercises._verdict import SIGNS, in_notebook, sign

FILE = ".exercises.json"
"""In the folder in which the notebook runs. CONTRAST_KIT_PROGRESS names another; if it is empty, nothing is kept."""

_HERE: dict[str, bool] = {}  # from this kernel: what counts where no file can be written


def place() -> Path | None:
    """The file; None where nothing is kept: outside of notebooks, or where CONTRAST_KIT_PROGRESS is empty."""
    name = os.environ.get("CONTRAST_KIT_PROGRESS", FILE if in_notebook() else "")
    return Path(name).expanduser() if name else None


def known() -> dict[str, bool]:
    """Exercise -> True if it was once done, False if only tried: in this kernel, and in those before it."""
    states: dict[str, bool] = {}
    file = place()
    with contextlib.suppress(OSError, ValueError, TypeError):  # no file, or a broken one
        if file:
            states = dict(json.loads(file.read_text(encoding="utf-8")))
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


class Progress:
    """What `progress` returns: a table in Jupyter, the same as text elsewhere.

    Attributes:
        states: exercise -> True if done, False if tried, None if not yet.
    """

    def __init__(self, states: dict[str, bool | None]):
        self.states = states

    def __str__(self) -> str:
        lines = [self._summary()]
        for title, exercises in self._by_notebook():
            signs = [
                f"{SIGNS[self.states[name]][0]} {name.partition('.')[2]}" for name in exercises
            ]
            lines.append(f"{title}: {'  '.join(signs)}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        cell = '<td style="text-align:left">'
        rows = []
        for title, exercises in self._by_notebook():
            signs = [
                f"{sign(self.states[name])} {html.escape(name.partition('.')[2])}"
                for name in exercises
            ]
            rows.append(
                f"<tr>{cell}{html.escape(title)}</td>{cell}{' &ensp; '.join(signs)}</td></tr>"
            )
        page = f"<p>{html.escape(self._summary())}</p><table>{''.join(rows)}</table>"
        return {"text/plain": str(self), "text/html": page}

    def _summary(self) -> str:
        counts = Counter(self.states.values())
        done = f"{counts[True]} of {len(self.states)} exercises done ✓"
        return f"{done}, {counts[False]} tried ✗, {counts[None]} not yet ·"

    def _by_notebook(self) -> list[tuple[str, list[str]]]:
        groups = groupby(self.states, lambda name: name.partition(".")[0])
        return [(_title(number), list(exercises)) for number, exercises in groups]


def _title(number: str) -> str:
    """The notebook's name in words, such as "01 masking"; its number alone where it is not there."""
    files = sorted(shipped("notebooks").glob(f"{number}_*.ipynb"))
    return files[0].stem.replace("_", " ") if files else number
