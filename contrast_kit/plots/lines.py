"""Lines: the parts of a loss over training, and methods along a quantity that is turned up step by step."""

from collections.abc import Mapping, Sequence

import numpy as np

from contrast_kit.plots.style import (
    WIDTH,
    array,
    by_name,
    by_panel,
    colour,
    in_order,
    legend,
    level_lines,
    line_style,
    marker,
    panels,
    rows_of,
    score_tables,
    styled,
    y_label,
)

NO_LOSSES = ("step", "lr", "grad_norm", "seconds")
"""Columns of `Run.history` that are no part of a loss."""
MARKED = 30  # points per line; with more, markers would hide it


@styled
def loss_curves(
    history,
    parts: Sequence[str] | None = None,
    *,
    smooth: int | None = None,
    levels: dict | None = None,
    ylabel: str = "loss",
    title: str = "",
):
    """One panel for each part of the loss, over the steps: the raw values faint, a running mean strong.

    * `history`: what `fit` returned, or a table with a column `step` and one column per part (such as `Run.history`, or
      a `history.csv`); or a dict of them, {"MLM": …, "CMLM": …}, drawn over one another, each in its own colour (from
      the ninth on the colours return, in dashed lines).
    * `parts`: the columns to draw, in this order; by default every column of numbers but `NO_LOSSES`. A table that
      lacks one of them is left out of that panel, and rows where it is NaN are skipped.
    * `smooth`: rows in the running mean (of an even number one more), centred so that nothing is shifted in time; by
      default a 25th of the run, 1 turns it off.
    * `levels`: dashed lines to read a curve against, {"contrast": {"chance: log 64": 4.16}}.
    * `ylabel`: what is drawn, where it is not a loss: "share of tokens".

    The vertical axes are not shared, because the parts have different units. Returns the figure. Raises a
    ValueError where no table has a wanted part.

    >>> import pandas
    >>> from contrast_kit import plots
    >>> table = pandas.DataFrame({"step": [0, 1, 2], "mlm": [8.0, 7.0, 6.5], "contrast": [3.0, 2.0, 1.0]})
    >>> figure = plots.loss_curves(table)
    >>> [axes.get_title() for axes in figure.axes]
    ['mlm', 'contrast']
    """
    tables = {
        name: getattr(run, "history", run) for name, run in by_name(history).items()
    }
    columns = rows_of(
        {name: table.select_dtypes("number") for name, table in tables.items()}
    )
    if parts is None:
        parts = [name for name in columns if name not in NO_LOSSES]
    missing = [part for part in parts if part not in columns]
    if missing:
        raise ValueError(f"history has no column of numbers {missing}; it has {columns}.")
    figure, drawn = panels(dict.fromkeys(parts), 2.7, title=title)
    for panel, part, _ in drawn:
        for i, (name, table) in enumerate(tables.items()):
            if part in table:
                _draw_curve(panel, table[["step", part]].dropna(), smooth, i, name)
        level_lines(panel, (levels or {}).get(part, {}))
        panel.set_xlabel("step")
        panel.grid(axis="y")
        y_label(panel, ylabel)
    if len(tables) > 1:
        legend(figure, ncols=6)
    return figure


def _draw_curve(panel, table, smooth, i, name):
    step, raw = array(table, "history").T
    window = max(1, len(raw) // 25) if smooth is None else smooth
    if window > 1:
        panel.plot(step, raw, color=colour(i), alpha=0.25, linewidth=0.8)
    means = table.iloc[:, 1].rolling(window // 2 * 2 + 1, center=True, min_periods=1)
    look = {"color": colour(i), "linestyle": line_style(i)}
    panel.plot(step, means.mean(), label=name, **look)


@styled
def lines_with_errors(
    results: dict,
    x_label: str,
    label: str = "score",
    *,
    even: bool = False,
    levels: dict | None = None,
    log: bool = False,
    title: str = "",
):
    """One line per method: its mean over seeds along x, bars of ± one standard deviation, each seed as a faint dot.

    * `results`: {"MLM": {0.0: [seeds …], 0.15: [seeds …]}, "CAPT": …}, for each x the numbers of its seeds (or one
      number); or a dict of such dicts for a panel each, with the same methods in the same colours.
    * `x_label`, `label`: what the axes mean, with units. A single line with the name "" has no legend.
    * `even`: place the values of x at even distances, like names, which suits 128, 512, 2048 … or words. Numbers stand
      by size, words in the order of the lines.
    * `levels`: dashed lines to read the curves against, {"another text": 1.0}, or {panel: {"another text": 1.0}}.
    * `log`: a logarithmic vertical axis, where methods differ by factors; all values must be above 0.

    The standard deviation is that of the seeds (n − 1 in its denominator), not of their mean; one seed has none.
    Returns the figure. Raises a ValueError for NaN, and for values ≤ 0 with `log`.

    >>> from contrast_kit import plots
    >>> figure = plots.lines_with_errors({"MLM": {0.1: [1.0, 3.0], 0.2: [4.0, 6.0]}}, "share masked")
    >>> figure.axes[0].lines[0].get_ydata().tolist()
    [2.0, 5.0]
    """
    first = next(iter(results.values()))
    grouped = isinstance(next(iter(first.values())), Mapping)
    tables = dict(results) if grouped else {"": results}
    methods = rows_of(tables)
    levels = by_panel(levels or {})
    width = WIDTH if len(tables) > 1 else 6.6
    figure, drawn = panels(tables, 3.2, columns=2, title=title, width=width)
    for panel, name, table in drawn:
        xs = in_order(rows_of(table))
        places = {x: float(i if even else x) for i, x in enumerate(xs)}
        for method, line in score_tables(table).items():
            seeds = {places[x]: line[x] for x in xs if x in line}
            _draw_line(panel, seeds, methods.index(method), method)
        if even:
            panel.set_xticks(list(places.values()), list(map(str, places)))
        if log:
            if (
                min(np.min(seeds) for line in table.values() for seeds in line.values())
                <= 0
            ):
                raise ValueError(
                    "A logarithmic axis has no place for values of 0 or below; leave them out or log=False."
                )
            panel.set_yscale("log")
        level_lines(panel, levels.get(name, levels.get("", {})))
        panel.set_xlabel(x_label)
        panel.grid(axis="y")
        y_label(panel, label)
    legend(figure, ncols=4)
    return figure


def _draw_line(panel, seeds, i, name):
    means = np.array([values.mean() for values in seeds.values()])
    bars = np.full(len(seeds), np.nan)  # one seed has none
    for k, (place, values) in enumerate(seeds.items()):
        if len(values) > 1:
            bars[k] = values.std(ddof=1)
            look = {"color": colour(i), "alpha": 0.5, "linewidths": 0}
            panel.scatter([place] * len(values), values, s=16, **look)
    look = {"color": colour(i), "linestyle": line_style(i), "label": name}
    if len(seeds) <= MARKED:
        look |= {"marker": marker(i), "markersize": 5}
    panel.errorbar(list(seeds), means, bars, elinewidth=1, **look)
