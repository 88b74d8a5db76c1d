"""What the makers ask of a scene: how it is drawn by lot, which toys fit, and whether a caption is true."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from records import entails

from contrast_kit.data.scenes.shelf import (
    COLOURS,
    GOODS,
    PLACES,
    PRICES,
    SHELVES,
    SIZES,
    Scene,
    Toy,
)
from contrast_kit.data.toyshop import Stock
from contrast_kit.data.toyshop.words import pick

TABLES = tomllib.loads(Path(__file__).with_name("make.toml").read_text("utf-8"))
Facts = Sequence[Stock]
"""What a sentence claims of one picture: all of it must hold."""


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


def true_of(facts: Facts, scene: Scene) -> bool:
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
        sum(entails(replace(toy.stock(), number=claim.number), claim) for toy in scene.toys) >= claim.number
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
