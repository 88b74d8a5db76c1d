"""From a record to English: several sentence patterns for each meaning, which `grammar.toml` holds.

Every function takes a record and a generator and returns a clause without capital and full stop; `sentence`
adds those. A clause tells exactly what its record tells, whichever pattern is drawn: that is what makes
paraphrases true.
"""

from contrast_kit.data.toyshop.words import (
    PRONOUN,
    SIDE,
    WORDS,
    article,
    draw,
    pick,
    plural,
    read,
)
from contrast_kit.data.toyshop.world import Opinion, Stock, Visit

PATTERNS = read("grammar.toml")
DENIALS = tuple(PATTERNS["denials"])


def join(*pieces):
    """The pieces that are not empty, with a space between."""
    return " ".join(filter(None, pieces))


def fill(pattern, **words):
    """A pattern with its words in it; an empty word leaves no gap, nor a comma at the beginning or the end.

    >>> fill("{time}, {who} slept {place}", time="", who="Clara", place="there")
    'Clara slept there'
    """
    return " ".join(pattern.format(**words).split()).strip(", ")


def sentence(clause, end="."):
    """A clause with its capital and full stop.

    >>> sentence("the kite is rather flimsy")
    'The kite is rather flimsy.'
    """
    text = f" {clause}{end}".replace(" i ", " I ")[1:]
    return text[0].upper() + text[1:]


def synonym(word, rng):
    """A word, or another of the same meaning."""
    return pick(rng, WORDS.same.get(word, [word]))


def noun(record, rng, many=False):
    """Goods with their adjectives: "small red tin robot", or now and then "small red robot made of tin"."""
    head = record.good
    size = getattr(record, "size", "")
    stuff = record.material
    if many and head.startswith("pair "):
        head = "pairs" + head.removeprefix("pair")
    elif many:
        head = plural(head)
    behind = stuff and stuff not in PATTERNS["never_stuff"] and rng.random() < 0.2
    if behind or size in WORDS.same:
        size = synonym(size, rng)
    if behind:
        return join(size, record.colour, head, "made of", WORDS.made_of.get(stuff, stuff))
    return join(size, record.colour, stuff, head)


def counted(record, rng):
    """"a small red robot", "one small red robot", "three small red robots"."""  # fmt: skip
    thing = noun(record, rng, record.number != 1)
    if record.number == 1 and rng.random() < 0.85:
        return article(thing)
    return f"{WORDS.counts[record.number]} {thing}"


def be(many):
    """The verb for one thing or for many."""
    return ("is", "are")[many]


def visit(record, rng, negate):
    """A clause for a visit, in one of eight patterns."""
    base, past, participle = pick(rng, WORDS.actions[record.action])
    parts = dict(who=record.who, base=base, past=past, participle=participle, place="")
    parts["goods"] = counted(record, rng)
    parts["be"] = ("were", "was")[record.number == 1]
    if record.place:
        parts["place"] = f"{pick(rng, PATTERNS['near'])} the {record.place}"
    when = [record.day, synonym(record.hour, rng)]
    if rng.random() >= 0.5:
        when.reverse()
    parts |= dict(time=join(*when), gift=record.reason)
    if record.recipient:
        owner = {"she": "her", "he": "his"}[PRONOUN[record.who]]
        parts["gift"] = f"for {owner} {record.recipient}"
    patterns = PATTERNS["visit"]
    if negate:
        return fill(pick(rng, patterns["denied"]), **parts)
    share = rng.random()
    # Not "what Clara paid for was a kite".
    whole = record.reason or past.endswith((" for", " at"))
    fitting = (
        pattern
        for limit, pattern in patterns["told"]
        if share < limit and not (whole and pattern.startswith("what"))
    )
    return fill(next(fitting), **parts)


def stock(record, rng, negate):
    """A clause for goods on a shelf, in one of seven patterns."""
    patterns = PATTERNS["stock"]
    many = record.number != 1
    parts = dict(goods=counted(record, rng), shelf=record.shelf, be=be(many), costs="")
    if record.price:
        each = " each" * many
        parts["costs"] = (
            f"{pick(rng, patterns['costs'])} {WORDS.counts[record.price]} pounds{each}"
        )
    if negate:
        return fill(pick(rng, patterns["denied"]), **parts)
    parts["stand"] = pick(rng, patterns["stand"])[many]
    return fill(pick(rng, patterns["told"]), **parts)


def judged(axis, polarity, intensity, rng, negation=0.35):
    """An adjective phrase: "very sturdy", "far from flimsy", "not exactly sturdy" (which is rather flimsy)."""
    sides = WORDS.axes[axis]
    if rng.random() < negation:
        denial = pick(rng, WORDS.denial[str(intensity)])
        return denial.format(draw(rng, sides[SIDE[-polarity]]))
    word = draw(rng, sides[SIDE[polarity]])
    if intensity == 2:
        return word
    # "superb" and "a joy" are ways to say "very good"
    if axis == "worth" and intensity == 3 and rng.random() < 0.7:
        best = ("verdict", "praise")[rng.random() < 0.6]
        return draw(rng, WORDS.judging[best][SIDE[polarity]])
    return f"{draw(rng, WORDS.degree[str(intensity)])} {word}"


def is_many(part):
    """Whether a part of a thing is told as many: "the wheels are"."""
    return part.endswith("s") and part != "chassis"


def opinion(record, rng, negate):
    """A clause for an opinion; with someone's name in front or behind where the record tells whose it is."""
    patterns = PATTERNS["opinion"]
    who = record.who
    many = record.number > 1
    this = pick(rng, (("this", "the"), ("these", "the"))[many])
    about = f"{this} {noun(record, rng, many)}"
    if record.part:
        about = f"the {record.part} of {about}"
        many = is_many(record.part)
    negation = 0.35 * (not negate)
    how = judged(record.axis, record.polarity, record.intensity, rng, negation)
    if negate:
        pattern = patterns["denied_of" if who else "denied"]
        return fill(pattern, who=who, about=about, be=be(many), how=how)
    claim = f"{about} {be(many)} {how}"
    if who:
        thinks = pick(rng, patterns["thinks"])
        says = pick(rng, ("says", "thinks"))
        return fill(
            pick(rng, patterns["told"]), who=who, thinks=thinks, says=says, claim=claim
        )
    verb = pick(rng, patterns["verbs"])[many]
    if not how.startswith(DENIALS):
        claim = f"{about} {verb} {how}"
    if rng.random() < 0.75:
        return claim
    return pick(rng, patterns["plain"]).format(claim)


def clause(record, rng, negate=False):
    """A clause that tells exactly what `record` tells, or (negate=True) denies it as a whole."""
    tell = {Visit: visit, Stock: stock, Opinion: opinion}[type(record)]
    return tell(record, rng, negate)


def with_reason(first, second, rng):
    """A visit with the visitor's opinion: "Clara bought two kites because she thinks that they are fun"."""
    they = ("they are", "it is")[first.number == 1]
    how = judged(second.axis, second.polarity, second.intensity, rng)
    link = pick(rng, PATTERNS["opinion"]["because"][SIDE[second.polarity]])
    thinks = pick(rng, ("thinks", "feels", "believes"))
    view = f"{PRONOUN[first.who]} {thinks} that {they} {how}"
    return f"{clause(first, rng)}{link} {view}"


def express(meaning, rng):
    """A whole sentence for a record, or for a visit with an opinion, in a pattern and words drawn from `rng`."""
    if isinstance(meaning, tuple):
        return sentence(with_reason(*meaning, rng))
    return sentence(clause(meaning, rng))
