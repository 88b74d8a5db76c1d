"""The space during training: maps of the same sentences, aligned with one another, as an animation."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from contrast_kit.plots.circles import draw_circle, rings
from contrast_kit.plots.maps import AXES, project
from contrast_kit.plots.style import (
    GREY,
    WIDTH,
    array,
    colour,
    directions,
    dots,
    in_order,
    join,
    legend,
    marker,
    number,
    panels,
    styled,
    texts,
)

CIRCLE = "circle"
RING = 0.045  # between the rings of two labels
ABREAST = 4  # labels per line of a legend, and frames per line of a sheet
SECONDS = 0.4  # from one frame of a file to the next


class Camera:
    """Give it to `fit(…, callback=camera)`, and `camera.frames` to `animation`.

    Args:
        look: called without arguments at each chosen step; what it returns is kept, for example the vectors
            `encoder.encode(texts).cpu()`.
        steps: the steps at which to look; step 0, before training, is always kept.

    >>> from contrast_kit import plots
    >>> weight = [0.0]
    >>> camera = plots.Camera(lambda: list(weight), steps=[2])
    >>> from types import SimpleNamespace
    >>> for step in (1, 2, 3):
    ...     weight[0] += 1
    ...     camera(SimpleNamespace(steps=step))
    >>> camera.frames
    {'step 0': [0.0], 'step 2': [2.0]}
    >>> camera.measures(total=sum)
    {'total': [0.0, 2.0]}
    """

    def __init__(self, look: Callable[[], Any], steps: Iterable[int]) -> None:
        self.look = look
        self.steps = set(steps)
        self.frames: dict[str, Any] = {"step 0": look()}

    def __call__(self, run) -> None:
        """Keep what `look` returns now, if this step was chosen."""
        if run.steps in self.steps:
            self.frames[f"step {run.steps}"] = self.look()

    def measures(self, **of: Callable[[Any], Any]) -> dict[str, list[float]]:
        """Numbers of each frame, by name: `measures(uniformity=ck.geometry.uniformity)`, as `animation` takes them."""
        return {
            name: [float(each(x)) for x in self.frames.values()]
            for name, each in of.items()
        }


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
    frames: dict,
    labels=None,
    method: str = "pca",
    *,
    measures: dict | None = None,
    pairs=(),
    title: str = "",
    **settings: Any,
) -> "Animation":
    """The same sentences at several moments of training, as a player with a slider: where does each point go?

    * `frames`: {"step 0": [N, D], "step 5": …}, the vectors of the *same* sentences in the same order, for example kept
      by `fit(…, callback=…)`; a few hundred can be told apart. Vectors of width 2 stand on the unit circle as they are.
      Wider ones are mapped to two dimensions, frame by frame, and each map is turned onto the one before (`align`),
      since the axes of a map may turn or flip from one frame to the next without any sentence having moved.
    * `labels`: N classes; colour and shape carry them (from 60 points on each on a ring of its own, as in `circle`).
    * `method` and `settings`: as in `project`. `"pca"` keeps one scale over all frames, so a space
      that opens is seen to open. `"tsne"` (a second or so per frame) and `"umap"` have no scale: each frame is drawn at
      the same size and begins where the last one ended.
    * `measures`: {"alignment": [one number per frame], …}, drawn beside the map with a mark that moves along.
    * `pairs` [P, 2]: row numbers of positive pairs, joined by a line.

    Returns an `Animation`: the last line of a cell shows the player, `.sheet()` gives its frames side by side as a
    figure (for paper, and for pages that run no script), `.save("space.gif")` a file. Between two frames the player
    moves points along straight lines: nothing was measured there. Raises a ValueError when labels or measures do not
    fit the frames.

    >>> from contrast_kit import plots
    >>> film = plots.animation({"step 0": [[1, 0], [0, 1]], "step 9": [[1, 0], [1, 1]]}, ["a", "b"])
    >>> film
    Animation of 2 vectors in 2 frames, step 0 to step 9
    """
    vectors = {
        str(name): array(value, f"frames {name}") for name, value in frames.items()
    }
    n, width = next(iter(vectors.values())).shape
    words = None if labels is None else texts(labels, "labels", n)
    if width == 2:
        method = CIRCLE
        maps = {
            name: rings(directions(x, name), words, RING) for name, x in vectors.items()
        }
    else:
        maps = _maps(vectors, method, settings)
    table = {}
    for name, values in (measures or {}).items():
        table[name] = array(values, f"measures {name}").tolist()
        if len(table[name]) != len(maps):
            raise ValueError(
                f"measures {name!r} must hold one number for each of the {len(maps)} frames."
            )
    pairs = array(pairs, "pairs").astype(int).tolist()
    return Animation(maps, method, words, in_order(words or []), pairs, table, title)


def _maps(frames, method, settings):
    maps = {}
    last = None
    for name, x in frames.items():
        points = project(x, method, start=last, **settings)
        points = points - points.mean(axis=0)
        last = points if last is None else align(points, last)
        size = 1.0 if method == "pca" else np.sqrt((last**2).sum(axis=1).mean())
        maps[name] = last / size
    return maps


@dataclass(frozen=True)
class Animation:
    """What `animation` returns: `maps` holds the aligned frames, {"step 0": [N, 2], …}."""

    maps: dict[str, np.ndarray]
    method: str
    labels: list[str] | None
    kinds: list[str]
    pairs: list[list[int]]
    measures: dict[str, list[float]]
    title: str

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
        half = self.half_width()
        maps = np.array(list(self.maps.values())) / half  # [frames, N, 2]
        data = {
            "title": self.title,
            "names": list(self.maps),
            "frames": (1000 * maps).round().astype(int).tolist(),
            "circle": 1000 / half if self.method == CIRCLE else 0,
            "kind": [self.kinds.index(label) for label in self.labels or []],
            "words": self.kinds,
            "shapes": [_outline(i) for i in range(max(1, len(self.kinds)))],
            "pairs": self.pairs,
            "measures": {
                name: np.round(x, 4).tolist() for name, x in self.measures.items()
            },
        }
        numbers = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
        # The same numbers, the same page.
        name = hashlib.sha256(numbers.encode()).hexdigest()[:12]
        note = "Run this cell to see the animation play; .sheet() shows its frames as a picture."
        script = Path(__file__).with_name("player.js").read_text("utf-8").rstrip()
        script = f'<script>\n{script}({numbers}, "{name}");\n</script>'
        return f'<div data-animation="{name}"><em>{note}</em></div>\n{script}'

    def sheet(self, count: int = 8):
        """Up to `count` frames side by side, evenly chosen, the first and the last among them."""
        names = list(self.maps)
        chosen = (
            np.linspace(0, len(names) - 1, min(count, len(names))).round().astype(int)
        )
        figure = self._drawn([names[i] for i in chosen], self.title)
        if self.method != CIRCLE:
            scale = (
                "one scale for all"
                if self.method == "pca"
                else "each drawn in the same size"
            )
            words = f"each frame turned onto the one before; {scale}"
            figure.supxlabel(words, x=0.99, ha="right", fontsize=9, color=GREY)
        return figure

    def save(self, path: str | Path) -> Path:
        """Write the animation as a `.gif` (plays anywhere, no slider) or an `.html` page (the player)."""
        from PIL import Image

        path = Path(path).expanduser()
        if path.suffix == ".gif":
            frames = [BytesIO(self._drawn([name])._repr_png_()) for name in self.maps]
            first, *others = map(Image.open, frames)
            # The last one stays longer.
            times = [int(1000 * SECONDS)] * len(others) + [2000]
            first.save(path, save_all=True, append_images=others, duration=times, loop=0)
        else:
            head = '<!doctype html><meta charset="utf-8"><title>Animation</title>'
            path.write_text(head + self._repr_html_(), encoding="utf-8")
        return path

    def half_width(self) -> float:
        """Half the side of the square that holds all frames."""
        reach = 1.08 * max(np.abs(at).max() for at in self.maps.values())
        return max(1.15, reach) if self.method == CIRCLE else reach

    @styled
    def _drawn(self, names, title=""):
        """Frames as a figure."""
        columns = min(ABREAST, len(names))
        width = max(4.0, WIDTH / ABREAST * columns)
        # A square as wide as its column, a line for the name and for each measure, and room for the legend below.
        height = width / columns + 0.5 + 0.18 * len(self.measures)
        figure, drawn = panels(dict.fromkeys(names), height, columns, title, width)
        for panel, name, _ in drawn:
            self._draw(panel, name)
        legend(figure, "lower left", ncols=ABREAST, markerscale=1.6, handletextpad=0.1)
        return figure

    def _draw(self, panel, name):
        at, half = self.maps[name], self.half_width()
        frame = list(self.maps).index(name)
        words = [
            f"{word} {number(values[frame])}" for word, values in self.measures.items()
        ]
        panel.set_title("\n".join([name, *words]), fontsize=9.5)
        if self.method == CIRCLE:
            draw_circle(panel)
        else:
            x, y = (f"{AXES[self.method]} {i}" for i in (1, 2))
            panel.set(xlabel=x, ylabel=y, aspect="equal", xticks=[], yticks=[])
        panel.set(xlim=(-half, half), ylim=(-half, half))
        panel.spines[["top", "right"]].set_visible(True)
        join(panel, at, self.pairs, color="#888888", linewidth=0.6, zorder=1)
        look = {
            "s": 26 if len(at) < 60 else 11,
            "linewidths": 0.3,
            "alpha": 0.85,
            "zorder": 2,
        }
        dots(panel, at, self.labels, **look)
        panel.label_outer()


def _outline(i):
    """The outline of the i-th marker in a box of ±1, and its colour, as the player draws them."""
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(marker(i))
    polygon = style.get_path().transformed(style.get_transform()).to_polygons()[0]
    return (2 * polygon).round(2).tolist(), colour(i)
