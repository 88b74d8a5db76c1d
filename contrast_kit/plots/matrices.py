"""Every anchor against every candidate: the similarities, which of them a loss uses, and in which pieces."""

from collections.abc import Sequence

import numpy as np

from contrast_kit.plots.style import (
    BOX,
    INK,
    WIDTH,
    array,
    by_name,
    draw_cells,
    number,
    panels,
    single,
    styled,
    texts,
    y_label,
)

CELL, LETTER = 0.7, 0.09  # inches: the largest cell, and a letter
MANY = 24  # cells; more are neither named nor separated by lines
OUT = "#F0F0F0"
# What a loss does with a similarity: (fill without numbers, ink, sign, legend, frame around a number).
ROLES = {
    "positive": ("#0072B2", "white", "+", "positive: numerator and denominator", "-"),
    "numerator": ("#A9D3EE", INK, "+", "positive: numerator only", (0, (3, 2))),
    "negative": ("#F3C15C", INK, "−", "negative: denominator only", None),
    "out": (OUT, "#AAAAAA", "×", "left out", None),
}
ORANGE_TO_BLUE = [
    "#B35806",
    "#F1A340",
    "#FEE0B6",
    "#FFFFFF",
    "#BFDCF0",
    "#4C9BD3",
    "#0A4F87",
]
"""A diverging colour map whose ends readers with colour-vision deficiencies can tell apart."""


@styled
def similarity_matrix(
    similarities=None,
    roles=None,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    limits: tuple[float, float] = (-1, 1),
    title: str = "",
):
    """One row per anchor, one column per candidate: similarities as colour, and what a loss makes of them.

    * `similarities` [A, C], or a dict of them for a panel each. Colours run from orange (`limits[0]`) through white to
      blue (`limits[1]`); up to 12 columns in a panel, 24 side by side, have their numbers written into the cells.
    * `roles` [A, C] of "positive" (in the numerator and the denominator), "numerator" (there only), "negative"
      (denominator only) and "out", or a dict with a panel each. Positives get a frame; what is left out is grey.
      Without `similarities` the roles themselves are coloured, to show which terms are in whose denominator.
    * `rows`, `columns`: names of the anchors and candidates; 0, 1, 2 … by default.

    Returns the figure. Raises a ValueError where the names of rows or columns have another length, or a role is
    unknown.

    >>> from contrast_kit import plots
    >>> figure = plots.similarity_matrix([[1.0, 0.2], [0.2, 1.0]], [["out", "positive"], ["positive", "out"]])
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('candidate', 'anchor')
    """
    values = {
        name: array(cells, "similarities")
        for name, cells in by_name(similarities).items()
    }
    uses = {name: np.array(cells) for name, cells in by_name(roles).items()}
    if values and list(uses) == [""]:
        uses = dict.fromkeys(values, uses[""])
    shown = values or uses
    figure, drawn = panels(shown, title=title, **_size(shown, bool(values)))
    widest = max(cells.shape[1] for cells in shown.values())
    for panel, name, cells in drawn:
        if values:
            numbers = widest <= 12 and widest * min(3, len(shown)) <= MANY
            image = _draw_values(panel, cells, limits, uses.get(name), numbers)
        else:
            _draw_roles(panel, cells)
        _ticks(panel, cells.shape, rows, columns)
    if values:
        axes = [panel for panel, *_ in drawn]
        bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02, label="similarity")
        bar.outline.set_visible(False)
    if uses:
        _legend(
            figure, {role for use in uses.values() for role in use.flat}, bool(values)
        )
    return figure


def _size(shown, framed):
    """Inches that fit the shape: a panel's height, and a narrower figure for a single narrow matrix."""
    anchors, candidates = np.max([cells.shape for cells in shown.values()], axis=0)
    fitting = 7.2 / min(3, len(shown)) * anchors / candidates
    height = np.clip(fitting, 1.2, min(4.2, CELL * anchors))
    width = WIDTH
    if framed and len(shown) == 1:
        width = np.clip(height * candidates / anchors + 2.4, 5, WIDTH)
    return {"height": height + 0.9 + 0.3 * ("" not in shown), "width": width}


def _colours():
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "orange to blue", ORANGE_TO_BLUE
    ).with_extremes(bad=OUT)


