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
    panels,
    styled,
    texts,
)

WORD = (0.09, 0.17)  # a letter's width and a word's height, in radii
MANY = 60  # from this many points on, they are drawn small
MARGIN, ROOM_FOR_WORDS = (
    1.25,
    1.6,
)  # from the centre to the edge of the picture, in radii


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
    sets = {name: directions(value, f"points {name}") for name, value in by_name(points).items()}
    arrows = {name: array(value, "forces") for name, value in by_name(forces).items()}
    longest = max(
        (np.linalg.norm(force, axis=1).max() for force in arrows.values()),
        default=0,
    )
    figure, axes = panels(len(sets), title=title, **_size(list(sets)))
    reach = MARGIN if names is None else ROOM_FOR_WORDS
    for panel, (name, at) in zip(axes, sets.items(), strict=True):
        kinds = None if labels is None else texts(labels, "labels", len(at))
        at = rings(at, kinds)
        ends = [at]
        _draw_circle(panel, name)
        size, alpha = (55, 1) if len(at) < MANY else (14, 0.6)
        dots(
            panel,
            at,
            kinds,
            s=size,
            alpha=alpha,
            edgecolors="white",
            linewidths=0.6,
            zorder=2,
        )
        join(panel, at, pairs, color="#888888", linewidth=0.9, zorder=1)
        if vectors:
            _arrows(panel, np.zeros_like(at), at, width=0.006, color=FAINT, zorder=1)
        if longest:
            force = arrows[name] / longest / 2
            _arrows(panel, at, force, width=0.008, color=INK, zorder=3)
            ends.append(at + force)
        if names is not None:
            _write_names(panel, at, texts(names, "names", len(at)))
        reach = max(reach, np.abs(ends).max() + 0.12)
    for panel in axes:  # one scale for all
        panel.set(xlim=(-reach, reach), ylim=(-reach, reach))
    if labels is not None and not _names_say_labels(names, labels):
        handles, words = axes[0].get_legend_handles_labels()
        columns = min(len(words), 4 * len(axes))
        figure.legend(
            handles,
            words,
            loc="outside lower center",
            ncols=columns,
            handletextpad=0.2,
        )
    return figure


def _size(names):
    """The size in inches: of a single panel, or of up to four side by side.

    Heights at which the layout leaves the legend and the titles free: it does not know that the panels stay square.
    """
    if len(names) == 1:
        return {"height": 4, "width": 4.4}
    if len(names) == 4:
        lines = max(name.count("\n") for name in names)
        return {"height": 3.05 + 0.15 * lines, "columns": 4}
    return {"height": 3.3 if len(names) == 2 else 3.0}


def _names_say_labels(names, labels):
    """Whether each name begins with its label, as kite and kite′ do with kite: then a legend says nothing new."""
    return names is not None and all(map(str.startswith, map(str, names), map(str, labels)))


def _draw_circle(panel, name):
    turn = np.linspace(0, 2 * np.pi, 361)
    panel.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.2, zorder=0)
    panel.plot([0], [0], "+", color=FAINT, markersize=7, zorder=0)
    first = panel.get_subplotspec().is_first_col()
    panel.set(
        aspect="equal",
        xticks=[-1, 0, 1],
        yticks=[-1, 0, 1],
        title=name,
        xlabel="first number",
    )
    panel.set_ylabel("second number" * first)
    panel.tick_params(labelleft=first)


def _arrows(panel, tails, steps, **look):
    panel.quiver(*tails.T, *steps.T, angles="xy", scale_units="xy", scale=1, **look)


def rings(at: np.ndarray, kinds: list[str] | None, gap: float = 0.08) -> np.ndarray:
    """Many points as one ring per kind, each `gap` further out, so that no kind hides another: [N, 2] -> [N, 2]."""
    if kinds is None or len(at) < MANY:
        return at
    ring = {kind: 1 + gap * i for i, kind in enumerate(in_order(kinds))}
    return at * np.array([ring[kind] for kind in kinds])[:, None]


def _write_names(panel, at, words):
    radii = np.linalg.norm(at, axis=1)
    angles = fan_out(np.arctan2(at[:, 1], at[:, 0]), words)
    for angle, radius, word in zip(angles, radii, words, strict=True):
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        side = "center"
        if abs(x) > 0.3:
            side = "left" if x > 0 else "right"
        panel.annotate(
            word,
            (x, y),
            (9 * x, 11 * y),
            textcoords="offset points",
            ha=side,
            va="center",
        )


def fan_out(angles, words):
    """The angles at which words are written: those of their points, spread apart where words would overlap."""
    fan = angles.astype(float)
    order = [i for i in np.argsort(fan, kind="stable").tolist() if words[i]]
    for _ in range(100):
        for i, j in zip(order, order[1:] + order[:1], strict=True):
            gap = (
                fan[j] - fan[i] + 2 * np.pi * (j == order[0])
            )  # the last and the first meet round the circle
            middle = fan[i] + gap / 2
            wide = WORD[0] * (len(words[i]) + len(words[j])) / 2 + 0.05
            # Side by side at the top of the circle, one above the other at its sides.
            needed = min(
                wide / max(abs(np.sin(middle)), 1e-9),
                WORD[1] / max(abs(np.cos(middle)), 1e-9),
            )
            short = max(0.0, needed - gap)
            fan[i] -= short / 2
            fan[j] += short / 2
    return fan
