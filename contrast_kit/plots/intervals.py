"""Estimates with their intervals, one row each: those that are clear of zero stand out."""

import numpy as np

from contrast_kit.plots.style import (
    BOX,
    INK,
    array,
    by_panel,
    colour,
    named_rows,
    note,
    number,
    panels,
    rows_of,
    score_tables,
    styled,
)

UNCLEAR = "#777777"


@styled
def intervals(
    results: dict, label: str = "difference", *, digits: int = 3, title: str = ""
):
    """One row each: an estimate as a dot, its interval as a line, zero as a rule from top to bottom.

    A row whose interval contains zero is grey: it shows nothing. The others are blue above zero, red below.

    * `results`: {"CMLM": (estimate, low, high), …}, such as the differences of `tasks.Results.differences`; or a dict
      of such dicts for a panel each, with the rows in the order of the first.
    * `label`: what the estimates are, with their unit; panels have their names above them.

    Returns the figure. Raises a ValueError for an interval that does not contain its estimate. `differences_from` makes
    such rows from the runs of unpaired methods.

    >>> from contrast_kit import plots
    >>> figure = plots.intervals({"CMLM": (0.02, 0.01, 0.03), "SCL": (-0.01, -0.04, 0.02)}, "minus FT")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['+0.020', '−0.010']
    """
    tables = by_panel(results)
    rows = rows_of(tables)
    columns = 3 if len(tables) == 3 else 2
    height = 0.42 * len(rows) + 1.0
    figure, drawn = panels(tables, height, columns, title, sharey=True)
    for panel, _, table in drawn:
        panel.axvline(0, color=INK, linewidth=1)
        named_rows(panel, rows)
        panel.margins(x=0.12)
        panel.locator_params(axis="x", nbins=5)
        for row, values in table.items():
            _draw_interval(panel, rows.index(row), row, array(values, row), digits)
        panel.set_xlabel(label)
    return figure


def _draw_interval(panel, row, name, values, digits):
    """A dot, its interval, and the estimate above it; grey if the interval contains zero."""
    estimate, low, high = values
    if not low <= estimate <= high:
        raise ValueError(
            f"{name!r} must be (estimate, low, high) with low ≤ estimate ≤ high, not {values}."
        )
    ink = UNCLEAR
    if low > 0 or high < 0:
        ink = colour(0 if low > 0 else 3)
    error = [[estimate - low], [high - estimate]]
    panel.errorbar(estimate, row, xerr=error, fmt="o", zorder=3, color=ink)
    look = {"ha": "center", "fontsize": 9, "color": ink, "bbox": BOX}
    note(panel, number(estimate, digits, sign=True), (estimate, row), (0, 7), **look)


def differences_from(
    results: dict,
    reference: str,
    label: str = "score",
    *,
    level: float = 0.95,
    digits: int = 3,
    title: str = "",
):
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
    ValueError where no method has a second seed.

    >>> from contrast_kit import plots
    >>> figure = plots.differences_from({"MLM": [0.7, 0.72], "CMLM": [0.8, 0.82], "CAPT": [0.7, 0.74]}, "MLM")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['+0.100', '+0.010']
    """
    found = {}
    for name, table in score_tables(results).items():
        rows = found[f"{name or label}, minus {reference}"] = {}
        for method in table:
            if method != reference:
                gap, half = pooled_interval(table, method, reference, level)
                rows[method] = gap, gap - half, gap + half
    return intervals(found, "", digits=digits, title=title)


def pooled_interval(
    table: dict, method: str, reference: str, level: float
) -> tuple[float, float]:
    """The difference of two means, and the half width of its interval with the deviation of all methods pooled."""
    from scipy.stats import t

    freedom = sum(len(seeds) - 1 for seeds in table.values())
    if not freedom:
        raise ValueError(
            "No method has a second seed, so there is no noise to compare a difference with."
        )
    squares = sum(((seeds - seeds.mean()) ** 2).sum() for seeds in table.values())
    first, second = table[method], table[reference]
    error = np.sqrt(squares / freedom * (1 / len(first) + 1 / len(second)))
    half = t.ppf((1 + level) / 2, freedom) * error
    return float(first.mean() - second.mean()), float(half)
