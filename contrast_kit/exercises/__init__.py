"""Checked exercises of the course: `check("01.complement", my_function)` says whether it is right, or gives a hint.

Each notebook NN has its exercises in `nbNN.py`: one small function per exercise, registered with `@exercise`, that
takes the reader's answer, tries it, and returns the hint for the first mistake it recognises (None where it is right).
`progress()` lists all exercises of the course, and which of them are done.
"""

from contrast_kit.exercises._answer import NotYet
from contrast_kit.exercises._frame import check, exercise, judge, names
from contrast_kit.exercises._overview import Progress, progress
from contrast_kit.exercises._verdict import Verdict

__all__ = ["NotYet", "Progress", "Verdict", "check", "exercise", "judge", "names", "progress"]
