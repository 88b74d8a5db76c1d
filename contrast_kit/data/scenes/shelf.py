"""Scenes: toys on three shelves of four places, as records, read from `data/scenes`.

Numbers tell the split (`split_of`), so that a picture belongs to one split in every task. `scenes.toml` holds the words
and the shapes.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from contrast_kit._util import choose, shipped
from contrast_kit.data.toyshop.world import Stock

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


@dataclass(frozen=True)
class Toy:
    """One toy in its place: `shelf` 0 (top) to 2 (bottom), `place` 0 (left) to 3 (right)."""

    good: str
    colour: str
    size: str
    price: int
    shelf: int
    place: int

    def stock(self) -> Stock:
        """The toy as the toyshop's record, which its grammar can tell."""
        shelf = SHELVES[self.shelf]
        return Stock(1, self.good, shelf, self.size, self.colour, price=self.price)


@dataclass(frozen=True)
class Scene:
    """Toys on shelves, in an order that says nothing of their places."""

    image_id: int
    toys: tuple[Toy, ...]


def scene(image_id: int) -> Scene:
    """The scene with this number: always the same.

    >>> scene(0) == scene(0), len(scene(4_999).toys) in range(2, 7)
    (True, True)
    """
    split_of(image_id)
    return _scenes()[image_id]


@cache
def _scenes():
    return [
        Scene(row["image_id"], tuple(Toy(**toy) for toy in row["toys"]))
        for row in read("scenes")
    ]


def read(name: str) -> list[dict[str, Any]]:
    """The rows of a file of `data/scenes`."""
    from pyarrow.parquet import read_table

    return read_table(shipped("scenes") / f"{name}.parquet").to_pylist()


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
