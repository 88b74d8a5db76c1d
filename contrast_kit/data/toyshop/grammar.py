"""From a record to English: several sentence patterns for each meaning, which `grammar.toml` holds; and reviews.

Every function takes a record and a generator and returns a clause without capital and full stop; `sentence`
adds those. A clause tells exactly what its record tells, whichever pattern is drawn: that is what makes
paraphrases true.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from contrast_kit.data.toyshop import words
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import (
    ACTIONS,
    COUNTS,
    MADE_OF,
    SAME,
    article,
    pick,
    plural,
    read,
)
from contrast_kit.data.toyshop.world import (
    Opinion,
    Record,
    Stock,
    Visit,
    draw_record,
)

PATTERNS = read("grammar.toml")
NEVER_STUFF: list[str] = PATTERNS["never_stuff"]
NEAR: list[str] = PATTERNS["near"]
DENIALS = (
    "not",
    "hardly",
    "scarcely",
    "never",
    "by no",
    "none",
)  # these want "is", not "looks"


def join(*pieces: str) -> str:
    """The pieces that are not empty, with a space between."""
    return " ".join(piece for piece in pieces if piece)


def fill(pattern: str, **words: str) -> str:
    """A pattern with its words in it; an empty word leaves no gap, nor a comma at the beginning or the end.

    >>> fill("{time}, {who} slept {place}", time="", who="Clara", place="there")
    'Clara slept there'
    """
    return " ".join(pattern.format(**words).split()).strip(", ")


def sentence(clause: str, end: str = ".") -> str:
    """A clause with its capital and full stop.

    >>> sentence("the kite is rather flimsy")
    'The kite is rather flimsy.'
    """
    text = f" {clause}{end}".replace(" i ", " I ")[1:]
    return text[0].upper() + text[1:]


def noun(record: Record, rng: Random, many: bool = False) -> str:
    """Goods with their adjectives: "small red tin robot", or now and then "small red robot made of tin"."""
    head, size, material = (
        record.good,
        getattr(record, "size", ""),
        record.material,
    )
    if many and head.startswith("pair "):
        head = "pairs" + head.removeprefix("pair")
    elif many:
        head = plural(head)
    if material and material not in NEVER_STUFF and rng.random() < 0.2:
        size = pick(rng, SAME.get(size, [size]))
        return join(
            size,
            record.colour,
            head,
            "made of",
            MADE_OF.get(material, material),
        )
    if size in SAME:
        size = pick(rng, SAME[size])
    return join(size, record.colour, material, head)


def counted(record: Record, rng: Random) -> str:
    """"a small red robot", "one small red robot", "three small red robots"."""  # fmt: skip
    if record.number != 1:
        return f"{COUNTS[record.number]} {noun(record, rng, many=True)}"
    one = noun(record, rng)
    if rng.random() < 0.85:
        return article(one)
    return f"one {one}"


def be(many: bool) -> str:
    """The verb for one thing or for many."""
    return "are" if many else "is"


def visit(record: Visit, rng: Random, shop: Shop, negate: bool = False) -> str:
    """A clause for a visit, in one of eight patterns; `negate` denies it as a whole."""
    base, past, participle = pick(rng, ACTIONS[record.action])
    goods = counted(record, rng)
    place, gift = "", record.reason
    if record.place:
        place = f"{pick(rng, NEAR)} the {record.place}"
    when = [record.day, pick(rng, SAME.get(record.hour, [record.hour]))]
    if rng.random() >= 0.5:
        when.reverse()
    if record.recipient:
        owner = {"she": "her", "he": "his"}[shop.people[record.who]]
        gift = f"for {owner} {record.recipient}"
    parts = dict(
        base=base,
        past=past,
        participle=participle,
        who=record.who,
        goods=goods,
        gift=gift,
        place=place,
    )
    parts |= dict(time=join(*when), be="was" if record.number == 1 else "were")
    patterns = PATTERNS["visit"]
    if negate:
        return fill(pick(rng, patterns["denied"]), **parts)
    draw = rng.random()
    splits = not record.reason and not past.endswith(
        (" for", " at")
    )  # into "what Clara bought was a kite"
    fitting = (pattern for limit, pattern in patterns["told"] if draw < limit)
    return fill(
        next(pattern for pattern in fitting if splits or not pattern.startswith("what")),
        **parts,
    )


def stock(record: Stock, rng: Random, negate: bool = False) -> str:
    """A clause for goods on a shelf, in one of seven patterns; `negate` denies it as a whole."""
    patterns, goods, many = (
        PATTERNS["stock"],
        counted(record, rng),
        record.number != 1,
    )
    costs = ""
    if record.price:
        each = "each" if many else ""
        costs = join(pick(rng, patterns["costs"]), COUNTS[record.price], "pounds", each)
    parts = dict(goods=goods, costs=costs, shelf=record.shelf, be=be(many))
    if negate:
        return fill(pick(rng, patterns["denied"]), **parts)
    stand = pick(rng, patterns["stand"])[many]
    return fill(pick(rng, patterns["told"]), stand=stand, **parts)


def judged(
    axis: str,
    polarity: int,
    intensity: int,
    rng: Random,
    negation: float = 0.35,
) -> str:
    """An adjective phrase: "very sturdy", "far from flimsy", "not exactly sturdy" (which is rather flimsy)."""
    sides = words.AXES[axis]
    if rng.random() < negation:
        return pick(rng, words.DENIAL[intensity]).format(sides[-polarity].draw(rng))
    word = sides[polarity].draw(rng)
    if intensity == 2:
        return word
    if (
        axis == "worth" and intensity == 3 and rng.random() < 0.7
    ):  # "superb" and "a joy" are ways to say "very good"
        best = words.PRAISE if rng.random() < 0.6 else words.VERDICTS
        return best[polarity].draw(rng)
    return f"{words.DEGREE[intensity].draw(rng)} {word}"


def is_many(part: str) -> bool:
    """Whether a part of a thing is told as many: "the wheels are"."""
    return part.endswith("s") and part != "chassis"


def opinion(record: Opinion, rng: Random, negate: bool = False) -> str:
    """A clause for an opinion; with someone's name in front or behind where the record tells whose it is."""
    patterns, who = PATTERNS["opinion"], record.who
    many = record.number > 1
    this = pick(rng, ("these", "the") if many else ("this", "the"))
    about = f"{this} {noun(record, rng, many)}"
    if record.part:
        about = f"the {record.part} of {about}"
        many = is_many(record.part)
    how = judged(
        record.axis,
        record.polarity,
        record.intensity,
        rng,
        0.0 if negate else 0.35,
    )
    if negate:
        pattern = patterns["denied_of" if who else "denied"]
        return fill(pattern, who=who, about=about, be=be(many), how=how)
    claim = f"{about} {be(many)} {how}"
    if who:
        thinks, says = (
            pick(rng, patterns["thinks"]),
            pick(rng, ("says", "thinks")),
        )
        return fill(
            pick(rng, patterns["told"]),
            who=who,
            thinks=thinks,
            says=says,
            claim=claim,
        )
    verb = pick(rng, patterns["verbs"])[many]
    if not how.startswith(DENIALS):
        claim = f"{about} {verb} {how}"
    if rng.random() < 0.75:
        return claim
    return pick(rng, patterns["plain"]).format(claim)


