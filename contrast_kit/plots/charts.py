"""Methods beside one another: bars over seeds, wholes cut into parts, and points with two numbers each."""

from collections.abc import Mapping, Sequence

import numpy as np

from contrast_kit.plots.style import (
    INK,
    PALETTE,
    array,
    colour,
    level_lines,
    marker,
    named_rows,
    number,
    panels,
    rows_of,
    score_tables,
    styled,
)

LEGEND = 5  # parts of a whole named in one row
WRITTEN = 0.035  # of the whole: a smaller part has no room for its number
ARROW = {"arrowstyle": "-|>", "color": "#888888", "linewidth": 1.4}


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
    room = 0.28 if len(tables) == 1 else 0.7  # for the numbers, as a share of the width of the bars
    figure, axes = panels(len(tables), 0.42 * len(methods) + 1.0, columns=2, title=title)
    for panel, (name, table) in zip(axes, tables.items(), strict=True):
        for method, scores in table.items():
            _draw_bar(panel, methods.index(method), scores, baseline, digits)
        panel.axvline(baseline, color="#888888", linewidth=1)
        low, high = panel.dataLim.intervalx
        span = (high - low) or 1.0
        panel.set_xlim(low - 0.04 * span * (low < baseline), high + room * span)
        if limits.get(name) is not None:
            panel.set_xticks(
                [tick for tick in panel.get_xticks() if low <= tick <= limits[name] + 1e-9]
            )
        panel.set_xlabel(name or label)
        named_rows(panel, methods)
        if baseline_label:
            place = panel.get_xaxis_transform()  # x in data, y as a share of the panel
            look = {"fontsize": 9, "color": "#666666", "va": "bottom"}
            panel.annotate(
                baseline_label,
                (baseline, 1),
                (3, 0),
                place,
                "offset points",
                **look,
            )
    return figure


def _draw_bar(panel, row, scores, baseline, digits):
    mean = scores.mean()
    color = colour(row)
    panel.barh(
        row,
        mean - baseline,
        left=baseline,
        height=0.62,
        color=color,
        alpha=0.35,
        linewidth=0,
    )
    panel.plot([mean, mean], [row - 0.31, row + 0.31], color=color, linewidth=2.2)
    words = number(mean, digits)
    reach = max(scores.max(), baseline)
    if len(scores) > 1:
        sd = scores.std(ddof=1)
        panel.errorbar(mean, row, xerr=sd, color=INK, linewidth=1.3, capsize=4, zorder=3)
        words += f" ± {sd:.{digits}f}"
        reach = max(reach, mean + sd)
        # Seeds a little apart, so that equal scores stay countable; at fixed places: no chance in a picture.
        rows = row + np.linspace(-0.16, 0.16, len(scores))
        panel.scatter(
            scores,
            rows,
            s=20,
            color=color,
            edgecolors="white",
            linewidths=0.6,
            zorder=4,
        )
    panel.annotate(
        words,
        (reach, row),
        (6, 0),
        textcoords="offset points",
        va="center",
        fontsize=9.5,
    )


