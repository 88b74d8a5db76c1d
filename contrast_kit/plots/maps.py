"""A map of the sentences in two dimensions: t-SNE, UMAP or principal components."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import arguments
from contrast_kit.plots.settings import checked, real, several, whole
from contrast_kit.plots.style import array, colour, in_order, legend_entries, marker, named, panels, styled, texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PC"}
NAMED = 64  # labels in a legend: from the next on, colours and shapes come a second time
EACH = {
    "perplexity": real("about how many neighbours t-SNE keeps", least=1),
    "neighbors": whole("how many neighbours UMAP keeps"),
    "seed": whole("a number to draw by", least=0),
}
"""What each setting of a map is; `embedding_map` takes several of each."""


@checked
def project(
    vectors: Any,
    method: str = "tsne",
    *,
    seed: int = 0,
    perplexity: float = 30,
    neighbors: int = 15,
    start: Any = None,
) -> np.ndarray:
    """Two coordinates for each vector: the same every time for the same `seed`.

    `vectors` [N, D] are put on the unit sphere first, so near means a high cosine. Methods:

    * `"tsne"`: van der Maaten & Hinton 2008; keeps neighbours, about `perplexity` of them. Sizes of
      clusters and distances between them mean nothing. Starts from the principal components; or continues from the map
      `start` [N, 2], so that the maps of a run stay alike from frame to frame (`animation`); or, with `start="random"`,
      begins at random places drawn by `seed`. (`seed` alone changes nothing.)
    * `"umap"`: McInnes et al. 2018; keeps `neighbors` neighbours. Its first call in a process spends seconds compiling.
    * `"pca"`: the two directions of largest variance; linear, so distances can be read, but much is hidden.

    Returns [N, 2] float64. Raises a ValueError for bad vectors, or when N is not above the perplexity or the
    number of neighbours.

    >>> from contrast_kit import plots
    >>> plots.project([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], method="pca").shape
    (4, 2)
    """
    points = array(vectors, "vectors", 2)
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    arguments.known(method, AXES, "method")
    perplexity, neighbors = EACH["perplexity"]("perplexity", perplexity), EACH["neighbors"]("neighbors", neighbors)
    seed = EACH["seed"]("seed", seed)
    if (lengths == 0).any():
        raise ValueError("vectors hold a zero vector, which has no direction.")
    if min(points.shape) < 2:
        raise ValueError(f"A map needs at least two vectors of two numbers, not {points.shape}.")
    points = points / lengths
    wanted = {"tsne": perplexity, "umap": neighbors, "pca": 1}[method]
    if not 1 <= wanted < len(points):
        what = "perplexity" if method == "tsne" else "neighbors"
        raise ValueError(f"{what} must lie between 1 and the {len(points)} vectors there are, not {wanted}.")
    if method == "tsne":
        return _tsne(points, perplexity, seed, start)
    if method == "umap":
        return _umap(points, neighbors, seed)
    return _principal(points)[0]


@styled
def embedding_map(
    vectors: Any,
    labels: Any = None,
    method: str = "tsne",
    *,
    seed: int | Sequence[int] = 0,
    perplexity: float | Sequence[float] = 30,
    neighbors: int | Sequence[int] = 15,
    start: str | None = None,
    pairs: Any = None,
    points: Any = None,
    max_points: int = 1000,
    title: str | None = None,
) -> "Figure":
    """The sentences as points, coloured by label: one panel for each encoder and each setting of the map.

    * `vectors` [N, D], or a dict {"random encoder": [N, D], "CMLM": …} of the *same* sentences in the same order;
      always look at a random encoder beside a trained one.
    * `labels`: N labels (numbers or words), or None. Colour and shape both carry the label.
    * `method`, `seed`, `perplexity`, `neighbors`, `start`: as in `project`. Several perplexities, (5, 30, 100), numbers
      of neighbours or seeds draw a panel each: what holds for only one of them is an artefact.
    * `pairs` [P, 2]: row numbers of similar sentences, joined by a line (COCO-LM figure 6).
    * `points`: [N, 2], made earlier by `project` with the same `method` (or a dict of them, like `vectors`), to be
      drawn as they are.
    * `max_points`: where there are more sentences, this many are drawn at random (`seed`), the same in all panels.

    The axes have no ticks: t-SNE and UMAP coordinates have no unit. Returns the figure. Raises a ValueError when the
    vectors, labels or pairs do not fit each other.

    >>> from contrast_kit import plots
    >>> figure = plots.embedding_map({"a": [[1, 0], [0, 1], [1, 1]]}, ["x", "y", "x"], method="pca")
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['x', 'y']
    """
    arguments.known(method, AXES, "method")
    encoders = named(vectors, "vectors") if isinstance(vectors, Mapping) else {"": vectors}
    encoders = {name: array(value, f"vectors {name}".strip(), 2) for name, value in encoders.items()}
    n = len(next(iter(encoders.values())))
    if any(len(value) != n for value in encoders.values()):
        raise ValueError("All encoders must hold a vector for each of the same sentences, but N differs.")
    labels = None if labels is None else np.array(texts(labels, "labels", n))
    pairs, made = checked_pairs(pairs, n), _checked_points(points, encoders, n)
    settings = _settings(method, seed, perplexity, neighbors)
    keep = sample(n, max_points, settings[0]["seed"])
    jobs = [(name, each) for name in encoders for each in settings]
    size = {"height": 3.2} if len(jobs) > 1 else {"height": 4.4, "width": 4.9 + 1.1 * (labels is not None)}
    figure, axes = panels(len(jobs), columns=len(settings) if len(settings) > 1 else 3, title=title, **size)
    for panel, (name, each) in zip(axes, jobs, strict=True):
        at = made[name][keep] if made else project(encoders[name][keep], method, start=start, **each)
        _draw_points(panel, at, None if labels is None else labels[keep], labels)
        _draw_pairs(panel, at, keep, pairs)
        _name_axes(panel, method, encoders[name][keep])
        varied = [f"{word} {value:g}" for word, value in each.items() if len({s[word] for s in settings}) > 1]
        gap = "\n" if len(settings) > 3 else ", "  # in narrow panels the settings stand on a line of their own
        panel.set_title(gap.join(filter(None, [name, ", ".join(varied)])))
    if len(keep) < n:
        figure.text(0.99, 0.005, f"{len(keep):,} of {n:,} sentences", ha="right", fontsize=9, color="#777777")
    if labels is not None:
        _legend(figure, *legend_entries(axes[0]))
    return figure


def _legend(figure: "Figure", handles: list[Any], words: list[str]) -> None:
    """The labels at the right, in more columns, and on a wider figure, where one column would be cut off below."""
    look = {"loc": "outside right upper", "markerscale": 1.8, "handletextpad": 0.2}
    if len(words) > NAMED:
        look["title"] = f"the first {NAMED} of {len(words)} labels"
    handles, words = handles[:NAMED], words[:NAMED]
    columns = math.ceil(0.22 * (len(words) + ("title" in look)) / figure.get_figheight())
    figure.set_figwidth(figure.get_figwidth() + (columns - 1) * (0.6 + 0.08 * max(map(len, words))))  # inches
    figure.legend(handles, words, ncols=columns, **look)


def _settings(method: str, seed: Any, perplexity: Any, neighbors: Any) -> list[dict[str, Any]]:
    """Every combination of the settings that this method knows, each a number or several."""
    known = {"tsne": ("perplexity", "seed"), "umap": ("neighbors", "seed")}.get(method, ())
    given = {"perplexity": perplexity, "neighbors": neighbors, "seed": seed}
    lists = {word: several(word, value, EACH[word]) for word, value in given.items()}
    chosen = [values if word in known else values[:1] for word, values in lists.items()]
    return [dict(zip(lists, each, strict=True)) for each in product(*chosen)]


def _tsne(points: np.ndarray, perplexity: float, seed: int, start: Any) -> np.ndarray:
    from sklearn.manifold import TSNE

    options = {"init": _start(start, points, seed), "learning_rate": "auto", "random_state": seed % 2**32}
    if not (start is None or isinstance(start, str)):
        options["early_exaggeration"] = 1.0  # that phase would scatter the map that it continues from
    return TSNE(perplexity=perplexity, **options).fit_transform(points).astype(float)


def _start(start: Any, points: np.ndarray, seed: int) -> np.ndarray:
    """Where t-SNE begins: 1e-4 wide as van der Maaten advises, unless it continues from a map."""
    if start is None or (isinstance(start, str) and start == "random"):
        # scikit-learn's own "pca" start is not quite deterministic in its sign
        random = np.random.default_rng(seed).normal(size=(len(points), 2))
        begin = _principal(points)[0] if start is None else random
        return (begin / max(begin[:, 0].std(), 1e-12) * 1e-4).astype(np.float32)
    begin = array(start, "start", 2)
    if begin.shape != (len(points), 2):
        raise ValueError(f"start must be a map of the same vectors, {[len(points), 2]}, not {list(begin.shape)}.")
    return begin.astype(np.float32)


def _umap(points: np.ndarray, neighbors: int, seed: int) -> np.ndarray:
    from umap import UMAP

    return UMAP(n_neighbors=neighbors, random_state=seed % 2**32, n_jobs=1).fit_transform(points).astype(float)


def _principal(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates [N, 2] on the two first principal components, and the share of variance of each."""
    centred = points - points.mean(axis=0)
    _, sigma, directions = np.linalg.svd(centred, full_matrices=False)
    # A singular vector may come out with either sign; make its largest entry positive.
    signs = np.sign(np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1))
    variance = sigma**2 / max((sigma**2).sum(), 1e-300)
    return centred @ (directions * signs)[:2].T, variance[:2]  # [N, D] @ [D, 2] -> [N, 2]


