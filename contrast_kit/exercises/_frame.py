"""How exercises are registered, and an answer is tried and judged. The exercises themselves are in `nbNN.py`."""

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from contrast_kit._names import meant

Checker = Callable[[Any], str | None]


class NotYet(Exception):
    """Raised by a checker that finds no answer: the reader has not filled in the cell."""


class Verdict(NamedTuple):
    """The result of `judge`: `right` is None where there is no answer yet."""

    name: str
    right: bool | None
    text: str

    def __str__(self) -> str:
        return {True: "✓ ", False: "✗ ", None: "· "}[self.right] + f"{self.name}: {self.text}"


class _Exercise(NamedTuple):
    checker: Checker
    right: str


_EXERCISES: dict[str, _Exercise] = {}


def exercise(name: str, right: str) -> Callable[[Checker], Checker]:
    """Register a checker under `name`, "NN.word" with the notebook's number; `right` is printed after "right.".

    The checker gets the reader's answer (a function or a value). It returns None for a right answer and otherwise
    one sentence that names the mistake and where to look. It may simply call the answer: a None from it, or an
    error inside it, is dealt with here.

    >>> from contrast_kit.exercises import exercise, judge
    >>> @exercise("99.double", right="Twice as much.")
    ... def double(answer):
    ...     return None if answer(4) == 8 else "Is it 2 times x?"
    >>> print(judge("99.double", lambda x: 2 * x))
    ✓ 99.double: right. Twice as much.
    >>> print(judge("99.double", lambda x: x * x))
    ✗ 99.double: Is it 2 times x?
    """
    if not re.fullmatch(r"\d\d\.[a-z_]+", name):
        raise ValueError(f"An exercise is named 'NN.word', with the number of its notebook, not {name!r}.")

    def register(checker: Checker) -> Checker:
        _EXERCISES[name] = _Exercise(checker, right)
        return checker

    return register


def names(notebook: str = "") -> list[str]:
    """The names of all exercises, or of one notebook's.

    >>> from contrast_kit.exercises import names
    >>> "01.complement" in names("01")
    True
    """
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith("nb"):
            importlib.import_module(f"{__package__}.{module.name}")
    return sorted(name for name in _EXERCISES if name.startswith(notebook))


def judge(name: str, answer: Any) -> Verdict:
    """What `check` prints, as a value. Raises a ValueError for a name that no exercise has."""
    number = name.partition(".")[0]
    if name not in _EXERCISES and number.isdigit():
        module = f"{__package__}.nb{number}"
        if importlib.util.find_spec(module):
            importlib.import_module(module)
    if name not in _EXERCISES:
        raise ValueError(f"No exercise is called {name!r}; {meant(name, names())}")
    found = _EXERCISES[name]
    try:
        if answer is None:
            raise NotYet
        asked = _Answer(answer) if callable(answer) else answer
        hint = found.checker(asked)
    except NotYet:
        return Verdict(name, None, "not yet answered. Fill in the function above, then run this cell again.")
    except _AnswerFailed as failed:
        error = failed.__cause__
        return Verdict(name, False, f"your function stopped with {type(error).__name__}: {error}")
    except Exception as error:  # the checker asks something of the answer that another kind of value does not have
        return Verdict(name, False, f"{_kind_given(asked)} ({error}). Which kind of value does the exercise ask for?")
    return Verdict(name, hint is None, f"right. {found.right}" if hint is None else hint)


def check(name: str, answer: Any) -> None:
    """Print whether the answer to an exercise is right; if not, a hint that fits the mistake where it is a usual one.

    Args:
        name: the exercise, such as "01.complement"; `names()` lists all.
        answer: the function or the value that the exercise asks for; None, or a function that returns None, counts
            as "not yet answered".

    Raises:
        ValueError: no exercise has that name.

    Example:
        >>> import contrast_kit as ck
        >>> ck.exercises.check("01.rate", lambda p_m, p_c: p_c)
        ✗ 01.rate: p_c is the chance of a word that view 0 left free; not all words are free. How many are?
        >>> ck.exercises.check("01.rate", lambda p_m, p_c: p_c * (1 - p_m))
        ✓ 01.rate: right. At the paper's 0.15 and 0.7 this is 0.595: more than half of the text, not 70 % of it.
    """
    print(judge(name, answer))


class _AnswerFailed(Exception):
    """The reader's own function raised. An error in a checker is another matter and must not be hidden."""


class _Answer:
    """The reader's function: a None from it raises `NotYet`, an error inside it `_AnswerFailed`."""

    given: Any = None  # what it returned last

    def __init__(self, function: Callable):
        self.function = function

    def __call__(self, *args: Any, **kw: Any) -> Any:
        try:
            result = self.function(*args, **kw)
        except Exception as error:
            raise _AnswerFailed from error
        if result is None:
            raise NotYet
        self.given = result
        return result


def _kind_given(answer: Any) -> str:
    """What kind of value the reader gave, or the reader's function returned, for a sentence."""
    if not isinstance(answer, _Answer):
        return f"an answer of type {type(answer).__name__} does not fit"
    if answer.given is None:
        return "a function does not fit"
    return f"your function returned a value of type {type(answer.given).__name__}, which does not fit"
