"""Every anchor against every candidate: the similarities, which of them a loss uses, and in which pieces."""

from collections.abc import Sequence

import numpy as np

from contrast_kit.plots.style import (
    INK,
    WIDTH,
    array,
    by_name,
    number,
    panels,
    styled,
    texts,
    y_label,
)

CELL, LETTER = 0.7, 0.09  # inches: the largest cell, and a letter
MANY = 24  # cells; more are neither named nor separated by lines
# What a loss does with a similarity: (fill without numbers, ink, sign, legend).
ROLES = {
    "positive": (
        "#0072B2",
        "white",
        "+",
        "positive: numerator and denominator",
    ),
    "numerator": ("#A9D3EE", INK, "+", "positive: numerator only"),
    "negative": ("#F3C15C", INK, "−", "negative: denominator only"),
    "out": ("#F0F0F0", "#AAAAAA", "×", "left out"),
}
FRAMES = {"positive": "-", "numerator": (0, (3, 2))}


@styled
def similarity_matrix(
    similarities=None,
    roles=None,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    limits: tuple[float, float] = (-1, 1),
    numbers: bool | None = None,
    title: str = "",
):
    """One row per anchor, one column per candidate: similarities as colour, and what a loss makes of them.

    * `similarities` [A, C], or a dict of them for a panel each. Colours run from orange (`limits[0]`) through white to
      blue (`limits[1]`).
    * `roles` [A, C] of "positive" (in the numerator and the denominator), "numerator" (there only), "negative"
      (denominator only) and "out", or a dict with a panel each. Positives get a frame; what is left out is grey.
      Without `similarities` the roles themselves are coloured, to show which terms are in whose denominator.
    * `rows`, `columns`: names of the anchors and candidates; 0, 1, 2 … by default.
    * `numbers`: write the similarity into each cell; by default up to 12 columns per panel, 24 side by side.

    Returns the figure. Raises a ValueError where the names of rows or columns have another length, or a role is
    unknown.

    >>> from contrast_kit import plots
    >>> figure = plots.similarity_matrix([[1.0, 0.2], [0.2, 1.0]], [["out", "positive"], ["positive", "out"]])
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('candidate', 'anchor')
    """
    values = {name: array(cells, "similarities") for name, cells in by_name(similarities).items()}
    uses = {name: np.array(cells) for name, cells in by_name(roles).items()}
    if values and list(uses) == [""]:
        uses = dict.fromkeys(values, uses[""])
    shown = values or uses
    if numbers is None:
        widest = max(cells.shape[1] for cells in shown.values())
        numbers = widest <= 12 and widest * min(3, len(shown)) <= MANY
    figure, axes = panels(len(shown), title=title, **_size(shown, bool(values)))
    for panel, (name, cells) in zip(axes, shown.items(), strict=True):
        if values:
            image = panel.imshow(
                cells,
                orange_to_blue(),
                vmin=limits[0],
                vmax=limits[1],
                interpolation="none",
            )
            if numbers:
                _write_numbers(panel, cells, limits, uses.get(name))
            if name in uses:
                _frame_positives(panel, uses[name])
        else:
            _draw_roles(panel, cells)
        _ticks(panel, cells.shape, rows, columns)
        panel.set_title(name)
    if values:
        figure.colorbar(
            image, ax=axes, shrink=0.8, pad=0.02, label="similarity"
        ).outline.set_visible(False)
    if uses:
        _legend(
            figure,
            {role for use in uses.values() for role in use.flat},
            framed=bool(values),
        )
    return figure


def _size(shown, framed):
    """Inches that fit the shape: a panel's height, and a narrower figure for a single narrow matrix."""
    anchors, candidates = np.max([cells.shape for cells in shown.values()], axis=0)
    height = np.clip(
        7.2 / min(3, len(shown)) * anchors / candidates,
        1.2,
        min(4.2, CELL * anchors),
    )
    width = WIDTH
    if framed and len(shown) == 1:
        width = np.clip(height * candidates / anchors + 2.4, 5, WIDTH)
    return {"height": height + 0.9 + 0.3 * ("" not in shown), "width": width}


