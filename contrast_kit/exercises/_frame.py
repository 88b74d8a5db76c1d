"""How exercises are registered, and how an answer is tried and judged. The exercises themselves are in `nbNN.py`."""

import importlib
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from contrast_kit._util import choose
from contrast_kit.exercises._answer import Answer, AnswerFailed, NotYet, crash
from contrast_kit.exercises._table import Table
from contrast_kit.exercises._verdict import Progress, Verdict, known, note

EXERCISES: dict[str, tuple[str, Callable[[Any], str | None]]] = {}
"""What is said after "right.", and what finds the hint."""


WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
"""What is told, by exercise."""


def exercise(name: str, right: str = "") -> Callable[[Callable], Callable]:
    """Register a checker under `name`, "NN.word" with the notebook's number, 02 or 02b.

    `right` is said after "right."; the course's own stands in `words.toml`.

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

    def register(checker):
        EXERCISES[name] = (right or WORDS[name]["right"], checker)
        return checker

    return register


def table(name: str, cases: Sequence[tuple], **options: Any) -> Callable:
    """Register a table: a function of one case that returns (right answer, mistakes).

    `mistakes` is a dict: a hint, and what the mistake gives in this case; a list of several values; or a function of
    the answer. A hint is given if it fits in all cases. In all that is told {value} and {shape} stand for the reader's,
    {right} for the right answer, and other names for the arguments of the case.

    Args:
        name: "NN.word".
        cases: the arguments with which the answer is tried, one tuple for each call.
        options: `further`: cases that only the right answer must pass; `leaves`: names of the arguments whose gradient
            must be right, too; `then`: a checker for right answers. And the words, of the course in `words.toml`:
            `right`, said after "right."; `otherwise`, said of anything else; `shape`, of a value of another shape;
            `beyond`, of each further case; `detached`, added to a hint about gradients.

    >>> from contrast_kit.exercises import judge, table
    >>> words = dict(right="Twice as much.", otherwise="For x = {x} it gives {value}.")
    >>> @table("99.twice", cases=[(4,), (7,)], **words)
    ... def twice(x):
    ...     return 2 * x, {"That is the square.": x * x}
    >>> print(judge("99.twice", lambda x: x * x))
    ✗ 99.twice: That is the square.
    >>> print(judge("99.twice", lambda x: 8))
    ✗ 99.twice: For x = 7 it gives 8.
    """

    def register(rows):
        words = WORDS.get(name, {}) | options
        EXERCISES[name] = (words.pop("right"), Table(rows, cases, **words))
        return rows

    return register


def names(notebook: str = "") -> list[str]:
    """The names of all exercises, or of one notebook's: "01", "02b".

    >>> from contrast_kit.exercises import names
    >>> "01.complement" in names("01")
    True
    """
    for number in range(14):
        importlib.import_module(f"{__package__}.nb{number:02d}")
    return sorted(name for name in EXERCISES if notebook in ("", name.partition(".")[0]))


def judge(name: str, answer: Any) -> Verdict:
    """What `check` shows, as a value. Raises a ValueError for a name that no exercise has.

    >>> from contrast_kit.exercises import judge
    >>> print(judge("05.simsiam", None))
    · 05.simsiam: not yet answered: it gives None. Fill in what is missing above, then run this cell again.
    """
    names()
    right, checker = choose(EXERCISES, name, "exercise")
    if callable(answer):
        answer = Answer(answer)
    try:
        if answer is None:
            raise NotYet
        hint = checker(answer)
    except NotYet:
        words = "not yet answered: it gives None. Fill in what is missing above, then run this cell again."
        return Verdict(name, None, words)
    except AnswerFailed as failed:
        hint = crash(failed.__cause__)
    except Exception:
        # the checker asks something of the answer that another kind of value does not have
        kind = type(getattr(answer, "last", answer)).__name__
        hint = (
            f"a value of type {kind} does not fit. Which kind does the exercise ask for?"
        )
    return Verdict(name, hint is None, hint or f"right. {right}")


def check(name: str, answer: Any) -> None:
    """Show whether the answer to an exercise is right; if not, a hint that fits the mistake, where it is a common one.

    A ✓ or ✗ and a sentence. Where a function stops with an error, its line is named. In a notebook the attempt is noted
    for `progress`.

    Args:
        name: the exercise, such as "01.complement"; `names()` lists all.
        answer: the function or the value that the exercise asks for; None, or a function that does nothing but
            return None, counts as "not yet answered".

    Raises:
        ValueError: no exercise has that name.

    Example:
        >>> import math
        >>> import contrast_kit as ck
        >>> ck.exercises.check("00.guess", lambda B: 0.0)
        ✗ 00.guess: 0 is the loss of perfect knowledge: the partner with probability 1.
        >>> ck.exercises.check("00.guess", math.log)
        ✓ 00.guess: right. Keep this number: a contrastive loss near log B has learned nothing yet.
    """
    verdict = judge(name, answer)
    if verdict.right is not None:
        note(name, verdict.right)
    print(verdict)


def progress() -> Progress:
    """Which exercises of the course are done, in this notebook or another, today or earlier.

    `check` notes each try in a notebook: in `.exercises.json`, in the folder in which the notebook runs. Delete that
    file to begin anew; CONTRAST_KIT_PROGRESS names another file; if it is empty, none is kept.

    >>> import contrast_kit as ck
    >>> ck.exercises.progress()["00.guess"] is None  # nobody has tried it here
    True
    """
    states = known()
    return Progress({name: states.get(name) for name in names()})
