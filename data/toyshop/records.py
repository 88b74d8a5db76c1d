"""What follows from records: inference, contradiction, similarity; reviews; and one grammatical error in a clause.

A record that leaves a field empty does not tell it. That one convention gives inference for free:

- `entails(a, b)`: everything `b` tells, `a` tells too, with the same value (or a narrower one: a drum is a
  musical toy);
- `contradicts(a, b)`: some field is told by both and differs. In the shop's world two sentences of a pair
  speak of the same event, as in SNLI and MNLI, and each field has one value, so two different values cannot
  both be true (reasons and actions apart: what somebody bought may be returned);
- otherwise `b` is neutral: it may be so.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from contrast_kit.data.toyshop import grammar
from contrast_kit.data.toyshop.grammar import (
    DENIALS,
    be,
    clause,
    fill,
    is_many,
    judged,
    noun,
    sentence,
)
from contrast_kit.data.toyshop.words import CORNER, SIDE, WORDS, draw, pick
from contrast_kit.data.toyshop.world import Opinion, Record, details_of, draw_record

PATTERNS = tomllib.loads(Path(__file__).with_name("make.toml").read_text("utf-8"))
OPPOSITE, WEIGHTS, SHADES = (PATTERNS[name] for name in ("opposite", "weights", "shades"))
THOUGHTS = grammar.PATTERNS["second_thoughts"]
KIND = {good: corner["kind"] for good, corner in CORNER.items()}
"""A good, or a kind of goods → its kind."""


def other_than(old: object, rng: Random, words: Sequence[Any]) -> Any:
    """Draw a word, by its frequency; never `old`."""
    word = draw(rng, words)
    while word == old:
        word = draw(rng, words)
    return word

def facts(record: Record) -> dict[str, object]:
    """The fields that a record tells, with their values.

    >>> from contrast_kit.data.toyshop import Stock
    >>> facts(Stock(number=3, good="drum", shelf="on the top shelf"))
    {'number': 3, 'good': 'drum', 'shelf': 'on the top shelf'}
    """
    return {field: value for field, value in vars(record).items() if value}


def without(record: Record, *fields: str) -> Record:
    """The record with these fields not told."""
    return replace(record, **{field: type(getattr(record, field))() for field in fields})


def bare(record: Record) -> Record:
    """The record with no detail told but the size: what a question names."""
    return without(
        record, *(field for field in details_of(type(record)) if field != "size")
    )


def as_told(record: Record) -> Record:
    """The record as its sentence tells it: an opinion says whether it is of one thing or of many, not of how many."""
    if isinstance(record, Opinion):
        return replace(record, number=min(record.number, 2))
    return record


def narrower(a: object, b: object) -> bool:
    """Whether value `a` is `b` or falls under it: a drum is a musical toy.

    >>> narrower("drum", "musical toy"), narrower("musical toy", "drum"), narrower("red", "red")
    (True, False, True)
    """
    return a == b or KIND.get(a) == b


def entails(a: Record, b: Record) -> bool:
    """Whether `b` is true wherever `a` is: `a` tells all that `b` tells.

    Opinions must be the same person's, on the same thing or part, and at least as strong: "very sturdy"
    entails "sturdy".

    >>> from contrast_kit.data.toyshop import Stock
    >>> a = Stock(number=3, good="drum", shelf="on the top shelf", colour="red")
    >>> entails(a, replace(a, colour="")), entails(replace(a, colour=""), a)
    (True, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, Opinion) and (
        (a.who, a.part) != (b.who, b.part) or a.intensity < b.intensity
    ):
        return False
    known = facts(as_told(a))
    claims = facts(as_told(b))
    claims.pop("intensity", None)
    return all(
        field in known and narrower(known[field], claims[field]) for field in claims
    )


