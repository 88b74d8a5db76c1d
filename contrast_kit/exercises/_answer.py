"""The reader's function while it is tried: no answer and an error inside it are told apart."""

import traceback
from collections.abc import Callable
from copy import deepcopy

import numpy as np
from torch import Tensor


class NotYet(Exception):
    """Raised where there is no answer: the reader has not filled in the cell, or a way through it has no `return`."""


class AnswerFailed(Exception):
    """The reader's own function raised: the verdict shows where."""


class Answer:
    """The reader's function, which gets copies: what it changes in place is its own.

    A None from it raises `NotYet`; an error inside it raises `AnswerFailed`.
    """

    def __init__(self, function: Callable):
        self.function = function
        self.last = None

    def __call__(self, *args):
        try:
            self.last = self.function(*map(copied, args))
        except Exception as error:
            raise AnswerFailed from error
        if self.last is None:
            raise NotYet
        return self.last


def copied(value):
    """A copy of data; gradients still flow to the original of a tensor."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, np.ndarray | dict | list | tuple):
        return deepcopy(value)
    return value


def crash(error: BaseException) -> str:
    """One sentence: the line of the reader's own cell on which their function stopped, and the error.

    The line is the last one of the file or cell in which the function begins: what a library did further down is
    named by the error. If no line is theirs, the function could not be called the way the exercise calls it.

    >>> from contrast_kit.exercises._answer import crash
    >>> try:
    ...     (lambda: 1 / 0)()
    ... except ZeroDivisionError as error:
    ...     print(crash(error))
    your function stopped in line 2 of its cell, `(lambda: 1 / 0)()`. ZeroDivisionError: division by zero.
    """
    reason = str(error).strip().partition("\n")[0].rstrip(".") or "no more is said"
    message = f"{type(error).__name__}: {reason}."
    frames = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in frames if frame.filename != __file__]
    if not frames:
        return f"the exercise could not call your function. {message}"
    last = [frame for frame in frames if frame.filename == frames[0].filename][-1]
    return f"your function stopped in line {last.lineno} of its cell, `{last.line}`. {message}"
