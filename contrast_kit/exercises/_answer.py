"""The reader's function while it is tried: no answer, an error inside it and a wrong kind of value are told apart."""

import dis
import linecache
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor


class NotYet(Exception):
    """Raised by a checker that finds no answer: the reader has not filled in the cell."""


class AnswerFailed(Exception):
    """The reader's own function raised: the verdict shows where. An error elsewhere is an answer of the wrong kind."""


class ReturnedNone(Exception):
    """The reader's function does something, but returned None."""


class Answer:
    """The reader's function, which gets copies: what it changes in place is its own.

    A None from it raises `NotYet` if it is still the stub of the notebook, else `ReturnedNone`; an error inside it
    raises `AnswerFailed`.
    """

    given: Any = None  # what it returned last

    def __init__(self, function: Callable):
        self.function = function

    def __call__(self, *args: Any, **kw: Any) -> Any:
        try:
            result = self.function(*map(copied, args), **{name: copied(value) for name, value in kw.items()})
        except Exception as error:
            raise AnswerFailed from error
        if result is None:
            raise NotYet if untouched(self.function) else ReturnedNone
        self.given = result
        return result


def copied(value: Any) -> Any:
    """Copies of tensors, arrays, lists and tuples (`Masked` too); gradients still flow to the originals."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        parts = map(copied, value)
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def untouched(function: Callable) -> bool:
    """True for a function that does nothing but return a constant: `return None  # your turn`."""
    code = getattr(function, "__code__", None)
    nothing = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
    return code is not None and {step.opname for step in dis.get_instructions(code)} <= nothing


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
    said = (str(error).strip().split("\n")[0] or "no more is said").rstrip(".")
    told = f"{type(error).__name__}: {said}."
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    if not frames:
        return f"the exercise could not call your function. {told}"
    last = [frame for frame in frames if frame.filename == frames[0].filename][-1]
    line = linecache.getline(last.filename, last.lineno or 0).strip()
    return f"your function stopped in line {last.lineno} of its cell{f', `{line}`' if line else ''}. {told}"


def wrong_kind(answer: Any, error: Exception) -> str:
    """What to say where a checker cannot handle an answer because it is not of the kind that is asked for.

    >>> from contrast_kit.exercises import judge
    >>> print(judge("01.labels", 3))
    ✗ 01.labels: the exercise asks for a function, and you gave an int.
    """
    if isinstance(answer, Answer):
        given = "a function does not fit"
        if answer.given is not None:
            given = f"your function returned a value of type {type(answer.given).__name__}, which does not fit"
    else:
        kind = type(answer).__name__
        if str(error) == f"'{kind}' object is not callable":
            return f"the exercise asks for a function, and you gave {'an' if kind[0] in 'aeiou' else 'a'} {kind}."
        given = f"an answer of type {kind} does not fit"
    # Python's message about a wrong kind of value is about the checker's code, which the reader does not see.
    told = "" if isinstance(error, TypeError | AttributeError) else f" ({error})"
    return f"{given}{told}. Which kind of value does the exercise ask for?"