def _draw_values(panel, cells, limits, use, numbers):
    """The similarities; around each positive a frame, and what is left out in grey."""
    low, high = limits
    use = np.full(cells.shape, "negative") if use is None else use
    kept = np.ma.masked_where(use == "out", cells)
    lines = 1.5 * (max(cells.shape) <= MANY)
    image = draw_cells(panel, kept, lines, cmap=_colours(), vmin=low, vmax=high)
    for (i, j), role in np.ndenumerate(use):
        strong = abs((cells[i, j] - low) / (high - low) - 0.5) > 0.33
        ink = "white" if strong else INK
        if numbers:
            _write(
                panel, j, i, number(cells[i, j]), 9, "#999999" if role == "out" else ink
            )
        *_, frame = ROLES[role]
        if frame:
            sides = np.array([-0.46, 0.46, 0.46, -0.46, -0.46])
            panel.fill(
                j + sides,
                i + np.roll(sides, 1),
                fill=False,
                linewidth=1.8,
                linestyle=frame,
            )
    return image


def _draw_roles(panel, use):
    from matplotlib.colors import to_rgb

    draw_cells(panel, [[to_rgb(ROLES[role][0]) for role in row] for row in use], 1.5)
    for (i, j), role in np.ndenumerate(use):
        _, ink, sign, *_ = ROLES[role]
        _write(panel, j, i, sign, 11, ink)


def _write(panel, x, y, words, size, ink=INK, **look):
    panel.text(x, y, words, ha="center", va="center", fontsize=size, color=ink, **look)


def _ticks(panel, shape, rows, columns):
    anchors, candidates = shape
    if rows is not None or anchors <= MANY:
        panel.set_yticks(range(anchors), texts(rows or range(anchors), "rows", anchors))
    if columns is not None or candidates <= MANY:
        words = texts(columns or range(candidates), "columns", candidates)
        # About, before the layout.
        inches = panel.figure.get_figwidth() * panel.get_position().width / candidates
        long = max(map(len, words)) * LETTER > min(inches, CELL)
        look = {"rotation": 40, "ha": "right"} if long else {}
        panel.set_xticks(range(candidates), words, **look)
    panel.set_xlabel("candidate")
    y_label(panel, "anchor")


def _legend(figure, present, framed):
    from matplotlib.patches import Patch

    handles = []
    for role, (fill, _, sign, words, frame) in ROLES.items():
        # Negatives beside numbers carry no mark of their own.
        if role not in present or (framed and role == "negative"):
            continue
        if present <= {"numerator", "out"}:  # a loss without negatives has no fraction
            words = words.replace("positive: numerator only", "positive, no negatives")
        look = {"facecolor": fill, "label": f"{sign} {words}"}
        if framed:
            look["label"] = words
        if framed and frame:
            look |= {"facecolor": "white", "edgecolor": "black", "linestyle": frame}
        handles.append(Patch(**look, linewidth=1.6))
    # Four do not fit abreast.
    columns = 3 if figure.get_figwidth() > 8 and len(handles) < 4 else 2
    figure.legend(handles=handles, loc="outside lower left", ncols=columns)


@styled
def tiles(matrix, side: int, *, title: str = ""):
    """A symmetric matrix [N, N] cut into tiles of `side`, numbered in the order in which they are computed.

    Only tiles on and above the diagonal are computed; those below are pale and carry the number of the tile that they
    mirror. Colours run from orange through white to blue, 0 in the middle; what is infinite stays white.

    Returns the figure. Raises a ValueError when the matrix is not square and symmetric.

    >>> import torch
    >>> from contrast_kit import plots
    >>> figure = plots.tiles(torch.eye(4), side=2)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1', '2', '2, mirrored', '3']
    """
    values = np.nan_to_num(np.asarray(matrix, dtype=float), posinf=0, neginf=0)
    n = len(values)
    if values.shape != (n, n) or not np.allclose(values, values.T, atol=1e-5):
        raise ValueError(
            f"matrix must be square and symmetric; this one has the shape {values.shape}."
        )
    starts = np.arange(0, n, side)
    stops = np.minimum(starts + side, n)
    middles = (starts + stops - 1) / 2
    row, column = np.indices((n, n)) // side
    figure, panel = single(4.0, title, 4.6)
    most = np.abs(values).max() or 1.0
    pale = np.where(row > column, 0.28, 1.0)  # what is only mirrored
    draw_cells(panel, values, 0, cmap=_colours(), alpha=pale, vmin=-most, vmax=most)
    visits = 0
    for i, y in enumerate(middles):
        for x in middles[i:]:
            visits += 1
            _write(panel, x, y, str(visits), 15, bbox=BOX)
            if x > y:
                _write(panel, y, x, f"{visits}, mirrored", 10, "#666666", bbox=BOX)
    for edge in (*starts, n):
        panel.axhline(edge - 0.5, color="white", linewidth=5)
        panel.axvline(edge - 0.5, color="white", linewidth=5)
    names = [f"{start}–{stop - 1}" for start, stop in zip(starts, stops, strict=True)]
    panel.set(xlabel="candidate", ylabel="anchor")
    panel.set_xticks(middles, names)
    panel.set_yticks(middles, names)
    return figure
