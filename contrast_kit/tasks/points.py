"""Points of a grid: all of them in the grid's order, and how far one is from another."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from contrast_kit import arguments, checks

Point = dict[str, Any]
"""One value for each thing that is searched."""


def points(grid: Mapping[str, tuple]) -> Iterator[Point]:
    """All points of a grid, the last name changing fastest; one empty point for an empty grid.

    >>> list(points({"lr": (1e-5, 2e-5), "batch_size": (16,)}))
    [{'lr': 1e-05, 'batch_size': 16}, {'lr': 2e-05, 'batch_size': 16}]
    """
    for values in product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def distance(grid: Mapping[str, tuple], a: Point, b: Point) -> int:
    """Steps along the grid from one point to another, summed over all names.

    >>> distance({"lr": (1, 2, 3), "epochs": (2, 5)}, {"lr": 1, "epochs": 2}, {"lr": 3, "epochs": 5})
    3
    """
    return sum(abs(values.index(a[name]) - values.index(b[name])) for name, values in grid.items())


def describe_point(point: Point) -> str:
    """A point written out, so that a folder can be named after it.

    >>> describe_point({"lr": 1e-5, "batch_size": 16})
    'lr=1e-05 batch_size=16'
    """
    return " ".join(f"{name}={value}" for name, value in point.items())


def checked_grid(grid: Mapping[str, tuple]) -> dict[str, tuple]:
    """The settings that are searched, by name, each with the values that it takes in turn."""
    checked = {}
    for name, values in arguments.mapping("grid", grid, "of the values of each setting, {'lr': (1e-5, 2e-5)}").items():
        arguments.string("A key of the grid", name, "the name of a setting")
        values = arguments.listed(f"grid[{name!r}]", values, "values")
        single = all(getattr(value, "shape", ()) == () for value in values)
        if not values or not single or any(value in values[:at] for at, value in enumerate(values)):
            raise ValueError(f"The grid needs single values of {name}, and no value twice, not {checks.shown(values)}.")
        checked[name] = tuple(values)
    return checked
