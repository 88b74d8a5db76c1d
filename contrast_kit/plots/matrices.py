"""Every anchor against every candidate: the similarities, and which of them a loss uses."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.plots.style import INK, WIDTH, array, named, number, panels, styled, texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL, LETTER = 0.7, 0.09  # inches: the largest cell, and a letter
# What a loss does with a similarity: (fill without numbers, sign, legend).
ROLES = {
    "positive": ("#0072B2", "+", "positive: numerator and denominator"),
    "numerator": ("#A9D3EE", "+", "positive: numerator only"),
    "negative": ("#F3C15C", "−", "negative: denominator only"),
    "out": ("#F0F0F0", "×", "left out"),
}


@styled
def similarity_matrix(
    similarities: Any = None,
    roles: Any = None,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    limits: tuple[float, float] = (-1, 1),
    numbers: bool | None = None,
    title: str | None = None,
) -> "Figure":
    """One row per anchor, one column per candidate: similarities as colour, and what a loss makes of them.

    * `similarities` [A, C], or a dict of them for a panel each. Colours run from orange (`limits[0]`) through white to
      blue (`limits[1]`).
    * `roles` [A, C] of "positive" (in the numerator and the denominator), "numerator" (there only), "negative"
      (denominator only) and "out", or a dict with a panel each. Positives get a frame; what is left out is grey.
      Without `similarities` the roles themselves are coloured, to show which terms are in whose denominator.
    * `rows`, `columns`: names of the anchors and candidates; 0, 1, 2 … by default.
    * `numbers`: write the similarity into each cell; by default up to 12 columns per panel, 24 side by side.

    Returns the figure. Raises a ValueError when shapes or names do not agree or a role is unknown.

    >>> from contrast_kit import plots
    >>> figure = plots.similarity_matrix([[1.0, 0.2], [0.2, 1.0]], [["out", "positive"], ["positive", "out"]])
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('candidate', 'anchor')
    """
    values, uses = _panels(similarities, roles)
    widest = max(cells.shape[1] for cells in (*values.values(), *uses.values()))
    numbers = widest * min(3, len(values or uses)) <= 24 and widest <= 12 if numbers is None else numbers
    figure, axes = panels(len(values or uses), title=title, **_size(values or uses, bool(values)))
    image = None
    for panel, name in zip(axes, values or uses, strict=True):
        sim, use = values.get(name), uses.get(name)
        if sim is not None:
            image = panel.imshow(sim, cmap=orange_to_blue(), vmin=limits[0], vmax=limits[1], interpolation="none")
            _write_numbers(panel, sim, limits, use, numbers)
        else:
            _draw_roles(panel, use)
        if use is not None:
            _frame_positives(panel, use, framed=sim is not None)
        _ticks(panel, (sim if sim is not None else use).shape, rows, columns)
        panel.set_title(name)
    if image is not None:
        figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02, label="similarity").outline.set_visible(False)
    if uses:
        _legend(figure, uses, framed=image is not None)
    return figure


def _panels(similarities: Any, roles: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Both inputs as name -> [A, C], checked against each other."""
    if similarities is None and roles is None:
        raise ValueError("There is nothing to draw: give similarities, roles, or both.")

    def split(given: Any, what: str) -> dict[str, Any]:
        return named(given, what) if isinstance(given, Mapping) else {} if given is None else {"": given}

    values = {k: array(v, f"similarities {k}".strip(), 2) for k, v in split(similarities, "similarities").items()}
    uses = {k: _roles(v) for k, v in split(roles, "roles").items()}
    if values and len(uses) == 1 and "" in uses:
        uses = dict.fromkeys(values, uses[""])
    if values and uses and {k: v.shape for k, v in values.items()} != {k: v.shape for k, v in uses.items()}:
        raise ValueError("similarities and roles must have the same panels and the same shapes.")
    return values, uses


def _roles(given: Any) -> np.ndarray:
    rows = arguments.listed("roles", given, "rows of roles")
    rows = [arguments.listed("roles", row, "rows of roles") for row in rows]
    unknown = sorted({str(cell) for row in rows for cell in row} - set(ROLES))
    if unknown or len({len(row) for row in rows}) != 1 or not rows[0]:
        found = checks.shown(unknown) if unknown else f"rows of {[len(row) for row in rows]}"
        raise ValueError(f"roles must be [A, C] of {', '.join(ROLES)}; found {found}.")
    return np.array(rows, dtype=object)


