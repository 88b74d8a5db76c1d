"""Vectors of two numbers on the unit circle, and the forces a loss puts on them."""

from collections.abc import Sequence

import numpy as np

from contrast_kit.plots.style import (
    FAINT,
    INK,
    array,
    by_name,
    directions,
    dots,
    in_order,
    join,
    legend,
    note,
    panels,
    styled,
    texts,
    y_label,
)

WORD = (0.09, 0.17)  # a letter's width and a word's height, in radii
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
    vectors: bool = False,
    title: str = "",
):
    """Vectors of width 2 as points on the unit circle, optionally with an arrow for the force on each.

    * `points` [N, 2], put on the circle by their direction; or a dict {"step 0": [N, 2], "step 50": …} for a
      panel each.
    * `labels`: N classes or texts; colour and shape carry them. From 60 points on, each label gets a ring of its own
      just outside the last, since one would hide the other. `names`: N words written beside the points; where each
      begins with its label, they say what a legend would.
    * `forces` [N, 2] (or a dict like `points`): drawn as they are, for example *minus* the gradient, the way
      the loss pushes a vector. All arrows of a figure share one scale, the longest being half a radius.
    * `pairs` [P, 2]: row numbers of positive pairs, joined by a line.
    * `vectors`: draw each as an arrow from the centre, too.

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
    figure, drawn = panels(sets, title=title, **_size(list(sets)))
    reach = MARGIN if names is None else ROOM_FOR_WORDS
    for panel, name, at in drawn:
        kinds = None if labels is None else texts(labels, "labels", len(at))
        at = rings(at, kinds)
        draw_circle(panel)
        size, alpha = (55, 1) if len(at) < MANY else (14, 0.6)
        dots(panel, at, kinds, s=size, alpha=alpha, linewidths=0.6, zorder=2)
        join(panel, at, pairs, color="#888888", linewidth=0.9, zorder=1)
        if vectors:
            _arrows(panel, np.zeros_like(at), at, width=0.006, color=FAINT, zorder=1)
        force = arrows.get(name, np.zeros_like(at)) / unit
        _arrows(panel, at, force, width=0.008, color=INK, zorder=3)
        if names is not None:
            _write_names(panel, at, texts(names, "names", len(at)))
        reach = max(reach, np.abs([at, at + force]).max() + 0.12)
    for panel, *_ in drawn:  # one scale for all
        panel.set(xlim=(-reach, reach), ylim=(-reach, reach))
    if not _names_say_labels(names, labels):
        legend(figure, ncols=4 * len(drawn), handletextpad=0.2)
    return figure


def _size(names):
    """The size in inches: of a single panel, or of up to four side by side.

    Heights at which the layout leaves the legend and the titles free: it does not know that the panels stay square.
    """
    if len(names) == 1:
        return {"height": 4, "width": 4.4}
    if len(names) == 4:
        return {
            "height": 3.05 + 0.15 * max(name.count("\n") for name in names),
            "columns": 4,
        }
    return {"height": 3.3 if len(names) == 2 else 3.0}


def _names_say_labels(names, labels):
    """Whether each name begins with its label, as kite and kite′ do with kite: then a legend says nothing new."""
    if names is None or labels is None:
        return False
    return all(map(str.startswith, map(str, names), map(str, labels)))


def draw_circle(panel):
    """The circle and its centre, and what the axes are."""
    turn = np.linspace(0, 2 * np.pi, 361)
    panel.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.2, zorder=0)
    panel.plot([0], [0], "+", color=FAINT, markersize=7, zorder=0)
    panel.set(aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1], xlabel="first number")
    y_label(panel, "second number")
    panel.tick_params(labelleft=panel.get_subplotspec().is_first_col())


def _arrows(panel, tails, steps, **look):
    panel.quiver(*tails.T, *steps.T, angles="xy", scale_units="xy", scale=1, **look)


def rings(at: np.ndarray, kinds: list[str] | None, gap: float = 0.08) -> np.ndarray:
    """Many points as one ring per kind, each `gap` further out, so that no kind hides another: [N, 2] -> [N, 2]."""
    if kinds is None or len(at) < MANY:
        return at
    order = in_order(kinds)
    return at * np.array([[1 + gap * order.index(kind)] for kind in kinds])


def _write_names(panel, at, words):
    radii = np.linalg.norm(at, axis=1)
    angles = fan_out(np.arctan2(at[:, 1], at[:, 0]), words)
    for x, y, word in zip(
        radii * np.cos(angles), radii * np.sin(angles), words, strict=True
    ):
        side = "center"
        if abs(x) > 0.3:
            side = "left" if x > 0 else "right"
        note(panel, word, (x, y), (9 * x, 11 * y), ha=side, va="center")


def fan_out(angles, words):
    """The angles at which words are written: those of their points, spread apart where words would overlap."""
    fan = angles.astype(float)
    order = [i for i in np.argsort(fan, kind="stable").tolist() if words[i]]
    for _ in range(100):
        for i, j in zip(order, order[1:] + order[:1], strict=True):
            # The last and the first meet round the circle.
            around = 2 * np.pi * (j == order[0])
            gap = fan[j] - fan[i] + around
            middle = fan[i] + gap / 2
            wide = WORD[0] * (len(words[i]) + len(words[j])) / 2 + 0.05
            # Side by side at the top of the circle, one above the other at its sides.
            across, down = np.maximum(np.abs([np.sin(middle), np.cos(middle)]), 1e-9)
            short = max(0.0, min(wide / across, WORD[1] / down) - gap)
            fan[i] -= short / 2
            fan[j] += short / 2
    return fan
