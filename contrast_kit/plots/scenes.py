"""A picture with the boxes of its regions, and where a word looks."""

from collections.abc import Collection, Sequence

import numpy as np

from contrast_kit.plots.style import INK, array, colour, panels, styled


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
    pixels = _pixels(picture)
    corners = _corners(boxes, pixels)
    names = [""] * len(corners) if names is None else names
    figure, (panel,) = panels(1, height=4.4, width=4.6, title=title)
    _show(panel, pixels)
    for region, (box, name) in enumerate(zip(corners, names, strict=True)):
        hidden = region in masked
        _frame(panel, box, colour(region), fill="#9a9a9a" if hidden else "none")
        if name:
            _label(panel, box, "?" if hidden else str(name))
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
    pixels = _pixels(picture)
    corners = _corners(boxes, pixels)
    table = array(weights, "weights")
    pale = 0.35 * pixels + 0.65  # so that the regions stand out
    figure, axes = panels(len(words), height=2.9, columns=columns, title=title)
    for panel, word, row in zip(axes, words, table, strict=True):
        _show(panel, pale)
        most = row.max() or 1.0
        for box, weight in zip(corners, row / most, strict=True):
            left, top, right, bottom = np.round(box).astype(int)
            part = (
                slice(top, max(bottom, top + 1)),
                slice(left, max(right, left + 1)),
            )
            lighted = pixels[part] * weight + pale[part] * (1 - weight)
            extent = (part[1].start, part[1].stop, part[0].stop, part[0].start)
            panel.imshow(lighted, extent=extent, interpolation="nearest", zorder=1)
            _frame(panel, box, INK, width=0.5 + 2.5 * weight)
        panel.set(
            xlim=(0, pixels.shape[1]),
            ylim=(pixels.shape[0], 0),
            title=f"{word}, to {row.max():.2f}",
        )
    return figure


def _pixels(picture):
    pixels = array(picture, "picture")
    return pixels / 255 if pixels.max() > 1 else pixels


def _corners(boxes, pixels):
    """Boxes [R, 4] from shares of the picture to pixels."""
    height, width = pixels.shape[:2]
    return array(boxes, "boxes").reshape(-1, 4) * [width, height, width, height]


def _show(panel, pixels):
    height, width = pixels.shape[:2]
    panel.imshow(pixels, extent=(0, width, height, 0), interpolation="nearest")
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)


def _frame(panel, box, edge, fill="none", width=1.8):
    from matplotlib.patches import Rectangle

    size = box[2:] - box[:2]
    panel.add_patch(
        Rectangle(
            box[:2],
            *size,
            facecolor=fill,
            edgecolor=edge,
            linewidth=width,
            zorder=2,
        )
    )


def _label(panel, box, words):
    style = {
        "facecolor": "white",
        "alpha": 0.85,
        "linewidth": 0,
        "boxstyle": "round,pad=0.15",
    }
    place = ((box[0] + box[2]) / 2, box[1] - 1.5)
    panel.text(
        *place,
        words,
        ha="center",
        va="bottom",
        fontsize=7.5,
        bbox=style,
        zorder=3,
    )
