"""Methods beside one another: means, deviations and every seed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments
from contrast_kit.plots.settings import real
from contrast_kit.plots.style import INK, colour, named, number, panels, runs, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEST = real("the best score there can be")


@styled
def bars_with_errors(
    results: Mapping[str, Any],
    label: str = "score",
    *,
    baseline: float = 0.0,
    baseline_label: str | None = None,
    limit: float | Mapping[str, float] | None = None,
    digits: int = 3,
    title: str | None = None,
) -> "Figure":
    """One bar per method: its mean over seeds, a line of ± one standard deviation, and each seed as a dot.

    * `results`: {"MLM": [0.71, 0.69, 0.70], "CMLM": …}, one number per seed; or a dict of such dicts, {"STS-B": {"MLM":
      …}, "SST-2": …}, for a panel each, with the methods in the order of the first.
    * `label`: what is measured, with its unit; where there are panels, their names say it.
    * `baseline`: where the bars start. Let it be the score of guessing (0.5) and a bar's length is what was learnt; a
      bar that starts anywhere else overstates. `baseline_label` names that line.
    * `limit`: the best score there can be, such as 1 for a share; the axis has no ticks beyond it. Where only some
      panels have one: {panel: limit}.

    The standard deviation is that of the seeds (n − 1 in its denominator), not of their mean; with one seed
    there is none, and neither line nor dot is drawn. Returns the figure. Raises a ValueError for empty or
    non-finite scores.

    >>> from contrast_kit import plots
    >>> figure = plots.bars_with_errors({"MLM": [0.7, 0.8], "CMLM": [0.8, 0.9]}, "accuracy")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['0.750 ± 0.071', '0.850 ± 0.071']
    """
    results = named(results, "results")
    grouped = [isinstance(value, Mapping) for value in results.values()]
    if any(grouped) and not all(grouped):
        raise ValueError("results must be all methods, or all panels of methods, not a mixture.")
    tables = results if all(grouped) else {"": results}
    tables = {name: scores_of(table, name) for name, table in tables.items()}
    methods = list(dict.fromkeys(method for table in tables.values() for method in table))
    limits = limit if isinstance(limit, Mapping) else {} if limit is None else dict.fromkeys(tables, limit)
    for name in limits:
        arguments.known(name, tables, "panel", "for a limit")
    limits = {name: BEST("limit", most) for name, most in limits.items() if most is not None}
    figure, axes = panels(len(tables), height=0.42 * len(methods) + 1.0, columns=2, title=title)
    for panel, (name, table) in zip(axes, tables.items(), strict=True):
        for row, method in enumerate(methods):
            if method in table:
                _draw_bar(panel, row, table[method], baseline, digits)
        panel.set_yticks(range(len(methods)), methods, fontsize=10)
        panel.set_ylim(len(methods) - 0.4, -0.6)
        panel.axvline(baseline, color="#888888", linewidth=1)
        _leave_room(panel, table, baseline, limits.get(name), share=0.28 if len(tables) == 1 else 0.7)
        panel.set_xlabel(name or label)
        panel.grid(axis="x")
        panel.spines["left"].set_visible(False)
        panel.tick_params(axis="y", length=0)
        if baseline_label:
            at = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            panel.annotate(baseline_label, (baseline, 1), (3, 0), fontsize=9, color="#666666", va="bottom", **at)
    return figure


def scores_of(table: Any, name: str) -> dict[str, np.ndarray]:
    """The scores of each method as an array, one score per seed."""
    return {method: runs(values, f"results of {method!r}") for method, values in named(table, name).items()}


def _draw_bar(panel: Any, row: int, scores: np.ndarray, baseline: float, digits: int) -> None:
    mean, color = scores.mean(), colour(row)
    panel.barh(row, mean - baseline, left=baseline, height=0.62, color=color, alpha=0.35, linewidth=0)
    panel.plot([mean, mean], [row - 0.31, row + 0.31], color=color, linewidth=2.2)
    words = number(mean, digits)
    reach = scores.max()
    if len(scores) > 1:
        sd = scores.std(ddof=1)
        panel.errorbar(mean, row, xerr=sd, color=INK, linewidth=1.3, capsize=4, zorder=3)
        words += f" ± {sd:.{digits}f}"
        reach = max(reach, mean + sd)
        # Seeds a little apart, so that equal scores stay countable; at fixed places: no chance in a picture.
        rows = row + np.linspace(-0.16, 0.16, len(scores))
        panel.scatter(scores, rows, s=20, color=color, edgecolors="white", linewidths=0.6, zorder=4)
    at = max(reach, baseline)
    panel.annotate(words, (at, row), (6, 0), textcoords="offset points", va="center", fontsize=9.5)


def _leave_room(
    panel: Any, table: Mapping[str, np.ndarray], baseline: float, limit: float | None, share: float
) -> None:
    """Leave space for all scores and error bars, and at the right for the numbers: a `share` of the width of the bars.

    No ticks stand beyond `limit`.
    """
    bars = [scores.mean() + scores.std(ddof=1) * np.array([-1, 1]) for scores in table.values() if len(scores) > 1]
    everything = np.concatenate([*table.values(), *bars, [baseline]])
    low, high = everything.min(), everything.max()
    span = (high - low) or 1.0
    panel.set_xlim(low - 0.04 * span * (low < baseline), high + share * span)
    if limit is not None:
        panel.set_xticks([tick for tick in panel.get_xticks() if low <= tick <= limit + 1e-9])
