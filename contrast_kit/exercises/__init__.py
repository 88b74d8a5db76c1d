"""Checked exercises of the course: `check("01.complement", my_function)` prints whether it is right, or a hint.

Each notebook NN has its exercises in `nbNN.py`: one small function an exercise, registered with `@exercise`, that
takes the reader's answer, tries it, and returns the hint for the first mistake it recognises (None where it is right).
"""

from contrast_kit.exercises._frame import NotYet, Verdict, check, exercise, judge, names

__all__ = ["NotYet", "Verdict", "check", "exercise", "judge", "names"]
