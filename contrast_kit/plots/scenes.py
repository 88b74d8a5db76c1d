"""A picture with the boxes of its regions, and where a word looks."""

from collections.abc import Collection, Sequence

import numpy as np

from contrast_kit.plots.style import BOX, INK, array, colour, panels, single, styled


@styled
def shelf(
    picture,
    boxes=(),
    names: Sequence[str] | None = None,
    *,
    masked: Collection[int] = (),
    title: str = "",
):
    """A picture, the box of each region, and what is said to be in it.

    Args:
        picture: [H, W, 3], bytes or numbers from 0 to 1.
        boxes: [R, 4], corners x1, y1, x2, y2 in 0 … 1; by default none.
        names: R words, one above each box, such as what the detector saw.
        masked: regions to hide under a grey area, as a model meets them: it still has their boxes.

    Returns the figure.

    >>> from contrast_kit import plots
    >>> from contrast_kit.data import scenes
    >>> scene = scenes.scene(0)
    >>> figure = plots.shelf(scenes.picture(scene), scenes.boxes(scene), [toy.good for toy in scene.toys])
    >>> len(figure.axes[0].patches) == len(scene.toys)
    True
    """
    pixels, corners = _scaled(picture, boxes)
    names = [""] * len(corners) if names is None else names
    figure, panel = single(4.4, title, 4.6)
    _show(panel, pixels)
    for region, (box, name) in enumerate(zip(corners, names, strict=True)):
        fill = "none"
        if region in masked:
            fill, name = "#9a9a9a", "?" if name else ""
        _frame(panel, box, colour(region), 1.8, fill)
        look = {"ha": "center", "va": "bottom", "fontsize": 7.5, "bbox": BOX, "zorder": 3}
        if name:
            panel.text((box[0] + box[2]) / 2, box[1] - 1.5, name, **look)
    return figure


@styled
def attention(
    picture,
    boxes,
    weights,
    words: Sequence[str],
    *,
    columns: int = 3,
    title: str = "",
):
    """Where each word looks: the picture once for every word, its regions lit by the word's attention to them.

    Args:
        picture: [H, W, 3], bytes or numbers from 0 to 1.
        boxes: [R, 4], corners in 0 … 1.
        weights: [words, R], at least 0. Each row is drawn relative to its own largest weight, which the title gives.
        words: the words, one for each row.

    Attention is drawn as it is; that a word looks at a region does not prove that its answer comes from there.

    Returns the figure.

    >>> import numpy as np
    >>> from contrast_kit import plots
    >>> boxes = [[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]
    >>> figure = plots.attention(np.ones((8, 8, 3)), boxes, [[0.9, 0.1], [0.5, 0.5]], ["drum", "the"])
    >>> [panel.get_title() for panel in figure.axes]
    ['drum, to 0.90', 'the, to 0.50']
    """
    pixels, corners = _scaled(picture, boxes)
    table = array(weights, "weights")
    pale = 0.35 * pixels + 0.65  # so that the regions stand out
    # By place and not by word, which may occur twice in a question.
    figure, drawn = panels(dict(enumerate(table)), 2.9, columns, title)
    for panel, place, row in drawn:
        picture = pale.copy()
        most = row.max() or 1.0
        for box, weight in zip(corners, row / most, strict=True):
            left, top, right, bottom = np.round(box).astype(int)
            part = slice(top, max(bottom, top + 1)), slice(left, max(right, left + 1))
            picture[part] = pixels[part] * weight + pale[part] * (1 - weight)
            _frame(panel, box, INK, 0.5 + 2.5 * weight)
        _show(panel, picture)
        panel.set_title(f"{words[place]}, to {row.max():.2f}")
    return figure


def _scaled(picture, boxes):
    """A picture with numbers from 0 to 1, and its boxes [R, 4] from shares of it to pixels."""
    pixels = array(picture, "picture")
    height, width = pixels.shape[:2]
    corners = array(boxes, "boxes").reshape(-1, 4) * [width, height, width, height]
    return pixels / 255 if pixels.max() > 1 else pixels, corners


def _show(panel, pixels):
    height, width = pixels.shape[:2]
    panel.imshow(pixels, extent=(0, width, height, 0), interpolation="nearest")
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)


def _frame(panel, box, edge, width, fill="none"):
    from matplotlib.patches import Rectangle

    look = {"facecolor": fill, "edgecolor": edge, "linewidth": width, "zorder": 2}
    panel.add_patch(Rectangle(box[:2], *(box[2:] - box[:2]), **look))
