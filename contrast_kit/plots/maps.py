"""A map of the sentences in two dimensions: t-SNE, UMAP or principal components."""

import numpy as np

from contrast_kit._util import choose
from contrast_kit.plots.style import (
    WIDTH,
    array,
    by_name,
    directions,
    dots,
    join,
    legend,
    panels,
    styled,
    texts,
)

AXES = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PC"}


def project(
    vectors,
    method: str = "tsne",
    *,
    seed: int = 0,
    perplexity: float = 30,
    neighbors: int = 15,
) -> np.ndarray:
    """Two coordinates for each vector: the same every time for the same `seed`.

    `vectors` [N, D] are put on the unit sphere first, so near means a high cosine. Methods:

    * `"tsne"`: van der Maaten & Hinton 2008; keeps neighbours, about `perplexity` of them. Sizes of
      clusters and distances between them mean nothing. Starts from the principal components, so `seed` changes little.
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
        return _principal(points)
    if method == "umap":
        from umap import UMAP

        made = UMAP(n_neighbors=neighbors, random_state=seed, n_jobs=1)
    else:
        from sklearn.manifold import TSNE

        # 1e-4 wide as van der Maaten advises; scikit-learn's own "pca" may come with either sign.
        start = _principal(points)
        start = np.float32(start / max(start[:, 0].std(), 1e-12) * 1e-4)
        made = TSNE(perplexity=perplexity, random_state=seed, init=start)
    return made.fit_transform(points).astype(float)


@styled
def embedding_map(
    vectors,
    labels=None,
    method: str | None = "tsne",
    *,
    pairs=(),
    title: str = "",
    **settings,
):
    """The sentences as points, coloured by label: one panel for each encoder.

    * `vectors` [N, D], or a dict {"untrained": [N, D], "CMLM": …} of the *same* sentences in the same order;
      always look at an untrained encoder beside a trained one.
    * `labels`: N labels (numbers or words), or None. Colour and shape both carry the label.
    * `method` and `settings` (`seed`, `perplexity`, `neighbors`): as in `project`; with None, `vectors` are coordinates
      [N, 2] that `project` made earlier. Look at several perplexities, numbers of neighbours or seeds: what holds for
      only one of them is an artefact.
    * `pairs` [P, 2]: row numbers of similar sentences, joined by a line (COCO-LM figure 6).

    The axes have no ticks: t-SNE and UMAP coordinates have no unit. Returns the figure. Raises a ValueError when
    vectors and labels do not fit each other.

    >>> from contrast_kit import plots
    >>> figure = plots.embedding_map({"a": [[1, 0], [0, 1], [1, 1]]}, ["x", "y", "x"], method="pca")
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['x', 'y']
    """
    maps = {}
    for name, value in by_name(vectors).items():
        x = array(value, f"vectors {name}")
        maps[name] = x if method is None else project(x, method, **settings)
    if labels is not None:
        labels = texts(labels, "labels", len(x))
    height, width = (4.4, 6.0) if len(maps) == 1 else (3.2, WIDTH)
    figure, drawn = panels(maps, height, title=title, width=width)
    look = {"s": 26 if len(x) < 300 else 12, "linewidths": 0.3, "alpha": 0.85}
    for panel, _, at in drawn:
        dots(panel, at, labels, **look)
        join(panel, at, pairs, color="#444444", linewidth=0.8, zorder=0.5)
        axis = AXES.get(method, "coordinate")
        panel.set(xlabel=f"{axis} 1", ylabel=f"{axis} 2", xticks=[], yticks=[])
        panel.set_aspect("equal", adjustable="datalim")
    if labels is not None:
        legend(figure, ncols=4, markerscale=1.8, handletextpad=0.2)
    return figure


def _principal(points):
    """Coordinates [N, 2] on the two first principal components."""
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    # A singular vector may come out with either sign; make its largest entry positive.
    largest = np.abs(axes).argmax(axis=1)[:, None]
    signs = np.sign(np.take_along_axis(axes, largest, axis=1))
    return centred @ (axes * signs)[:2].T  # [N, D] @ [D, 2] -> [N, 2]
