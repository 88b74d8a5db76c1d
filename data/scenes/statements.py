"""Statements on two pictures as in NLVR2: each is put to four pairs of scenes, and is true of two."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from random import Random
from typing import Any

from ask import Question, meant
from shelves import TABLES

from contrast_kit.data.scenes.shelf import (
    COLOURS,
    GOODS,
    SHELVES,
    SIZES,
    Scene,
    image_ids,
    scene,
)
from contrast_kit.data.toyshop.grammar import join, sentence
from contrast_kit.data.toyshop.words import WORDS, article, pick, plural

SENTENCES = {"train": 1_500, "validation": 125, "test": 125}
"""Sentences of each split; each makes four rows."""
PAIRS = 4
_TRIES = 150

TRUE: dict[str, Callable[[int, int, int], bool]] = {
    "both": lambda left, right, k: left > 0 and right > 0,
    "neither": lambda left, right, k: left == right == 0,
    "one": lambda left, right, k: (left > 0) != (right > 0),
    "some": lambda left, right, k: left + right > 0,
    "left": lambda left, right, k: left > 0 == right,
    "right": lambda left, right, k: right > 0 == left,
    "more_left": lambda left, right, k: left > right,
    "more_right": lambda left, right, k: right > left,
    "as_many": lambda left, right, k: left == right > 0,
    "at_least": lambda left, right, k: left + right >= k,
    "exactly": lambda left, right, k: left + right == k,
    "one_exactly": lambda left, right, k: (left == k) != (right == k),
}
"""When a form of statement is true, of the numbers of toys that fit in the left and in the right picture, and k."""
SAYS: dict[str, str] = TABLES["statements"]
NUMBERS = {"at_least": range(2, 8), "exactly": range(2, 8), "one_exactly": range(2, 5)}
FORMS = list(TRUE)


@dataclass(frozen=True)
class Statement:
    """The number of a form, the number in it, and the toys that it speaks of."""

    form: int
    k: int
    toys: Question


def statement_of(row: dict[str, Any]) -> Statement:
    """The statement of a row, to ask `is_true` with."""
    told = json.loads(row["statement"])
    return Statement(told["form"], told["k"], Question(**told["toys"]))


def draw_statement(rng):
    """Any statement about toys of up to three properties; most are true of few pairs, or of nearly all."""
    told = {}
    for name, values, share in (
        ("good", GOODS, 0.5),
        ("colour", COLOURS, 0.5),
        ("size", SIZES, 0.35),
        ("shelf", range(len(SHELVES)), 0.3),
    ):
        if rng.random() < share:
            told[name] = pick(rng, values)
    form = int(rng.random() * len(FORMS))
    return Statement(
        form, pick(rng, NUMBERS.get(FORMS[form], [0])), Question("count", **told)
    )


def is_true(statement: Statement, left: Scene, right: Scene) -> bool:
    """Whether a statement holds of two pictures.

    >>> from contrast_kit.data.scenes.shelf import Toy
    >>> a, b = Scene(0, (Toy("drum", "red", "big", 5, 0, 0),)), Scene(1, (Toy("kite", "red", "big", 5, 0, 0),))
    >>> both = Statement(0, 0, Question("count", colour="red"))
    >>> in_words(both), is_true(both, a, b), is_true(both, a, Scene(2, ()))
    ('Both pictures show a red toy.', True, False)
    """
    counts = [len(meant(statement.toys, scene)) for scene in (left, right)]
    return TRUE[FORMS[statement.form]](*counts, statement.k)


def in_words(statement: Statement) -> str:
    """The statement in English; it has one wording, so that equal meanings are equal sentences."""
    toys = statement.toys
    good = toys.good or "toy"
    place = SHELVES[toys.shelf] if toys.shelf >= 0 else ""
    one, many = (
        join(toys.size, toys.colour, form, place) for form in (good, plural(good))
    )
    says = SAYS[FORMS[statement.form]]
    return sentence(says.format(one=article(one), many=many, k=WORDS.counts[statement.k]))


def nlvr2(split: str, taken: set[str]) -> list[dict[str, Any]]:
    """Four rows a sentence, `left` and `right` pictures of the split; sentences in `taken` are avoided and added.

    `identifier` is NLVR2's: split, sentence, pair, and 0. The four pairs hold eight different scenes.
    """
    rng = Random(f"nlvr2/{split}")
    rows = []
    while len(rows) < PAIRS * SENTENCES[split]:
        statement = draw_statement(rng)
        text = in_words(statement)
        if text in taken:
            continue
        pairs = _pairs(statement, image_ids(split), rng)
        if pairs:
            taken.add(text)
        number = len(rows) // PAIRS
        for i, (left, right, label) in enumerate(pairs):
            row = {"sentence": text, "left": left, "right": right, "label": label}
            row["identifier"] = f"{split}-{number}-{i}-0"
            rows.append(row | {"statement": json.dumps(asdict(statement))})
    return rows


def _pairs(statement, numbers, rng):
    """Two pairs of scenes of which a statement is true, and two of which it is not, in random order; else none."""
    true = TRUE[FORMS[statement.form]]
    count = cache(lambda number: len(meant(statement.toys, scene(number))))
    pairs = []
    used = set()
    for _ in range(_TRIES):
        left = pick(rng, numbers)
        right = pick(rng, numbers)
        if left == right or {left, right} & used:
            continue
        label = int(true(count(left), count(right), statement.k))
        if sum(pair[2] == label for pair in pairs) < PAIRS // 2:
            pairs.append((left, right, label))
            used |= {left, right}
        if len(pairs) == PAIRS:
            pairs.sort(key=lambda pair: pair[2])
            return [pairs.pop(int(rng.random() * len(pairs))) for _ in range(PAIRS)]
    return []
