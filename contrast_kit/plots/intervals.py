"""Estimates with their intervals, one row each: those that are clear of zero stand out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from contrast_kit.plots.style import INK, array, colour, named, number, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNCLEAR = "#999999"


@styled
def intervals(
    results: Mapping[str, Any], label: str = "difference", *, digits: int = 3, title: str | None = None
) -> "Figure":
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
    results = named(results, "results")
    tables = results if all(isinstance(value, Mapping) for value in results.values()) else {"": results}
    tables = {panel: _table(table, panel) for panel, table in tables.items()}
    rows = list(dict.fromkeys(row for table in tables.values() for row in table))
    columns = 3 if len(tables) == 3 else 2
    figure, axes = panels(len(tables), height=0.42 * len(rows) + 1.0, columns=columns, title=title, sharey=True)
    for panel, (name, table) in zip(axes, tables.items(), strict=True):
        for row, of in enumerate(rows):
            if of in table:
                estimate, low, high = table[of]
                interval_row(panel, row, estimate, low, high, number(estimate, digits, sign=True))
        interval_axes(panel, rows)
        panel.set_title(name)
        panel.set_xlabel(label)
    return figure


def interval_row(panel: Any, row: int, estimate: float, low: float, high: float, words: str) -> None:
    """A dot, its interval, and words above it; grey if the interval contains zero."""
    clear = low > 0 or high < 0
    color = colour(0 if estimate > 0 else 3) if clear else UNCLEAR
    look = {"color": color, "linewidth": 2.2 if clear else 1.4, "capsize": 4, "zorder": 3}
    error = [[estimate - low], [high - estimate]]
    panel.errorbar(estimate, row, xerr=error, fmt="o", markersize=7 if clear else 5, **look)
    box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5}
    at = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "bbox": box}
    panel.annotate(words, (estimate, row), fontsize=9, color=color if clear else "#666666", **at)


def interval_axes(panel: Any, rows: list[str]) -> None:
    """A name at each row, the first one on top, and the rule at zero."""
    from matplotlib.ticker import MaxNLocator

    panel.axvline(0, color=INK, linewidth=1)
    panel.set_yticks(range(len(rows)), rows, fontsize=10)
    panel.set_ylim(len(rows) - 0.4, -0.6)
    panel.margins(x=0.12)
    panel.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    panel.grid(axis="x")
    panel.spines["left"].set_visible(False)
    panel.tick_params(axis="y", length=0)


def _table(table: Any, name: str) -> dict[str, tuple[float, float, float]]:
    found = {}
    for row, values in named(table, name or "results").items():
        three = array(values, f"{row!r}", 1)
        if len(three) != 3 or not three[1] <= three[0] <= three[2]:
            raise ValueError(f"{row!r} must be (estimate, low, high) with low ≤ estimate ≤ high, not {three.tolist()}.")
        found[row] = tuple(float(value) for value in three)
    return found
