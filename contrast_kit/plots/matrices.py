"""Every anchor against every candidate: the similarities, which of them a loss uses, and in which pieces."""

from collections.abc import Sequence

import numpy as np

from contrast_kit.plots.style import (
    INK,
    WIDTH,
    array,
    by_name,
    draw_cells,
    number,
    panels,
    styled,
    texts,
    y_label,
)

MANY = 24  # cells; more are neither named nor separated by lines
OUT = "#F0F0F0"
# What a loss does with a similarity: (fill, ink, sign, legend).
ROLES = {
    "positive": ("#0072B2", "white", "+", "positive"),
    "numerator": ("#A9D3EE", INK, "+", "positive, without a denominator"),
    "negative": ("#F3C15C", INK, "−", "negative"),
    "out": (OUT, "#AAAAAA", "×", "left out"),
}
COLOURS = ("#B35806", "#F1A340", "#FFFFFF", "#4C9BD3", "#0A4F87")
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
    anchors, candidates = np.max([cells.shape for cells in shown.values()], axis=0)
    # Inches that fit the shape, and a narrower figure for a single matrix that is not wide.
    height = np.clip(7.2 / min(3, len(shown)) * anchors / candidates, 1.2, 4.2) + 1.2
    width = 5.6 if len(shown) == 1 and candidates < 2 * anchors else WIDTH
    figure, drawn = panels(shown, height, title=title, width=width)
    numbers = candidates * min(3, len(shown)) <= MANY
    for panel, name, cells in drawn:
        if values:
            image = _draw_values(panel, cells, limits, uses.get(name), numbers)
        else:
            _draw_roles(panel, cells)
        for axis, words in ((panel.yaxis, rows), (panel.xaxis, columns)):
            n = cells.shape[axis is panel.xaxis]
            axis.set_ticks(range(n), texts(words or range(n), "names", n))
        if max(map(len, map(str, columns or [""]))) > 4:
            for label in panel.get_xticklabels():
                label.set(rotation=40, ha="right")
        panel.set_xlabel("candidate")
        y_label(panel, "anchor")
    if values:
        bar = figure.colorbar(image, ax=figure.axes, shrink=0.8, label="similarity")
        bar.outline.set_visible(False)
    if uses:
        _legend(figure, set(np.concatenate([use.flat for use in uses.values()])), values)
    return figure


def _draw_values(panel, cells, limits, use, numbers):
    """The similarities; around each positive a frame, and what is left out in grey."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    low, high = limits
    use = np.full(cells.shape, "negative") if use is None else use
    kept = np.ma.masked_where(use == "out", cells)
    colours = LinearSegmentedColormap.from_list("", COLOURS).with_extremes(bad=OUT)
    lines = 1.5 * (max(cells.shape) <= MANY)
    image = draw_cells(panel, kept, lines, cmap=colours, vmin=low, vmax=high)
    for (i, j), role in np.ndenumerate(use):
        strong = abs((cells[i, j] - low) / (high - low) - 0.5) > 0.33
        ink = "white" if strong and role != "out" else INK
        if numbers:
            _write(panel, j, i, number(cells[i, j]), 9, ink)
        if role == "positive":
            look = {"fill": False, "edgecolor": "black", "linewidth": 1.8}
            panel.add_patch(Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, **look))
    return image


def _draw_roles(panel, use):
    from matplotlib.colors import to_rgb

    draw_cells(panel, [[to_rgb(ROLES[role][0]) for role in row] for row in use], 1.5)
    for (i, j), role in np.ndenumerate(use):
        _, ink, sign, _ = ROLES[role]
        _write(panel, j, i, sign, 11, ink)


def _write(panel, x, y, words, size, ink):
    panel.text(x, y, words, ha="center", va="center", fontsize=size, color=ink)


def _legend(figure, present, values):
    """A patch for each role that occurs; beside numbers a frame for the positives, and none for the negatives."""
    from matplotlib.patches import Patch

    handles = []
    for role, (fill, _, sign, words) in ROLES.items():
        if role in present and not values:
            handles.append(Patch(facecolor=fill, label=f"{sign} {words}"))
        elif role in present and role in ("positive", "out"):
            fill, edge = ("white", "black") if role == "positive" else (OUT, OUT)
            handles.append(Patch(facecolor=fill, edgecolor=edge, label=words))
    figure.legend(handles=handles, loc="outside lower left", ncols=2)
