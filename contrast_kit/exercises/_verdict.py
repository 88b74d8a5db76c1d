"""What the reader sees: a sign and a sentence; and which exercises of the course are done, noted in a small file beside
the notebooks."""

import contextlib
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from contrast_kit.data.drafts import draft_of

SIGNS = {True: "✓", False: "✗", None: "·"}
"""For right, wrong and no answer yet."""
FILE = ".exercises.json"
"""In the folder in which the notebook runs. CONTRAST_KIT_PROGRESS names another; if it is empty, nothing is kept."""


@dataclass(frozen=True)
class Verdict:
    """The result of `judge`: `right` is None where there is no answer yet."""

    name: str
    right: bool | None
    text: str

    def __str__(self) -> str:
        return f"{SIGNS[self.right]} {self.name}: {self.text}"


def place() -> Path | None:
    """The file of tries; None where nothing is kept: outside of notebooks, or where CONTRAST_KIT_PROGRESS is empty."""
    ipython = sys.modules.get("IPython")
    in_notebook = ipython is not None and hasattr(ipython.get_ipython(), "kernel")
    name = os.environ.get("CONTRAST_KIT_PROGRESS", FILE * in_notebook)
    return Path(name).expanduser() if name else None


def known() -> dict[str, bool]:
    """Exercise -> True if it was once done, False if only tried."""
    with contextlib.suppress(OSError, ValueError, TypeError):  # no file, or a broken one
        return dict(json.loads((place() or Path()).read_text(encoding="utf-8")))
    return {}


def note(name: str, right: bool) -> None:
    """Remember a try, where the file can be written. What was done stays done."""
    file, states = place(), known()
    states[name] = right or states.get(name, False)
    if file is not None:
        with contextlib.suppress(OSError), draft_of(file) as draft:
            draft.write_text(json.dumps(states, indent=1) + "\n", encoding="utf-8")


class Progress(dict):
    """What `progress` returns: exercise -> True if done, False if tried, None if not yet; shown by notebook."""

    def __repr__(self) -> str:
        counts = Counter(self.values())
        done = f"{counts[True]} of {len(self)} exercises done ✓"
        lines = [f"{done}, {counts[False]} tried ✗, {counts[None]} not yet ·"]
        for number, names in groupby(self, lambda name: name.partition(".")[0]):
            words = [f"{SIGNS[self[name]]} {name.partition('.')[2]}" for name in names]
            lines.append(f"{number}: {'  '.join(words)}")
        return "\n".join(lines)
