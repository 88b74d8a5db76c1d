"""A symmetric matrix cut into tiles, numbered as they are computed."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit.plots.matrices import orange_to_blue
from contrast_kit.plots.settings import whole
from contrast_kit.plots.style import INK, array, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def tiles(matrix: Any, side: int, *, title: str | None = None) -> "Figure":
    """A symmetric matrix [N, N] cut into tiles of `side`, numbered in the order in which they are computed.

    Only tiles on and above the diagonal are computed; those below are pale and carry the number of the tile that they
    mirror. Colours run from orange through white to blue, 0 in the middle; what is not finite stays white.

    Returns the figure. Raises a ValueError when the matrix is not square and symmetric, or `side` is not in 1 … N.

    >>> import torch
    >>> from contrast_kit import plots
    >>> figure = plots.tiles(torch.eye(4), side=2)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1', '2', '2, mirrored', '3']
    """
    values = array(np.nan_to_num(array(matrix, "matrix", 2, missing=True), posinf=0, neginf=0), "matrix", 2)
    n = len(values)
    if values.shape != (n, n) or not np.allclose(values, values.T, atol=1e-5):
        raise ValueError(f"matrix must be square and symmetric; this one has the shape {values.shape}.")
    side = whole(f"how many of the {n} rows a tile has", most=n)("side", side)
    starts = range(0, n, side)
    figure, (panel,) = panels(1, height=4.0, width=4.6, title=title)
    most = np.abs(values).max() or 1.0
    panel.imshow(values, cmap=orange_to_blue(), vmin=-most, vmax=most, interpolation="none")
    visit = 0
    for i in starts:
        for j in starts[i // side :]:
            visit += 1
            _tile(panel, (i, j), (min(i + side, n), min(j + side, n)), str(visit), mirrored=False)
            if i != j:
                _tile(panel, (j, i), (min(j + side, n), min(i + side, n)), f"{visit}, mirrored", mirrored=True)
    middles = [(start + min(start + side, n) - 1) / 2 for start in starts]
    names = [f"{start}–{min(start + side, n) - 1}" for start in starts]
    panel.set(xlabel="candidate", ylabel="anchor")
    panel.set_xticks(middles, names)
    panel.set_yticks(middles, names)
    panel.tick_params(length=0)
    panel.spines[["left", "bottom"]].set_visible(False)
    return figure


def _tile(panel: Any, low: tuple[int, int], high: tuple[int, int], words: str, mirrored: bool) -> None:
    """A frame around rows and columns from `low` to before `high`, pale where it is only a mirror, and its number."""
    from matplotlib.patches import Rectangle

    corner, size = (low[1] - 0.5, low[0] - 0.5), (high[1] - low[1], high[0] - low[0])
    if mirrored:
        panel.add_patch(Rectangle(corner, *size, facecolor="white", alpha=0.72, linewidth=0))
    panel.add_patch(Rectangle(corner, *size, fill=False, edgecolor="white", linewidth=5))
    box = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "boxstyle": "round,pad=0.3"}
    at = corner[0] + size[0] / 2, corner[1] + size[1] / 2
    look = {"color": "#666666", "fontsize": 10} if mirrored else {"color": INK, "fontsize": 15}
    panel.text(*at, words, ha="center", va="center", bbox=box, **look)
