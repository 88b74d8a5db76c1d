"""Unacceptable sentences: one grammatical error in a clause that keeps its length.

Every error exchanges a word for its partner (was/were, this/these, a/two, she/her) or two neighbours for
each other. The partner is as much at home in good sentences, so no word and no length betrays the error:
only its place does.
"""

from contrast_kit.data.toyshop.grammar import PATTERNS
from contrast_kit.data.toyshop.shops import CORNER
from contrast_kit.data.toyshop.words import WORDS, draw, pick

_WORDS = PATTERNS["errors"]
NUMBER = _WORDS["numbers"] | {many: one for one, many in _WORDS["numbers"].items()}
CASE: dict[str, str] = _WORDS["cases"]
PAST = {
    base.split()[0]: past.split()[0]
    for ways in WORDS.actions.values()
    for base, past, _ in ways
    if base != past
}
SINGULAR = ("this", "these", "a", "an", "one")
MANY = WORDS.counts[2:]
MATERIALS = {stuff for corner in CORNER.values() for stuff in corner["material"]}

Tokens = list[str]
"""The words of a clause, and after them an empty one, so that each has a neighbour."""


def agreement(tokens, i):
    """A verb may be put in the wrong number: "the kites is flimsy"."""
    if tokens[0] == "what" and tokens[i] in ("was", "were"):
        return False  # "what Clara bought were two kites" can be heard
    # before the first word the last: "look there and you will see a plant": "look" is left alone
    before = [tokens[-2], *tokens][i]
    return tokens[i] in NUMBER and before not in ("the", "you", "plant")


def number(tokens, i):
    """A determiner may have the wrong number: "these drum", "a drums", "two drum"."""
    after = tokens[i + 1].rstrip(",")
    if not after or after in _WORDS["uncounted_after"]:
        return False
    counts = i == 0 or tokens[i - 1] not in _WORDS["uncounted_before"]
    return counts and tokens[i] in (*SINGULAR, *MANY)


def order(tokens, i):
    """A determiner or a preposition may stand behind its noun: "found kite the", "the in attic"."""
    return tokens[i] in _WORDS["swapped"] and tokens[i + 1].isalpha() and tokens[i + 1] != tokens[i]


def adjective(tokens, i):
    """A colour may stand behind its noun: "two kites red"."""
    colour = tokens[i] in WORDS.values["colour"] and tokens[i - 1] != "in"
    return colour and tokens[i + 1].isalpha() and tokens[i + 1] not in MATERIALS


def case(tokens, i):
    """A pronoun may have the wrong case: "for she nephew", "because her thinks"."""
    return tokens[i] in CASE


def tense(tokens, i):
    """A past form may follow "did": "did not bought"."""
    return tokens[i] in PAST and "did" in tokens[max(0, i - 8) : i]


def exchange(tokens, i, rng):
    """The partner of a word."""
    word = tokens[i]
    if word in ("this", "these"):
        return {"this": "these", "these": "this"}[word]
    if word in MANY:
        an = "an" if tokens[i + 1][0] in "aeio" else "a"
        return "one" if rng.random() < 0.15 else an
    if word in SINGULAR:
        return WORDS.counts[draw(rng, WORDS.values["number"], 1)]
    return (NUMBER | CASE | PAST)[word]


KINDS = [*[agreement] * 3, *[number] * 2, *[order] * 3, adjective, case, *[tense] * 2]
"""Where an error may be made; some are made more often."""


def corrupt(clause, rng):
    """The clause with one error, of a kind drawn at random; None if none fits it.

    >>> from random import Random
    >>> corrupt("these kites are flimsy", Random(2)), corrupt("the kite is flimsy", Random(4))
    ('these kites is flimsy', 'the kite are flimsy')
    """
    tokens = [*clause.split(" "), ""]
    kinds = list(KINDS)
    while kinds:
        fits = kinds.pop(int(rng.random() * len(kinds)))
        places = [i for i, word in enumerate(tokens) if word and fits(tokens, i)]
        if places:
            i = pick(rng, places)
            if fits in (order, adjective):
                tokens[i : i + 2] = tokens[i + 1], tokens[i]
            else:
                tokens[i] = exchange(tokens, i, rng)
            return " ".join(tokens[:-1])
    return None
