"""Checked exercises of the course: `check("01.complement", my_function)` says whether it is right, or gives a hint.

The exercises of notebook NN stand in `nbNN.py`. Nearly all are a `@table`: for one case the right answer, and each
usual mistake beside its hint; what else is said stands in `words.toml`. What no table can say is an `@exercise`: a
function that takes the reader's answer and returns a hint, or None where it is right. `progress()` lists all
exercises of the course, and which are done.
"""

from contrast_kit.exercises._answer import NotYet
from contrast_kit.exercises._frame import check, exercise, judge, names, progress, table
from contrast_kit.exercises._verdict import Progress, Verdict

__all__ = [
    "NotYet",
    "Progress",
    "Verdict",
    "check",
    "exercise",
    "judge",
    "names",
    "progress",
    "table",
]
