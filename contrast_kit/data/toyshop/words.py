"""Words that every shop shares, from `words.toml`; how words are drawn and inflected; and the two shops, with
departments, people who come in, and places where things happen.

A list of words goes from common to rare, and a word is drawn with a probability proportional to `1 / (rank + 2)`. That
is what gives the corpus its Zipf-like spread. Every draw, but for some of `toyshop.triples`, is made from
`random.Random.random()` alone, the one method whose values Python promises to keep from version to version, so a seed
gives the same sentences everywhere.
"""

import tomllib
from bisect import bisect
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar

T = TypeVar("T")
SIDE = {1: "good", -1: "bad"}
"""Polarity → the words that praise, or those that blame."""


def pick(rng: Random, items: Sequence[T]) -> T:
    """Draw one item, all equally likely.

    >>> from random import Random
    >>> pick(Random(0), ["red", "blue", "green"])
    'green'
    """
    return items[int(rng.random() * len(items))]


def draw(rng: Random, words: Sequence[T]) -> T:
    """Draw one word, that of rank r (from 0) with probability proportional to 1/(r+2).

    >>> from random import Random
    >>> colours = ["red", "blue", "green"]
    >>> draw(Random(0), colours)
    'green'
    """
    shares = _shares(len(words))
    return words[bisect(shares, rng.random() * shares[-1])]


@cache
def _shares(count):
    return list(accumulate(1 / (rank + 2) for rank in range(count)))


def read(name: str) -> dict[str, Any]:
    """The tables of a file of words beside this one."""
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


WORDS = SimpleNamespace(**read("words.toml"))


def plural(noun: str) -> str:
    """The plural of an English noun phrase whose last word is its head.

    >>> [plural(noun) for noun in ("kite", "music box", "fairy", "toy", "sheep")]
    ['kites', 'music boxes', 'fairies', 'toys', 'sheep']
    """
    *front, head = noun.split(" ")
    if head in WORDS.irregular:
        head = WORDS.irregular[head]
    elif head.endswith(("s", "x", "ch", "sh")):
        head += "es"
    elif head.endswith("y") and head[-2] not in "aeiou":
        head = head[:-1] + "ies"
    else:
        head += "s"
    return " ".join([*front, head])


def article(phrase: str) -> str:
    """`phrase` with "a" or "an" before it.

    >>> article("owl"), article("ukulele"), article("hourglass"), article("kite")
    ('an owl', 'a ukulele', 'an hourglass', 'a kite')
    """
    vowel = phrase.startswith(("a", "e", "i", "o", "u", "hour"))
    if vowel and not phrase.startswith(("uni", "uku", "use")):
        return f"an {phrase}"
    return f"a {phrase}"


PURPOSES = ("for ", "as ", "against ", "before the first")


class Shop:
    """Everything a record of one shop may name, read from `<name>.toml`. People map to the pronoun they take.

    A department is a dict: its `name`; its `kind`, the noun that covers all its goods (a drum is a musical toy); and
    for each field of a record what it may say of these goods.
    """

    def __init__(self, name: str) -> None:
        table = read(f"{name}.toml")
        self.name = name
        self.people: dict[str, str] = table["people"]
        self.values = WORDS.values | table["values"]
        self.values |= {"who": list(self.people), "action": list(WORDS.actions)}
        reasons = self.values["reason"]
        self.values["manner"] = [
            reason for reason in reasons if not reason.startswith(PURPOSES)
        ]
        self.departments: list[dict[str, Any]] = []
        for row in table["departments"]:
            row["axis"] = [*WORDS.part_axes, "price", *row["axis"]]
            self.departments.append(self.values | row)


SHOPS = {name: Shop(name) for name in ("toyshop", "othershop")}
TOYSHOP, OTHERSHOP = SHOPS.values()
PRONOUN = TOYSHOP.people | OTHERSHOP.people
CORNER = {
    good: corner
    for shop in SHOPS.values()
    for corner in shop.departments
    for good in (corner["kind"], *corner["good"])
}
"""A good of either shop, or a kind of goods → its department; the shops have no good in common."""
