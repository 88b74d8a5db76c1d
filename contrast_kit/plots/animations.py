"""The space during training: the same sentences at several moments, as an animation."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contrast_kit.plots.circles import rings
from contrast_kit.plots.maps import project
from contrast_kit.plots.style import MARKERS, PALETTE, array, directions, in_order, texts

RING = 0.045  # between the rings of two labels


def align(points, reference, *, center: bool = True) -> np.ndarray:
    """`points` turned, or mirrored, so that they lie on `reference` as closely as they can (Procrustes).

    Schönemann 1966: the orthogonal Q with the least ‖XQ − Y‖ is UVᵀ, where USVᵀ is the singular value decomposition
    of XᵀY. A map's axes mean nothing (t-SNE, UMAP and principal components may come out turned or mirrored), so two
    maps can be compared by eye only after this. Nothing is stretched: distances between points stay as they are.

    `points`, `reference` [N, D]: row i of both is the same sentence. With `center` the points also move as a whole,
    their mean onto the reference's; without it they turn about the origin, as directions do. Returns [N, D] float64.
    `animation` aligns each frame with the one before.

    >>> from contrast_kit import plots
    >>> triangle, turned = [[0, 0], [2, 0], [0, 1]], [[0, 0], [0, 2], [-1, 0]]
    >>> plots.align(turned, triangle).round(6).tolist() == triangle
    True
    """
    points, reference = array(points, "points"), array(reference, "reference")
    here = points.mean(axis=0) * center
    there = reference.mean(axis=0) * center
    u, _, v = np.linalg.svd((points - here).T @ (reference - there))  # [D, D] each
    return (points - here) @ u @ v + there  # [N, D]


def animation(
    frames: dict, labels=None, *, measures: dict | None = None, pairs=()
) -> "Animation":
    """The same sentences at several moments of training, as a player with a slider: where does each point go?

    * `frames`: {"step 0": [N, D], "step 5": …}, the vectors of the *same* sentences in the same order, for example kept
      by `fit(…, callback=…)`; a few hundred can be told apart. Vectors of width 2 stand on the unit circle as they are.
      Wider ones are mapped to their two principal components, frame by frame on one scale, and each map is turned onto
      the one before (`align`), since its axes may turn or flip without any sentence having moved.
    * `labels`: N classes; colour and shape carry them (from 60 points on each on a ring of its own, as in `circle`).
    * `measures`: {"alignment": [one number per frame], …}, drawn beside the map with a mark that moves along.
    * `pairs` [P, 2]: row numbers of positive pairs, joined by a line.

    Returns an `Animation`: the last line of a cell shows the player. Between two frames it moves points along straight
    lines: nothing was measured there. Raises a ValueError when labels or measures do not fit the frames.

    >>> from contrast_kit import plots
    >>> film = plots.animation({"step 0": [[1, 0], [0, 1]], "step 9": [[1, 0], [1, 1]]}, ["a", "b"])
    >>> film.maps["step 9"].round(2).tolist()
    [[1.0, 0.0], [0.71, 0.71]]
    """
    maps, last = {}, None
    for name, value in frames.items():
        x = array(value, f"frames {name}")
        words = None if labels is None else texts(labels, "labels", len(x))
        if x.shape[1] == 2:
            maps[name] = rings(directions(x, name), words, RING)
            continue
        last = project(x, "pca") if last is None else align(project(x, "pca"), last)
        maps[name] = last
    table = {}
    for name, values in (measures or {}).items():
        table[name] = array(values, f"measures {name}").round(4).tolist()
        if len(table[name]) != len(maps):
            raise ValueError(
                f"measures {name!r} must hold one number for each of the {len(maps)} frames."
            )
    pairs = array(pairs, "pairs").astype(int).tolist()
    return Animation(maps, words, pairs, table, circle=last is None)


@dataclass(frozen=True)
class Animation:
    """What `animation` returns: `maps` holds the aligned frames, {"step 0": [N, 2], …}."""

    maps: dict[str, np.ndarray]
    labels: list[str] | None
    pairs: list[list[int]]
    measures: dict[str, list[float]]
    circle: bool

    def __repr__(self) -> str:
        first, *_, last = self.maps
        points = len(self.maps[first])
        return (
            f"Animation of {points} vectors in {len(self.maps)} frames, {first} to {last}"
        )

    def _repr_html_(self) -> str:
        """The player: one canvas, a button and a slider, in plain HTML that needs nothing from elsewhere.

        Matplotlib's `Animation.to_jshtml` stores one picture per frame: for 168 points in 21 frames 1.3 MB, where this
        page holds the numbers alone, 46 kB, rounded to a thousandth of the map.
        """
        maps = np.array(list(self.maps.values()))  # [frames, N, 2]
        half = 1.15 * np.abs(maps).max()
        kinds = in_order(self.labels or [])
        data = {
            "names": list(self.maps),
            "frames": (1000 * maps / half).round().astype(int).tolist(),
            "circle": 1000 / half * self.circle,
            "kind": [kinds.index(label) for label in self.labels or []],
            "words": kinds,
            "markers": MARKERS,
            "colours": PALETTE,
            "pairs": self.pairs,
            "measures": self.measures,
        }
        numbers = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
        # The same numbers, the same page.
        name = hashlib.sha256(numbers.encode()).hexdigest()[:12]
        script = Path(__file__).with_name("player.js").read_text("utf-8").rstrip()
        script = f'<script>\n{script}({numbers}, "{name}");\n</script>'
        note = "Run this cell to see the animation play."
        return f'<div data-animation="{name}"><em>{note}</em></div>\n{script}'
