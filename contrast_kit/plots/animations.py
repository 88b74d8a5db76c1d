"""The space during training: maps of the same sentences, aligned with one another, as an animation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments
from contrast_kit.plots import player
from contrast_kit.plots.circles import rings
from contrast_kit.plots.maps import AXES, checked_pairs, project, sample
from contrast_kit.plots.settings import checked, whole
from contrast_kit.plots.style import (
    FAINT,
    array,
    colour,
    in_order,
    legend_entries,
    marker,
    named,
    number,
    outer_labels,
    panels,
    styled,
    texts,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CIRCLE = "circle"
RING = 0.045  # between the rings of two labels
LEGEND = 4  # labels per line


@checked
def align(points: Any, reference: Any, *, center: bool = True) -> np.ndarray:
    """`points` turned, or mirrored, so that they lie on `reference` as closely as they can (Procrustes).

    Schönemann 1966: the orthogonal Q with the least ‖XQ − Y‖ is UVᵀ, where USVᵀ is the singular value decomposition
    of XᵀY. A map's axes mean nothing (t-SNE, UMAP and principal components may come out turned or mirrored), so two
    maps can be compared by eye only after this. Nothing is stretched: distances between points stay as they are.

    `points`, `reference` [N, D]: row i of both is the same sentence. With `center` the points also move as a whole,
    their mean onto the reference's; without it they turn about the origin, as directions do. Returns [N, D] float64.
    Raises a ValueError when the shapes differ. `animation` aligns each frame with the one before.

    >>> from contrast_kit import plots
    >>> triangle, turned = [[0, 0], [2, 0], [0, 1]], [[0, 0], [0, 2], [-1, 0]]
    >>> plots.align(turned, triangle).round(6).tolist() == triangle
    True
    """
    points, reference = array(points, "points", 2), array(reference, "reference", 2)
    if points.shape != reference.shape:
        raise ValueError(
            f"Row i of points and reference is one sentence, so shapes must agree: {points.shape}, {reference.shape}."
        )
    here, there = (x.mean(axis=0) if center else np.zeros(x.shape[1]) for x in (points, reference))
    u, _, v = np.linalg.svd((points - here).T @ (reference - there))  # [D, N] @ [N, D] -> [D, D] each
    return (points - here) @ u @ v + there  # [N, D]


@checked
def animation(
    frames: Mapping[str, Any],
    labels: Any = None,
    method: str = "pca",
    *,
    measures: Mapping[str, Sequence[float]] | None = None,
    pairs: Any = None,
    seed: int = 0,
    perplexity: float = 30,
    neighbors: int = 15,
    max_points: int = 300,
    title: str | None = None,
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
    moves points along straight lines: nothing was measured there. Raises a ValueError when frames, labels, pairs or
    measures do not fit each other.

    >>> from contrast_kit import plots
    >>> film = plots.animation({"step 0": [[1, 0], [0, 1]], "step 9": [[1, 0], [1, 1]]}, ["a", "b"])
    >>> film
    Animation of 2 vectors in 2 frames, step 0 to step 9
    """
    vectors = {name: array(value, f"frames {name}", 2) for name, value in named(frames, "frames").items()}
    if len(vectors) < 2:
        raise ValueError("An animation needs at least two frames; for one take embedding_map or circle.")
    n, width = next(iter(vectors.values())).shape
    if any(x.shape != (n, width) for x in vectors.values()):
        raise ValueError("All frames must hold the same sentences in the same width, but their shapes differ.")
    kinds = None if labels is None else np.array(texts(labels, "labels", n))
    joined, keep = checked_pairs(pairs, n), sample(n, max_points, seed)
    chosen, words = {name: x[keep] for name, x in vectors.items()}, None if kinds is None else kinds[keep].tolist()
    if width == 2:
        method, maps = CIRCLE, {name: rings(_on_circle(x, name), words, RING) for name, x in chosen.items()}
    else:
        maps = _maps(chosen, method, seed, perplexity, neighbors)
    return Animation(
        maps=maps,
        method=method,
        labels=words,
        kinds=[] if kinds is None else in_order(kinds.tolist()),
        pairs=_kept_pairs(joined, keep),
        measures=_measures(measures, len(maps)),
        title=title or "",
    )


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
        return player.html(
            self.maps,
            self.half_width(),
            on_circle=self.method == CIRCLE,
            labels=self.labels,
            kinds=self.kinds,
            pairs=self.pairs,
            measures=self.measures,
            title=self.title,
        )

    @styled
    def sheet(self, count: int = 8, *, columns: int = 4) -> "Figure":
        """Up to `count` frames side by side, evenly chosen, the first and the last among them."""
        names = list(self.maps)
        chosen = [names[i] for i in np.linspace(0, len(names) - 1, min(count, len(names))).round().astype(int)]
        columns = min(whole("how many frames stand abreast")("columns", columns), len(chosen))
        rows = -(-len(chosen) // columns)
        # A square as wide as its column, a line for the name and for each measure, and room for the legend below.
        below = 0.25 + 0.25 * -(-len(self.kinds) // LEGEND)
        height = 9 / columns + 0.25 + 0.18 * len(self.measures) + below / rows
        figure, axes = panels(len(chosen), height=height, columns=columns, title=self.title or None)
        for panel, name in zip(axes, chosen, strict=True):
            self._draw(panel, name)
        outer_labels(axes)
        self._legend(figure, axes[0])
        if self.method != CIRCLE:
            scale = "one scale for all" if self.method == "pca" else "each drawn in the same size"
            note = f"each frame turned onto the one before; {scale}"
            figure.supxlabel(note, x=0.99, ha="right", fontsize=9, color="#777777")
        return figure

    def save(self, path: str | Path) -> Path:
        """Write the animation as a `.gif` (plays anywhere, no slider) or an `.html` page (the player)."""
        path = arguments.path("path", path, "a file ending in .gif or .html")
        if path.suffix == ".html":
            page = f'<!doctype html><meta charset="utf-8"><title>{type(self).__name__}</title>{self._repr_html_()}'
            path.write_text(page, encoding="utf-8")
        elif path.suffix == ".gif":
            pictures = [self._picture(name) for name in self.maps]
            times = [int(1000 * player.SECONDS)] * (len(pictures) - 1) + [2000]  # the last one stays longer
            pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=times, loop=0)
        else:
            raise ValueError(f"An animation is saved as .gif or .html, not as {path.suffix or path.name!r}.")
        return path

    @styled
    def _picture(self, name: str) -> Any:
        """One frame as a PIL image in few colours."""
        from PIL import Image

        figure, (panel,) = panels(1, height=3.8 + 0.16 * len(self.measures), width=4.0)
        self._draw(panel, name)
        self._legend(figure, panel)
        image = Image.open(BytesIO(figure._repr_png_())).convert("RGB")
        return image.quantize(colors=64, dither=Image.Dither.NONE)

    def half_width(self) -> float:
        """Half the side of the square that holds all frames."""
        return max(1.15 if self.method == CIRCLE else 0, *(1.08 * np.abs(at).max() for at in self.maps.values()))

    def _draw(self, panel: Any, name: str) -> None:
        at, half, i = self.maps[name], self.half_width(), list(self.maps).index(name)
        values = [f"{word} {number(numbers[i])}" for word, numbers in self.measures.items()]
        panel.set_title("\n".join([name, *values]), fontsize=9.5)
        panel.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xticks=[], yticks=[])
        words = ("first", "second") if self.method == CIRCLE else (f"{AXES[self.method]} {k}" for k in (1, 2))
        for set_label, word in zip((panel.set_xlabel, panel.set_ylabel), words, strict=True):
            set_label(f"{word} number" if self.method == CIRCLE else word, fontsize=9)
        panel.spines[["top", "right"]].set_visible(True)
        if self.method == CIRCLE:
            turn = np.linspace(0, 2 * np.pi, 181)
            panel.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1, zorder=0)
        for a, b in self.pairs:
            panel.plot(*at[[a, b]].T, color="#888888", linewidth=0.6, zorder=1, gid="pair")
        look = {
            "s": 26 if len(at) < 60 else 11,
            "linewidths": 0.3,
            "edgecolors": "white",
            "alpha": 0.85,
            "zorder": 2,
        }
        for i, kind in enumerate(self.kinds or [""]):
            rows = slice(None) if self.labels is None else [label == kind for label in self.labels]
            panel.scatter(*at[rows].T, color=colour(i), marker=marker(i), label=kind, **look)

    def _legend(self, figure: Any, panel: Any) -> None:
        if self.kinds:
            handles, words = legend_entries(panel)
            columns = min(4, len(words))
            figure.legend(handles, words, loc="outside lower left", ncols=columns, markerscale=1.6, handletextpad=0.1)


