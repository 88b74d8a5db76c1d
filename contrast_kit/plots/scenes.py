"""A picture with the boxes of its regions, and where a word looks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.plots.style import INK, array, colour, panels, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@styled
def shelf(
    picture: Any,
    boxes: Any = None,
    names: Sequence[str] | None = None,
    *,
    masked: Sequence[int] = (),
    title: str | None = None,
) -> "Figure":
    """A picture, the box of each region, and what is said to be in it.

    Args:
        picture: [H, W, 3], bytes or numbers from 0 to 1.
        boxes: [R, 4], corners x1, y1, x2, y2 in 0 … 1; None: the picture alone.
        names: R words, one above each box, such as what the detector saw.
        masked: regions to hide under a grey area, as a model meets them: it still has their boxes.

    Returns the figure. Raises ValueError for another shape, boxes in pixels, or not as many names as boxes.

    >>> from contrast_kit import plots
    >>> from contrast_kit.data import scenes
    >>> scene = scenes.scene(0)
    >>> figure = plots.shelf(scenes.picture(scene), scenes.boxes(scene), [toy.good for toy in scene.toys])
    >>> len(figure.axes[0].patches) == len(scene.toys)
    True
    """
    pixels, corners = _picture(picture), _boxes(boxes)
    masked = arguments.listed("masked", masked, "numbers of regions")
    for region in masked:
        checks.count("masked", region, "the regions to hide, by their numbers", least=0)
        if region >= len(corners):
            raise ValueError(f"There is no region {region} to hide: there are {len(corners)} boxes, counted from 0.")
    names = None if names is None else arguments.listed("names", names, "words")
    if names is not None and len(names) != len(corners):
        raise ValueError(f"There are {len(names)} names for {len(corners)} boxes: give one for each.")
    figure, (panel,) = panels(1, height=4.4, width=4.6, title=title)
    _show(panel, pixels)
    for at, box in enumerate(corners):
        hidden = at in masked
        _frame(panel, box, pixels, colour(at), fill="#9a9a9a" if hidden else None)
        if names is not None:
            _label(panel, box, pixels, "?" if hidden else str(names[at]))
    return figure


@styled
def attention(
    picture: Any, boxes: Any, weights: Any, words: Sequence[str], *, columns: int = 3, title: str | None = None
) -> "Figure":
    """Where each word looks: the picture once for every word, its regions lit by the word's attention to them.

    Args:
        picture: [H, W, 3], bytes or numbers from 0 to 1.
        boxes: [R, 4], corners in 0 … 1.
        weights: [words, R], at least 0. Each row is drawn relative to its own largest weight, which the title gives.
        words: the words, one for each row.

    Attention is drawn as it is; that a word looks at a region does not prove that its answer comes from there.

    Returns the figure. Raises ValueError where the numbers of words, regions and weights differ, or one is below 0.

    >>> import numpy as np
    >>> from contrast_kit import plots
    >>> boxes = [[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]
    >>> figure = plots.attention(np.ones((8, 8, 3)), boxes, [[0.9, 0.1], [0.5, 0.5]], ["drum", "the"])
    >>> [panel.get_title() for panel in figure.axes]
    ['drum, to 0.90', 'the, to 0.50']
    """
    pixels, corners, table = _picture(picture), _boxes(boxes), array(weights, "weights", 2)
    words = arguments.listed("words", words, "words")
    if table.shape != (len(words), len(corners)) or (table < 0).any():
        raise ValueError(
            f"weights must be [{len(words)}, {len(corners)}], words by regions, and at least 0, not {table.shape}."
        )
    figure, axes = panels(len(words), height=2.9, columns=columns, title=title)
    for panel, word, row in zip(axes, words, table, strict=True):
        _show(panel, 0.35 * pixels + 0.65)  # pale, so that the regions stand out
        most = row.max() or 1.0
        for box, weight in zip(corners, row, strict=True):
            part = _part(box, pixels)
            y, x = part
            lighted = pixels[part] * weight / most + (0.35 * pixels[part] + 0.65) * (1 - weight / most)
            panel.imshow(lighted, extent=(x.start, x.stop, y.stop, y.start), interpolation="nearest", zorder=1)
            _frame(panel, box, pixels, INK, width=0.5 + 2.5 * weight / most)
        panel.set(xlim=(0, pixels.shape[1]), ylim=(pixels.shape[0], 0), title=f"{word}, to {row.max():.2f}")
    return figure


def _picture(picture: Any) -> np.ndarray:
    pixels = array(picture, "picture", 3)
    if pixels.shape[2] != 3:
        raise ValueError(f"picture must be [H, W, 3], red, green and blue, not {list(pixels.shape)}.")
    return pixels / 255 if pixels.max() > 1 else pixels


def _boxes(boxes: Any) -> np.ndarray:
    if boxes is None:
        return np.zeros((0, 4))
    corners = array(boxes, "boxes", 2)
    if corners.shape[1] != 4 or (corners < 0).any() or (corners > 1).any() or (corners[:, 2:] <= corners[:, :2]).any():
        raise ValueError("boxes must be [R, 4], corners x1, y1, x2, y2 from 0 to 1 with x1 < x2 and y1 < y2.")
    return corners


def _show(panel: "Axes", pixels: np.ndarray) -> None:
    height, width = pixels.shape[:2]
    panel.imshow(pixels, extent=(0, width, height, 0), interpolation="nearest")
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)


def _frame(
    panel: "Axes", box: np.ndarray, pixels: np.ndarray, edge: str, fill: str | None = None, width: float = 1.8
) -> None:
    from matplotlib.patches import Rectangle

    scale = np.array([pixels.shape[1], pixels.shape[0]])
    low, high = box[:2] * scale, box[2:] * scale
    panel.add_patch(Rectangle(low, *(high - low), facecolor=fill or "none", edgecolor=edge, linewidth=width, zorder=2))


def _label(panel: "Axes", box: np.ndarray, pixels: np.ndarray, words: str) -> None:
    height, width = pixels.shape[:2]
    middle = (box[0] + box[2]) / 2 * width
    style = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "boxstyle": "round,pad=0.15"}
    panel.text(middle, box[1] * height - 1.5, words, ha="center", va="bottom", fontsize=7.5, bbox=style, zorder=3)


def _part(box: np.ndarray, pixels: np.ndarray) -> tuple[slice, slice]:
    """Rows and columns of the pixels in a box."""
    height, width = pixels.shape[:2]
    x1, y1, x2, y2 = np.round(box * [width, height, width, height]).astype(int)
    return slice(y1, max(y2, y1 + 1)), slice(x1, max(x2, x1 + 1))
