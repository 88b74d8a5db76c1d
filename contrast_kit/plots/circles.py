"""Vectors of two numbers on the unit circle, and the forces a loss puts on them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit.plots.maps import checked_pairs
from contrast_kit.plots.style import (
    FAINT,
    INK,
    array,
    colour,
    in_order,
    legend_entries,
    marker,
    named,
    panels,
    styled,
    texts,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORD = (0.09, 0.17)  # a letter's width and a word's height, in radii
MANY = 60  # from this many points on, they are drawn small
MARGIN, ROOM_FOR_WORDS = 1.25, 1.6  # from the centre to the edge of the picture, in radii


@styled
def circle(
    points: Any,
    labels: Any = None,
    *,
    names: Sequence[str] | None = None,
    forces: Any = None,
    pairs: Any = None,
    vectors: bool = False,
    title: str | None = None,
) -> "Figure":
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

    Returns the figure. Raises a ValueError for zero vectors, for a width other than 2, or when shapes differ.

    >>> from contrast_kit import plots
    >>> figure = plots.circle([[2.0, 0.0], [0.0, 1.0]], names=["a", "b"])
    >>> figure.axes[0].collections[0].get_offsets().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    sets = named(points, "points") if isinstance(points, Mapping) else {"": points}
    sets = {name: _on_circle(value, f"points {name}".strip()) for name, value in sets.items()}
    arrows = _forces(forces, sets)
    longest = max((np.linalg.norm(force, axis=1).max() for force in arrows.values()), default=0)
    figure, axes = panels(len(sets), title=title, **_size(sets))
    reach = MARGIN if names is None else ROOM_FOR_WORDS
    for panel, (name, at) in zip(axes, sets.items(), strict=True):
        _draw_circle(panel, name)
        kinds = None if labels is None else texts(labels, "labels", len(at))
        at = rings(at, kinds)
        _draw_points(panel, at, kinds)
        if vectors:
            look = {"scale": 1, "width": 0.006, "color": FAINT, "zorder": 1}
            panel.quiver(*np.zeros_like(at).T, *at.T, angles="xy", scale_units="xy", **look)
        reach = max(reach, np.abs(at).max() + 0.12)
        if longest > 0:
            x, y = (arrows[name] / longest / 2).T
            reach = max(reach, np.abs(at + arrows[name] / longest / 2).max() + 0.12)
            look = {"scale": 1, "width": 0.008, "color": INK, "zorder": 3}
            panel.quiver(*at.T, x, y, angles="xy", scale_units="xy", **look)
        if names is not None:
            _write_names(panel, at, texts(names, "names", len(at)))
        for a, b in [] if pairs is None else checked_pairs(pairs, len(at)).tolist():
            panel.plot(*at[[a, b]].T, color="#888888", linewidth=0.9, zorder=1, gid="pair")
    for panel in axes:  # one scale for all
        panel.set(xlim=(-reach, reach), ylim=(-reach, reach))
    if labels is not None and not _names_tell_labels(names, labels):
        handles, words = legend_entries(axes[0])
        look = {"ncols": min(len(words), 4 * len(axes)), "handletextpad": 0.2}
        figure.legend(handles, words, loc="outside lower center", **look)
    return figure


def _size(sets: Mapping[str, Any]) -> dict[str, float]:
    """The size in inches: of a single panel, or of up to four side by side.

    Heights at which the layout leaves the legend and the titles free: it does not know that the panels stay square.
    """
    if len(sets) == 1:
        return {"height": 4, "width": 4.4}
    lines = max(name.count("\n") for name in sets)
    if len(sets) == 4:
        return {"height": 3.05 + 0.15 * lines, "columns": 4}
    return {"height": 3.3 if len(sets) == 2 else 3.0}


def _names_tell_labels(names: Any, labels: Any) -> bool:
    """Whether each name begins with its label, as kite and kite′ do with kite: then a legend says nothing new."""
    return names is not None and all(
        str(word).startswith(str(label)) for word, label in zip(names, labels, strict=True)
    )


def _on_circle(value: Any, name: str) -> np.ndarray:
    points = array(value, name, 2)
    if points.shape[1] != 2:
        raise ValueError(f"{name} must be [N, 2] to lie on a circle, not {points.shape}; project it first.")
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    if (lengths == 0).any():
        raise ValueError(f"{name} has a zero vector, which has no direction.")
    return points / lengths


def _forces(forces: Any, sets: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    if forces is None:
        return {}
    given = named(forces, "forces") if isinstance(forces, Mapping) else {"": forces}
    arrows = {name: array(value, f"forces {name}".strip(), 2) for name, value in given.items()}
    if {k: v.shape for k, v in arrows.items()} != {k: v.shape for k, v in sets.items()}:
        raise ValueError("forces must have the same panels and shapes as points.")
    return arrows


def _draw_circle(panel: Any, name: str) -> None:
    turn = np.linspace(0, 2 * np.pi, 361)
    panel.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.2, zorder=0)
    panel.plot([0], [0], "+", color=FAINT, markersize=7, zorder=0)
    first = panel.get_subplotspec().is_first_col()
    panel.set(aspect="equal", xlabel="first number", ylabel="second number" if first else "")
    panel.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    panel.tick_params(labelleft=first)
    panel.set_title(name)


def rings(at: np.ndarray, kinds: list[str] | None, gap: float = 0.08) -> np.ndarray:
    """Many points as one ring per kind, each `gap` further out, so that no kind hides another: [N, 2] -> [N, 2]."""
    if kinds is None or len(at) < MANY:
        return at
    ring = {kind: 1 + gap * i for i, kind in enumerate(in_order(kinds))}
    return at * np.array([ring[kind] for kind in kinds])[:, None]


def _draw_points(panel: Any, at: np.ndarray, kinds: list[str] | None) -> None:
    look = {"s": 55 if len(at) < MANY else 14, "edgecolors": "white", "linewidths": 0.6, "zorder": 2}
    look["alpha"] = 1 if len(at) < MANY else 0.6
    if kinds is None:
        panel.scatter(*at.T, color=colour(0), **look)
        return
    for i, kind in enumerate(in_order(kinds)):
        here = at[[k == kind for k in kinds]]
        panel.scatter(*here.T, color=colour(i), marker=marker(i), label=kind, **look)


def _write_names(panel: Any, at: np.ndarray, words: list[str]) -> None:
    radius = np.linalg.norm(at, axis=1)
    for angle, r, word in zip(fan_out(np.arctan2(at[:, 1], at[:, 0]), words), radius, words, strict=True):
        x, y = r * np.cos(angle), r * np.sin(angle)
        side = "left" if x > 0.3 else "right" if x < -0.3 else "center"
        panel.annotate(word, (x, y), (9 * x, 11 * y), textcoords="offset points", ha=side, va="center")


def fan_out(angles: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """The angles at which words are written: those of their points, spread apart where words would overlap."""
    fan = angles.astype(float)
    order = [i for i in np.argsort(fan, kind="stable").tolist() if words[i]]
    neighbours = list(zip(order, order[1:], strict=False))
    if len(order) > 2:
        neighbours.append((order[-1], order[0]))  # round the circle
    for _ in range(100):
        for i, j in neighbours:
            gap = fan[j] - fan[i] + 2 * np.pi * (j == order[0])
            middle = fan[i] + gap / 2
            wide, high = WORD[0] * (len(words[i]) + len(words[j])) / 2 + 0.05, WORD[1]
            # Side by side at the top of the circle, one above the other at its sides.
            short = min(wide / max(abs(np.sin(middle)), 1e-9), high / max(abs(np.cos(middle)), 1e-9)) - gap
            if short > 0:
                fan[i], fan[j] = fan[i] - short / 2, fan[j] + short / 2
    return fan
