"""Methods beside one another: bars over seeds, and points with two numbers each."""

import numpy as np

from contrast_kit.plots.style import (
    GREY,
    INK,
    array,
    colour,
    legend,
    marker,
    named_rows,
    note,
    number,
    panels,
    rows_of,
    score_tables,
    single,
    styled,
)


@styled
def bars_with_errors(
    results: dict,
    label: str = "score",
    *,
    baseline: float = 0.0,
    digits: int = 3,
    title: str = "",
):
    """One bar per method: its mean over seeds, a line of ± one standard deviation, and each seed as a dot.

    * `results`: {"MLM": [0.71, 0.69, 0.70], "CMLM": …}, one number per seed; or a dict of such dicts, {"STS-B": {"MLM":
      …}, "SST-2": …}, for a panel each, with the methods in the order of the first.
    * `label`: what is measured, with its unit; where there are panels, their names say it.
    * `baseline`: where the bars start. Let it be the score of guessing (0.5) and a bar's length is what was learnt; a
      bar that starts anywhere else overstates.

    The standard deviation is that of the seeds (n − 1 in its denominator), not of their mean; with one seed
    there is none, and neither line nor dot is drawn. Returns the figure.

    >>> from contrast_kit import plots
    >>> figure = plots.bars_with_errors({"MLM": [0.7, 0.8], "CMLM": [0.8, 0.9]}, "accuracy")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['0.750 ± 0.071', '0.850 ± 0.071']
    """
    tables = score_tables(results)
    methods = rows_of(tables)
    # For the numbers, as a share of the width of the bars.
    room = 0.28 if len(tables) == 1 else 0.7
    figure, drawn = panels(tables, 0.42 * len(methods) + 1.0, columns=2, title=title)
    for panel, name, table in drawn:
        for method, scores in table.items():
            _draw_bar(panel, methods.index(method), scores, baseline, digits)
        panel.axvline(baseline, color="#888888", linewidth=1)
        low, high = panel.dataLim.intervalx
        ticks = panel.get_xticks()
        panel.set_xticks(ticks[(ticks >= low) & (ticks <= high)])
        panel.set_xlim(right=high + room * (high - low or 1.0))
        panel.set(title="", xlabel=name or label)
        named_rows(panel, methods)
    return figure


def _draw_bar(panel, row, scores, baseline, digits):
    mean, color = scores.mean(), colour(row)
    panel.barh(row, mean - baseline, 0.62, baseline, color=color, alpha=0.4)
    words, reach = number(mean, digits), max(scores.max(), baseline)
    if len(scores) > 1:
        sd = scores.std(ddof=1)
        panel.errorbar(mean, row, xerr=sd, color=INK, linewidth=1.3, zorder=3)
        words += f" ± {sd:.{digits}f}"
        reach = max(reach, mean + sd)
        # Seeds a little apart, so that equal scores stay countable; at fixed places: no chance in a picture.
        rows = row + np.linspace(-0.16, 0.16, len(scores))
        panel.scatter(scores, rows, s=20, facecolor=color, linewidths=0.6, zorder=4)
    note(panel, words, (reach, row), (6, 0), va="center", fontsize=9.5)


@styled
def plane(methods: dict, x_label: str, y_label: str, *, title: str = ""):
    """Methods by two numbers that need not agree, such as a score for meaning and one for grammar.

    `methods` is {"MLM": (x, y), …}, or [S, 2] with one row per seed: then each seed is a small mark and the mean a
    large one. Returns the figure.

    >>> from contrast_kit import plots
    >>> figure = plots.plane({"MLM": (0.2, 0.3), "CMLM": [(0.1, 0.2), (0.1, 0.3)]}, "meaning", "grammar")
    >>> figure.axes[0].get_ylabel()
    'grammar'
    """
    figure, panel = single(4.2, title)
    panel.set(xlabel=x_label, ylabel=y_label)
    panel.margins(0.12)
    panel.grid()
    for i, (name, values) in enumerate(methods.items()):
        seeds = np.atleast_2d(array(values, name))  # [S, 2]
        look = {"facecolor": colour(i), "marker": marker(i)}
        if len(seeds) > 1:
            panel.scatter(*seeds.T, s=22, alpha=0.45, linewidths=0, **look)
        mean = seeds.mean(axis=0)  # [S, 2] -> [2]
        panel.scatter(*mean, s=110, linewidths=0.8, zorder=3, label=name, **look)
    legend(figure, "right upper")
    return figure


@styled
def alignment_uniformity_plane(methods: dict):
    """Where each method lies between "positives close" and "everything spread out": lower left is better.

    Wang & Isola 2020; drawn as in the papers that followed, uniformity across and alignment up. `methods` is
    {"MLM": (alignment, uniformity), …}, from `geometry.alignment` and `geometry.uniformity`, or [S, 2] with one row per
    seed: then each seed is a small mark and the mean a large one. Low alignment alone is no merit: a collapsed encoder
    sits at (0, 0), the lower right corner, which is marked.

    Returns the figure. Raises a ValueError for values these measures cannot have.

    >>> from contrast_kit import plots
    >>> figure = plots.alignment_uniformity_plane({"MLM": (0.3, -1.0), "CMLM": [(0.2, -2.0), (0.2, -2.2)]})
    >>> figure.axes[0].get_xlabel()
    'uniformity (lower: more evenly spread)'
    """
    marks = {}
    for name, values in methods.items():
        align, uniform = np.atleast_2d(array(values, name)).T
        if align.min() < -1e-6 or uniform.max() > 1e-6:
            raise ValueError(
                f"methods[{name!r}] must be (alignment ≥ 0, uniformity ≤ 0); are the two swapped?"
            )
        marks[name] = np.stack([uniform, align], axis=1)
    words = (
        "uniformity (lower: more evenly spread)",
        "alignment (lower: positives closer)",
    )
    figure = plane(marks, *words)
    (panel,) = figure.axes
    panel.plot(0, 0, "x", color=GREY, markersize=8, clip_on=False)
    note(panel, "collapse ↘", (0, 0), (-8, 24), ha="right", color=GREY)
    panel.set_ylim(bottom=0)
    panel.set_xlim(right=0)
    return figure
