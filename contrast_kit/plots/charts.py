"""Methods beside one another: bars over seeds, wholes cut into parts, and points with two numbers each."""

from collections.abc import Mapping, Sequence

import numpy as np

from contrast_kit.plots.style import (
    GREY,
    INK,
    PALETTE,
    array,
    colour,
    legend,
    level_lines,
    marker,
    named_rows,
    note,
    number,
    panels,
    rows_of,
    score_tables,
    single,
    styled,
    towards,
)

ABREAST = 5  # parts of a whole named in one row
WRITTEN = 0.035  # of the whole: a smaller part has no room for its number


@styled
def bars_with_errors(
    results: dict,
    label: str = "score",
    *,
    baseline: float = 0.0,
    baseline_label: str = "",
    limit: float | dict | None = None,
    digits: int = 3,
    title: str = "",
):
    """One bar per method: its mean over seeds, a line of ± one standard deviation, and each seed as a dot.

    * `results`: {"MLM": [0.71, 0.69, 0.70], "CMLM": …}, one number per seed; or a dict of such dicts, {"STS-B": {"MLM":
      …}, "SST-2": …}, for a panel each, with the methods in the order of the first.
    * `label`: what is measured, with its unit; where there are panels, their names say it.
    * `baseline`: where the bars start. Let it be the score of guessing (0.5) and a bar's length is what was learnt; a
      bar that starts anywhere else overstates. `baseline_label` names that line.
    * `limit`: the best score there can be, such as 1 for a share; the axis has no ticks beyond it. Where only some
      panels have one: {panel: limit}.

    The standard deviation is that of the seeds (n − 1 in its denominator), not of their mean; with one seed
    there is none, and neither line nor dot is drawn. Returns the figure.

    >>> from contrast_kit import plots
    >>> figure = plots.bars_with_errors({"MLM": [0.7, 0.8], "CMLM": [0.8, 0.9]}, "accuracy")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['0.750 ± 0.071', '0.850 ± 0.071']
    """
    tables = score_tables(results)
    methods = rows_of(tables)
    limits = limit if isinstance(limit, Mapping) else dict.fromkeys(tables, limit)
    # For the numbers, as a share of the width of the bars.
    room = 0.28 if len(tables) == 1 else 0.7
    figure, drawn = panels(tables, 0.42 * len(methods) + 1.0, columns=2, title=title)
    for panel, name, table in drawn:
        for method, scores in table.items():
            _draw_bar(panel, methods.index(method), scores, baseline, digits)
        panel.axvline(baseline, color="#888888", linewidth=1)
        low, high = panel.dataLim.intervalx
        span = (high - low) or 1.0
        panel.set_xlim(low - 0.04 * span * (low < baseline), high + room * span)
        if limits.get(name) is not None:
            ticks = panel.get_xticks()
            panel.set_xticks(ticks[(ticks >= low) & (ticks <= limits[name] + 1e-9)])
        panel.set(title="", xlabel=name or label)
        named_rows(panel, methods)
        place = panel.get_xaxis_transform()  # x in data, y as a share of the panel
        look = {"xycoords": place, "fontsize": 9, "color": GREY, "va": "bottom"}
        if baseline_label:
            note(panel, baseline_label, (baseline, 1), (3, 0), **look)
    return figure


