"""Meaning: three small records. One that leaves a field empty does not tell it."""

from dataclasses import dataclass, fields, replace
from functools import cache
from random import Random

from contrast_kit.data.toyshop.words import CORNER, TOYSHOP, WORDS, Shop, draw, pick


@dataclass(frozen=True)
class Visit:
    """Someone does something with goods. Empty fields are not told.

    >>> visit = Visit(who="Clara", action="buy", number=2, good="kite", colour="red", day="on Monday")
    >>> from contrast_kit.data import toyshop
    >>> toyshop.tell(visit)
    'Clara bought two red kites on Monday.'
    """

    who: str
    action: str
    number: int
    good: str
    size: str = ""
    colour: str = ""
    material: str = ""
    recipient: str = ""
    place: str = ""
    day: str = ""
    hour: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Stock:
    """Goods stand somewhere and cost something."""

    number: int
    good: str
    shelf: str
    size: str = ""
    colour: str = ""
    material: str = ""
    price: int = 0


@dataclass(frozen=True)
class Opinion:
    """What someone (empty: the writer) thinks of goods, or of a part of them.

    `axis` says in which respect ("strength": sturdy or flimsy), `polarity` is 1 or -1, `intensity` 1
    (rather), 2 (plain) or 3 (very). Whether a sentence says "sturdy" or "not flimsy" is a matter of words,
    not of meaning.
    """

    good: str
    axis: str
    polarity: int
    intensity: int = 2
    who: str = ""
    part: str = ""
    colour: str = ""
    material: str = ""
    number: int = 1


Record = Visit | Stock | Opinion


@cache
def details_of(kind: type) -> list[str]:
    """The fields that a record of this kind may leave untold."""
    return [field.name for field in fields(kind) if field.default in ("", 0)]


def draw_detail(record: Record, field: str, rng: Random) -> object:
    """A value for a detail of `record`, drawn by its frequency."""
    corner = CORNER[record.good]
    if field == "reason" and record.action not in WORDS.for_someone:
        field = "manner"
    return draw(rng, corner[field])


def can_tell(record: Record, field: str) -> bool:
    """Whether the detail `field` makes sense here: nobody returns a kite *for* her niece."""
    if field == "recipient":
        return record.action in WORDS.for_someone and not record.reason
    if field == "reason":
        return not record.recipient
    return field != "part" or record.axis in WORDS.part_axes


def add_details(record: Record, count: int, rng: Random, avoid: str = "") -> Record:
    """Tell `count` more details, drawn at random among those not told yet, but for the field `avoid`."""
    for _ in range(count):
        untold = [name for name in details_of(type(record)) if not getattr(record, name)]
        free = [name for name in untold if name != avoid and can_tell(record, name)]
        if free:
            field = pick(rng, free)
            record = replace(record, **{field: draw_detail(record, field, rng)})
    return record


def draw_record(
    rng: Random,
    shop: Shop = TOYSHOP,
    kind: type | None = None,
    details: int | None = None,
) -> Record:
    """A random record: a visit, goods on a shelf, or an opinion, with `details` details (None: nought to three).

    `shop` is a shop itself, such as `toyshop.words.OTHERSHOP`.

    >>> from random import Random
    >>> type(draw_record(Random(0), kind=Stock)).__name__
    'Stock'
    """
    if kind is None:
        kind = pick(rng, [Visit] * 5 + [Opinion] * 3 + [Stock] * 2)
    corner = draw(rng, shop.departments)
    good = draw(rng, corner["good"])
    if kind is Opinion:
        polarity = pick(rng, (1, -1))
        record = Opinion(good, pick(rng, corner["axis"]), polarity, pick(rng, (1, 2, 3)))
        record = replace(record, number=pick(rng, (2, 2, 1, 1, 1)))
    else:
        always = {Visit: ("who", "action", "number"), Stock: ("number", "shelf")}[kind]
        record = kind(good=good, **{name: draw(rng, corner[name]) for name in always})
    if details is None:
        details = pick(rng, (0, 1, 1, 2, 2, 3))
    return add_details(record, details, rng)
