"""What all pictures share: colours, type sizes, a grid of panels, and the way numbers are read in."""

import functools
from collections.abc import Mapping
from pathlib import Path

import numpy as np

# Okabe & Ito 2008: told apart by readers with any of the common colour-vision deficiencies. Their eighth, a yellow, is
# too faint on white; indigo, in its place, is Tol's (2021).
PALETTE = [
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#555555",
    "#332288",
]
LINES = ("-", "--", ":", "-.")
MARKERS = "os^DvPX*"
INK, GREY, FAINT = "#333333", "#777777", "#BBBBBB"
DASHED = (0, (4, 3))
BOX = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "boxstyle": "round,pad=0.15"}
WIDTH = 9.0  # inches, the width of a notebook's output
STYLE = Path(__file__).with_name("kit.mplstyle")


def styled(draw):
    """Decorator: draw under the kit's style, and leave the reader's own matplotlib settings alone."""

    @functools.wraps(draw)
    def inside(*args, **options):
        import matplotlib

        with matplotlib.rc_context(fname=STYLE):
            return draw(*args, **options)

    return inside


def panels(tables, height, columns=3, title="", width=WIDTH, **shared):
    """A figure with a panel for each table, `height` inches high, at most `columns` side by side.

    Returns the figure, and the panel, the name and the table of each.
    """
    from contrast_kit.plots.figure import Figure

    n = len(tables)
    rows = -(-n // columns)
    columns = -(-n // rows)  # four panels as two and two, not as three and one
    figure = Figure(figsize=(width, height * rows + 0.3 * bool(title)))
    axes = figure.subplots(rows, columns, squeeze=False, **shared).flatten()
    for unused in axes[n:]:
        unused.remove()
    for panel, name in zip(axes, tables, strict=False):
        panel.set_title(name)
    if title:
        figure.suptitle(title, x=0.01, ha="left")
    return figure, list(zip(axes[:n], tables, tables.values(), strict=True))


def single(height, title, width=WIDTH):
    """A figure of one panel, and the panel."""
    figure, [(panel, _, _)] = panels({"": None}, height, title=title, width=width)
    return figure, panel


# -- what is drawn -----------------------------------------------------------------------------------------------------


def array(values, name):
    """Numbers from a tensor, an array or a list, as float64. NaN is refused: a picture would leave it out unsaid."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().double()  # numpy knows no bfloat16
    numbers = np.asarray(values, dtype=float)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"{name} holds NaN or infinite numbers; look for the step that made them."
        )
    return numbers


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
        raise ValueError(
            f"{name} must hold one label for each of the {n} rows, not {len(values)}."
        )
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
            method: np.atleast_1d(array(scores, f"results of {method!r}"))
            for method, scores in table.items()
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


def dots(panel, points, labels, **look):
    """Points [N, 2]; where there are labels, each kind of them has its colour, its shape and a name in the legend."""
    labels = [None] * len(points) if labels is None else labels
    for i, kind in enumerate(in_order(labels)):
        rows = [label == kind for label in labels]
        panel.scatter(
            *points[rows].T, facecolor=colour(i), marker=marker(i), label=kind, **look
        )


def join(panel, points, pairs, **look):
    """A line between the two points of each pair of row numbers."""
    ends = points[np.reshape(pairs, (-1, 2)).astype(int)]  # [P, 2, 2]
    panel.plot(*ends.T, **look)


def note(panel, words, place, offset, **look):
    """Words beside a place, `offset` points away from it."""
    panel.annotate(words, place, offset, textcoords="offset points", **look)


def legend(figure, place="lower center", **look):
    """A legend of what any panel names, each name once."""
    entries = {}
    for panel in figure.axes:
        handles, names = panel.get_legend_handles_labels()
        for name, handle in zip(names, handles, strict=True):
            entries.setdefault(name, handle)
    if entries:
        figure.legend(entries.values(), entries, loc=f"outside {place}", **look)


def number(value, digits=2, sign=False):
    """A number as figures print it: with a true minus, and none before a zero.

    >>> number(-0.5), number(-0.001), number(0.25, 3, sign=True)
    ('−0.50', '0.00', '+0.250')
    """
    value = round(float(value), digits) + 0.0
    plus = "+" if sign else ""
    return f"{value:{plus}.{digits}f}".replace("-", "−")


def y_label(panel, words):
    """Label the vertical axis, in the first column only."""
    if panel.get_subplotspec().is_first_col():
        panel.set_ylabel(words)


def named_rows(panel, names):
    """A name at each row of a horizontal chart, the first one on top."""
    panel.set_yticks(range(len(names)), names, fontsize=10)
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.grid(axis="x")
    panel.spines["left"].set_visible(False)
    panel.tick_params(axis="y", length=0)


def level_lines(panel, levels):
    """Draw dashed lines across the panel, each with its name above it at the right."""
    for words, level in levels.items():
        panel.axhline(level, color=GREY, linewidth=1, linestyle=DASHED)
        panel.margins(y=0.12)  # or its words might run into the title
        place = panel.get_yaxis_transform()  # x as a share of the panel, y in data
        panel.text(0.99, level, words, transform=place, ha="right", va="bottom", size=9)


def draw_cells(panel, cells, lines, aspect="equal", **look):
    """A matrix of numbers or of colours, its first row on top, with white lines between the cells."""
    rows, columns = np.shape(cells)[:2]
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    mesh = panel.pcolormesh(*edges, cells, edgecolors="white", linewidth=lines, **look)
    panel.set(ylim=(rows - 0.5, -0.5), aspect=aspect)
    panel.tick_params(length=0)
    panel.spines[["left", "bottom"]].set_visible(False)
    return mesh