def _draw_bar(panel, row, scores, baseline, digits):
    mean, color = scores.mean(), colour(row)
    panel.barh(row, mean - baseline, 0.62, baseline, color=color, alpha=0.35, linewidth=0)
    panel.plot([mean, mean], [row - 0.31, row + 0.31], color=color, linewidth=2.2)
    words = number(mean, digits)
    reach = max(scores.max(), baseline)
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
def shares(
    wholes: dict,
    label: str = "share",
    *,
    colours: Sequence[str] = PALETTE,
    points: dict | None = None,
    title: str = "",
):
    """One bar from 0 to 1 per row, cut into parts that lie end to end, those from 3.5 % on with their share in them.

    * `wholes`: {"one mask": {"readable": 0.85, "hidden": 0.15}, …}, the parts of every row; their sum is 1.
    * `label`: what they are shares of. `colours`: one for each part.
    * `points`: {"word": 0.23, …}, places on the bars' common scale, marked above the first bar with their names.

    Returns the figure. Raises a ValueError for rows whose parts do not sum to 1.

    >>> from contrast_kit import plots
    >>> figure = plots.shares({"first": {"seen": 0.25, "hidden": 0.75}})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['25 %', '75 %']
    """
    parts = rows_of(wholes)
    rows = [[whole[part] for part in parts] for whole in wholes.values()]
    table = array(rows, "wholes")  # [rows, parts]
    if table.min() < 0 or np.abs(table.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError(
            f"Parts make up a whole, so the shares of every row must sum to 1, not {table.sum(axis=1)}."
        )
    points = points or {}
    height = (
        0.42 * len(table) + 0.85 + 0.6 * bool(points) + 0.2 * (len(parts) > 2 * ABREAST)
    )
    figure, panel = single(height, title)
    starts = table.cumsum(axis=1) - table
    for i, part in enumerate(parts):
        fill = colours[i % len(colours)]
        look = {"height": 0.7, "color": fill, "linewidth": 0, "label": part}
        bars = panel.barh(list(wholes), table[:, i], left=starts[:, i], **look)
        words = [
            f"{100 * share:.0f} %" if share >= WRITTEN else "" for share in table[:, i]
        ]
        panel.bar_label(bars, words, label_type="center", color=_ink_on(fill))
    panel.set(xlim=(0, 1), ylim=(len(table) - 0.55, -0.45), xlabel=label)
    panel.spines["left"].set_visible(False)
    panel.tick_params(axis="y", length=0)
    for word, place in points.items():
        panel.plot(place, -0.42, "v", color=INK, clip_on=False, gid="point")
        note(panel, word, (place, -0.42), (-3, 7), rotation=45, annotation_clip=False)
    legend(figure, ncols=ABREAST)
    return figure


def _ink_on(fill):
    """White on dark colours, dark on light ones."""
    from matplotlib.colors import to_rgb

    return "white" if np.dot(to_rgb(fill), (0.299, 0.587, 0.114)) < 0.5 else INK


@styled
def trade_off(
    methods: dict,
    x_label: str,
    label: str,
    *,
    levels: dict | None = None,
    corner: str = "better",
    title: str = "",
):
    """A point for each setting, its name beside it, and a line through the settings of each method.

    For two things of which more is wanted, so that the upper right corner is the best.

    * `methods`: {"one rate": {"p = 0.1": (x, y), "p = 0.2": …}, "two rates": …}; a setting named "" gets no words.
    * `x_label`, `label`: the two goals. `levels`: dashed lines across, {"chance": 4.16}.
    * `corner`: the word at an arrow to the upper right; "" draws none, where more is not always better.

    Returns the figure.

    >>> from contrast_kit import plots
    >>> figure = plots.trade_off({"one dial": {"low": (0.9, 0.1), "high": (0.2, 0.8)}}, "context", "contrast")
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['low', 'high']
    """
    figure, panel = single(3.7, title)
    for i, (name, settings) in enumerate(methods.items()):
        points = array(list(settings.values()), name)  # [S, 2]
        look = {"color": colour(i), "marker": marker(i)}
        panel.plot(*points.T, label=name, **look)
        for word, point in zip(settings, points, strict=True):
            note(
                panel,
                word,
                point,
                (-6, -4),
                color=colour(i),
                fontsize=9,
                ha="right",
                va="top",
            )
    panel.set(xlabel=x_label, ylabel=label)
    panel.margins(0.1)
    panel.grid()
    level_lines(panel, levels or {})
    if corner:
        towards(panel, corner, (0.985, 0.87), (0.92, 0.75), (1, 1))
    legend(figure, ncols=4)
    return figure


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
def alignment_uniformity_plane(methods: dict, *, title: str = ""):
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
    marks = {
        name: np.atleast_2d(array(values, name))[:, ::-1]
        for name, values in methods.items()
    }
    for name, seeds in marks.items():
        if seeds[:, 0].max() > 1e-6 or seeds[:, 1].min() < -1e-6:
            raise ValueError(
                f"methods[{name!r}] must be (alignment ≥ 0, uniformity ≤ 0); are the two swapped?"
            )
    labels = (
        "uniformity (lower: more evenly spread)",
        "alignment (lower: positives closer)",
    )
    figure = plane(marks, *labels, title=title)
    (panel,) = figure.axes
    panel.plot(0, 0, "x", color=GREY, markersize=8, clip_on=False, gid="collapse")
    note(panel, "collapse", (0, 0), (-8, 26), ha="right", color=GREY)
    panel.set_ylim(bottom=0)
    panel.set_xlim(right=0)
    towards(panel, "better", (0.02, 0.03), (0.12, 0.14), (0, 0))
    return figure
