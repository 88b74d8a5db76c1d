"""Questions that customers ask (qqp), and questions about one field of a visit or a shelf (qnli, squad)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from contrast_kit.data.toyshop.grammar import (
    PATTERNS,
    be,
    counted,
    fill,
    noun,
    sentence,
)
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import ACTIONS, COLOURS, SIZES, pick
from contrast_kit.data.toyshop.world import Stock, Visit, without

ASK: dict[str, list[str]] = PATTERNS["ask"]
COMPARE: dict[str, list[list[str]]] = PATTERNS["compare"]
POLITENESS = PATTERNS["politeness"]


@dataclass(frozen=True)
class Question:
    """What is asked (`ask`) about which goods; `other` is the second of two goods that are compared."""

    ask: str
    good: str
    size: str = ""
    colour: str = ""
    material: str = ""
    other: str = ""
    recipient: str = ""


def draw_question(rng: Random, shop: Shop) -> Question:
    """A random question; four in ten compare two goods."""
    corner = shop.departments[shop.corners.draw(rng)]
    good = corner.goods.draw(rng)
    details = {}
    for field, bag, share in (
        ("colour", COLOURS, 0.55),
        ("material", corner.materials, 0.45),
        ("size", SIZES, 0.3),
    ):
        if rng.random() < share:
            details[field] = bag.draw(rng)
    if rng.random() < 0.4:
        details["other"] = shop.departments[shop.corners.draw(rng)].goods.draw(rng, good)
        return Question(pick(rng, list(COMPARE)), good, **details)
    if rng.random() < 0.35:
        details["recipient"] = shop.recipients.draw(rng)
    return Question(pick(rng, list(ASK)), good, **details)


def ask(question: Question, rng: Random) -> str:
    """One of the ways to ask."""
    thing = noun(question, rng)
    if question.other:
        ways = pick(rng, COMPARE[question.ask])
        return sentence(pick(rng, ways).format(a=thing, b=question.other), "?")
    if question.recipient:
        thing = pick(rng, POLITENESS["recipient"]).format(thing=thing, recipient=question.recipient)
    text = pick(rng, ASK[question.ask]).format(thing)
    polite = rng.random()
    if polite < 0.2:
        text = pick(rng, POLITENESS["before"]).format(text)
    elif polite < 0.3 and question.ask in POLITENESS["please"]:
        text += ", please"
    return sentence(text, "?")


def twist(question: Question, rng: Random, shop: Shop) -> Question:
    """A question that looks alike and asks something else: the goods swapped, or one word of the meaning changed."""
    corner = shop.corner(question.good)
    if question.other and rng.random() < 0.7:
        # adjectives stay in front of the first thing asked about, hence are swapped too
        return replace(question, good=question.other, other=question.good)
    asked = COMPARE if question.other else ASK
    changes = [("ask", list(asked)), ("good", corner.goods)]
    for field, values, weight in (
        ("colour", COLOURS, 2),
        ("material", corner.materials, 2),
        ("size", ("small", "big", "tiny", "huge"), 1),
        ("recipient", shop.recipients, 1),
    ):
        if getattr(question, field):
            changes += [(field, values)] * weight
    field, values = pick(rng, changes)
    value = getattr(question, field)
    while value in (getattr(question, field), question.other):
        value = pick(rng, values)
    return replace(question, **{field: value})


def about_field(record: Visit | Stock, field: str, rng: Random, shop: Shop) -> str:
    """A question that only the value of `field` answers.

    >>> from random import Random
    >>> from contrast_kit.data.toyshop.shops import TOYSHOP
    >>> about_field(Visit("Clara", "buy", 2, "kite", day="on Monday"), "day", Random(1), TOYSHOP)
    'On what day were two kites bought by Clara?'
    """
    if field in ("colour", "material"):
        record = without(record, field)
    goods = counted(record, rng)
    parts = dict(goods=goods, many=noun(record, rng, many=True))
    one = record.number == 1
    if isinstance(record, Stock):
        stand = noun(record, rng) if one else goods
        parts |= dict(
            shelf=record.shelf,
            stand=f"the {stand}",
            be=be(not one),
            do="does" if one else "do",
        )
        return sentence(fill(pick(rng, PATTERNS["about_stock"][field]), **parts), "?")
    ways = ACTIONS[record.action]
    parts["base"], parts["past"], parts["participle"] = (
        ways[0] if field == "recipient" else pick(rng, ways)
    )
    parts["these"] = noun(record, rng) if one else parts["many"]
    parts |= dict(who=record.who, be="was" if one else "were")
    return sentence(fill(pick(rng, PATTERNS["about_visit"][field]), **parts), "?")
