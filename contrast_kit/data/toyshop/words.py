"""Words that every shop shares: numbers, places in time, verbs, opinions; and how words are drawn and inflected.

`words.toml` holds them. A list of words is a `Bag`: ordered from common to rare, drawn with a probability proportional
to `1 / (rank + 2)`. That is what gives the corpus its Zipf-like spread. Every draw, but for some of `toyshop.triples`,
is made from `random.Random.random()` alone, the one method whose values Python promises to keep from version to
version, so a seed gives the same sentences everywhere.
"""

from __future__ import annotations

import tomllib
from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


def pick(rng: Random, items: Sequence[T]) -> T:
    """Draw one item, all equally likely.

    >>> from random import Random
    >>> pick(Random(0), ["red", "blue", "green"])
    'green'
    """
    return items[int(rng.random() * len(items))]


class Bag(tuple):
    """Words from common to rare; `draw` picks the word of rank r (from 0) with probability proportional to 1/(r+2).

    >>> from random import Random
    >>> colours = Bag(["red", "blue", "green"])
    >>> colours.draw(Random(0)), colours.draw(Random(0), other_than="green")
    ('green', 'blue')
    """

    cumulative: list[float]

    def __new__(cls, items: Iterable[Any]) -> Bag:
        bag = super().__new__(cls, items)
        bag.cumulative = list(accumulate(1 / (rank + 2) for rank in range(len(bag))))
        return bag

    def draw(self, rng: Random, other_than: Any = None) -> Any:
        """One item by its weight; never `other_than`."""
        while True:
            item = self[bisect(self.cumulative, rng.random() * self.cumulative[-1])]
            if item != other_than:
                return item


def read(name: str) -> dict[str, Any]:
    """The tables of a file of words beside this one."""
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


def _by_side(table: dict[str, list[str]]) -> dict[int, Bag]:
    """Words by polarity: 1 for what praises, -1 for what blames."""
    return {1: Bag(table["good"]), -1: Bag(table["bad"])}


_WORDS = read("words.toml")
COUNTS: list[str] = _WORDS["counts"]
NUMBERS = Bag(_WORDS["numbers"])
PRICES = Bag(_WORDS["prices"])
DAYS = Bag(_WORDS["days"])
HOURS = Bag(_WORDS["hours"])
SIZES = Bag(_WORDS["sizes"])
COLOURS = Bag(_WORDS["colours"])
SHADES: list[list[str]] = _WORDS["shades"]
SAME: dict[str, list[str]] = _WORDS["same"]
"""Sizes and hours that have other words of the same meaning."""
OPPOSITE_SIZES: dict[str, list[str]] = _WORDS["opposite"]
MADE_OF: dict[str, str] = _WORDS["made_of"]
WEIGHTS: dict[str, float] = _WORDS["weights"]
ACTIONS: dict[str, list[list[str]]] = _WORDS["actions"]
"""Action → ways to say it, each as base, past and participle."""
ACTION_BAG = Bag(ACTIONS)
FOR_SOMEONE: list[str] = _WORDS["for_someone"]

PART_AXES: list[str] = _WORDS["part_axes"]
AXES = {axis: _by_side(sides) for axis, sides in _WORDS["axes"].items()}
"""Axis → the words that praise (1) and that blame (-1); "not <bad word>" is how negation says a good thing."""
DEGREE = {int(strength): Bag(words) for strength, words in _WORDS["degree"].items()}
DENIAL = {int(strength): words for strength, words in _WORDS["denial"].items()}
VERDICTS = _by_side(_WORDS["verdicts"])
PRAISE = _by_side(_WORDS["praise"])
MOVED = _by_side(_WORDS["moved"])
FEEL = _by_side(_WORDS["feel"])


def plural(noun: str) -> str:
    """The plural of an English noun phrase whose last word is its head.

    >>> [plural(noun) for noun in ("kite", "music box", "fairy", "toy", "sheep")]
    ['kites', 'music boxes', 'fairies', 'toys', 'sheep']
    """
    *front, head = noun.split(" ")
    if head in _WORDS["irregular"]:
        head = _WORDS["irregular"][head]
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
    if phrase.startswith(("uni", "uku", "use")):
        return f"a {phrase}"
    if phrase.startswith(("a", "e", "i", "o", "u", "hour")):
        return f"an {phrase}"
    return f"a {phrase}"
