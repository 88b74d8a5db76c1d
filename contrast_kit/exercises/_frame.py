"""How exercises are registered, and how an answer is tried and judged. The exercises themselves are in `nbNN.py`."""

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from contrast_kit import arguments, checks
from contrast_kit._names import meant
from contrast_kit.exercises import _record
from contrast_kit.exercises._answer import Answer, AnswerFailed, NotYet, ReturnedNone, crash, wrong_kind
from contrast_kit.exercises._verdict import Verdict, show

Checker = Callable[[Any], str | None]


class _Exercise(NamedTuple):
    checker: Checker
    right: str


_EXERCISES: dict[str, _Exercise] = {}


def exercise(name: str, right: str) -> Callable[[Checker], Checker]:
    """Register a checker under `name`, "NN.word" with the notebook's number, 02 or 02b; `right` is said after "right.".

    The checker gets the reader's answer (a function or a value). It returns None for a right answer and otherwise
    one sentence that names the mistake and where to look. It may simply call the answer: a None from it, or an
    error inside it, is dealt with here, and what is passed to it is copied.

    >>> from contrast_kit.exercises import exercise, judge
    >>> @exercise("99.double", right="Twice as much.")
    ... def double(answer):
    ...     return None if answer(4) == 8 else "Is it 2 times x?"
    >>> print(judge("99.double", lambda x: 2 * x))
    ✓ 99.double: right. Twice as much.
    >>> print(judge("99.double", lambda x: x * x))
    ✗ 99.double: Is it 2 times x?
    """
    if not isinstance(name, str) or not re.fullmatch(r"\d\d[a-z]?\.[a-z_]+", name):
        named = "'NN.word', with the number of its notebook"
        raise ValueError(f"An exercise is named {named}, not {checks.shown(name)}.")

    def register(checker: Checker) -> Checker:
        _EXERCISES[name] = _Exercise(checker, right)
        return checker

    return register


def names(notebook: str = "") -> list[str]:
    """The names of all exercises, or of one notebook's: "01", "02b".

    >>> from contrast_kit.exercises import names
    >>> "01.complement" in names("01")
    True
    """
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith("nb"):
            importlib.import_module(f"{__package__}.{module.name}")
    return sorted(name for name in _EXERCISES if notebook in ("", name.partition(".")[0]))


def judge(name: str, answer: Any) -> Verdict:
    """What `check` shows, as a value. Raises a ValueError for a name that no exercise has."""
    arguments.string("name", name, "what an exercise is called, such as '01.complement'")
    number = name.partition(".")[0]
    if name not in _EXERCISES and re.fullmatch(r"\d\d[a-z]?", number):
        module = f"{__package__}.nb{number}"
        if importlib.util.find_spec(module):
            importlib.import_module(module)
    if name not in _EXERCISES:
        hint = meant(name, names(number) or names())
        hint = hint if len(hint) < 300 else "ck.exercises.names() gives all names."
        raise ValueError(f"No exercise is called {checks.shown(name)}; {hint}")
    found = _EXERCISES[name]
    try:
        if answer is None:
            raise NotYet
        asked = Answer(answer) if callable(answer) else answer
        hint = found.checker(asked)
    except NotYet:
        return Verdict(name, None, "not yet answered. Fill in the function above, then run this cell again.")
    except ReturnedNone:
        return Verdict(name, False, "your function ran, but returned None. Does each way through it end in a `return`?")
    except AnswerFailed as failed:
        return Verdict(name, False, crash(failed.__cause__ or failed))
    except Exception as error:  # the checker asks something of the answer that another kind of value does not have
        return Verdict(name, False, wrong_kind(asked, error))
    return Verdict(name, hint is None, f"right. {found.right}" if hint is None else hint)


def check(name: str, answer: Any) -> None:
    """Show whether the answer to an exercise is right; if not, a hint that fits the mistake, where it is a common one.

    A coloured ✓ or ✗ and a sentence in a notebook, plain text elsewhere. Where a function stops with an error, its line
    is named. In a notebook the attempt is noted for `progress`.

    Args:
        name: the exercise, such as "01.complement"; `names()` lists all.
        answer: the function or the value that the exercise asks for; None, or a function that does nothing but
            return None, counts as "not yet answered".

    Raises:
        ValueError: no exercise has that name.

    Example:
        >>> import contrast_kit as ck
        >>> ck.exercises.check("01.rate", lambda p_m, p_c: p_c)
        ✗ 01.rate: p_c is the chance of a word that view 0 left free; not all words are free. How many are?
        >>> ck.exercises.check("01.rate", lambda p_m, p_c: p_c * (1 - p_m))
        ✓ 01.rate: right. At the paper's 0.15 and 0.7 this is 0.595: more than half of the text, not 70 % of it.
    """
    verdict = judge(name, answer)
    if verdict.right is not None:
        _record.note(name, verdict.right)
    show(verdict)
