"""Statements on two pictures as in NLVR2: each is put to four pairs of scenes, and is true of two."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from random import Random
from typing import Any

from contrast_kit.data.scenes.ask import Question, meant
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
from contrast_kit.data.toyshop.words import COUNTS, article, pick, plural

SENTENCES = {"train": 1_500, "validation": 125, "test": 125}
"""Sentences of each split; each makes four rows."""
PAIRS = 4
_TRIES = 150

Counts = tuple[int, int]
"""How many toys fit a description, in the left and in the right picture."""


@dataclass(frozen=True)
class Form:
    """A way to speak of two counts: `says` with one or two descriptions in it, and when it is true."""

    says: str
    true: Callable[[Counts, int], bool]
    numbers: tuple[int, ...] = (0,)


FORMS = (
    Form("both pictures show {one}", lambda n, k: min(n) > 0),
    Form("neither picture shows {one}", lambda n, k: max(n) == 0),
    Form(
        "exactly one of the pictures shows {one}",
        lambda n, k: min(n) == 0 < max(n),
    ),
    Form("at least one of the pictures shows {one}", lambda n, k: max(n) > 0),
    Form(
        "the left picture shows {one}, and the right one does not",
        lambda n, k: n[0] > 0 == n[1],
    ),
    Form(
        "the right picture shows {one}, and the left one does not",
        lambda n, k: n[1] > 0 == n[0],
    ),
    Form(
        "there are more {many} in the left picture than in the right one",
        lambda n, k: n[0] > n[1],
    ),
    Form(
        "there are more {many} in the right picture than in the left one",
        lambda n, k: n[1] > n[0],
    ),
    Form(
        "there are as many {many} in one picture as in the other, and at least one",
        lambda n, k: n[0] == n[1] > 0,
    ),
    Form(
        "there are at least {k} {many} in the two pictures together",
        lambda n, k: sum(n) >= k,
        (2, 3, 4, 5, 6, 7),
    ),
    Form(
        "there are exactly {k} {many} in the two pictures together",
        lambda n, k: sum(n) == k,
        (2, 3, 4, 5, 6, 7),
    ),
    Form(
        "one of the pictures shows exactly {k} {many}",
        lambda n, k: (n[0] == k) != (n[1] == k),
        (2, 3, 4),
    ),
)


@dataclass(frozen=True)
class Statement:
    """A form, the number in it, and the toys that it speaks of."""

    form: int
    k: int
    toys: Question


def statement_of(row: dict[str, Any]) -> Statement:
    """The statement of a row, to ask `is_true` with."""
    told = json.loads(row["statement"])
    return Statement(told["form"], told["k"], Question(**told["toys"]))


def draw_statement(rng: Random) -> Statement:
    """Any statement about toys of up to three properties; most are true of few pairs, or of nearly all."""
    told = {
        "good": (GOODS, 0.5),
        "colour": (COLOURS, 0.5),
        "size": (SIZES, 0.35),
        "shelf": (range(len(SHELVES)), 0.3),
    }
    fields = {
        name: pick(rng, values) for name, (values, share) in told.items() if rng.random() < share
    }
    form = int(rng.random() * len(FORMS))
    return Statement(form, pick(rng, FORMS[form].numbers), Question("count", **fields))


def is_true(statement: Statement, left: Scene, right: Scene) -> bool:
    """Whether a statement holds of two pictures.

    >>> from contrast_kit.data.scenes.shelf import Toy
    >>> a, b = Scene(0, (Toy("drum", "red", "big", 5, 0, 0),)), Scene(1, (Toy("kite", "red", "big", 5, 0, 0),))
    >>> both = Statement(0, 0, Question("count", colour="red"))
    >>> in_words(both), is_true(both, a, b), is_true(both, a, Scene(2, ()))
    ('Both pictures show a red toy.', True, False)
    """
    counts = len(meant(statement.toys, left)), len(meant(statement.toys, right))
    return FORMS[statement.form].true(counts, statement.k)


def in_words(statement: Statement) -> str:
    """The statement in English; it has one wording, so that equal meanings are equal sentences."""
    toys = statement.toys
    kind, good = join(toys.size, toys.colour), toys.good or "toy"
    place = SHELVES[toys.shelf] if toys.shelf >= 0 else ""
    one, many = (join(kind, form, place) for form in (good, plural(good)))
    return sentence(
        FORMS[statement.form].says.format(one=article(one), many=many, k=COUNTS[statement.k])
    )


def nlvr2(split: str, taken: set[str]) -> list[dict[str, Any]]:
    """Four rows a sentence, `left` and `right` pictures of the split; sentences in `taken` are avoided and added.

    `identifier` is NLVR2's: split, sentence, pair, and 0. The four pairs hold eight different scenes.
    """
    rng, numbers = Random(f"nlvr2/{split}"), image_ids(split)
    rows: list[dict[str, Any]] = []
    while len(rows) < PAIRS * SENTENCES[split]:
        statement = draw_statement(rng)
        text = in_words(statement)
        pairs = None if text in taken else _pairs(statement, numbers, rng)
        if pairs is None:
            continue
        taken.add(text)
        number = len(rows) // PAIRS
        for i, (left, right, label) in enumerate(pairs):
            row = {
                "sentence": text,
                "left": left,
                "right": right,
                "label": label,
            }
            row |= {
                "identifier": f"{split}-{number}-{i}-0",
                "statement": json.dumps(asdict(statement)),
            }
            rows.append(row)
    return rows


def _pairs(statement: Statement, numbers: range, rng: Random) -> list[tuple[int, int, int]] | None:
    """Two pairs of scenes of which a statement is true, and two of which it is not, in random order."""
    form, k = FORMS[statement.form], statement.k
    count = cache(lambda number: len(meant(statement.toys, scene(number))))
    pairs: list[tuple[int, int, int]] = []
    used: set[int] = set()
    for _ in range(_TRIES):
        left, right = pick(rng, numbers), pick(rng, numbers)
        if left == right or {left, right} & used:
            continue
        label = int(form.true((count(left), count(right)), k))
        if sum(pair[2] == label for pair in pairs) < PAIRS // 2:
            pairs.append((left, right, label))
            used |= {left, right}
        if len(pairs) == PAIRS:
            pairs.sort(key=lambda pair: pair[2])
            return [pairs.pop(int(rng.random() * len(pairs))) for _ in range(PAIRS)]
    return None
