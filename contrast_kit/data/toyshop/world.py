"""Meaning: three small records, how alike two of them are, and what follows from what.

A record that leaves a field empty does not tell it. That one convention gives inference for free:

- `entails(a, b)`: everything `b` tells, `a` tells too, with the same value (or a narrower one: a drum is a
  musical toy);
- `contradicts(a, b)`: some field is told by both and differs. In the shop's world two sentences of a pair
  speak of the same event, as in SNLI and MNLI, and each field has one value, so two different values cannot
  both be true (reasons and actions apart: what somebody bought may be returned);
- otherwise `b` is neutral: it may be so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random

from contrast_kit import arguments
from contrast_kit.data.toyshop.shops import TOYSHOP, Shop, home
from contrast_kit.data.toyshop.words import (
    ACTION_BAG,
    COLOURS,
    DAYS,
    FOR_SOMEONE,
    HOURS,
    NUMBERS,
    OPPOSITE_SIZES,
    PART_AXES,
    PRICES,
    SHADES,
    SIZES,
    pick,
)


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

# weight of each field in the similarity score; a field that neither record tells does not count
WEIGHTS = {
    "good": 3.0, "action": 2.5, "who": 2.0, "axis": 2.5, "polarity": 3.0, "part": 1.5, "shelf": 2.5, "recipient": 1.2,
    "place": 1.2, "number": 1.0, "colour": 0.8, "material": 0.8, "size": 0.6, "day": 0.8, "hour": 0.6, "reason": 0.8,
    "price": 1.2, "intensity": 0.5,
}  # fmt: skip
DETAILS = {
    Visit: ("size", "colour", "material", "recipient", "place", "day", "hour", "reason"),
    Stock: ("size", "colour", "material", "price"),
    Opinion: ("who", "part", "colour", "material"),
}


def told(record: Record) -> dict[str, object]:
    """The fields that a record tells, with their values.

    >>> told(Stock(number=3, good="drum", shelf="on the top shelf"))
    {'number': 3, 'good': 'drum', 'shelf': 'on the top shelf'}
    """
    return {field.name: value for field in fields(record) if (value := getattr(record, field.name))}


def as_told(record: Record) -> Record:
    """The record as its sentence tells it: an opinion says whether it is of one thing or of many, not of how many."""
    return replace(record, number=min(record.number, 2)) if isinstance(record, Opinion) else record


def narrower(a: object, b: object, shop: Shop = TOYSHOP) -> bool:
    """Whether value `a` is `b` or falls under it: a drum is a musical toy.

    >>> narrower("drum", "musical toy"), narrower("musical toy", "drum"), narrower("red", "red")
    (True, False, True)
    """
    return a == b or (b in shop.kinds and shop.department_of.get(a) == shop.kinds[b])


def entails(a: Record, b: Record, shop: Shop | None = None) -> bool:
    """Whether `b` is true wherever `a` is: `a` tells all that `b` tells. `shop`: here that of the goods.

    Opinions must be the same person's, on the same thing or part, and at least as strong: "very sturdy"
    entails "sturdy".

    >>> a = Stock(number=3, good="drum", shelf="on the top shelf", colour="red")
    >>> entails(a, replace(a, colour="")), entails(replace(a, colour=""), a)
    (True, False)
    """
    if type(a) is not type(b):
        return False
    a, b, shop = as_told(a), as_told(b), shop or home(a.good)
    if isinstance(a, Opinion) and ((a.who, a.part) != (b.who, b.part) or a.intensity < b.intensity):
        return False
    said = told(a)
    claims = ((key, value) for key, value in told(b).items() if key != "intensity")
    return all(key in said and narrower(said[key], value, shop) for key, value in claims)


def contradicts(a: Record, b: Record, shop: Shop | None = None) -> bool:
    """Whether `a` and `b`, told of one event, cannot both be true: a field told by both differs. `shop`: as above.

    Two opinions contradict each other only where they are the same person's on the same point, with opposite
    polarity.

    >>> a = Stock(number=3, good="drum", shelf="on the top shelf", colour="red")
    >>> contradicts(a, replace(a, colour="blue")), contradicts(a, replace(a, colour=""))
    (True, False)
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, Opinion):
        return a.polarity != b.polarity and entails(replace(a, polarity=b.polarity, intensity=3), b, shop)
    said, shop = told(a), shop or home(a.good)
    shared = ((key, value) for key, value in told(b).items() if key in said)
    return any(clash(key, said[key], value, shop) for key, value in shared)


def clash(field: str, a: object, b: object, shop: Shop = TOYSHOP) -> bool:
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
        return b in OPPOSITE_SIZES[a]
    return not (narrower(a, b, shop) or narrower(b, a, shop))


