"""The unlabeled corpus, its topics, and sentences that mean the same."""

from dataclasses import replace
from itertools import islice
from random import Random

from contrast_kit._util import choose, shown
from contrast_kit.data.toyshop.grammar import express
from contrast_kit.data.toyshop.words import CORNER, SHOPS, TOYSHOP, pick
from contrast_kit.data.toyshop.world import Opinion, Record, Stock, Visit, draw_record

Meaning = Record | tuple[Visit, Opinion]
_MEANINGS: dict[str, Meaning] = {}
"""Every sentence told so far."""
_CORPORA: dict[tuple[int, str], tuple[dict[str, dict[str, str]], Random]] = {}
"""By seed and shop: the lines so far, and what draws more."""


def labelled_corpus(n: int, seed: int = 0, shop: str = "toyshop") -> list[dict[str, str]]:
    """The sentences of `corpus`, each with its `topic` (department) and `opinion` (positive, negative, none).

    >>> sorted(labelled_corpus(1)[0])
    ['opinion', 'text', 'topic']
    """
    where = choose(SHOPS, shop, "shop")
    # Taken out while it grows: if it is stopped amid a sentence, the next call begins anew.
    lines, rng = _CORPORA.pop((seed, shop), ({}, Random(f"corpus/{shop}/{seed}")))
    while len(lines) < n:
        meaning = view = draw_record(rng, where)
        if isinstance(meaning, Visit) and rng.random() < 0.3:
            meaning = _, view = remark(meaning, rng, where)
        text = express(meaning, rng)
        if text in lines:
            continue
        _MEANINGS[text] = meaning
        opinion = {1: "positive", -1: "negative", 0: "none"}[getattr(view, "polarity", 0)]
        topic = CORNER[view.good]["name"]
        lines[text] = {"text": text, "topic": topic, "opinion": opinion}
    _CORPORA[seed, shop] = lines, rng
    return [dict(line) for line in islice(lines.values(), n)]


def remark(visit, rng, shop):
    """A visit with what the visitor thinks of the goods."""
    view = draw_record(rng, shop, Opinion, details=0)
    axis = pick(rng, CORNER[visit.good]["axis"])
    return visit, replace(
        view, good=visit.good, who=visit.who, number=visit.number, axis=axis
    )


def corpus(n: int, seed: int = 0, shop: str = "toyshop") -> list[str]:
    """`n` distinct sentences about a shop: visits, shelves, opinions, and visits with an opinion.

    A longer corpus of the same seed begins with the shorter one. 100,000 sentences take a few seconds, once.

    >>> corpus(2)[0] == corpus(5)[0], len(set(corpus(500)))
    (True, 500)
    """
    return [line["text"] for line in labelled_corpus(n, seed, shop)]


def tell(record: Meaning) -> str:
    """A record (or a pair of records) in the first pattern and the first words, always the same.

    An opinion denies the opposite ("not flimsy"), and a material mostly comes behind ("made of tin").

    >>> from contrast_kit.data.toyshop import Stock
    >>> tell(Stock(number=3, good="drum", shelf="on the top shelf", colour="red"))
    'There are three red drums on the top shelf.'
    """
    return express(record, _Plain())


class _Plain(Random):
    """A generator that always draws the first of the ways."""

    def random(self) -> float:
        return 0.0


def ways_to_say(record: Meaning, n: int) -> list[str]:
    """Up to `n` different sentences that mean `record`.

    >>> from contrast_kit.data.toyshop import Visit
    >>> for text in ways_to_say(Visit("Clara", "buy", 2, "kite"), 3):
    ...     print(text)
    Clara paid for two kites.
    Clara purchased two kites.
    Clara bought two kites.
    """
    rng = Random(0)
    ways = {}
    idle = 0  # draws without a new sentence; 500 of them: that is all
    while len(ways) < n and idle < 500:
        text = express(record, rng)
        idle = idle + 1 if text in ways else 0
        ways[text] = None
    return list(ways)


