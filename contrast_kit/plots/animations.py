"""The space during training: maps of the same sentences, aligned with one another, as an animation."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from contrast_kit.plots.circles import rings
from contrast_kit.plots.maps import AXES, kept_pairs, project, sample
from contrast_kit.plots.style import (
    FAINT,
    INK,
    array,
    colour,
    directions,
    dots,
    in_order,
    join,
    marker,
    number,
    panels,
    styled,
    texts,
)

CIRCLE = "circle"
RING = 0.045  # between the rings of two labels
LEGEND = 4  # labels per line
SECONDS = 0.4  # from one frame to the next
SIDE, COLUMN = (
    420,
    280,
)  # pixels of the player: of the map, and of the column beside it with legend and measures


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
            name: [float(measure(frame)) for frame in self.frames.values()]
            for name, measure in of.items()
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
    u, _, v = np.linalg.svd(
        (points - here).T @ (reference - there)
    )  # [D, N] @ [N, D] -> [D, D] each
    return (points - here) @ u @ v + there  # [N, D]


def animation(
    frames: dict,
    labels=None,
    method: str = "pca",
    *,
    measures: dict | None = None,
    pairs=None,
    seed: int = 0,
    perplexity: float = 30,
    neighbors: int = 15,
    max_points: int = 300,
    title: str = "",
) -> "Animation":
    """The same sentences at several moments of training, as a player with a slider: where does each point go?

    * `frames`: {"step 0": [N, D], "step 5": …}, the vectors of the *same* sentences in the same order, for example kept
      by `fit(…, callback=…)`. Vectors of width 2 stand on the unit circle as they are. Wider ones are mapped to two
      dimensions, frame by frame, and each map is turned onto the one before (`align`), since the axes of a map may turn
      or flip from one frame to the next without any sentence having moved.
    * `labels`: N classes; colour and shape carry them (from 60 points on each on a ring of its own, as in `circle`).
    * `method`, `seed`, `perplexity`, `neighbors`: as in `project`. `"pca"` keeps one scale over all frames, so a space
      that opens is seen to open. `"tsne"` (a second or so per frame) and `"umap"` have no scale: each frame is drawn at
      the same size and begins where the last one ended.
    * `measures`: {"alignment": [one number per frame], …}, drawn beside the map with a mark that moves along.
    * `pairs` [P, 2]: row numbers of positive pairs, joined by a line.
    * `max_points`: where there are more sentences, this many are drawn, chosen at random by `seed`.

    Returns an `Animation`: the last line of a cell shows the player, `.sheet()` gives its frames side by side as a
    figure (for paper, and for pages that run no script), `.save("space.gif")` a file. Between two frames the player
    moves points along straight lines: nothing was measured there. Raises a ValueError when labels or measures do not
    fit the frames.

    >>> from contrast_kit import plots
    >>> film = plots.animation({"step 0": [[1, 0], [0, 1]], "step 9": [[1, 0], [1, 1]]}, ["a", "b"])
    >>> film
    Animation of 2 vectors in 2 frames, step 0 to step 9
    """
    n, width = np.shape(next(iter(frames.values())))
    keep = sample(n, max_points, seed)
    vectors = {str(name): array(value, f"frames {name}")[keep] for name, value in frames.items()}
    words = None if labels is None else [texts(labels, "labels", n)[i] for i in keep]
    if width == 2:
        method = CIRCLE
        maps = {name: rings(directions(x, name), words, RING) for name, x in vectors.items()}
    else:
        maps = _maps(
            vectors,
            method,
            seed=seed,
            perplexity=perplexity,
            neighbors=neighbors,
        )
    table = {
        name: array(values, f"measures {name}").tolist()
        for name, values in (measures or {}).items()
    }
    for name, values in table.items():
        if len(values) != len(maps):
            raise ValueError(
                f"measures {name!r} must hold one number for each of the {len(maps)} frames."
            )
    return Animation(
        maps=maps,
        method=method,
        labels=words,
        kinds=in_order(words or []),
        pairs=kept_pairs(pairs, keep),
        measures=table,
        title=title,
    )


def _maps(frames, method, **settings):
    maps = {}
    last = None
    for name, x in frames.items():
        points = project(x, method, start=last if method == "tsne" else None, **settings)
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
        names = list(self.maps)
        points = len(self.maps[names[0]])
        return f"Animation of {points} vectors in {len(names)} frames, {names[0]} to {names[-1]}"

    def _repr_html_(self) -> str:
        """The player: one canvas, a button and a slider, in plain HTML that needs nothing from elsewhere.

        Matplotlib's `Animation.to_jshtml` stores one picture per frame: for 168 points in 21 frames 1.3 MB, where this
        page holds the numbers alone, 46 kB, rounded to a thousandth of the map.
        """
        half = self.half_width()
        data = {
            "title": self.title,
            "names": list(self.maps),
            "frames": [
                (at / half * 1000).round().astype(int).tolist() for at in self.maps.values()
            ],
            "circle": 1000 / half if self.method == CIRCLE else 0,
            "kind": [self.kinds.index(label) for label in self.labels or []],
            "words": self.kinds,
            "shapes": [_outline(i) for i in range(max(1, len(self.kinds)))],
            "pairs": self.pairs,
            "measures": {
                name: [round(value, 4) for value in values]
                for name, values in self.measures.items()
            },
            "seconds": SECONDS,
            "side": SIDE,
            "column": COLUMN if self.kinds or self.measures else 0,
            "ink": INK,
            "faint": FAINT,
        }
        numbers = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace(
            "<", "\\u003c"
        )
        name = hashlib.sha256(numbers.encode()).hexdigest()[:12]  # the same numbers, the same page
        note = "Run this cell to see the animation play; .sheet() shows its frames as a picture."
        script = Path(__file__).with_name("player.js").read_text("utf-8").rstrip()
        script = f'<script>\n{script}({numbers}, "{name}");\n</script>'
        return f'<div data-animation="{name}"><em>{note}</em></div>\n{script}'

    @styled
    def sheet(self, count: int = 8, *, columns: int = 4):
        """Up to `count` frames side by side, evenly chosen, the first and the last among them."""
        names = list(self.maps)
        chosen = np.linspace(0, len(names) - 1, min(count, len(names))).round().astype(int)
        columns = min(columns, len(chosen))
        rows = -(-len(chosen) // columns)
        # A square as wide as its column, a line for the name and for each measure, and room for the legend below.
        below = 0.25 + 0.25 * -(-len(self.kinds) // LEGEND)
        height = 9 / columns + 0.25 + 0.18 * len(self.measures) + below / rows
        figure, axes = panels(len(chosen), height=height, columns=columns, title=self.title)
        for panel, frame in zip(axes, chosen, strict=True):
            self._draw(panel, names[frame])
            panel.label_outer()
        self._legend(figure, axes[0])
        if self.method != CIRCLE:
            scale = "one scale for all" if self.method == "pca" else "each drawn in the same size"
            note = f"each frame turned onto the one before; {scale}"
            figure.supxlabel(note, x=0.99, ha="right", fontsize=9, color="#777777")
        return figure

    def save(self, path: str | Path) -> Path:
        """Write the animation as a `.gif` (plays anywhere, no slider) or an `.html` page (the player)."""
        path = Path(path).expanduser()
        if path.suffix == ".gif":
            pictures = [self._picture(name) for name in self.maps]
            times = [int(1000 * SECONDS)] * (len(pictures) - 1) + [
                2000
            ]  # the last one stays longer
            pictures[0].save(
                path,
                save_all=True,
                append_images=pictures[1:],
                duration=times,
                loop=0,
            )
        else:
            page = (
                f'<!doctype html><meta charset="utf-8"><title>Animation</title>{self._repr_html_()}'
            )
            path.write_text(page, encoding="utf-8")
        return path

    def half_width(self) -> float:
        """Half the side of the square that holds all frames."""
        reach = 1.08 * max(np.abs(at).max() for at in self.maps.values())
        return max(1.15, reach) if self.method == CIRCLE else reach

    @styled
    def _picture(self, name):
        """One frame as a PIL image."""
        from PIL import Image

        figure, (panel,) = panels(1, height=3.8 + 0.16 * len(self.measures), width=4.0)
        self._draw(panel, name)
        self._legend(figure, panel)
        return Image.open(BytesIO(figure._repr_png_()))

    def _draw(self, panel, name):
        at = self.maps[name]
        half = self.half_width()
        frame = list(self.maps).index(name)
        lines = [name] + [
            f"{word} {number(values[frame])}" for word, values in self.measures.items()
        ]
        panel.set_title("\n".join(lines), fontsize=9.5)
        panel.set(
            xlim=(-half, half),
            ylim=(-half, half),
            aspect="equal",
            xticks=[],
            yticks=[],
        )
        panel.spines[["top", "right"]].set_visible(True)
        if self.method == CIRCLE:
            words = ("first number", "second number")
            turn = np.linspace(0, 2 * np.pi, 181)
            panel.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1, zorder=0)
        else:
            words = (f"{AXES[self.method]} 1", f"{AXES[self.method]} 2")
        panel.set_xlabel(words[0], fontsize=9)
        panel.set_ylabel(words[1], fontsize=9)
        join(panel, at, self.pairs, color="#888888", linewidth=0.6, zorder=1)
        size = 26 if len(at) < 60 else 11
        look = {
            "s": size,
            "linewidths": 0.3,
            "edgecolors": "white",
            "alpha": 0.85,
            "zorder": 2,
        }
        dots(panel, at, self.labels, self.kinds, **look)

    def _legend(self, figure, panel):
        if self.kinds:
            look = {
                "ncols": min(LEGEND, len(self.kinds)),
                "markerscale": 1.6,
                "handletextpad": 0.1,
            }
            figure.legend(
                *panel.get_legend_handles_labels(),
                loc="outside lower left",
                **look,
            )


def _outline(i):
    """The outline of the i-th marker in a box of ±1, and its colour, as the sheet draws them."""
    from matplotlib.markers import MarkerStyle

    style = MarkerStyle(marker(i))
    polygon = style.get_path().transformed(style.get_transform()).to_polygons()[0]
    return (2 * polygon).round(2).tolist(), colour(i)
