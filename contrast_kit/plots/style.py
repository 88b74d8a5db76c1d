"""What all pictures share: colours, type sizes, a grid of panels, and the way numbers are read in."""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    pass

# Okabe & Ito 2008: told apart by readers with any of the common colour-vision deficiencies. Their eighth, a yellow, is
# too faint on white; indigo, in its place, is Tol's (2021).
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#555555",
    "#332288",
)
LINES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, FAINT = "#333333", "#BBBBBB"
DASHED = (0, (4, 3))
WIDTH = 9.0  # inches, the width of a notebook's output

STYLE = {
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "xtick.color": "#888888",
    "ytick.color": "#888888",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,  # a "$" in a text is a dollar
}


def styled(draw):
    """Decorator: draw under the kit's style, and leave the reader's own matplotlib settings alone."""

    @functools.wraps(draw)
    def inside(*args, **options):
        import matplotlib

        with matplotlib.rc_context(STYLE):
            return draw(*args, **options)

    return inside


def panels(n, height, columns=3, title="", width=WIDTH, **shared):
    """A figure of n panels, as wide as a notebook, each `height` inches high, at most `columns` side by side."""
    from contrast_kit.plots.figure import Figure

    rows = -(-n // columns)
    columns = -(-n // rows)  # four panels as two and two, not as three and one
    figure = Figure(figsize=(width, height * rows + 0.3 * bool(title)), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared).flatten()
    for unused in axes[n:]:
        unused.remove()
    for panel in axes[
        :n
    ]:  # a shared axis would keep its numbers for the lowest row, which may have gaps
        panel.tick_params(labelbottom=True)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return figure, list(axes[:n])


# -- what is drawn -----------------------------------------------------------------------------------------------------


def array(values, name):
    """Numbers from a tensor, an array or a list, as float64. NaN is refused: a picture would leave it out unsaid."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double()  # numpy knows no bfloat16
    numbers = np.asarray(values, dtype=float)
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds NaN or infinite numbers; look for the step that made them.")
    return numbers


def runs(values, name):
    """One number per seed, or a single number: [S]."""
    return np.atleast_1d(array(values, name))


def directions(values, name):
    """Vectors [N, D] of length 1."""
    vectors = array(values, name)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not lengths.all():
        raise ValueError(f"{name} holds a zero vector, which has no direction.")
    return vectors / lengths


def cosines(values, name):
    """Numbers from −1 to 1: [N]."""
    numbers = array(values, name)
    if np.abs(numbers).max(initial=0) > 1 + 1e-3:
        raise ValueError(f"{name} holds numbers outside -1 … 1, which are not cosines.")
    return numbers.clip(-1, 1)


def texts(values, name, n):
    """n labels as strings, from a list, an array or a tensor."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(values) != n:
        raise ValueError(f"{name} must hold one label for each of the {n} rows, not {len(values)}.")
    return [str(value) for value in values]


def by_name(values):
    """A dict with a panel each; anything else is the only panel, named ""; None is nothing."""
    if values is None:
        return {}
    return dict(values) if isinstance(values, Mapping) else {"": values}


def by_panel(results):
    """A dict of tables with a panel each; a table by itself is the only panel, named ""."""
    grouped = all(isinstance(value, Mapping) for value in results.values())
    return dict(results) if grouped else {"": results}


def score_tables(results):
    """{panel: {method: [S]}}, from the scores of each method over seeds, or such scores for a panel each."""
    tables = {}
    for panel, table in by_panel(results).items():
        tables[panel] = {
            method: runs(scores, f"results of {method!r}") for method, scores in table.items()
        }
    return tables


def rows_of(tables):
    """The row names of all tables, each once, in the order in which they come."""
    return list(dict.fromkeys(row for table in tables.values() for row in table))


def in_order(labels):
    """The distinct labels: numbers by size, words as they come."""
    distinct = list(dict.fromkeys(labels))
    try:
        return sorted(distinct, key=float)
    except (TypeError, ValueError):
        return distinct


# -- how it is drawn ---------------------------------------------------------------------------------------------------


def colour(i):
    """The i-th colour of the palette, which starts again after the last."""
    return PALETTE[i % len(PALETTE)]


def line_style(i):
    """The style of the i-th line: another one each time the colours start again."""
    return LINES[i // len(PALETTE) % len(LINES)]


def marker(i):
    """The i-th marker: it changes with the colour, and differs again when the colours repeat."""
    return MARKERS[(i + i // len(PALETTE)) % len(MARKERS)]


def dots(panel, points, labels, kinds=None, **look):
    """Points [N, 2]; where there are labels, each kind of them has its colour, its shape and a name in the legend."""
    if labels is None:
        panel.scatter(*points.T, color=PALETTE[0], **look)
        return
    for i, kind in enumerate(kinds or in_order(labels)):
        rows = [label == kind for label in labels]
        panel.scatter(
            *points[rows].T,
            color=colour(i),
            marker=marker(i),
            label=kind,
            **look,
        )


def join(panel, points, pairs, **look):
    """A line between the two points of each pair of row numbers."""
    for a, b in pairs:
        panel.plot(*points[[int(a), int(b)]].T, gid="pair", **look)


def number(value, digits=2, sign=False):
    """A number as figures print it: with a true minus, and none before a zero.

    >>> number(-0.5), number(-0.001), number(0.25, 3, sign=True)
    ('−0.50', '0.00', '+0.250')
    """
    value = round(float(value), digits) + 0.0
    plus = "+" if sign else ""
    return f"{value:{plus}.{digits}f}".replace("-", "−")


def y_label(panel, words, name, default=""):
    """Label the vertical axis: with one text in the first column only, or with each panel's own by its name."""
    if isinstance(words, Mapping):
        words = words.get(name, default)
    elif not panel.get_subplotspec().is_first_col():
        return
    panel.set_ylabel(words)


def named_rows(panel, names):
    """A name at each row of a horizontal chart, the first one on top."""
    panel.set_yticks(range(len(names)), names, fontsize=10)
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.grid(axis="x")
    panel.spines["left"].set_visible(False)
    panel.tick_params(axis="y", length=0)


def level_lines(panel, levels):
    """Draw dashed lines across the panel, each with its name above it, at the end where the curves leave more room."""
    curves = [line.get_ydata() for line in panel.lines if len(line.get_ydata())]
    place = panel.get_yaxis_transform()  # x as a share of the panel, y in data
    for words, level in levels.items():
        bottom, top = panel.get_ylim()
        if panel.get_yscale() == "linear" and level > bottom + 0.9 * (top - bottom):
            panel.set_ylim(
                bottom, bottom + (level - bottom) / 0.9
            )  # or its words would run into the title
        panel.axhline(level, color="#777777", linewidth=1, linestyle=DASHED, gid="level")
        ends = np.array([[curve[0], curve[-1]] for curve in curves] or [[level, level]])
        gaps = np.abs(ends - level)
        left, right = np.nanmin(gaps, axis=0)  # the caps of a single seed are NaN
        x, side = (0.99, "right") if right >= left else (0.01, "left")
        box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1}
        panel.annotate(
            words,
            (x, level),
            (0, 4),
            place,
            "offset points",
            ha=side,
            fontsize=9,
            bbox=box,
            zorder=4,
        )


def legend_line(i, label, **look):
    """The legend entry of the i-th line."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=colour(i),
        linestyle=line_style(i),
        linewidth=2,
        label=label,
        **look,
    )
