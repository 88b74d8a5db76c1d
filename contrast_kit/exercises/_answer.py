"""The reader's function while it is tried: no answer, an error inside it and a wrong kind of value are told apart."""

import dis
import traceback
from collections.abc import Callable
from copy import deepcopy

import numpy as np
from torch import Tensor


class NotYet(Exception):
    """Raised by a checker that finds no answer: the reader has not filled in the cell."""


class AnswerFailed(Exception):
    """The reader's own function raised: the verdict shows where."""


class ReturnedNone(Exception):
    """The reader's function does something, but returned None."""


class Answer:
    """The reader's function, which gets copies: what it changes in place is its own.

    A None from it raises `NotYet` if it is still the stub of the notebook, else `ReturnedNone`; an error inside it
    raises `AnswerFailed`.
    """

    def __init__(self, function: Callable):
        self.function = function
        self.last = None

    def __call__(self, *args):
        try:
            value = self.function(*map(copied, args))
        except Exception as error:
            raise AnswerFailed from error
        if value is None:
            raise NotYet if untouched(self.function) else ReturnedNone
        self.last = value
        return value


def copied(value):
    """A copy of data; gradients still flow to the original of a tensor."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, np.ndarray | dict | list | tuple):
        return deepcopy(value)
    return value


def untouched(function: Callable) -> bool:
    """True for a function that does nothing but return a constant: `return None  # your turn`."""
    code = getattr(function, "__code__", None)
    nothing = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
    return (
        code is not None
        and {step.opname for step in dis.get_instructions(code)} <= nothing
    )


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
