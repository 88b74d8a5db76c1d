"""From a record to English: several sentence patterns for each meaning.

Every function takes a record and a generator and returns a clause without capital and full stop; `sentence`
adds those. A clause tells exactly what its record tells, whichever pattern is drawn: that is what makes
paraphrases true.
"""

from __future__ import annotations

from random import Random

from contrast_kit.data.toyshop import words
from contrast_kit.data.toyshop.shops import Shop
from contrast_kit.data.toyshop.words import ACTIONS, COUNTS, SAME_SIZE, SAME_TIME, article, pick, plural
from contrast_kit.data.toyshop.world import Opinion, Record, Stock, Visit

MADE_OF = {"wooden": "wood", "woollen": "wool"}  # others name the stuff itself
NEVER_STUFF = frozenset(words.Bag.of("potted, climbing, dwarf, evergreen, hardy, wild, waxed, waterproof, galvanised"))
DENIALS = ("not", "hardly", "scarcely", "never", "by no", "none")  # these want "is", not "looks"
NEAR = ("near", "by", "beside", "next to", "close to")


def join(*pieces: str) -> str:
    """The pieces that are not empty, with a space between."""
    return " ".join(piece for piece in pieces if piece)


def sentence(clause: str, end: str = ".") -> str:
    """A clause with its capital and full stop.

    >>> sentence("the kite is rather flimsy")
    'The kite is rather flimsy.'
    """
    text = f" {clause}{end}".replace(" i ", " I ")[1:]
    return text[0].upper() + text[1:]


def adjectives(record: Record, rng: Random) -> str:
    """Size, colour and material in English order, each in one of its words."""
    size = getattr(record, "size", "")
    if size in SAME_SIZE:
        size = pick(rng, SAME_SIZE[size])
    return join(size, record.colour, record.material)


def noun(record: Record, rng: Random, many: bool) -> str:
    """Goods with their adjectives: "small red tin robot", or now and then "small red robot made of tin"."""
    head = plural(record.good) if many and not record.good.startswith("pair ") else record.good
    if record.good.startswith("pair ") and many:
        head = record.good.replace("pair", "pairs", 1)
    if record.material and record.material not in NEVER_STUFF and rng.random() < 0.2:
        size = pick(rng, SAME_SIZE.get(getattr(record, "size", ""), (getattr(record, "size", ""),)))
        return join(size, record.colour, head, "made of", MADE_OF.get(record.material, record.material))
    return join(adjectives(record, rng), head)


def counted(record: Record, rng: Random) -> str:
    """"a small red robot", "one small red robot", "three small red robots"."""  # fmt: skip
    if record.number == 1:
        one = noun(record, rng, many=False)
        return article(one) if rng.random() < 0.85 else f"one {one}"
    return f"{COUNTS[record.number]} {noun(record, rng, many=True)}"


def when_and_where(visit: Visit, rng: Random) -> tuple[str, str]:
    """The place and the time of a visit, each as one phrase or empty."""
    place = f"{pick(rng, NEAR)} the {visit.place}" if visit.place else ""
    hour = pick(rng, SAME_TIME.get(visit.hour, (visit.hour,)))
    time = join(visit.day, hour) if rng.random() < 0.5 else join(hour, visit.day)
    return place, time


def visit(record: Visit, rng: Random, shop: Shop, negate: bool = False) -> str:
    """A clause for a visit, in one of eight patterns; `negate` denies it as a whole."""
    base, past, participle = pick(rng, ACTIONS[record.action])
    who, goods = record.who, counted(record, rng)
    place, time = when_and_where(record, rng)
    owner = {"she": "her", "he": "his"}[shop.people[who]]
    gift = f"for {owner} {record.recipient}" if record.recipient else record.reason
    be = "was" if record.number == 1 else "were"
    if negate:
        denied = [
            join(who, "did not", base, goods, gift, place, time),
            join("it is not true that", who, past, goods, gift, place, time),
            join(goods, be, "not", participle, "by", who, gift, place, time),
        ]
        return pick(rng, denied)
    draw = rng.random()
    if draw < 0.34:
        return join(who, past, goods, gift, place, time)
    if draw < 0.46:
        return join(f"{time}," if time else "", who, past, goods, gift, place)
    if draw < 0.56:
        return join(f"{place}," if place else "", who, past, goods, gift, time)
    if draw < 0.72:
        return join(goods, be, participle, "by", who, gift, place, time)
    if draw < 0.80:
        return join("it was", who, "who", past, goods, gift, place, time)
    if draw < 0.88 and not record.reason and not past.endswith((" for", " at")):
        return join("what", who, past, gift, place, time, "was", goods)
    if draw < 0.94:
        return join(f"{time}," if time else "", goods, be, participle, place, "by", who, gift)
    return join(who, "was the one who", past, goods, gift, place, time)