def _size(cells: Mapping[str, np.ndarray], framed: bool) -> dict[str, float]:
    """Inches that fit the shape: a panel's height, and a narrower figure for a single narrow matrix."""
    anchors, candidates = np.max([c.shape for c in cells.values()], axis=0)
    height = float(np.clip(7.2 / min(3, len(cells)) * anchors / candidates, 1.2, min(4.2, CELL * anchors)))
    size = {"height": height + 0.9 + 0.3 * ("" not in cells)}
    if len(cells) == 1 and framed:
        size["width"] = float(np.clip(height * candidates / anchors + 2.4, 5, WIDTH))
    return size


def orange_to_blue() -> Any:
    """A diverging colour map whose ends readers with colour-vision deficiencies can tell apart."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = ["#B35806", "#F1A340", "#FEE0B6", "#FFFFFF", "#BFDCF0", "#4C9BD3", "#0A4F87"]
    return LinearSegmentedColormap.from_list("orange to blue", stops)


def _write_numbers(panel: Any, sim: np.ndarray, limits: tuple, use: np.ndarray | None, numbers: bool) -> None:
    if not numbers:
        return
    low, high = limits
    for (i, j), value in np.ndenumerate(sim):
        strong = abs((value - low) / (high - low) - 0.5) > 0.33
        out = use is not None and use[i, j] == "out"
        color = "#999999" if out else "white" if strong else INK
        panel.text(j, i, number(value), ha="center", va="center", fontsize=9, color=color)


def _draw_roles(panel: Any, use: np.ndarray) -> None:
    from matplotlib.colors import to_rgb

    panel.imshow([[to_rgb(ROLES[cell][0]) for cell in row] for row in use], interpolation="none")
    for (i, j), cell in np.ndenumerate(use):
        color = "white" if cell == "positive" else "#AAAAAA" if cell == "out" else INK
        panel.text(j, i, ROLES[cell][1], ha="center", va="center", fontsize=11, color=color)


def _frame_positives(panel: Any, use: np.ndarray, framed: bool) -> None:
    """A frame around each positive; what is left out loses its colour."""
    from matplotlib.patches import Rectangle

    for (i, j), cell in np.ndenumerate(use):
        if cell == "out":
            panel.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color=ROLES["out"][0], linewidth=0))
        elif framed and cell in ("positive", "numerator"):
            style = "-" if cell == "positive" else (0, (3, 2))
            box = Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, edgecolor="black", linewidth=1.8)
            box.set_linestyle(style)
            panel.add_patch(box)


def _ticks(panel: Any, shape: tuple[int, int], rows: Any, columns: Any) -> None:
    anchors, candidates = shape
    if rows is not None or anchors <= 24:
        panel.set_yticks(range(anchors), texts(range(anchors) if rows is None else rows, "rows", anchors))
    if columns is not None or candidates <= 24:
        words = texts(range(candidates) if columns is None else columns, "columns", candidates)
        inches = panel.figure.get_figwidth() * panel.get_position().width / candidates  # about, before the layout
        long = max(len(word) for word in words) * LETTER > min(inches, CELL)
        panel.set_xticks(range(candidates), words, rotation=40 if long else 0, ha="right" if long else "center")
    panel.tick_params(length=0)
    panel.set_xlim(-0.5, candidates - 0.5)
    panel.set_ylim(anchors - 0.5, -0.5)
    place = panel.get_subplotspec()
    panel.set_xlabel("candidate")
    panel.set_ylabel("anchor" if place.is_first_col() else "")
    if max(shape) <= 24:
        panel.set_xticks(np.arange(candidates - 1) + 0.5, minor=True)
        panel.set_yticks(np.arange(anchors - 1) + 0.5, minor=True)
        panel.grid(which="minor", color="white", linewidth=1.5)
        panel.tick_params(which="minor", length=0)
    panel.spines[["left", "bottom"]].set_visible(False)


def _legend(figure: Any, uses: Mapping[str, np.ndarray], framed: bool) -> None:
    from matplotlib.patches import Patch

    present = {cell for use in uses.values() for cell in use.flat}
    handles = []
    for role, (fill, sign, words) in ROLES.items():
        if role not in present or (framed and role == "negative"):  # negatives carry no mark of their own
            continue
        look = {"facecolor": "white", "edgecolor": "black", "linewidth": 1.6} if framed else {"facecolor": fill}
        if role == "numerator" and framed:
            look["linestyle"] = (0, (3, 2))
        elif role == "out":
            look = {"facecolor": fill}
        if present <= {"numerator", "out"}:  # a loss without negatives has no fraction
            words = words.replace("positive: numerator only", "positive, no negatives")
        handles.append(Patch(**look, label=f"{sign} {words}" if sign and not framed else words))
    columns = len(handles) if figure.get_figwidth() > 8 and len(handles) < 4 else 2  # four do not fit abreast
    figure.legend(handles=handles, loc="outside lower left", ncols=columns)
