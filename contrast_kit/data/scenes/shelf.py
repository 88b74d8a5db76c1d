"""Scenes: toys on three shelves of four places, as records; and what is true of a scene.

A scene is a function of its number alone. Numbers tell the split (`split_of`), so that a picture belongs to one split
in every task. What a sentence claims is a tuple of `Stock` records, the toyshop's own (`Facts`). `scenes.toml` holds
the words and the shapes.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from contrast_kit._util import choose
from contrast_kit.data.toyshop.words import pick
from contrast_kit.data.toyshop.world import Stock, entails

TABLES = tomllib.loads(
    Path(__file__).with_name("scenes.toml").read_text(encoding="utf-8")
)
GOODS = tuple(TABLES["goods"])
COLOURS = tuple(TABLES["colours"])
SIZES = tuple(TABLES["sizes"])
SHELVES = tuple(TABLES["shelves"])
PLACES = 4
"""Places on a shelf, from left to right."""
PRICES = tuple(range(2, 10))
"""Pounds: one handwritten digit on a tag. None costs 1, which the toyshop's grammar has no singular for."""

SPLITS = {
    "train": range(4_000),
    "validation": range(4_000, 4_500),
    "test": range(4_500, 5_000),
}
"""The numbers of the scenes of each split."""

Facts = tuple[Stock, ...]
"""What a sentence claims of one picture: all of it must hold."""


@dataclass(frozen=True)
class Toy:
    """One toy in its place: `shelf` 0 (top) to 2 (bottom), `place` 0 (left) to 3 (right)."""

    good: str
    colour: str
    size: str
    price: int
    shelf: int
    place: int

    def stock(self, number: int = 1) -> Stock:
        """The toy as the toyshop's record, which its grammar can tell."""
        shelf = SHELVES[self.shelf]
        return Stock(number, self.good, shelf, self.size, self.colour, price=self.price)


@dataclass(frozen=True)
class Scene:
    """Toys on shelves, in an order that says nothing of their places."""

    image_id: int
    toys: tuple[Toy, ...]


def colours_of(good: str) -> tuple[str, ...]:
    """The six of the eight colours in which a good is made: no train is pink or brown.

    >>> colours_of("train")
    ('red', 'blue', 'green', 'yellow', 'orange', 'purple')
    """
    start = 5 * GOODS.index(good)
    return tuple(COLOURS[(start + i) % len(COLOURS)] for i in range(6))


def draw_scene(rng: Random, image_id: int) -> Scene:
    """Two to six toys, some of them alike, in free places.

    Three in ten of the later toys are of a sort that is there already, and half of these are alike but for price and
    place; so there is something to count. Every draw is made from `Random.random()` alone (`toyshop.words` says why).
    """
    number = pick(rng, (2, 2, 3, 3, 3, 4, 4, 4, 5, 6))
    free = [(shelf, place) for shelf in range(len(SHELVES)) for place in range(PLACES)]
    toys = []
    for _ in range(number):
        shelf, place = free.pop(int(rng.random() * len(free)))
        good = pick(rng, GOODS)
        colour = pick(rng, colours_of(good))
        size = pick(rng, SIZES)
        if toys and rng.random() < 0.3:
            other = pick(rng, toys)
            good = other.good
            colour = pick(rng, colours_of(other.good))
            if rng.random() < 0.5:
                colour = other.colour
                size = other.size
        toys.append(Toy(good, colour, size, pick(rng, PRICES), shelf, place))
    return Scene(image_id, tuple(toys))


def scene(image_id: int) -> Scene:
    """The scene with this number: always the same.

    >>> scene(0) == scene(0), len(scene(4_999).toys) in range(2, 7)
    (True, True)
    """
    return _scene(int(image_id))


@cache
def _scene(image_id):
    split_of(image_id)
    return draw_scene(Random(f"scenes/{image_id}"), image_id)


def image_ids(split: str) -> range:
    """The numbers of the scenes of a split.

    >>> image_ids("test")
    range(4500, 5000)
    """
    return choose(SPLITS, split, "split of scenes")


def split_of(image_id: int) -> str:
    """The split that a scene belongs to, in every task. Raises `ValueError` for a number that no scene has."""
    for split, numbers in SPLITS.items():
        if image_id in numbers:
            return split
    raise ValueError(
        f"There is no scene {image_id}: they are numbered from 0 to {numbers[-1]}."
    )


def true_of(facts: Sequence[Stock], scene: Scene) -> bool:
    """Whether everything that a sentence claims holds in a scene.

    A claim holds where at least its number of toys fit it, each by the toyshop's own `entails`: a red drum is a drum.
    "There is a drum" is true of two drums as well. Image-text matching asks this before it calls a caption wrong for a
    picture: a caption that is true of both is no mismatch (`truth` asks it for whole batches).

    >>> shelf = Scene(0, (Toy("drum", "red", "big", 5, 0, 0), Toy("kite", "blue", "small", 3, 2, 1)))
    >>> [true_of([claim], shelf) for claim in (
    ...     Stock(1, "drum", SHELVES[0]), Stock(1, "musical toy", SHELVES[0], colour="red"),
    ...     Stock(2, "drum", SHELVES[0]), Stock(1, "drum", SHELVES[1]))]
    [True, True, False, False]
    """
    return all(
        sum(entails(toy.stock(claim.number), claim) for toy in scene.toys) >= claim.number
        for claim in facts
    )


def those(scene: Scene, fits: Callable[[Toy], bool]) -> list[Toy]:
    """The toys of a scene that fit, by shelf and place."""
    return sorted(filter(fits, scene.toys), key=lambda toy: (toy.shelf, toy.place))


def shelf_name(shelf: int) -> str:
    """What a customer calls a shelf.

    >>> shelf_name(0)
    'top shelf'
    """
    return SHELVES[shelf].removeprefix("on the ")


def field_of(toy: Toy, field: str) -> str:
    """A field of a toy as an answer: its shelf by name."""
    if field == "shelf":
        return shelf_name(toy.shelf)
    return str(getattr(toy, field))


VALUES = {
    "good": GOODS,
    "colour": COLOURS,
    "size": SIZES,
    "shelf": tuple(map(shelf_name, range(len(SHELVES)))),
}
"""Fields that questions are about, and their values as answers."""
