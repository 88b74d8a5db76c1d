"""Interactive maps of sentences: hover, lasso, neighbours of a typed sentence, encoders side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

import contrast_kit as ck
from contrast_kit.checks import normalise
from contrast_kit.explore._panel import Panel, view_of
from contrast_kit.plots.style import MARKERS, PALETTE, array, by_name, in_order
from contrast_kit.plots.style import texts as labels_of

WARMTH = (
    0.05  # how much nearer neighbours count more, where a sentence is placed among them
)
AXES = {"pca": "two principal components", "tsne": "t-SNE", "umap": "UMAP"}


class EmbeddingMap(Panel):
    """An interactive map of sentences: hover reads one, a lasso lists some, a typed sentence finds its neighbours.

    With several encoders there is a map for each, linked: what is hovered, chosen or found in one is marked in all.

    Args:
        vectors: [N, D], or {"untrained": [N, D], "CMLM": [N, D]} of the same sentences in the same order.
        texts: N sentences.
        labels: N labels (numbers or words): colour and shape. A click on one in the legend hides the others.
        encode: what turns a typed sentence into a vector: an `Encoder`, a function from a list of texts to [n, D], or
            a dict of them with the names of `vectors`. Without it only sentences of the map have neighbours.
        method: "pca", "tsne" or "umap", with `seed`, `perplexity` or `neighbors` as in `plots.project`.
            t-SNE takes ten seconds for 5,000 sentences.
        k: how many neighbours.

    Returns:
        A panel. `search(sentence)` gives what the search finds, `set(query=…, chosen=[…])` does from Python what a hand
        does, and `figure()` is `plots.embedding_map`.

    Raises:
        ValueError: vectors, texts or labels of different lengths, zero vectors.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import torch
        >>> import contrast_kit as ck
        >>> texts = ["a kite", "the kite", "a drum", "a bear"]
        >>> panel = ck.explore.embedding_map(torch.eye(3)[[0, 0, 1, 2]], texts, k=1)
        >>> near, placed = panel.search("a kite")
        >>> near  # the row of "the kite", and its cosine
        {'': [(1, 1.0)]}
    """

    script, stand_in = ("canvas", "dots", "embedding_map"), "map_numbers"

    def __init__(
        self,
        vectors: Any,
        texts: Sequence[str],
        labels: Sequence[Any] | None = None,
        *,
        encode: Any = None,
        method: str = "pca",
        k: int = 8,
        **settings: Any,
    ):
        vectors = by_name(vectors)
        encode = {} if encode is None else encode
        if not isinstance(encode, Mapping):
            encode = dict.fromkeys(vectors, encode)
        n = len(texts)
        self.vectors = {name: _unit(value, n) for name, value in vectors.items()}
        self.texts, self.method, self.k = list(texts), method, k
        self.labels = None if labels is None else labels_of(labels, "labels", n)
        self.encode = {
            name: getattr(each, "encode", each) for name, each in encode.items()
        }
        self.at, first = {}, None
        for name, value in self.vectors.items():
            # The axes of a map may come out turned or mirrored: all are aligned with the first.
            points = ck.plots.project(value, method, **settings)
            first = points if first is None else first
            self.at[name] = _fitted(ck.plots.align(points, first))
        kinds = in_order(self.labels or [])
        places = np.stack(list(self.at.values())).astype(np.float32)  # [maps, N, 2]
        self.view = view_of(
            self.script,
            names=list(vectors),
            xy=places.tobytes(),
            texts=self.texts,
            kinds=[kinds.index(label) for label in self.labels or []],
            legend=kinds,
            colours=list(PALETTE),
            markers="".join(MARKERS),
            chosen=[],
            hovered=-1,
            query="",
            near={},  # map -> [[row, cosine], …]
            placed={},  # map -> [x, y]: where the typed sentence stands
            problem="",
        )
        # The first of equal ones.
        self._row = {text.strip(): i for i, text in reversed([*enumerate(self.texts)])}
        self._searched = ""
        self.assemble({}, traits=("chosen", "hovered", "query"))

    def search(self, sentence: str) -> tuple[dict[str, list], dict[str, list[float]]]:
        """In each space the nearest sentences, {name: [(row, cosine), …]}, and where this one stands on its map.

        A sentence of the map is looked up and stands where it is. Any other is encoded, and stands at the mean of its
        nearest neighbours' places, weighted by e^{cosine / 0.05}. Raises a ValueError where it cannot be encoded.
        """
        near, placed, own = {}, {}, self._row.get(sentence.strip())
        for name, vectors in self.vectors.items():
            if own is not None:
                query = vectors[own]
            elif name in self.encode:
                query = _unit(self.encode[name]([sentence.strip()]), 1)[0]  # [D]
            else:
                raise ValueError(
                    "This sentence is not on the map: give encode=, such as the encoder, to place it."
                )
            cosines = vectors @ query  # [N, D] @ [D] -> [N]
            if own is not None:
                cosines[own] = -2  # its nearest neighbour would be itself
            best = cosines.topk(min(self.k, len(cosines) - (own is not None)))
            rows, values = best.indices.tolist(), best.values
            near[name] = list(zip(rows, values.tolist(), strict=True))
            weights = (values.double() / WARMTH).softmax(dim=0).numpy()  # [k]
            place = weights @ self.at[name][rows]  # [k] @ [k, 2] -> [2]
            placed[name] = (place if own is None else self.at[name][own]).tolist()
        return near, placed

    def show(self) -> None:
        query = self.view.query
        if query == self._searched:  # not again for every sentence hovered over
            return
        self._searched = query
        near, placed, self.view.problem = {}, {}, ""
        if query.strip():
            try:
                near, placed = self.search(query)
            except ValueError as error:
                self.view.problem = str(error)
        self.view.placed, self.view.near = placed, near

    def words(self) -> str:
        by = f"Distances on a map by {AXES[self.method]}"
        return f"{len(self.texts):,} sentences. {by} are not distances in the space."

    def page_state(self) -> dict[str, Any]:
        """The spaces in half precision: neighbours of its own sentences are found in the page too."""
        spaces = {
            name: value.numpy().astype(np.float16) for name, value in self.vectors.items()
        }
        return {"spaces": spaces, "k": self.k, "axes": AXES[self.method]}

    def figure(self) -> Any:
        """The maps as `plots.embedding_map` draws them."""
        return ck.plots.embedding_map(self.at, self.labels, None, title=AXES[self.method])


def _unit(vectors, n):
    vectors = normalise(torch.from_numpy(array(vectors, "vectors")).float())
    if len(vectors) != n:
        raise ValueError(
            f"There must be one vector for each of the {n} texts, not {len(vectors)}."
        )
    return vectors


def _fitted(points):
    """Scale points into the square from -1 to 1, by one factor for both directions."""
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - (low + high) / 2) / max((high - low).max() / 2, 1e-12)


embedding_map = EmbeddingMap
"""The name by which notebooks make the panel."""
