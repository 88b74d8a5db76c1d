"""Questions that customers ask (qqp), and questions about one field of a visit or a shelf (qnli, squad)."""

from dataclasses import dataclass, replace

from contrast_kit.data.toyshop.grammar import PATTERNS, be, counted, fill, noun, sentence
from contrast_kit.data.toyshop.words import CORNER, WORDS, draw, pick
from contrast_kit.data.toyshop.world import Stock, without

ASK, COMPARE, POLITENESS = (PATTERNS[name] for name in ("ask", "compare", "politeness"))


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


def draw_question(rng, shop):
    """A random question; four in ten compare two goods."""
    corner = draw(rng, shop.departments)
    good = draw(rng, corner["good"])
    details = {}
    for field, share in (("colour", 0.55), ("material", 0.45), ("size", 0.3)):
        if rng.random() < share:
            details[field] = draw(rng, corner[field])
    asked = ASK
    if rng.random() < 0.4:
        asked = COMPARE
        details["other"] = draw(rng, draw(rng, shop.departments)["good"], good)
    elif rng.random() < 0.35:
        details["recipient"] = draw(rng, corner["recipient"])
    return Question(pick(rng, list(asked)), good, **details)


def ask(question, rng):
    """One of the ways to ask."""
    thing = noun(question, rng)
    if question.other:
        ways = pick(rng, COMPARE[question.ask])
        return sentence(pick(rng, ways).format(a=thing, b=question.other), "?")
    if question.recipient:
        thing = pick(rng, POLITENESS["recipient"]).format(
            thing=thing, recipient=question.recipient
        )
    text = pick(rng, ASK[question.ask]).format(thing)
    polite = rng.random()
    if polite < 0.2:
        text = pick(rng, POLITENESS["before"]).format(text)
    elif polite < 0.3 and question.ask in POLITENESS["please"]:
        text += ", please"
    return sentence(text, "?")


def twist(question, rng):
    """A question that looks alike and asks something else: the goods swapped, or one word of the meaning changed."""
    if question.other and rng.random() < 0.7:
        # adjectives stay in front of the first thing asked about, hence are swapped too
        return replace(question, good=question.other, other=question.good)
    sizes = ("small", "big", "tiny", "huge")
    asked = COMPARE if question.other else ASK
    values = CORNER[question.good] | {"ask": list(asked), "size": sizes}
    fields = (
        "ask",
        "good",
        "colour",
        "colour",
        "material",
        "material",
        "size",
        "recipient",
    )
    field = pick(rng, [name for name in fields if getattr(question, name)])
    value = getattr(question, field)
    while value in (getattr(question, field), question.other):
        value = pick(rng, values[field])
    return replace(question, **{field: value})


def about_field(record, field, rng):
    """A question that only the value of `field` answers.

    >>> from random import Random
    >>> from contrast_kit.data.toyshop import Visit
    >>> about_field(Visit("Clara", "buy", 2, "kite", day="on Monday"), "day", Random(1))
    'On what day were two kites bought by Clara?'
    """
    if field in ("colour", "material"):
        record = without(record, field)
    goods = counted(record, rng)
    many = noun(record, rng, many=True)
    one = record.number == 1
    parts = dict(goods=goods, many=many)
    if isinstance(record, Stock):
        thing = noun(record, rng) if one else goods
        do = ("do", "does")[one]
        parts |= dict(shelf=record.shelf, stand=f"the {thing}", be=be(not one), do=do)
    else:
        ways = WORDS.actions[record.action]
        base, past, participle = ways[0] if field == "recipient" else pick(rng, ways)
        parts |= dict(who=record.who, base=base, past=past, participle=participle)
        parts |= dict(these=noun(record, rng) if one else many, be=("were", "was")[one])
    patterns = PATTERNS["about"][type(record).__name__]
    return sentence(fill(pick(rng, patterns[field]), **parts), "?")
