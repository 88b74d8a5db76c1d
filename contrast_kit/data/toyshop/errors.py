"""Unacceptable sentences: one grammatical error in a clause that keeps its length.

Every error exchanges a word for its partner (was/were, this/these, a/two, she/her) or two neighbours for
each other. The partner is as much at home in good sentences, so no word and no length betrays the error:
only its place does.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from contrast_kit.data.toyshop.grammar import PATTERNS
from contrast_kit.data.toyshop.shops import SHOPS
from contrast_kit.data.toyshop.words import (
    ACTIONS,
    COLOURS,
    COUNTS,
    NUMBERS,
    pick,
)

_WORDS = PATTERNS["errors"]
NUMBER = _WORDS["numbers"] | {many: one for one, many in _WORDS["numbers"].items()}
CASE: dict[str, str] = _WORDS["cases"]
PAST = {
    base.split()[0]: past.split()[0]
    for ways in ACTIONS.values()
    for base, past, _ in ways
    if base != past
}
SINGULAR = ("this", "these", "a", "an", "one")
MANY = COUNTS[2:]
MATERIALS = {
    stuff
    for shop in SHOPS.values()
    for corner in shop.departments.values()
    for stuff in corner.materials
}

Tokens = list[str]
"""The words of a clause, and after them an empty one, so that each has a neighbour."""


def agreement(tokens: Tokens, i: int) -> bool:
    """A verb may be put in the wrong number: "the kites is flimsy"."""
    if tokens[0] == "what" and tokens[i] in ("was", "were"):
        return False  # "what Clara bought were two kites" can be heard
    before = (
        tokens[i - 1] if i else tokens[-2]
    )  # "look there and you will see a plant": "look" is left alone
    return tokens[i] in NUMBER and before not in ("the", "you", "plant")


def number(tokens: Tokens, i: int) -> bool:
    """A determiner may have the wrong number: "these drum", "a drums", "two drum"."""
    if not tokens[i + 1] or tokens[i] not in (*SINGULAR, *MANY):
        return False
    if tokens[i + 1].rstrip(",") in _WORDS["uncounted_after"]:
        return False
    return i == 0 or tokens[i - 1] not in _WORDS["uncounted_before"]


def order(tokens: Tokens, i: int) -> bool:
    """A determiner or a preposition may stand behind its noun: "found kite the", "the in attic"."""
    return tokens[i] in _WORDS["swapped"] and tokens[i + 1].isalpha() and tokens[i + 1] != tokens[i]


def adjective(tokens: Tokens, i: int) -> bool:
    """A colour may stand behind its noun: "two kites red"."""
    after = tokens[i + 1]
    return (
        tokens[i] in COLOURS
        and after.isalpha()
        and after not in MATERIALS
        and tokens[i - 1] != "in"
    )


def case(tokens: Tokens, i: int) -> bool:
    """A pronoun may have the wrong case: "for she nephew", "because her thinks"."""
    return tokens[i] in CASE


def tense(tokens: Tokens, i: int) -> bool:
    """A past form may follow "did": "did not bought"."""
    return tokens[i] in PAST and "did" in tokens[max(0, i - 8) : i]


def swap(tokens: Tokens, i: int, rng: Random) -> None:
    """Exchange a word and the one after it."""
    tokens[i], tokens[i + 1] = tokens[i + 1], tokens[i]


def exchange(tokens: Tokens, i: int, rng: Random) -> None:
    """Exchange a word for its partner."""
    word = tokens[i]
    if word in ("this", "these"):
        tokens[i] = "these" if word == "this" else "this"
    elif word in MANY:
        an = "an" if tokens[i + 1][0] in "aeio" else "a"
        tokens[i] = "one" if rng.random() < 0.15 else an
    elif word in SINGULAR:
        tokens[i] = COUNTS[NUMBERS.draw(rng, 1)]
    else:
        tokens[i] = (NUMBER | CASE | PAST)[word]


Kind = tuple[Callable[[Tokens, int], bool], Callable[[Tokens, int, Random], None]]
KINDS: list[Kind] = [
    *[(agreement, exchange)] * 3,
    *[(number, exchange)] * 2,
    *[(order, swap)] * 3,
    (adjective, swap),
    (case, exchange),
    *[(tense, exchange)] * 2,
]
"""Where an error may be made, and how; some are made more often."""


def corrupt(clause: str, rng: Random) -> str | None:
    """The clause with one error, of a kind drawn at random; None if none fits it.

    >>> from random import Random
    >>> corrupt("these kites are flimsy", Random(2)), corrupt("the kite is flimsy", Random(4))
    ('these kites is flimsy', 'the kite are flimsy')
    """
    tokens = [*clause.split(" "), ""]
    kinds = list(KINDS)
    while kinds:
        fits, make = kinds.pop(int(rng.random() * len(kinds)))
        places = [i for i, word in enumerate(tokens) if word and fits(tokens, i)]
        if places:
            make(tokens, pick(rng, places), rng)
            return " ".join(tokens[:-1])
    return None