def clause(record: Record, rng: Random, shop: Shop, negate: bool = False) -> str:
    """A clause that tells exactly what `record` tells, or (negate=True) denies it."""
    if isinstance(record, Visit):
        return visit(record, rng, shop, negate)
    if isinstance(record, Stock):
        return stock(record, rng, negate)
    return opinion(record, rng, negate)


def clause_beginning_otherwise(record: Record, rng: Random, shop: Shop, *beginnings: str) -> str:
    """A clause that does not begin with one of these words, which do not go on after "and" or "while"."""
    text = clause(record, rng, shop)
    while text.startswith(beginnings):
        text = clause(record, rng, shop)
    return text


def with_reason(first: Visit, second: Opinion, rng: Random, shop: Shop) -> str:
    """A visit with the visitor's opinion: "Clara bought two kites because she thinks that they are fun"."""
    they = "it is" if first.number == 1 else "they are"
    how = judged(second.axis, second.polarity, second.intensity, rng)
    link = pick(
        rng,
        PATTERNS["opinion"]["because"]["good" if second.polarity > 0 else "bad"],
    )
    thinks = pick(rng, ("thinks", "feels", "believes"))
    return f"{visit(first, rng, shop)}{link} {shop.people[first.who]} {thinks} that {they} {how}"


def express(meaning: Record | tuple[Visit, Opinion], rng: Random, shop: Shop) -> str:
    """A whole sentence for a record, or for a visit with an opinion, in a pattern and words drawn from `rng`."""
    if isinstance(meaning, tuple):
        return sentence(with_reason(*meaning, rng, shop))
    return sentence(clause(meaning, rng, shop))