def orange_to_blue():
    """A diverging colour map whose ends readers with colour-vision deficiencies can tell apart."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [
        "#B35806",
        "#F1A340",
        "#FEE0B6",
        "#FFFFFF",
        "#BFDCF0",
        "#4C9BD3",
        "#0A4F87",
    ]
    return LinearSegmentedColormap.from_list("orange to blue", stops)


def _write_numbers(panel, cells, limits, use):
    low, high = limits
    for (i, j), value in np.ndenumerate(cells):
        strong = abs((value - low) / (high - low) - 0.5) > 0.33
        ink = "white" if strong else INK
        if use is not None and use[i, j] == "out":
            ink = "#999999"
        panel.text(j, i, number(value), ha="center", va="center", fontsize=9, color=ink)


def _draw_roles(panel, use):
    from matplotlib.colors import to_rgb

    panel.imshow(
        [[to_rgb(ROLES[role][0]) for role in row] for row in use],
        interpolation="none",
    )
    for (i, j), role in np.ndenumerate(use):
        _, ink, sign, _ = ROLES[role]
        panel.text(j, i, sign, ha="center", va="center", fontsize=11, color=ink)


def _frame_positives(panel, use):
    """A frame around each positive; what is left out loses its colour."""
    from matplotlib.patches import Rectangle

    for (i, j), role in np.ndenumerate(use):
        if role == "out":
            panel.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color=ROLES["out"][0], linewidth=0))
        elif role in FRAMES:
            frame = Rectangle(
                (j - 0.46, i - 0.46),
                0.92,
                0.92,
                fill=False,
                linewidth=1.8,
                linestyle=FRAMES[role],
            )
            panel.add_patch(frame)


def _ticks(panel, shape, rows, columns):
    anchors, candidates = shape
    if rows is not None or anchors <= MANY:
        panel.set_yticks(range(anchors), texts(rows or range(anchors), "rows", anchors))
    if columns is not None or candidates <= MANY:
        words = texts(columns or range(candidates), "columns", candidates)
        inches = (
            panel.figure.get_figwidth() * panel.get_position().width / candidates
        )  # about, before the layout
        long = max(map(len, words)) * LETTER > min(inches, CELL)
        panel.set_xticks(
            range(candidates),
            words,
            rotation=40 * long,
            ha="right" if long else "center",
        )
    if max(shape) <= MANY:
        panel.set_xticks(np.arange(0.5, candidates - 1), minor=True)
        panel.set_yticks(np.arange(0.5, anchors - 1), minor=True)
        panel.grid(which="minor", color="white", linewidth=1.5)
    panel.set(
        xlim=(-0.5, candidates - 0.5),
        ylim=(anchors - 0.5, -0.5),
        xlabel="candidate",
    )
    y_label(panel, "anchor", "")
    panel.tick_params(which="both", length=0)
    panel.spines[["left", "bottom"]].set_visible(False)


def _legend(figure, present, framed):
    from matplotlib.patches import Patch

    handles = []
    for role, (fill, _, sign, words) in ROLES.items():
        if role not in present or (
            framed and role == "negative"
        ):  # negatives carry no mark of their own
            continue
        if present <= {
            "numerator",
            "out",
        }:  # a loss without negatives has no fraction
            words = words.replace("positive: numerator only", "positive, no negatives")
        look = {
            "facecolor": fill,
            "label": words if framed else f"{sign} {words}",
        }
        if framed and role in FRAMES:
            look |= {
                "facecolor": "white",
                "edgecolor": "black",
                "linewidth": 1.6,
                "linestyle": FRAMES[role],
            }
        handles.append(Patch(**look))
    columns = 3 if figure.get_figwidth() > 8 and len(handles) < 4 else 2  # four do not fit abreast
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
    figure, (panel,) = panels(1, height=4.0, width=4.6, title=title)
    most = np.abs(values).max() or 1.0
    pale = np.where(row > column, 0.28, 1.0)  # what is only mirrored
    panel.imshow(
        values,
        orange_to_blue(),
        alpha=pale,
        vmin=-most,
        vmax=most,
        interpolation="none",
    )
    visits = 0
    for i, y in enumerate(middles):
        for x in middles[i:]:
            visits += 1
            _write(panel, x, y, str(visits), fontsize=15)
            if x > y:
                _write(
                    panel,
                    y,
                    x,
                    f"{visits}, mirrored",
                    fontsize=10,
                    color="#666666",
                )
    for edge in (*starts, n):
        panel.axhline(edge - 0.5, color="white", linewidth=5)
        panel.axvline(edge - 0.5, color="white", linewidth=5)
    names = [f"{start}–{stop - 1}" for start, stop in zip(starts, stops, strict=True)]
    panel.set(xlabel="candidate", ylabel="anchor")
    panel.set_xticks(middles, names)
    panel.set_yticks(middles, names)
    panel.tick_params(length=0)
    panel.spines[["left", "bottom"]].set_visible(False)
    return figure


def _write(panel, x, y, words, **look):
    box = {
        "facecolor": "white",
        "alpha": 0.85,
        "linewidth": 0,
        "boxstyle": "round,pad=0.3",
    }
    panel.text(x, y, words, ha="center", va="center", bbox=box, **look)
