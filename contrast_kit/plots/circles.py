"""Vectors of two numbers on the unit circle, and the forces a loss puts on them."""

from collections.abc import Sequence

import numpy as np

from contrast_kit.plots.style import (
    FAINT,
    INK,
    WIDTH,
    array,
    by_name,
    directions,
    dots,
    in_order,
    join,
    legend,
    panels,
    styled,
    texts,
    y_label,
)

APART = 0.22  # between two names, in radii along the circle
MANY = 60  # from this many points on, they are drawn small
MARGIN, ROOM_FOR_WORDS = 1.25, 1.6  # from the centre to the edge of the picture, in radii


@styled
def circle(
    points,
    labels=None,
    *,
    names: Sequence[str] | None = None,
    forces=None,
    pairs=(),
    title: str = "",
):
    """Vectors of width 2 as points on the unit circle, optionally with an arrow for the force on each.

    * `points` [N, 2], put on the circle by their direction; or a dict {"step 0": [N, 2], "step 50": …} for a
      panel each.
    * `labels`: N classes or texts; colour and shape carry them. From 60 points on, each label gets a ring of its own
      just outside the last, since one would hide the other. `names`: N words written beside the points, in place of
      a legend.
    * `forces` [N, 2] (or a dict like `points`): drawn as they are, for example *minus* the gradient, the way
      the loss pushes a vector. All arrows of a figure share one scale, the longest being half a radius.
    * `pairs` [P, 2]: row numbers of positive pairs, joined by a line.

    Returns the figure. Raises a ValueError for zero vectors, and for labels of another length.

    >>> from contrast_kit import plots
    >>> figure = plots.circle([[2.0, 0.0], [0.0, 1.0]], names=["a", "b"])
    >>> figure.axes[0].collections[0].get_offsets().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    sets = {
        name: directions(value, f"points {name}")
        for name, value in by_name(points).items()
    }
    arrows = {name: array(value, "forces") for name, value in by_name(forces).items()}
    lengths = [np.linalg.norm(force, axis=1).max() for force in arrows.values()]
    unit = 2 * max(lengths, default=0) or 1.0
    single, columns = len(sets) == 1, 4 if len(sets) == 4 else 3
    width, height = (4.4, 4.0) if single else (WIDTH, 3.2)
    figure, drawn = panels(sets, height, columns, title, width)
    reach = MARGIN if names is None else ROOM_FOR_WORDS
    for panel, name, points in drawn:
        kinds = None if labels is None else texts(labels, "labels", len(points))
        points = rings(points, kinds)
        turn = np.linspace(0, 2 * np.pi, 361)
        panel.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.2, zorder=0)
        panel.plot(0, 0, "+", color=FAINT, zorder=0)
        size, alpha = (55, 1) if len(points) < MANY else (14, 0.6)
        dots(panel, points, kinds, s=size, alpha=alpha, linewidths=0.6, zorder=2)
        join(panel, points, pairs, color="#888888", linewidth=0.9, zorder=1)
        force = arrows.get(name, np.zeros_like(points)) / unit
        look = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.008}
        panel.quiver(*points.T, *force.T, color=INK, zorder=3, **look)
        if names is not None:
            _write_names(panel, points, texts(names, "names", len(points)))
        reach = max(reach, np.abs([points, points + force]).max() + 0.12)
    for panel, *_ in drawn:  # one scale for all
        ends = {"xlim": (-reach, reach), "ylim": (-reach, reach)}
        panel.set(**ends, aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        panel.set_xlabel("first number")
        y_label(panel, "second number")
        panel.label_outer()
    if names is None:
        legend(figure, ncols=4 * len(drawn), handletextpad=0.2)
    return figure


def rings(points: np.ndarray, kinds: list[str] | None, gap: float = 0.08) -> np.ndarray:
    """Many points as one ring per kind, each `gap` further out, so that no kind hides another: [N, 2] -> [N, 2]."""
    if kinds is None or len(points) < MANY:
        return points
    order = in_order(kinds)
    return points * np.array([[1 + gap * order.index(kind)] for kind in kinds])


def _write_names(panel, points, words):
    """Write each name outside its point, those of near points spread apart along the circle."""
    fan = np.arctan2(points[:, 1], points[:, 0])
    order = fan.argsort()
    for _ in range(100):
        # The last and the first meet round the circle.
        gaps = (np.roll(fan[order], -1) - fan[order]) % (2 * np.pi)
        short = np.maximum(0, APART - gaps) / 2
        fan[order] += np.roll(short, 1) - short
    for turn, word in zip(fan, words, strict=True):
        x, y = np.cos(turn), np.sin(turn)
        panel.text(1.3 * x, 1.2 * y, word, ha="center", va="center")
