"""All exercises of the course, by notebook: done, tried, not yet."""

import html
from collections import Counter
from itertools import groupby
from typing import Any

from contrast_kit._util import shipped
from contrast_kit.exercises import _record
from contrast_kit.exercises._frame import names
from contrast_kit.exercises._verdict import SIGNS, sign


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
            signs = "  ".join(f"{SIGNS[self.states[name]][0]} {name.partition('.')[2]}" for name in exercises)
            lines.append(f"{title}: {signs}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        cell, rows = '<td style="text-align:left">', []
        for title, exercises in self._by_notebook():
            signs = [f"{sign(self.states[name])} {html.escape(name.partition('.')[2])}" for name in exercises]
            rows.append(f"<tr>{cell}{html.escape(title)}</td>{cell}{' &ensp; '.join(signs)}</td></tr>")
        page = f"<p>{html.escape(self._summary())}</p><table>{''.join(rows)}</table>"
        return {"text/plain": str(self), "text/html": page}

    def _summary(self) -> str:
        counts = Counter(self.states.values())
        return (
            f"{counts[True]} of {len(self.states)} exercises done ✓, {counts[False]} tried ✗, {counts[None]} not yet ·"
        )

    def _by_notebook(self) -> list[tuple[str, list[str]]]:
        groups = groupby(self.states, lambda name: name.partition(".")[0])
        return [(_title(number), list(exercises)) for number, exercises in groups]


def progress() -> Progress:
    """Which exercises of the course are done, in this notebook or another, today or earlier.

    `check` notes each try in a notebook: in `.exercises.json`, in the folder in which the notebook runs. Delete that
    file to begin anew; CONTRAST_KIT_PROGRESS names another file; if it is empty, none is kept. Where the file cannot be
    written, what this kernel has seen counts.

    Returns a `Progress`: shown by Jupyter as a table, printed as text; its `states` are data.

    >>> import contrast_kit as ck
    >>> ck.exercises.progress().states["01.rate"] is None  # nobody has tried it here
    True
    """
    known = _record.known()
    return Progress({name: known.get(name) for name in names()})


def _title(number: str) -> str:
    """The notebook's name in words, such as "01 masking"; its number alone where it is not there."""
    found = sorted(shipped("notebooks").glob(f"{number}_*.ipynb"))
    return found[0].stem.replace("_", " ") if found else number