def sample(n: int, max_points: int, seed: int) -> np.ndarray:
    """Which of n points are drawn, in order: all, or `max_points` of them at random."""
    seed = EACH["seed"]("seed", seed)
    if n <= max_points:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, max_points, replace=False))


def checked_pairs(pairs: Any, n: int) -> np.ndarray | None:
    """Pairs of row numbers below n as an array [P, 2]; None stays None."""
    if pairs is None:
        return None
    pairs = array(pairs, "pairs", 2)
    if pairs.shape[1] != 2 or pairs.min() < 0 or pairs.max() >= n or (pairs % 1).any():
        raise ValueError(f"pairs must be [P, 2] row numbers between 0 and {n - 1}.")
    return pairs.astype(int)


def _checked_points(points: Any, encoders: Mapping[str, Any], n: int) -> dict[str, np.ndarray]:
    if points is None:
        return {}
    made = named(points, "points") if isinstance(points, Mapping) else dict.fromkeys(encoders, points)
    made = {name: array(value, f"points {name}".strip(), 2) for name, value in made.items()}
    if made.keys() != encoders.keys() or any(value.shape != (n, 2) for value in made.values()):
        raise ValueError(f"points must be [{n}, 2] for each of {', '.join(map(repr, encoders))}.")
    return made


def _draw_points(panel: Any, points: np.ndarray, labels: np.ndarray | None, all_labels: np.ndarray | None) -> None:
    size = 26 if len(points) < 300 else 12
    look = {"s": size, "linewidths": 0.3, "edgecolors": "white", "alpha": 0.85}
    if labels is None:
        panel.scatter(*points.T, color=colour(0), **look)
        return
    for i, label in enumerate(in_order(all_labels.tolist())):
        here = points[labels == label]
        panel.scatter(*here.T, color=colour(i), marker=marker(i), label=label, **look)


def _draw_pairs(panel: Any, points: np.ndarray, keep: np.ndarray, pairs: np.ndarray | None) -> None:
    if pairs is None:
        return
    row = {number: i for i, number in enumerate(keep.tolist())}
    for a, b in pairs.tolist():
        if a in row and b in row:
            panel.plot(*points[[row[a], row[b]]].T, color="#444444", linewidth=0.8, zorder=0.5, gid="pair")


def _name_axes(panel: Any, method: str, vectors: np.ndarray) -> None:
    names = [f"{AXES[method]} 1", f"{AXES[method]} 2"]
    if method == "pca":
        share = _principal(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))[1]
        names = [f"{name} ({part:.0%} of variance)" for name, part in zip(names, share, strict=True)]
    panel.set_xlabel(names[0])
    panel.set_ylabel(names[1])
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_aspect("equal", adjustable="datalim")
    panel.spines[["top", "right"]].set_visible(True)