@styled
def shares(
    wholes: dict,
    label: str = "share",
    *,
    colours: Sequence[str] | None = None,
    points: dict | None = None,
    title: str = "",
):
    """One bar from 0 to 1 per row, cut into parts that lie end to end, those from 3.5 % on with their share in them.

    * `wholes`: {"one mask": {"readable": 0.85, "hidden": 0.15}, …}, the parts of every row; their sum is 1.
    * `label`: what they are shares of. `colours`: one for each part; by default the palette's.
    * `points`: {"word": 0.23, …}, places on the bars' common scale, marked above the first bar with their names.

    Returns the figure. Raises a ValueError for rows whose parts do not sum to 1.

    >>> from contrast_kit import plots
    >>> figure = plots.shares({"first": {"seen": 0.25, "hidden": 0.75}})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['25 %', '75 %']
    """
    parts = rows_of(wholes)
    table = array(
        [[row[part] for part in parts] for row in wholes.values()], "wholes"
    )  # [rows, parts]
    if table.min() < 0 or np.abs(table.sum(axis=1) - 1).max() > 1e-3:
        raise ValueError(
            f"Parts make up a whole, so the shares of every row must sum to 1, not {table.sum(axis=1)}."
        )
    height = 0.42 * len(table) + 0.85 + 0.6 * bool(points) + 0.2 * (len(parts) > 2 * LEGEND)
    figure, (panel,) = panels(1, height, title=title)
    left = np.zeros(len(table))
    fills = colours or PALETTE
    for i, part in enumerate(parts):
        widths = table[:, i]
        fill = fills[i % len(fills)]
        bars = panel.barh(
            list(wholes),
            widths,
            left=left,
            height=0.7,
            color=fill,
            linewidth=0,
            label=part,
        )
        words = [f"{100 * width:.0f} %" if width >= WRITTEN else "" for width in widths]
        panel.bar_label(bars, words, label_type="center", color=_ink_on(fill))
        left = left + widths
    panel.set(xlim=(0, 1), ylim=(len(table) - 0.55, -0.45), xlabel=label)
    panel.spines["left"].set_visible(False)
    panel.tick_params(axis="y", length=0)
    for word, place in (points or {}).items():
        panel.plot(
            place,
            -0.42,
            "v",
            color=INK,
            markersize=6,
            clip_on=False,
            gid="point",
        )
        panel.annotate(
            word,
            (place, -0.42),
            (-3, 7),
            textcoords="offset points",
            rotation=45,
            annotation_clip=False,
        )
    figure.legend(loc="outside lower center", ncols=LEGEND)
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
    figure, (panel,) = panels(1, 3.7, title=title)
    for i, (name, settings) in enumerate(methods.items()):
        points = array(list(settings.values()), name)  # [S, 2]
        panel.plot(
            *points.T,
            color=colour(i),
            marker=marker(i),
            markersize=6,
            linewidth=1.8,
            label=name,
        )
        for word, point in zip(settings, points, strict=True):
            look = {
                "color": colour(i),
                "fontsize": 9,
                "ha": "right",
                "va": "top",
            }
            panel.annotate(word, point, (-6, -4), textcoords="offset points", **look)
    panel.set(xlabel=x_label, ylabel=label)
    panel.margins(0.1)
    panel.grid()
    level_lines(panel, levels or {})
    if corner:
        panel.annotate(
            "",
            (0.985, 0.87),
            (0.93, 0.76),
            xycoords="axes fraction",
            arrowprops=ARROW,
        )
        panel.text(
            0.92,
            0.75,
            corner,
            transform=panel.transAxes,
            color="#777777",
            fontsize=9.5,
            ha="right",
            va="top",
        )
    figure.legend(loc="outside lower center", ncols=min(4, len(methods)))
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
    figure, (panel,) = panels(1, 4.2, title=title)
    panel.set(xlabel=x_label, ylabel=y_label)
    panel.margins(0.12)
    panel.grid()
    for i, (name, values) in enumerate(methods.items()):
        seeds = np.atleast_2d(array(values, name))  # [S, 2]
        if len(seeds) > 1:
            panel.scatter(
                *seeds.T,
                s=22,
                color=colour(i),
                marker=marker(i),
                alpha=0.45,
                linewidths=0,
            )
        look = {
            "s": 110,
            "color": colour(i),
            "marker": marker(i),
            "edgecolors": "white",
            "linewidths": 0.8,
        }
        panel.scatter(*seeds.mean(axis=0), label=name, zorder=3, **look)  # [S, 2] -> [2]
    figure.legend(loc="outside right upper")
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
    marks = {name: np.atleast_2d(array(values, name))[:, ::-1] for name, values in methods.items()}
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
    panel.plot(0, 0, "x", color="#777777", markersize=8, clip_on=False, gid="collapse")
    panel.annotate(
        "collapse",
        (0, 0),
        (-8, 26),
        textcoords="offset points",
        ha="right",
        color="#777777",
    )
    panel.set_ylim(bottom=0)
    panel.set_xlim(right=0)
    panel.annotate(
        "",
        (0.02, 0.03),
        (0.11, 0.13),
        xycoords="axes fraction",
        arrowprops=ARROW,
    )
    panel.text(
        0.12,
        0.14,
        "better",
        transform=panel.transAxes,
        color="#777777",
        fontsize=9.5,
    )
    return figure