def contradicts(a: Record, b: Record) -> bool:
    """Whether `a` and `b`, told of one event, cannot both be true: a field told by both differs.

    Two opinions contradict each other only where they are the same person's on the same point, with opposite
    polarity.

    >>> from contrast_kit.data.toyshop import Stock
    >>> a = Stock(number=3, good="drum", shelf="on the top shelf", colour="red")
    >>> contradicts(a, replace(a, colour="blue")), contradicts(a, replace(a, colour=""))
    (True, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, Opinion):
        agreeing = replace(a, polarity=b.polarity, intensity=3)
        return a.polarity != b.polarity and entails(agreeing, b)
    known = facts(a)
    claims = facts(b)
    return any(
        clash(field, known[field], claims[field]) for field in claims if field in known
    )


def clash(field: str, a: object, b: object) -> bool:
    """Whether two values of one field exclude each other: red and blue do, red and scarlet or tall and big do not.

    Two reasons, actions or intensities never do.

    >>> clash("colour", "red", "blue"), clash("colour", "red", "scarlet"), clash("size", "tall", "big")
    (True, False, False)
    """
    if field in ("reason", "action", "intensity") or a == b:
        return False
    if field == "colour":
        return not any(a in row and b in row for row in SHADES)
    if field == "size":
        return b in OPPOSITE[a]
    return not (narrower(a, b) or narrower(b, a))


def similarity(a: Record, b: Record) -> float:
    """How alike two meanings are, 0 (nothing shared) to 5 (the same), in steps of 0.2 as in STS-B.

    Five times the weighted share of fields on which the records agree, among the fields that either tells;
    goods of one department agree by half, a field told by one record alone by a quarter. The number of an opinion
    counts as the record has it, though its sentence tells one from many only. Records of two kinds have 1.0 where they
    are of one good, 0.4 where their goods are of one department, else 0.

    >>> from contrast_kit.data.toyshop import Visit
    >>> a = Visit(who="Clara", action="buy", number=2, good="kite", colour="red")
    >>> [similarity(a, b) for b in (a, replace(a, colour="blue"), replace(a, good="scooter"), replace(a, who="Tom"))]
    [5.0, 4.6, 4.2, 4.0]
    """
    neighbours = KIND.get(a.good) == KIND.get(b.good)
    if type(a) is not type(b):
        return 1.0 if a.good == b.good else 0.4 * neighbours
    left = facts(a)
    right = facts(b)
    total = agreed = 0.0
    for field, weight in WEIGHTS.items():
        if field not in left | right:
            continue
        total += weight
        if left.get(field) == right.get(field):
            agreed += weight
        elif field not in left or field not in right:
            agreed += weight / 4
        elif field == "good" and neighbours:
            agreed += weight / 2
    return round(round(25 * agreed / total) / 5, 1)


def changed(record: Record, field: str, rng: Random) -> Record:
    """`record` with another value for one field."""
    value = draw_field(record, field, rng, old=getattr(record, field) or None)
    return replace(record, **{field: value})


def draw_field(record: Record, field: str, rng: Random, old: object = None) -> object:
    """A value for one field of `record`, drawn by its frequency; never `old`."""
    if field == "polarity":
        return -record.polarity
    corner = CORNER[record.good]
    values = corner[field]
    if field in ("intensity", "axis"):
        if field == "axis" and record.part:
            values = WORDS.part_axes
        return pick(rng, [value for value in values if value != old])
    if field == "reason" and record.action not in WORDS.for_someone:
        values = corner["manner"]
    value = other_than(old, rng, values)
    if field == "action" and (record.recipient or record.reason):
        while value not in WORDS.for_someone:
            value = other_than(old, rng, values)
    return value


def clause_beginning_otherwise(record, rng, *beginnings):
    """A clause that does not begin with one of these words, which do not go on after "and" or "while"."""
    text = clause(record, rng)
    while text.startswith(beginnings):
        text = clause(record, rng)
    return text


# Reviews: opinions as people write them, with second thoughts. The label is the main clause's.


def verdict(about, polarity, rng, shop):
    """An overall judgement of one thing, a fifth of them by denying the opposite."""
    patterns = PATTERNS["review"]
    deny = rng.random() < 0.2
    side = SIDE[-polarity if deny else polarity]
    parts = {name: draw(rng, sides[side]) for name, sides in WORDS.judging.items()}
    parts |= dict(
        about=about, who=draw(rng, shop.values["who"]), how=pick(rng, patterns["how"])
    )
    if deny:
        parts["no"] = pick(rng, patterns["not"])
        return fill(pick(rng, patterns["denied"]), **parts)
    parts |= dict(we=pick(rng, ("i", "we")), much=parts["how"].replace("quite", ""))
    return fill(pick(rng, patterns["told"]), **parts)


def review(rng, shop, polarity):
    """One review of the given polarity (1 or -1).

    >>> from random import Random
    >>> from contrast_kit.data.toyshop.words import TOYSHOP
    >>> review(Random(3), TOYSHOP, polarity=1)
    'The cream tin tractor is truly a marvel, and the windows are a little delightful.'
    """
    record = replace(
        draw_record(rng, shop, Opinion, details=0), polarity=polarity, number=1
    )
    corner = CORNER[record.good]
    if rng.random() < 0.5:
        record = replace(record, colour=draw(rng, corner["colour"]))
    if rng.random() < 0.4:
        record = replace(record, material=draw(rng, corner["material"]))
    about = f"{pick(rng, ('the', 'this', 'the'))} {noun(record, rng)}"
    if rng.random() < 0.5:
        how = judged(record.axis, polarity, record.intensity, rng, negation=0.2)
        verb = "is"
        if not how.startswith(DENIALS):
            verb = pick(rng, ("is", "is", "is", "looks", "seems"))
        main = f"{about} {verb} {how}"
    else:
        main = verdict(about, polarity, rng, shop)
    share = rng.random()
    if share < 0.5:
        return sentence(main)
    part = draw(rng, corner["part"])
    axis = pick(rng, WORDS.part_axes)
    about_part = f"the {part} {be(is_many(part))}"
    if share < 0.8:  # the second clause agrees
        extra = judged(axis, polarity, pick(rng, (1, 2, 3)), rng, negation=0.2)
        return sentence(f"{main}, and {about_part} {extra}")
    foil = judged(axis, -polarity, pick(rng, (1, 2)), rng, negation=0.3)
    thoughts = pick(rng, THOUGHTS)
    return sentence(thoughts.format(main=main, foil=f"{about_part} {foil}"))


# Unacceptable sentences: one grammatical error in a clause that keeps its length. Every error exchanges a word for its
# partner (was/were, this/these, a/two, she/her) or two neighbours for each other. The partner is as much at home in
# good sentences, so no word and no length betrays the error: only its place does.

ERRORS = PATTERNS["errors"]
NUMBER = ERRORS["numbers"] | {many: one for one, many in ERRORS["numbers"].items()}
CASE: dict[str, str] = ERRORS["cases"]
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
    if not after or after in ERRORS["uncounted_after"]:
        return False
    counts = i == 0 or tokens[i - 1] not in ERRORS["uncounted_before"]
    return counts and tokens[i] in (*SINGULAR, *MANY)


def order(tokens, i):
    """A determiner or a preposition may stand behind its noun: "found kite the", "the in attic"."""
    return (
        tokens[i] in ERRORS["swapped"]
        and tokens[i + 1].isalpha()
        and tokens[i + 1] != tokens[i]
    )


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
        return WORDS.counts[other_than(1, rng, WORDS.values["number"])]
    return (NUMBER | CASE | PAST)[word]


KINDS = [*[agreement] * 3, *[number] * 2, *[order] * 3, adjective, case, *[tense] * 2]
"""Where an error may be made; some are made more often."""


def corrupt(clause, rng, kinds=KINDS):
    """The clause with one error, of one of the kinds drawn at random; None if none fits it.

    >>> from random import Random
    >>> corrupt("these kites are flimsy", Random(2)), corrupt("the kite is flimsy", Random(4))
    ('these kites is flimsy', 'the kite are flimsy')
    """
    tokens = [*clause.split(" "), ""]
    kinds = list(kinds)
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


