"""A map of the sentences in two dimensions: t-SNE, UMAP or principal components."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from contrast_kit._util import choose
from contrast_kit.plots.style import (
    WIDTH,
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

AXES = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PC"}
READS = {
    "tsne": ("perplexity", "seed"),
    "umap": ("neighbors", "seed"),
    "pca": (),
}
"""The settings on which each kind of map depends."""
ROWS = 4  # of a legend in an inch


def project(
    vectors,
    method: str = "tsne",
    *,
    seed: int = 0,
    perplexity: float = 30,
    neighbors: int = 15,
    start=None,
) -> np.ndarray:
    """Two coordinates for each vector: the same every time for the same `seed`.

    `vectors` [N, D] are put on the unit sphere first, so near means a high cosine. Methods:

    * `"tsne"`: van der Maaten & Hinton 2008; keeps neighbours, about `perplexity` of them. Sizes of
      clusters and distances between them mean nothing. Starts from the principal components; or continues from the map
      `start` [N, 2], so that the maps of a run stay alike from frame to frame (`animation`); or, with `start="random"`,
      begins at random places drawn by `seed`. (`seed` alone changes nothing.)
    * `"umap"`: McInnes et al. 2018; keeps `neighbors` neighbours. Its first call in a process spends seconds compiling.
    * `"pca"`: the two directions of largest variance; linear, so distances can be read, but much is hidden.

    Returns [N, 2] float64. Raises a ValueError for NaN or a vector of zeros.

    >>> from contrast_kit import plots
    >>> plots.project([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]], method="pca").shape
    (4, 2)
    """
    choose(AXES, method, "method")
    points = directions(vectors, "vectors")
    if method == "pca":
        return principal(points)[0]
    if method == "umap":
        from umap import UMAP

        made = UMAP(n_neighbors=neighbors, random_state=seed, n_jobs=1)
    else:
        from sklearn.manifold import TSNE

        # That phase would scatter the map that it continues from; 12 is scikit-learn's own.
        exaggeration = 12.0 if start is None or isinstance(start, str) else 1.0
        begin = _start(start, points, seed)
        made = TSNE(
            perplexity=perplexity,
            init=begin,
            early_exaggeration=exaggeration,
            random_state=seed,
        )
    return made.fit_transform(points).astype(float)


@styled
def embedding_map(
    vectors,
    labels=None,
    method: str = "tsne",
    *,
    seed: int | Sequence[int] = 0,
    perplexity: float | Sequence[float] = 30,
    neighbors: int | Sequence[int] = 15,
    start: str | None = None,
    pairs=None,
    points=None,
    max_points: int = 1000,
    title: str = "",
):
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

    The axes have no ticks: t-SNE and UMAP coordinates have no unit. Returns the figure. Raises a ValueError when
    vectors and labels do not fit each other.

    >>> from contrast_kit import plots
    >>> figure = plots.embedding_map({"a": [[1, 0], [0, 1], [1, 1]]}, ["x", "y", "x"], method="pca")
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['x', 'y']
    """
    encoders = {name: array(value, f"vectors {name}") for name, value in by_name(vectors).items()}
    (n,) = {len(value) for value in encoders.values()}  # the same sentences in all of them
    made = {name: array(value, "points") for name, value in by_name(points).items()}
    settings = _settings(method, perplexity=perplexity, neighbors=neighbors, seed=seed)
    keep = sample(n, max_points, settings[0]["seed"])
    kinds = None
    if labels is not None:
        labels = texts(labels, "labels", n)
        kinds = in_order(labels)
        labels = [labels[i] for i in keep]
    jobs = list(product(encoders, settings))
    columns = len(settings) if len(settings) > 1 else 3
    height, width = 3.2, WIDTH
    if len(jobs) == 1:
        height, width = 4.4, 4.9 + 1.1 * bool(kinds)
    figure, axes = panels(len(jobs), height, columns, title, width)
    look = {
        "s": 26 if len(keep) < 300 else 12,
        "linewidths": 0.3,
        "edgecolors": "white",
        "alpha": 0.85,
    }
    for panel, (name, setting) in zip(axes, jobs, strict=True):
        at = (
            made[name][keep]
            if made
            else project(encoders[name][keep], method, start=start, **setting)
        )
        dots(panel, at, labels, kinds, **look)
        join(
            panel,
            at,
            kept_pairs(pairs, keep),
            color="#444444",
            linewidth=0.8,
            zorder=0.5,
        )
        _name_axes(panel, method, encoders[name][keep])
        varied = [
            f"{key} {value:g}"
            for key, value in setting.items()
            if len({s[key] for s in settings}) > 1
        ]
        gap = (
            "\n" if len(settings) > 3 else ", "
        )  # in narrow panels the settings stand on a line of their own
        panel.set_title(gap.join(filter(None, [name, ", ".join(varied)])))
    if len(keep) < n:
        figure.text(
            0.99,
            0.005,
            f"{len(keep):,} of {n:,} sentences",
            ha="right",
            fontsize=9,
            color="#777777",
        )
    if kinds:
        handles, words = axes[0].get_legend_handles_labels()
        columns = -(-len(words) // (ROWS * round(figure.get_figheight())))
        figure.set_figwidth(
            figure.get_figwidth() + (columns - 1) * (0.6 + 0.08 * max(map(len, words)))
        )
        look = {"ncols": columns, "markerscale": 1.8, "handletextpad": 0.2}
        figure.legend(handles, words, loc="outside right upper", **look)
    return figure


def _settings(method, **values):
    """Every combination of the settings that this method reads, each a number or several."""
    choices = {}
    for name, value in values.items():
        several = np.atleast_1d(value).tolist()
        choices[name] = several if name in READS[method] else several[:1]
    return [dict(zip(choices, setting, strict=True)) for setting in product(*choices.values())]


def _start(start, points, seed):
    """Where t-SNE begins: 1e-4 wide as van der Maaten advises, unless it continues from a map."""
    if start is None:
        begin = principal(points)[
            0
        ]  # scikit-learn's own "pca" start is not quite deterministic in its sign
    elif isinstance(start, str):
        begin = np.random.default_rng(seed).normal(size=(len(points), 2))
    else:
        return np.float32(start)
    return np.float32(begin / max(begin[:, 0].std(), 1e-12) * 1e-4)


def principal(points):
    """Coordinates [N, 2] on the two first principal components, and the share of variance of each."""
    centred = points - points.mean(axis=0)
    _, sigma, directions = np.linalg.svd(centred, full_matrices=False)
    # A singular vector may come out with either sign; make its largest entry positive.
    largest = np.abs(directions).argmax(axis=1)[:, None]
    signs = np.sign(np.take_along_axis(directions, largest, axis=1))
    shares = sigma**2 / max((sigma**2).sum(), 1e-300)
    return centred @ (directions * signs)[:2].T, shares[:2]  # [N, D] @ [D, 2] -> [N, 2]


def sample(n, max_points, seed):
    """Which of n points are drawn, in order: all, or `max_points` of them at random."""
    if n <= max_points:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, max_points, replace=False))


def kept_pairs(pairs, keep):
    """The pairs of which both rows are kept, as their places among these."""
    if pairs is None:
        return []
    place = {row: i for i, row in enumerate(keep.tolist())}
    rows = array(pairs, "pairs").astype(int).tolist()
    return [[place[a], place[b]] for a, b in rows if a in place and b in place]


def _name_axes(panel, method, vectors):
    names = [f"{AXES[method]} 1", f"{AXES[method]} 2"]
    if method == "pca":
        _, shares = principal(directions(vectors, "vectors"))
        names = [
            f"{name} ({share:.0%} of variance)" for name, share in zip(names, shares, strict=True)
        ]
    panel.set(xlabel=names[0], ylabel=names[1], xticks=[], yticks=[])
    panel.set_aspect("equal", adjustable="datalim")
    panel.spines[["top", "right"]].set_visible(True)
