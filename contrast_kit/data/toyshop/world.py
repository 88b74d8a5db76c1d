"""Meaning: three small records, how alike two of them are, and what follows from what.

A record that leaves a field empty does not tell it. That one convention gives inference for free:

- `entails(a, b)`: everything `b` tells, `a` tells too, with the same value (or a narrower one: a drum is a
  musical toy);
- `contradicts(a, b)`: some field is told by both and differs. In the shop's world two sentences of a pair
  speak of the same event, as in SNLI and MNLI, and each field has one value, so two different values cannot
  both be true (reasons and actions apart: what somebody bought may be returned);
- otherwise `b` is neutral: it may be so.
"""

from dataclasses import dataclass, fields, replace
from functools import cache
from random import Random

from contrast_kit.data.toyshop.words import CORNER, KIND, TOYSHOP, WORDS, Shop, draw, pick


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


def facts(record: Record) -> dict[str, object]:
    """The fields that a record tells, with their values.

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
        return not any(a in row and b in row for row in WORDS.shades)
    if field == "size":
        return b in WORDS.opposite[a]
    return not (narrower(a, b) or narrower(b, a))


def similarity(a: Record, b: Record) -> float:
    """How alike two meanings are, 0 (nothing shared) to 5 (the same), in steps of 0.2 as in STS-B.

    Five times the weighted share of fields on which the records agree, among the fields that either tells;
    goods of one department agree by half, a field told by one record alone by a quarter. The number of an opinion
    counts as the record has it, though its sentence tells one from many only. Records of two kinds have 1.0 where they
    are of one good, 0.4 where their goods are of one department, else 0.

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
    for field, weight in WORDS.weights.items():
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
    value = draw(rng, values, old)
    if field == "action" and (record.recipient or record.reason):
        while value not in WORDS.for_someone:
            value = draw(rng, values, old)
    return value


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
            record = replace(record, **{field: draw_field(record, field, rng)})
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
        told = {Visit: ("who", "action", "number"), Stock: ("number", "shelf")}[kind]
        record = kind(good=good, **{name: draw(rng, corner[name]) for name in told})
    if details is None:
        details = pick(rng, (0, 1, 1, 2, 2, 3))
    return add_details(record, details, rng)
