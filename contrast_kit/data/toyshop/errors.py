"""Unacceptable sentences: one grammatical error in a clause that keeps its length.

Every error exchanges a word for its partner (was/were, this/these, a/two, she/her) or two neighbours for
each other. The partner is as much at home in good sentences, so no word and no length betrays the error:
only its place does.
"""

from __future__ import annotations

from random import Random

from contrast_kit.data.toyshop.shops import SHOPS
from contrast_kit.data.toyshop.words import ACTIONS, COLOURS, COUNTS, NUMBERS, Bag, pick

PARTNER = {
    "is": "are", "was": "were", "does": "do", "seems": "seem", "looks": "look", "stands": "stand", "sits": "sit",
    "waits": "wait",
}  # fmt: skip
PARTNER |= {many: one for one, many in PARTNER.items()}
CASE = {"she": "her", "he": "his", "her": "she", "his": "he"}
SWAPPED = frozenset(
    Bag.of("a, an, the, this, these, in, on, of, by, at, for, behind, under, beside, near, above, her, his")
)
PAST = {base.split()[0]: past.split()[0] for ways in ACTIONS.values() for base, past, _ in ways if base != past}
MANY = frozenset(COUNTS[2:])  # "one" too may turn into one of these

# "for a party", "half past five", "the one who", "five pounds": number words that count nothing
UNCOUNTED_BEFORE = frozenset(
    Bag.of(
        "as, for, with, at, is, are, look, looks, seem, seems, but, quite, simply, what, "
        "without, in, after, past, to, the, of"
    )
)
UNCOUNTED_AFTER = frozenset(["pounds", "o'clock", "little", "bit", "pair", "pairs", "quarter", "who"])
MATERIALS = frozenset(
    stuff for shop in SHOPS.values() for corner in shop.departments.values() for stuff in corner.materials
)


def agreement(tokens: list[str], rng: Random) -> bool:
    """A verb in the wrong number: "the kites is flimsy"."""
    places = [i for i, word in enumerate(tokens) if word in PARTNER and tokens[i - 1] not in ("the", "you", "plant")]
    if tokens[0] == "what":  # "what Clara bought were two kites" can be heard
        places = [i for i in places if tokens[i] not in ("was", "were")]
    if places:
        i = pick(rng, places)
        tokens[i] = PARTNER[tokens[i]]
    return bool(places)


def number(tokens: list[str], rng: Random) -> bool:
    """A determiner of the wrong number: "these drum", "a drums", "two drum"."""
    places = [
        i for i, word in enumerate(tokens[:-1])
        if (word in ("this", "these", "a", "an", "one") or word in MANY)
        and tokens[i + 1].rstrip(",") not in UNCOUNTED_AFTER and (i == 0 or tokens[i - 1] not in UNCOUNTED_BEFORE)
    ]  # fmt: skip
    if not places:
        return False
    i = pick(rng, places)
    word = tokens[i]
    if word in ("this", "these"):
        tokens[i] = "these" if word == "this" else "this"
    elif word in MANY:
        tokens[i] = "one" if rng.random() < 0.15 else "an" if tokens[i + 1][0] in "aeio" else "a"
    else:
        tokens[i] = COUNTS[NUMBERS.draw(rng, 1)]
    return True


def swap(tokens: list[str], i: int) -> None:
    """Exchange token i and the one after it, in place."""
    tokens[i], tokens[i + 1] = tokens[i + 1], tokens[i]


def order(tokens: list[str], rng: Random) -> bool:
    """A determiner or a preposition behind its noun: "found kite the", "the in attic"."""
    places = [
        i for i, word in enumerate(tokens[:-1]) if word in SWAPPED and tokens[i + 1].isalpha() and tokens[i + 1] != word
    ]
    if places:
        swap(tokens, pick(rng, places))
    return bool(places)


def adjective(tokens: list[str], rng: Random) -> bool:
    """A colour behind its noun: "two kites red"."""
    places = [
        i for i, word in enumerate(tokens[:-1])
        if word in COLOURS and tokens[i + 1].isalpha() and tokens[i + 1] not in MATERIALS and tokens[i - 1] != "in"
    ]  # fmt: skip
    if places:
        swap(tokens, pick(rng, places))
    return bool(places)


def case(tokens: list[str], rng: Random) -> bool:
    """A pronoun in the wrong case: "for she nephew", "because her thinks"."""
    places = [i for i, word in enumerate(tokens) if word in CASE]
    if places:
        i = pick(rng, places)
        tokens[i] = CASE[tokens[i]]
    return bool(places)


def tense(tokens: list[str], rng: Random) -> bool:
    """A past form after "did": "did not bought"."""
    places = [i for i, word in enumerate(tokens) if word in PAST and "did" in tokens[max(0, i - 8) : i]]
    if places:
        i = pick(rng, places)
        tokens[i] = PAST[tokens[i]]
    return bool(places)


KINDS = (agreement, agreement, agreement, number, number, order, order, order, adjective, case, tense, tense)


def corrupt(clause: str, rng: Random) -> str | None:
    """The clause with one error, of a kind drawn at random; None if none fits it.

    >>> from random import Random
    >>> corrupt("these kites are flimsy", Random(2)), corrupt("the kite is flimsy", Random(4))
    ('these kites is flimsy', 'the kite are flimsy')
    """
    tokens = clause.split(" ")
    kinds = list(KINDS)
    while kinds:
        if kinds.pop(int(rng.random() * len(kinds)))(tokens, rng):
            return " ".join(tokens)
    return None