def _on_circle(x: np.ndarray, name: str) -> np.ndarray:
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    if (lengths == 0).any():
        raise ValueError(f"frames {name!r} holds a zero vector, which has no direction.")
    return x / lengths


def _maps(
    frames: Mapping[str, np.ndarray], method: str, seed: int, perplexity: float, neighbors: int
) -> dict[str, np.ndarray]:
    maps, last = {}, None
    for name, x in frames.items():
        start = last if method == "tsne" else None
        points = project(x, method, seed=seed, perplexity=perplexity, neighbors=neighbors, start=start)
        points = points - points.mean(axis=0)
        last = points if last is None else align(points, last)
        size = 1 if method == "pca" else max(np.sqrt((last**2).sum(axis=1).mean()), 1e-12)
        maps[name] = last / size
    return maps


def _kept_pairs(pairs: np.ndarray | None, keep: np.ndarray) -> list[list[int]]:
    if pairs is None:
        return []
    row = {number: i for i, number in enumerate(keep.tolist())}
    return [[row[a], row[b]] for a, b in pairs.tolist() if a in row and b in row]


def _measures(measures: Mapping[str, Any] | None, count: int) -> dict[str, list[float]]:
    if measures is None:
        return {}
    table = {name: array(values, f"measures {name}", 1) for name, values in named(measures, "measures").items()}
    for name, values in table.items():
        if len(values) != count:
            raise ValueError(
                f"measures {name!r} must hold one number for each of the {count} frames, not {len(values)}."
            )
    return {name: values.tolist() for name, values in table.items()}