def stock(record: Stock, rng: Random, negate: bool = False) -> str:
    """A clause for goods on a shelf, in one of seven patterns; `negate` denies it as a whole."""
    goods, one = counted(record, rng), record.number == 1
    be = "is" if one else "are"
    costs = ""
    if record.price:
        coins, each = f"{COUNTS[record.price]} pounds", "" if one else "each"
        costs = pick(rng, (join("for", coins, each), join("at", coins, each), join("priced at", coins, each)))
    if negate:
        denied = [
            join("there", be, "not", goods, costs, record.shelf),
            join("it is not true that there", be, goods, costs, record.shelf),
            join("you will not find", goods, costs, record.shelf),
        ]
        return pick(rng, denied)
    stand = pick(rng, (("stands", "stand"), ("sits", "sit"), ("waits", "wait")))[0 if one else 1]
    patterns = (
        lambda: join("there", be, goods, costs, record.shelf),
        lambda: join(record.shelf, "there", be, goods, costs),
        lambda: join(record.shelf, stand, goods, costs),
        lambda: join(goods, stand, record.shelf, f", {costs}" if costs else "").replace(" ,", ","),
        lambda: join("you will find", goods, costs, record.shelf),
        lambda: join("the shop keeps", goods, costs, record.shelf),
        lambda: join("look", record.shelf, "and you will see", goods, costs),
    )
    return pick(rng, patterns)()


def judged(axis: str, polarity: int, intensity: int, rng: Random, negation: float = 0.35) -> str:
    """An adjective phrase: "very sturdy", "far from flimsy", "not exactly sturdy" (which is rather flimsy)."""
    pair = words.AXES[axis]
    same, opposite = (pair[0], pair[1]) if polarity > 0 else (pair[1], pair[0])
    if rng.random() < negation:
        if intensity == 1:
            return pick(rng, words.WEAK_NOT).format(opposite.draw(rng))
        return pick(rng, words.STRONG_NOT if intensity == 3 else words.PLAIN_NOT).format(opposite.draw(rng))
    word = same.draw(rng)
    if intensity == 2:
        return word
    if axis == "worth" and intensity == 3 and rng.random() < 0.7:  # "superb" and "a joy" are ways to say "very good"
        return (words.PRAISE if rng.random() < 0.6 else words.VERDICTS)[polarity].draw(rng)
    return f"{(words.WEAK if intensity == 1 else words.STRONG).draw(rng)} {word}"


def subject(record: Opinion, rng: Random) -> tuple[str, bool]:
    """What an opinion is about, and whether it is many."""
    many = record.number > 1
    whole = join(pick(rng, ("these", "the") if many else ("this", "the")), noun(record, rng, many))
    if not record.part:
        return whole, many or "shears" in record.good
    return f"the {record.part} of {whole}", record.part.endswith("s") and record.part != "chassis"


def opinion(record: Opinion, rng: Random, negate: bool = False) -> str:
    """A clause for an opinion; with someone's name in front or behind where the record tells whose it is."""
    about, many = subject(record, rng)
    be = "are" if many else "is"
    if record.good.startswith("pair ") and not record.part:
        be = "are" if record.number > 1 else "is"
    how = judged(record.axis, record.polarity, record.intensity, rng, 0.0 if negate else 0.35)
    if negate:
        return join(
            "it is not true that",
            f"{record.who} finds" if record.who else "",
            about,
            "" if record.who else be,
            how,
        )
    who = record.who
    if not who:
        verb = pick(rng, (be, be, be, "look" if be == "are" else "looks", "seem" if be == "are" else "seems"))
        plain = join(about, be if how.startswith(DENIALS) else verb, how)
        return (
            plain
            if rng.random() < 0.75
            else pick(rng, ("i must say that {}", "i think that {}", "in my view, {}")).format(plain)
        )
    claim = join(about, be, how)
    verb = pick(rng, ("thinks", "says", "feels", "believes", "insists"))
    patterns = (
        f"{who} {verb} that {claim}",
        f"{claim}, {pick(rng, ('says', 'thinks'))} {who}",
        f"according to {who}, {claim}",
        f"in the eyes of {who}, {claim}",
        f"if you ask {who}, {claim}",
    )
    return pick(rng, patterns)


def clause(record: Record, rng: Random, shop: Shop, negate: bool = False) -> str:
    """A clause that tells exactly what `record` tells, or (negate=True) denies it."""
    if isinstance(record, Visit):
        return visit(record, rng, shop, negate)
    if isinstance(record, Stock):
        return stock(record, rng, negate)
    return opinion(record, rng, negate)


def with_reason(first: Visit, second: Opinion, rng: Random, shop: Shop) -> str:
    """A visit with the visitor's opinion: "Clara bought two kites because she thinks that they are fun"."""
    she = shop.people[first.who]
    it, be = ("it", "is") if first.number == 1 else ("they", "are")
    how = judged(second.axis, second.polarity, second.intensity, rng)
    link = pick(
        rng,
        (", and", ", and", ", although", ", for") if second.polarity < 0 else (", and", ", for", " because", " since"),
    )
    says = pick(rng, ("thinks", "feels", "believes"))
    return f"{visit(first, rng, shop)}{link} {she} {says} that {it} {be} {how}"


def express(meaning: Record | tuple[Visit, Opinion], rng: Random, shop: Shop) -> str:
    """A whole sentence for a record, or for a visit with an opinion, in a pattern and words drawn from `rng`."""
    if not isinstance(meaning, tuple):
        return sentence(clause(meaning, rng, shop))
    return sentence(with_reason(*meaning, rng, shop))