def similarity(a: Record, b: Record, shop: Shop | None = None) -> float:
    """How alike two meanings are, 0 (nothing shared) to 5 (the same), in steps of 0.2 as in STS-B.

    Five times the weighted share of fields on which the records agree, among the fields that either tells;
    goods of one department agree by half, a field told by one record alone by a quarter. The number of an opinion
    counts as the record has it, though its sentence tells one from many only. Records of two kinds have 1.0 where they
    are of one good, 0.4 where their goods are of one department, else 0.

    >>> a = Visit(who="Clara", action="buy", number=2, good="kite", colour="red")
    >>> [similarity(a, b) for b in (a, replace(a, colour="blue"), replace(a, good="scooter"), replace(a, who="Tom"))]
    [5.0, 4.6, 4.2, 4.0]
    """
    shop = shop or home(a.good)
    corner = (shop.department_of | shop.kinds).get
    if type(a) is not type(b):
        same = corner(a.good) == corner(b.good)
        return 1.0 if a.good == b.good else 0.4 if same else 0.0
    left, right = told(a), told(b)
    total = agreed = 0.0
    for key, weight in WEIGHTS.items():
        if key not in left and key not in right:
            continue
        total += weight
        if key not in left or key not in right:
            agreed += weight / 4
        elif left[key] == right[key]:
            agreed += weight
        elif key == "good" and corner(a.good) == corner(b.good):
            agreed += weight / 2
    return round(round(25 * agreed / total) / 5, 1)


def another(record: Record, field: str, rng: Random, shop: Shop) -> object:
    """A value for `field` that fits `record` and differs from what it tells."""
    return draw_field(record, field, rng, shop, getattr(record, field) or None)


def draw_field(record: Record, field: str, rng: Random, shop: Shop, old: object = None) -> object:
    """A value for one field of `record`, drawn by its frequency; never `old`."""
    corner = shop.departments[shop.department_of[record.good]]
    if field == "good":
        return corner.goods.draw(rng, old)
    if field in ("polarity", "intensity"):
        return -record.polarity if field == "polarity" else pick(rng, [n for n in (1, 2, 3) if n != old])
    bags = {
        "who": shop.names, "recipient": shop.recipients, "reason": shop.reasons, "place": shop.places,
        "shelf": shop.shelves, "number": NUMBERS, "price": PRICES, "size": SIZES, "colour": COLOURS, "day": DAYS,
        "hour": HOURS, "action": ACTION_BAG, "material": corner.materials, "part": corner.parts,
    }  # fmt: skip
    if field == "axis":
        axes = PART_AXES if getattr(record, "part", "") else corner.axes
        return pick(rng, [axis for axis in axes if axis != old])
    if field == "reason" and record.action not in FOR_SOMEONE:
        return shop.manners.draw(rng, old)
    value = bags[field].draw(rng, old)
    if field == "action" and (record.recipient or record.reason):
        while value not in FOR_SOMEONE or value == old:
            value = bags[field].draw(rng, old)
    return value


def can_tell(record: Record, field: str) -> bool:
    """Whether the detail `field` makes sense here: nobody returns a kite *for* her niece."""
    if field == "recipient":
        return record.action in FOR_SOMEONE and not record.reason
    if field == "reason":
        return not record.recipient
    if field == "part":
        return record.axis in PART_AXES
    return True


def add_details(record: Record, count: int, rng: Random, shop: Shop, avoid: tuple[str, ...] = ()) -> Record:
    """Tell `count` more details, drawn at random among those not told yet."""
    for _ in range(count):
        free = [f for f in DETAILS[type(record)] if not getattr(record, f) and f not in avoid and can_tell(record, f)]
        if free:
            field = pick(rng, free)
            record = replace(record, **{field: draw_field(record, field, rng, shop)})
    return record


def draw_record(rng: Random, shop: Shop = TOYSHOP, kind: type | None = None, details: int | None = None) -> Record:
    """A random record: a visit, goods on a shelf, or an opinion, with nought to three details.

    >>> from random import Random
    >>> type(draw_record(Random(0), kind=Stock)).__name__
    'Stock'
    """
    arguments.of_kind("shop", shop, Shop, "a shop itself, such as toyshop.shops.OTHERSHOP")
    if kind is None:
        share = rng.random()
        kind = Visit if share < 0.5 else Opinion if share < 0.8 else Stock
    corner = shop.departments[shop.corners.draw(rng)]
    good = corner.goods.draw(rng)
    if kind is Visit:
        record = Visit(shop.names.draw(rng), ACTION_BAG.draw(rng), NUMBERS.draw(rng), good)
    elif kind is Stock:
        record = Stock(NUMBERS.draw(rng), good, shop.shelves.draw(rng))
    else:
        polarity = 1 if rng.random() < 0.5 else -1
        record = Opinion(
            good,
            pick(rng, corner.axes),
            polarity,
            1 + int(rng.random() * 3),
            number=1 + int(rng.random() < 0.4),
        )
    return add_details(record, pick(rng, (0, 1, 1, 2, 2, 3)) if details is None else details, rng, shop)
