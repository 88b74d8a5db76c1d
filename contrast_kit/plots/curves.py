"""The parts of a loss over training, several runs overlaid."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.plots.style import array, colour, level_lines, line_style, panels, styled, y_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

NO_LOSSES = ("step", "lr", "grad_norm", "seconds")
"""Columns of `Run.history` that are no part of a loss."""


@styled
def loss_curves(
    history: "Any | DataFrame | Mapping[str, Any | DataFrame]",
    parts: Sequence[str] | None = None,
    *,
    smooth: int | None = None,
    levels: Mapping[str, Mapping[str, float]] | None = None,
    ylabel: str | Mapping[str, str] = "loss",
    title: str | None = None,
) -> "Figure":
    """One panel for each part of the loss, over the steps: the raw values faint, a running mean strong.

    * `history`: what `fit` returned, or a table with a column `step` and one column per part (such as `Run.history`, or
      a `history.csv`); or a dict of them, {"MLM": …, "CMLM": …}, drawn over one another, each in its own colour (from
      the ninth on the colours return, in dashed lines).
    * `parts`: the columns to draw, in this order; by default every column of numbers but `NO_LOSSES`. A table that
      lacks one of them is left out of that panel, and rows where it is NaN are skipped.
    * `smooth`: rows in the running mean (of an even number one more), centred so that nothing is shifted in time; by
      default a 25th of the run, 1 turns it off.
    * `levels`: dashed lines to read a curve against, {"contrast": {"chance: log 64": 4.16}}.
    * `ylabel`: what is drawn, where it is not a loss: "share of tokens"; or by part, {"spread": "distance"}, for the
      parts that are not losses.

    The vertical axes are not shared, because the parts have different units. Returns the figure. Raises a
    ValueError when a table has no `step`, or none of them has a wanted part.

    >>> import pandas
    >>> from contrast_kit import plots
    >>> table = pandas.DataFrame({"step": [0, 1, 2], "mlm": [8.0, 7.0, 6.5], "contrast": [3.0, 2.0, 1.0]})
    >>> figure = plots.loss_curves(table)
    >>> [axes.get_title() for axes in figure.axes]
    ['mlm', 'contrast']
    """
    from matplotlib.ticker import MaxNLocator

    runs = history if isinstance(history, Mapping) else {"": history}
    if not runs:
        raise ValueError("history is empty, so there is nothing to draw.")
    runs = {name: getattr(run, "history", run) for name, run in runs.items()}
    for name, table in runs.items():
        if not hasattr(table, "columns") or "step" not in table.columns:
            raise ValueError(f"history{f' of {name!r}' if name else ''} must be a table with a column 'step'.")
    parts = _parts(runs.values(), parts)
    for part in levels or ():
        arguments.known(part, parts, "curve", "for a level")
    figure, axes = panels(len(parts), height=2.7, title=title, sharex=True)
    for panel, part in zip(axes, parts, strict=True):
        for i, (name, table) in enumerate(runs.items()):
            if part in table.columns:
                _draw_curve(panel, table, part, smooth, i, label=str(name))
        level_lines(panel, (levels or {}).get(part, {}))
        panel.set_title(part)
        panel.set_xlabel("step")
        panel.grid(axis="y")
        panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        y_label(panel, ylabel, part, "loss")
    if len(runs) > 1:
        handles = [_legend_line(i, str(name)) for i, name in enumerate(runs)]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(runs)))
    return figure


def _parts(tables: Any, wanted: Sequence[str] | None) -> list[str]:
    columns = {str(c): None for table in tables for c in table.select_dtypes("number").columns if c != "step"}
    losses = [name for name in columns if name not in NO_LOSSES]
    wanted = losses if wanted is None else arguments.listed("parts", wanted, "columns")
    missing = [part for part in wanted if not isinstance(part, str) or part not in columns]
    if missing or not wanted:
        lacking = checks.shown(missing) if missing else ""
        raise ValueError(f"history has no column of numbers {lacking}; it has {list(columns)}.")
    return wanted


def _draw_curve(panel: Any, table: Any, part: str, smooth: int | None, i: int, label: str) -> None:
    table = table[["step", part]].dropna()
    if not len(table):
        return
    step, raw = array(table["step"].to_numpy(), "step", 1), array(table[part].to_numpy(), part, 1)
    window = max(1, len(raw) // 25) if smooth is None else smooth
    if window > 1:
        panel.plot(step, raw, color=colour(i), alpha=0.25, linewidth=0.8, gid="raw")
    look = {"color": colour(i), "linestyle": line_style(i), "linewidth": 1.8}
    panel.plot(step, running_mean(raw, window), label=label, gid="smooth", **look)


def running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """The mean of each value with its neighbours, 2 ⌊`window` / 2⌋ + 1 in all; fewer at both ends, none invented."""
    reach = window // 2
    total = np.concatenate([[0.0], np.cumsum(values)])
    i = np.arange(len(values))
    low, high = np.maximum(i - reach, 0), np.minimum(i + reach + 1, len(values))
    return (total[high] - total[low]) / (high - low)


def _legend_line(i: int, label: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour(i), linestyle=line_style(i), linewidth=2.5, label=label)