def families(count: int, ways: int, seed: int = 0) -> dict[str, list[str]]:
    """`count` meanings, each said in `ways` different ways, by the good that they are about: {"kite": [...], ...}.

    To watch in a space: what means the same should come together. No good occurs twice. Raises a ValueError where so
    many are not found.

    >>> families_of_two = families(2, 3)
    >>> [len(texts) for texts in families_of_two.values()]
    [3, 3]
    """
    rng = Random(seed)
    by_good = {}
    for _ in range(100 * count):
        record = draw_record(rng)
        texts = ways_to_say(record, ways)
        if len(texts) == ways:
            by_good[record.good] = texts
        if len(by_good) == count:
            return by_good
    raise ValueError(f"No {count} meanings can be said in {ways} ways: ask for fewer.")


def record_of(sentence: str) -> Meaning:
    """The record that a sentence of the corpus tells (a pair of records for two clauses).

    Sentences of `corpus`, `labelled_corpus`, `probe_pairs` and `triples` are known once they have been made. Raises
    ValueError for any other text.

    >>> type(record_of(corpus(1)[0])) is not str
    True
    """
    if sentence not in _MEANINGS:
        raise ValueError(
            f"{shown(sentence)} is no sentence that the toyshop has told here: take one from toyshop.corpus(n)."
        )
    return _MEANINGS[sentence]


def kind_of(sentence: str) -> str:
    """What a sentence of the corpus tells: "opinion", "shelf", "visit", or "visit and opinion" in two clauses.

    >>> kind_of(corpus(1)[0])
    'opinion'
    """
    names = {
        Opinion: "opinion",
        Stock: "shelf",
        Visit: "visit",
        tuple: "visit and opinion",
    }
    return names[type(record_of(sentence))]


def two_ways(record, rng):
    """Two different sentences for one record."""
    first = second = express(record, rng)
    while second == first:
        second = express(record, rng)
    return first, second


def probe_pairs(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """`n` pairs of different sentences that mean the same, no two pairs alike: for similar-versus-random separation.

    >>> pairs = probe_pairs(2)
    >>> all(record_of(a) == record_of(b) and a != b for a, b in pairs)
    True
    """
    rng = Random(f"probe/toyshop/{seed}")
    pairs = {}
    while len(pairs) < n:
        kind = pick(rng, (Visit, Visit, Opinion, Stock))
        record = draw_record(rng, kind=kind, details=pick(rng, (1, 2, 3)))
        pair = two_ways(record, rng)
        pairs[pair] = None
        _MEANINGS.update(dict.fromkeys(pair, record))
    return list(pairs)


def triples(n: int, seed: int = 0, change: str = "good") -> list[tuple[str, str, str]]:
    """`n` times a sentence, the same in other words, and something else in nearly the same words: a trick test.

    `change` says in what the third differs: `"good"`, `"number"` or `"colour"`. What goes by shared words prefers the
    third: `geometry.triplet_accuracy` of counted words is about 0.25. Weighing rare words more (TF-IDF) finds another
    good, which is a rare word, in about 0.9 of the cases, another colour in about 0.3, and another number, a frequent
    word, in about 0.15.

    Raises a ValueError for an unknown change.

    >>> for text in triples(4)[3]:
    ...     print(text)
    Mabel bought six black kites.
    Six black kites were paid for by Mabel.
    Mabel bought six black elephants.
    """
    rng = Random(f"triples/toyshop/{seed}")
    people = [name for name in TOYSHOP.people if " " not in name]
    common = [good for corner in TOYSHOP.departments for good in corner["good"][:4]]
    goods = [good for good in common if " " not in good]
    colours = TOYSHOP.values["colour"][:6]
    others = {"good": goods, "number": range(2, 10), "colour": colours}
    values = choose(others, change, "change")
    texts = {}
    while len(texts) < n:
        good, other = rng.sample(goods, 2)
        who = pick(rng, people)
        number = rng.randint(2, 9)
        colour = pick(rng, colours)
        visit = Visit(who, "buy", number, good, colour=colour)
        if change != "good":
            other = pick(
                rng, [value for value in values if value != getattr(visit, change)]
            )
        another = replace(visit, **{change: other})
        first = tell(visit)
        third = tell(another)
        triple = (first, express(visit, rng), third)
        if len(set(triple)) == 3:
            texts[triple] = None
            _MEANINGS.update(zip(triple, (visit, visit, another), strict=True))
    return list(texts)
