"""Methods as differences from one of them, beside what the seeds alone leave open."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.plots.bars import scores_of
from contrast_kit.plots.intervals import interval_axes, interval_row
from contrast_kit.plots.style import named, number, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def differences_from(
    results: Mapping[str, Any],
    reference: str,
    label: str = "score",
    *,
    level: float = 0.95,
    digits: int = 3,
    title: str | None = None,
) -> "Figure":
    """One row per method: how far its mean lies from that of `reference`, with the interval that chance leaves open.

    Where the interval crosses zero, seeds alone explain the difference, and the row is grey; in a coloured row it is
    larger than that. `bars_with_errors` shows the scores themselves.

    * `results`: {"COCO-LM": [seeds …], "CLM Only": [seeds …]}, or a dict of such dicts for a panel each. `reference` is
      one of the methods, in every panel.
    * `label`: what is compared, with its unit; where there are panels, their names say it.
    * `level`: the confidence level of the intervals.

    The interval is Student's t with the standard deviation *pooled* over all methods of the panel: two or three seeds
    of one method say little about their own spread, those of five methods together say more. It assumes that the
    methods vary alike, and makes no allowance for the many comparisons in a figure. Returns the figure. Raises a
    ValueError where `reference` is missing, or where no method has a second seed.

    >>> from contrast_kit import plots
    >>> figure = plots.differences_from({"MLM": [0.7, 0.72], "CMLM": [0.8, 0.82], "CAPT": [0.7, 0.74]}, "MLM")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['+0.100 ± 0.064', '+0.010 ± 0.064']
    """
    if not checks.is_number(level) or not 0 < level < 1:
        raise ValueError(f"level is a share between 0 and 1, not {checks.shown(level)}.")
    results = named(results, "results")
    tables = results if all(isinstance(value, Mapping) for value in results.values()) else {"": results}
    tables = {name: scores_of(table, name) for name, table in tables.items()}
    for name, table in tables.items():
        arguments.known(reference, table, "method", name and f"in {name!r}")
    methods = [m for m in dict.fromkeys(m for table in tables.values() for m in table) if m != reference]
    if not methods:
        raise ValueError(f"There is nothing beside {reference!r} to compare it with.")
    figure, axes = panels(len(tables), height=0.42 * len(methods) + 1.0, columns=2, title=title, sharey=True)
    for panel, (name, table) in zip(axes, tables.items(), strict=True):
        rows = {m: pooled_interval(table, m, reference, level) for m in methods if m in table}
        for row, method in enumerate(methods):
            if method in rows:
                difference, half = rows[method]
                words = f"{number(difference, digits, sign=True)} ± {number(half, digits)}"
                interval_row(panel, row, difference, difference - half, difference + half, words)
        interval_axes(panel, methods)
        panel.set_xlabel(f"{name or label}, minus {reference}")
    return figure


def pooled_interval(table: Mapping[str, np.ndarray], method: str, reference: str, level: float) -> tuple[float, float]:
    """The difference of two means, and the half width of its interval with the deviation of all methods pooled."""
    from scipy.stats import t

    freedom = sum(len(seeds) - 1 for seeds in table.values())
    if not freedom:
        raise ValueError("No method has a second seed, so there is no noise to compare a difference with.")
    pooled = np.sqrt(sum(((seeds - seeds.mean()) ** 2).sum() for seeds in table.values()) / freedom)
    one, other = table[method], table[reference]
    half = t.ppf((1 + level) / 2, freedom) * pooled * np.sqrt(1 / len(one) + 1 / len(other))
    return float(one.mean() - other.mean()), float(half)
