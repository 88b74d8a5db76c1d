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
AXES = {
    None: "coordinates made earlier",
    "pca": "two principal components",
    "tsne": "t-SNE",
    "umap": "UMAP",
}


class EmbeddingMap(Panel):
    """An interactive map of sentences: hover reads one, a lasso lists some, a typed sentence finds its neighbours.

    With several encoders there is a map for each, linked: what is hovered, chosen or found in one is marked in all.

    Args:
        vectors: [N, D], or {"random encoder": [N, D], "CMLM": [N, D]} of the same sentences in the same order.
        texts: N sentences.
        labels: N labels (numbers or words): colour and shape. A click on one in the legend hides the others.
        encode: what turns a typed sentence into a vector: an `Encoder`, a function from a list of texts to [n, D], or
            a dict of them with the names of `vectors`. Without it only sentences of the map have neighbours.
        method: "pca" (the default), "tsne" or "umap", with `seed`, `perplexity` or `neighbors` as in `plots.project`.
            t-SNE takes ten seconds for 5,000 sentences. With `points` it names how they were made, on the axes.
        points: [N, 2], or a dict like `vectors`: coordinates made earlier, in place of a projection.
        k: how many neighbours.

    Returns:
        A panel. `chosen_texts` are the sentences in the lasso, `neighbours(sentence)` what the search finds,
        `set(query=…, chosen=[…])` does the same from Python, and `figure()` is `plots.embedding_map`.

    Raises:
        ValueError: vectors, texts or labels of different lengths, zero vectors.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import torch
        >>> import contrast_kit as ck
        >>> panel = ck.explore.embedding_map(torch.eye(3)[[0, 0, 1, 2]], ["a kite", "the kite", "a drum", "a bear"])
        >>> panel.set(chosen=[2, 3]).chosen_texts
        ['a drum', 'a bear']
        >>> panel.neighbours("a kite", k=1)
        {'': [('the kite', 1.0)]}
    """

    script, stand_in = ("canvas", "dots", "embedding_map"), "map_numbers"

    def __init__(
        self,
        vectors: Any,
        texts: Sequence[str],
        labels: Sequence[Any] | None = None,
        *,
        encode: Any = None,
        method: str | None = None,
        points: Any = None,
        k: int = 8,
        **projection: Any,
    ):
        vectors, points = by_name(vectors), by_name(points)
        encode = {} if encode is None else encode
        if not isinstance(encode, Mapping):
            encode = dict.fromkeys(vectors, encode)
        if not points and method is None:
            method = "pca"
        n = len(texts)
        self.vectors = {name: _unit(value, n) for name, value in vectors.items()}
        self.texts = list(texts)
        self.labels = None if labels is None else labels_of(labels, "labels", n)
        self.encode = {
            name: getattr(each, "encode", each) for name, each in encode.items()
        }
        self.projection, self.k = {"method": method, **projection}, k
        self._linear = not points and method == "pca"
        self.points, self.at = {}, {}
        for name, value in self.vectors.items():
            if points:
                self.points[name] = array(points[name], "points")
                self.at[name] = _fitted(self.points[name])
            else:
                self.points[name] = ck.plots.project(value, **self.projection)
                first = next(iter(self.points.values()))
                # The axes of a map may come out turned or mirrored: on the page all are aligned with the first.
                self.at[name] = _fitted(ck.plots.align(self.points[name], first))
        kinds = in_order(self.labels or [])
        self.view = view_of(
            self.script,
            names=list(vectors),
            xy=np.stack(list(self.at.values()))
            .astype(np.float32)
            .tobytes(),  # [maps, N, 2]
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
        self._searched, self._planes = "", {}
        self.assemble({}, traits=("chosen", "hovered", "query"))

    @property
    def chosen_texts(self) -> list[str]:
        """The sentences inside the lasso."""
        return [self.texts[i] for i in self.view.chosen]

    def neighbours(
        self, sentence: str, k: int | None = None
    ) -> dict[str, list[tuple[str, float]]]:
        """The k sentences with the highest cosine to this one, best first, in each space (not on the map).

        A sentence of the map is looked up, any other is encoded. Raises a ValueError where neither is possible.
        """
        near = self._nearest(sentence.strip(), k or self.k)
        return {
            name: [(self.texts[i], cosine) for i, cosine in rows]
            for name, rows in near.items()
        }

    def place(self, sentence: str) -> dict[str, tuple[float, float]]:
        """Where a sentence stands on each map, both coordinates from -1 to 1.

        A sentence of the map stands where it is; any other is encoded. On a map by principal components it is projected
        as the others were; t-SNE and UMAP have no such rule, so there, and on maps made earlier, it stands at the mean
        of its nearest neighbours' places, weighted by e^{cosine / 0.05}. ValueError where it cannot be encoded.
        """
        places = {}
        for name, query in self._queries(sentence.strip()).items():
            if self._linear:
                at = np.append(query.double().numpy(), 1.0) @ self._plane(
                    name
                )  # [D + 1] -> [2]
            else:
                best = (self.vectors[name] @ query).topk(min(self.k, len(self.texts)))
                weights = (best.values.double() / WARMTH).softmax(dim=0).numpy()  # [k]
                at = weights @ self.at[name][best.indices.numpy()]  # [k] @ [k, 2] -> [2]
            places[name] = tuple(np.clip(at, -1, 1).tolist())
        return places

    def _plane(self, name):
        """The linear rule [D + 1, 2] that put the sentences where they are on a map by principal components."""
        if name not in self._planes:
            x, at = self.vectors[name].double().numpy(), self.at[name]  # [N, D], [N, 2]
            middle, there = x.mean(axis=0), at.mean(axis=0)
            turn, *_ = np.linalg.lstsq(x - middle, at - there, rcond=1e-8)  # [D, 2]
            self._planes[name] = np.vstack([turn, there - middle @ turn])
        return self._planes[name]

    def _queries(self, sentence):
        """The vector [D] of a sentence in each space, looked up or encoded."""
        if sentence in self._row:
            return {
                name: vectors[self._row[sentence]]
                for name, vectors in self.vectors.items()
            }
        missing = [name for name in self.vectors if name not in self.encode]
        if missing:
            of = f" for {missing[0]!r}" if missing[0] else ""
            raise ValueError(
                f"This sentence is not on the map: give encode={of}, such as the encoder, to place it."
            )
        return {name: _unit(self.encode[name]([sentence]), 1)[0] for name in self.vectors}

    def _nearest(self, sentence, k):
        own, queries = self._row.get(sentence), self._queries(sentence)
        near = {}
        for name, vectors in self.vectors.items():
            cosines = vectors @ queries[name]  # [N, D] @ [D] -> [N]
            if own is not None:
                cosines[own] = -2  # its nearest neighbour would be itself
            best = cosines.topk(min(k, len(cosines) - (own is not None)))
            near[name] = list(
                zip(best.indices.tolist(), best.values.tolist(), strict=True)
            )
        return near

    def show(self) -> None:
        query = self.view.query
        if query == self._searched:  # not again for every sentence hovered over
            return
        self._searched = query
        near, placed, self.view.problem = {}, {}, ""
        if query.strip():
            try:
                near, placed = self._nearest(query.strip(), self.k), self.place(query)
            except ValueError as error:
                self.view.problem = str(error)
        self.view.placed, self.view.near = placed, near

    def words(self) -> str:
        sentence = f"{len(self.texts):,} sentences"
        if self.view.near:
            sentence += ". Neighbours come from the space itself: where the map puts them far apart, the map misleads"
        return f"{sentence}. Distances on a map by {AXES[self.projection['method']]} are not distances in the space."

    def page_state(self) -> dict[str, Any]:
        """The spaces in half precision: neighbours of its own sentences are found in the page too."""
        spaces = {
            name: _narrow(value).astype(np.float16)
            for name, value in self.vectors.items()
        }
        return {"spaces": spaces, "k": self.k, "axes": AXES[self.projection["method"]]}

    def figure(self) -> Any:
        """The maps as `plots.embedding_map` draws them."""
        method = self.projection["method"]
        look = {"method": method or "tsne", "points": self.points}
        figure = ck.plots.embedding_map(self.vectors, self.labels, **look)
        if method is None:
            for panel in figure.axes:
                panel.set(xlabel="coordinate 1", ylabel="coordinate 2")
        return figure


def _unit(vectors, n):
    vectors = normalise(torch.from_numpy(array(vectors, "vectors")).float())
    if len(vectors) != n:
        raise ValueError(
            f"There must be one vector for each of the {n} texts, not {len(vectors)}."
        )
    return vectors


def _narrow(vectors):
    """The vectors rotated onto as few axes as keep each within 0.01 of its place, and so all cosines within 0.0001."""
    u, s, _ = np.linalg.svd(vectors.double().numpy(), full_matrices=False)
    turned = u * s  # [N, D]: the same lengths and angles, the most important axes first
    # What axes from here on hold.
    squares = np.cumsum(turned[:, ::-1] ** 2, axis=1)[:, ::-1]
    return turned[:, : max(1, int((squares.max(axis=0) > 0.01**2).sum()))]


def _fitted(points):
    """Scale points into the square from -1 to 1, by one factor for both directions."""
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - (low + high) / 2) / max((high - low).max() / 2, 1e-12)


embedding_map = EmbeddingMap
"""The name by which notebooks make the panel."""
