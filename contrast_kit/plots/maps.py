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
    legend,
    panels,
    styled,
    texts,
)

AXES = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PC"}
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
      clusters and distances between them mean nothing. Starts from the principal components, so `seed` changes little;
      or continues from the map `start` [N, 2], so that the maps of a run stay alike from frame to frame (`animation`).
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

        options = {"perplexity": perplexity, "random_state": seed}
        if start is None:
            # 1e-4 wide as van der Maaten advises; scikit-learn's own "pca" may come with either sign.
            begin, _ = principal(points)
            options["init"] = np.float32(begin / max(begin[:, 0].std(), 1e-12) * 1e-4)
        else:
            # Exaggeration at first would scatter the map that it continues from.
            options |= {"init": np.float32(start), "early_exaggeration": 1.0}
        made = TSNE(**options)
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
    pairs=(),
    points=None,
    title: str = "",
):
    """The sentences as points, coloured by label: one panel for each encoder and each setting of the map.

    * `vectors` [N, D], or a dict {"random encoder": [N, D], "CMLM": …} of the *same* sentences in the same order;
      always look at a random encoder beside a trained one.
    * `labels`: N labels (numbers or words), or None. Colour and shape both carry the label.
    * `method`, `seed`, `perplexity`, `neighbors`: as in `project`. Several perplexities, (5, 30, 100), numbers
      of neighbours or seeds draw a panel each: what holds for only one of them is an artefact.
    * `pairs` [P, 2]: row numbers of similar sentences, joined by a line (COCO-LM figure 6).
    * `points`: [N, 2], made earlier by `project` with the same `method` (or a dict of them, like `vectors`), to be
      drawn as they are.

    The axes have no ticks: t-SNE and UMAP coordinates have no unit. Returns the figure. Raises a ValueError when
    vectors and labels do not fit each other.

    >>> from contrast_kit import plots
    >>> figure = plots.embedding_map({"a": [[1, 0], [0, 1], [1, 1]]}, ["x", "y", "x"], method="pca")
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['x', 'y']
    """
    encoders = {
        name: array(value, f"vectors {name}") for name, value in by_name(vectors).items()
    }
    # The same sentences in all of them.
    (n,) = {len(value) for value in encoders.values()}
    made = {name: array(value, "points") for name, value in by_name(points).items()}
    settings = _settings(perplexity=perplexity, neighbors=neighbors, seed=seed)
    if labels is not None:
        labels = texts(labels, "labels", n)
    maps = {}
    for (name, x), (words, setting) in product(encoders.items(), settings.items()):
        # In narrow panels the settings stand on a line of their own.
        title_of = ("\n" if len(settings) > 3 else ", ").join(filter(None, [name, words]))
        at = made[name] if made else project(x, method, **setting)
        maps[title_of] = at, _names(method, x)
    height, width = 3.2, WIDTH
    if len(maps) == 1:
        height, width = 4.4, 4.9 + 1.1 * (labels is not None)
    columns = len(settings) if len(settings) > 1 else 3
    figure, drawn = panels(maps, height, columns, title, width)
    look = {"s": 26 if n < 300 else 12, "linewidths": 0.3, "alpha": 0.85}
    for panel, _, (at, names) in drawn:
        dots(panel, at, labels, **look)
        join(panel, at, pairs, color="#444444", linewidth=0.8, zorder=0.5)
        panel.set(xlabel=names[0], ylabel=names[1], xticks=[], yticks=[])
        panel.set_aspect("equal", adjustable="datalim")
        panel.spines[["top", "right"]].set_visible(True)
    if labels is not None:
        _legend(figure, in_order(labels))
    return figure


def _settings(**values):
    """Every combination of the settings, each a number or several, by the words for those that vary."""
    several = {name: np.atleast_1d(value).tolist() for name, value in values.items()}
    settings = {}
    for chosen in product(*several.values()):
        setting = dict(zip(several, chosen, strict=True))
        words = [
            f"{name} {setting[name]:g}" for name in several if len(several[name]) > 1
        ]
        settings[", ".join(words)] = setting
    return settings


def _legend(figure, kinds):
    """The kinds beside the panels, in as many columns as they need; the figure becomes wider with each."""
    columns = -(-len(kinds) // (ROWS * round(figure.get_figheight())))
    more = (columns - 1) * (0.6 + 0.08 * max(map(len, kinds)))
    figure.set_figwidth(figure.get_figwidth() + more)
    legend(figure, "right upper", ncols=columns, markerscale=1.8, handletextpad=0.2)


def _names(method, vectors):
    """The names of the axes of a map; those of principal components say how much of the variance they hold."""
    names = [f"{AXES[method]} 1", f"{AXES[method]} 2"]
    if method == "pca":
        _, shares = principal(directions(vectors, "vectors"))
        names = [
            f"{name} ({share:.0%} of variance)"
            for name, share in zip(names, shares, strict=True)
        ]
    return names


def principal(points):
    """Coordinates [N, 2] on the two first principal components, and the share of variance of each."""
    centred = points - points.mean(axis=0)
    _, sigma, directions = np.linalg.svd(centred, full_matrices=False)
    # A singular vector may come out with either sign; make its largest entry positive.
    largest = np.abs(directions).argmax(axis=1)[:, None]
    signs = np.sign(np.take_along_axis(directions, largest, axis=1))
    shares = sigma**2 / max((sigma**2).sum(), 1e-300)
    return centred @ (directions * signs)[:2].T, shares[:2]  # [N, D] @ [D, 2] -> [N, 2]
