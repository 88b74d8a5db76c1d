"""Methods along a quantity that is turned up step by step, with every seed visible."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.plots.settings import one
from contrast_kit.plots.style import (
    colour,
    in_order,
    level_lines,
    line_style,
    marker,
    named,
    panels,
    plain_ticks,
    runs,
    styled,
    y_label,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DODGE = 0.006  # of the width between neighbouring methods, so that their error bars do not cover one another
MARKED = 30  # points per line; with more, markers would hide it


@styled
def lines_with_errors(
    results: Mapping[str, Any],
    x_label: str,
    label: str | Mapping[str, str] = "score",
    *,
    even: bool = False,
    levels: Mapping[str, Any] | None = None,
    log: bool = False,
    title: str | None = None,
) -> "Figure":
    """One line per method: its mean over seeds along x, bars of ± one standard deviation, each seed as a faint dot.

    * `results`: {"MLM": {0.0: [seeds …], 0.15: [seeds …]}, "CAPT": …}, for each x the numbers of its seeds (or one
      number); or a dict of such dicts for a panel each, with the same methods in the same colours.
    * `x_label`, `label`: what the axes mean, with units; where panels differ, {panel: label}. A single line with the
      name "" has no legend.
    * `even`: place the values of x at even distances, like names, which suits 128, 512, 2048 … or words. Numbers stand
      by size, words in the order of the lines.
    * `levels`: dashed lines to read the curves against, {"another text": 1.0}, or {panel: {"another text": 1.0}}.
    * `log`: a logarithmic vertical axis, where methods differ by factors. Mean and standard deviation are then those of
      the logarithms (the mean is the geometric one), so no bar reaches below 0; all values must be above 0.

    The standard deviation is that of the seeds (n − 1 in its denominator), not of their mean; one seed has none.
    Returns the figure. Raises a ValueError for empty or non-finite numbers, or values ≤ 0 with `log`.

    >>> from contrast_kit import plots
    >>> figure = plots.lines_with_errors({"MLM": {0.1: [1.0, 3.0], 0.2: [4.0, 6.0]}}, "share masked")
    >>> figure.axes[0].lines[0].get_ydata().tolist()
    [2.0, 5.0]
    """
    tables = _tables(results)
    if log and any(seeds.min() <= 0 for table in tables.values() for line in table.values() for seeds in line.values()):
        raise ValueError("A logarithmic axis has no place for values of 0 or below; leave them out or log=False.")
    methods = list(dict.fromkeys(method for table in tables.values() for method in table))
    figure, axes = panels(len(tables), height=3.2, columns=2, title=title, width=9.0 if len(tables) > 1 else 6.6)
    for panel, (name, table) in zip(axes, tables.items(), strict=True):
        places = {x: float(i) if even else _place(x) for i, x in enumerate(_along(table.values()))}
        width = max(places.values()) - min(places.values())
        barred = any(len(seeds) > 1 for line in table.values() for seeds in line.values())
        for i, method in enumerate(methods):
            if method in table:
                shift = DODGE * width * (i - (len(methods) - 1) / 2) * barred
                _draw_line(panel, {places[x] + shift: seeds for x, seeds in table[method].items()}, i, method, log)
        _ticks(panel, places, even)
        if log:
            _logarithmic(panel)
        level_lines(panel, _levels_of(levels or {}, name, tables))
        panel.set_title(name)
        panel.set_xlabel(x_label)
        panel.grid(axis="y")
        y_label(panel, label, name)
    if methods != [""]:
        handles = [_legend_line(i, method) for i, method in enumerate(methods)]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(methods)))
    return figure


def _tables(results: Any) -> dict[str, dict[str, dict[Any, np.ndarray]]]:
    """Both forms of `results` as panel -> method -> x -> seeds."""

    def depth(value: Any) -> int:
        return 1 + depth(next(iter(value.values()))) if isinstance(value, Mapping) and value else 0

    results = named(results, "results")
    grouped = depth(results) == 3
    if not grouped and depth(results) != 2:
        raise ValueError("results must be {method: {x: seeds}}, or {panel: {method: {x: seeds}}}.")
    tables = results if grouped else {"": results}
    return {
        panel: {method: _seeds(line, method) for method, line in named(table, f"results of {panel!r}").items()}
        for panel, table in tables.items()
    }


def _seeds(line: Any, method: str) -> dict[Any, np.ndarray]:
    if not isinstance(line, Mapping) or not line:
        raise ValueError(f"results of {method!r} must be a dict from x to the numbers of its seeds.")
    return {x: runs(seeds, f"{method} at {x}") for x, seeds in line.items()}


def _along(lines: Iterable[Mapping[Any, np.ndarray]]) -> list[Any]:
    """Every x of the lines once: numbers by size, words as they come, each before the words that follow it in its line.

    A word that only a later line has, "mid" of low, mid, high, so stands between its neighbours.
    """
    xs: list[Any] = []
    for line in lines:
        words = list(line)
        for i, x in enumerate(words):
            if x not in xs:
                xs.insert(next((xs.index(later) for later in words[i + 1 :] if later in xs), len(xs)), x)
    return in_order(xs)


def _place(x: Any) -> float:
    if not checks.is_number(one(x)):
        raise TypeError(f"x must be numbers to stand at their places, not {checks.shown(x)}: even=True takes names.")
    return float(x)


def _draw_line(panel: Any, seeds: Mapping[float, np.ndarray], i: int, label: str, log: bool) -> None:
    seeds = dict(sorted(seeds.items()))  # from left to right, in whatever order they were given
    into, back = (np.log, np.exp) if log else (np.asarray, np.asarray)
    means = np.array([into(values).mean() for values in seeds.values()])
    spread = np.array([into(values).std(ddof=1) if len(values) > 1 else np.nan for values in seeds.values()])
    middle = back(means)
    bars = np.stack([middle - back(means - spread), back(means + spread) - middle])
    points = {"marker": marker(i), "markersize": 5} if len(seeds) <= MARKED else {}
    look = {"color": colour(i), "linestyle": line_style(i), "linewidth": 1.8, "capsize": 3, "elinewidth": 1} | points
    panel.errorbar(list(seeds), middle, yerr=bars, label=label, **look)
    for place, values in seeds.items():
        if len(values) > 1:
            panel.scatter([place] * len(values), values, s=16, color=colour(i), alpha=0.5, linewidths=0, zorder=1)


def _legend_line(i: int, label: str) -> Any:
    """The legend entry of a method: its line and marker, without error bars."""
    from matplotlib.lines import Line2D

    look = {"color": colour(i), "linestyle": line_style(i), "linewidth": 1.8, "marker": marker(i), "markersize": 5}
    return Line2D([], [], label=label, **look)


def _levels_of(levels: Mapping[str, Any], name: str, panels: Iterable[str]) -> Mapping[str, float]:
    """The dashed lines of one panel, from those of all panels or from a dict of each panel's own."""
    own = {panel: lines for panel, lines in levels.items() if isinstance(lines, Mapping)}
    if own and len(own) != len(levels):
        raise ValueError("levels must be {words: level}, or {panel: {words: level}}, not a mixture.")
    for panel in own:
        arguments.known(panel, panels, "panel", "for a level")
    return own.get(name, {}) if own else levels


def _ticks(panel: Any, places: Mapping[Any, float], even: bool) -> None:
    """A tick at every x where these are few and far apart; else at round numbers, whole ones for whole x."""
    from matplotlib.ticker import MaxNLocator

    at = sorted(places.values())
    apart = min((b - a for a, b in pairwise(at)), default=0.0) > 0.05 * (at[-1] - at[0])
    if even or (len(at) <= 9 and apart):
        panel.set_xticks(list(places.values()), [f"{x:g}" if isinstance(x, float) else str(x) for x in places])
    else:
        panel.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=all(x == int(x) for x in at)))


def _logarithmic(panel: Any) -> None:
    """A logarithmic axis with a number at every power of ten, and at 2 and 5 times it where powers are few."""
    from matplotlib.ticker import LogLocator, NullLocator

    panel.set_yscale("log")
    low, high = panel.get_ylim()
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 300 else (1.0, 2.0, 5.0)))
    panel.yaxis.set_minor_locator(NullLocator())
    plain_ticks(panel.yaxis)