# Reviews: opinions as people write them, with second thoughts. The label is the main clause's.


def verdict(about: str, polarity: int, rng: Random, shop: Shop) -> str:
    """An overall judgement of one thing, a fifth of them by denying the opposite."""
    patterns, deny = PATTERNS["review"], rng.random() < 0.2
    side = -polarity if deny else polarity
    parts = dict(about=about)
    for name, table in (
        ("verdict", words.VERDICTS),
        ("praise", words.PRAISE),
        ("moved", words.MOVED),
        ("feel", words.FEEL),
    ):
        parts[name] = table[side].draw(rng)
    parts |= dict(who=shop.names.draw(rng), how=pick(rng, patterns["how"]))
    if deny:
        parts["no"] = pick(rng, patterns["not"])
        return fill(pick(rng, patterns["denied"]), **parts)
    parts |= dict(we=pick(rng, ("i", "we")), much=parts["how"].replace("quite", ""))
    return fill(pick(rng, patterns["told"]), **parts)


def judgement(record: Opinion, about: str, rng: Random) -> str:
    """The opinion of a record as a plain clause about `about`, a fifth of them by denying the opposite."""
    how = judged(record.axis, record.polarity, record.intensity, rng, negation=0.2)
    verb = "is"
    if not how.startswith(DENIALS):
        verb = pick(rng, ("is", "is", "is", "looks", "seems"))
    return f"{about} {verb} {how}"


def review(rng: Random, shop: Shop, polarity: int) -> str:
    """One review of the given polarity (1 or -1).

    >>> from random import Random
    >>> from contrast_kit.data.toyshop.shops import TOYSHOP
    >>> review(Random(3), TOYSHOP, polarity=1)
    'The cream tin tractor is truly a marvel, and the windows are a little delightful.'
    """
    record = draw_record(rng, shop, Opinion, details=0)
    corner = shop.corner(record.good)
    record = replace(record, polarity=polarity, number=1)
    if rng.random() < 0.5:
        record = replace(record, colour=words.COLOURS.draw(rng))
    if rng.random() < 0.4:
        record = replace(record, material=corner.materials.draw(rng))
    this = pick(rng, ("the", "this", "the"))
    about = f"{this} {noun(record, rng)}"
    if rng.random() < 0.5:
        main = judgement(record, about, rng)
    else:
        main = verdict(about, polarity, rng, shop)
    share = rng.random()
    if share < 0.5:
        return sentence(main)
    part, axis = corner.parts.draw(rng), pick(rng, words.PART_AXES)
    about_part = f"the {part} {be(is_many(part))}"
    if share < 0.8:  # the second clause agrees
        extra = judged(axis, polarity, pick(rng, (1, 2, 3)), rng, negation=0.2)
        return sentence(f"{main}, and {about_part} {extra}")
    foil = judged(axis, -polarity, pick(rng, (1, 2)), rng, negation=0.3)
    return sentence(
        pick(rng, PATTERNS["review"]["second_thoughts"]).format(
            main=main, foil=f"{about_part} {foil}"
        )
    )
