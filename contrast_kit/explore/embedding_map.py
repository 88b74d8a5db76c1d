"""Interactive maps of sentences: hover, lasso, neighbours of a typed sentence, encoders side by side."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contrast_kit.explore._panel import Panel, widgets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20_000
AXES = {"pca": "two principal components", "tsne": "t-SNE", "umap": "UMAP"}


class EmbeddingMap(Panel):
    """A map of the same sentences for each encoder, with one selection for all. See `embedding_map`."""

    def __init__(
        self,
        vectors: Mapping[str, Any],
        texts: Sequence[str],
        labels: Sequence[Any] | None,
        encode: Mapping[str, Callable[[list[str]], Any]],
        projection: Mapping[str, Any],
        points: Mapping[str, Any] | None,
        k: int,
    ):
        from contrast_kit import plots
        from contrast_kit.plots.style import MARKERS, in_order

        self.vectors, self.texts = {name: _unit(value, name) for name, value in vectors.items()}, list(texts)
        self.labels = None if labels is None else [str(label) for label in _plain(labels)]
        self.encode, self.projection, self.k = encode, dict(projection), k
        self._check()
        if points is None:
            points = {name: plots.project(value, **self.projection) for name, value in self.vectors.items()}
        self.points = {name: _points(points, name, len(self.texts)) for name in self.vectors}
        kinds = in_order(self.labels) if self.labels else []
        place = {kind: i for i, kind in enumerate(kinds)}
        self.map = _map_widget()(
            names=list(self.vectors),
            xy=np.stack([_fitted(value) for value in self.points.values()]).astype(np.float32).tobytes(),
            texts=self.texts,
            kinds=[place[label] for label in self.labels or []],
            legend=kinds,
            colours=list(plots.PALETTE),
            markers="".join(MARKERS),
        )
        self._searched = ""
        self.assemble({name: (self.map, name) for name in ("chosen", "hovered", "query")}, self.map)

    def _check(self) -> None:
        n = len(self.texts)
        if not 2 <= n <= MOST:
            raise ValueError(f"A map to touch holds 2 to {MOST:,} sentences, not {n:,}: take a sample.")
        for name, value in self.vectors.items():
            if len(value) != n:
                raise ValueError(f"vectors {name!r} has {len(value)} rows for {n} texts; there must be one for each.")
        if self.labels is not None and len(self.labels) != n:
            raise ValueError(f"labels has {len(self.labels)} entries for {n} texts; there must be one for each.")
        if unknown := self.encode.keys() - self.vectors.keys():
            raise ValueError(f"encode names {unknown.pop()!r}, but the maps are {', '.join(self.vectors)}.")

    @property
    def chosen_texts(self) -> list[str]:
        """The sentences inside the lasso."""
        return [self.texts[i] for i in self.map.chosen]

    def neighbours(self, sentence: str, k: int | None = None) -> dict[str, list[tuple[str, float]]]:
        """The k sentences with the highest cosine to this one, best first, in each space (not on the map).

        A sentence of the map is looked up, another one is encoded. Raises a ValueError where it can be neither.
        """
        found = self._nearest(sentence, k or self.k)
        return {name: [(self.texts[i], cosine) for i, cosine in near] for name, near in found.items()}

    def _nearest(self, sentence: str, k: int) -> dict[str, list[tuple[int, float]]]:
        sentence = sentence.strip()
        own = self.texts.index(sentence) if sentence in self.texts else None
        found = {}
        for name, vectors in self.vectors.items():
            if own is not None:
                query = vectors[own]  # [D]
            elif name in self.encode:
                query = _unit(self.encode[name]([sentence]), "the sentence")[0]  # [1, D] -> [D]
            else:
                raise ValueError("This sentence is not on the map: give encode=, such as the encoder, to place it.")
            cosines = vectors @ query  # [N, D] @ [D] -> [N]
            if own is not None:
                cosines[own] = -2  # its nearest neighbour would be itself
            best = cosines.topk(min(k, len(cosines) - (own is not None)))
            found[name] = list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        return found

    def draw(self) -> None:
        if self.map.query != self._searched:  # not again for every sentence that is hovered
            self._searched, near, problem = self.map.query, {}, ""
            if self._searched.strip():
                try:
                    near = self._nearest(self._searched, self.k)
                except ValueError as error:
                    problem = str(error)
            self.map.near, self.map.problem = near, problem
        super().draw()

    def words(self) -> str:
        sentence = f"{len(self.texts):,} sentences"
        if self.map.near:
            sentence += ". Neighbours come from the space itself: where the map puts them far apart, the map misleads"
        return f"{sentence}. Distances on a map by {AXES[self.projection['method']]} are not distances in the space."

    def figure(self) -> "Figure":
        """The maps as `plots.embedding_map` draws them."""
        from contrast_kit import plots

        options = dict(points=self.points, max_points=MOST, **self.projection)
        return plots.embedding_map(self.vectors, self.labels, **options)


def embedding_map(
    vectors: Any,
    texts: Sequence[str],
    labels: Sequence[Any] | None = None,
    *,
    encode: Any = None,
    method: str = "pca",
    points: Any = None,
    k: int = 8,
    **projection: Any,
) -> EmbeddingMap:
    """An interactive map of sentences: hover reads one, a lasso lists some, a typed sentence finds its neighbours.

    With several encoders there is a map for each, linked: what is hovered, chosen or found in one is marked in all.

    Args:
        vectors: [N, D], or {"random encoder": [N, D], "CMLM": [N, D]} of the same sentences in the same order.
        texts: N sentences.
        labels: N labels (numbers or words): colour and shape. A click on one in the legend hides the others.
        encode: what turns a typed sentence into a vector: an `Encoder`, a function from a list of texts to [n, D], or
            a dict of them with the names of `vectors`. Without it only sentences of the map have neighbours.
        method: "pca", "tsne" or "umap", with `seed`, `perplexity` or `neighbors` as in `plots.project`. t-SNE takes
            ten seconds for 5,000 sentences.
        points: [N, 2], or a dict like `vectors`: coordinates made before, in place of a projection.
        k: how many neighbours.

    Returns:
        A panel. `chosen_texts` are the sentences in the lasso, `neighbours(sentence)` what the search finds,
        `set(query=…, chosen=[…])` does the same from Python, and `figure()` is `plots.embedding_map`.

    Raises:
        ValueError: vectors, texts, labels or points of different lengths, more than 20,000 sentences, zero vectors.
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
    widgets()
    vectors = dict(vectors) if isinstance(vectors, Mapping) else {"": vectors}
    if encode is None:
        encode = {}
    elif not isinstance(encode, Mapping):
        encode = dict.fromkeys(vectors, encode)
    encode = {name: getattr(each, "encode", each) for name, each in encode.items()}
    if points is not None and not isinstance(points, Mapping):
        points = {"": points} if "" in vectors else points
    return EmbeddingMap(vectors, texts, labels, encode, {"method": method, **projection}, points, k)


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _unit(vectors: Any, name: str) -> torch.Tensor:
    from contrast_kit.losses import normalise

    x = vectors if torch.is_tensor(vectors) else torch.as_tensor(np.asarray(vectors))
    return normalise(x.detach().cpu().float(), f"vectors {name}".strip())


def _points(points: Mapping[str, Any], name: str, n: int) -> np.ndarray:
    from contrast_kit.plots.style import array

    if not isinstance(points, Mapping) or name not in points:
        raise ValueError(f"points must be a dict with coordinates for {name!r}, as vectors is.")
    at = array(points[name], f"points {name}".strip(), 2)
    if at.shape != (n, 2):
        raise ValueError(f"points {name!r} must be [{n}, 2], one place for each text, not {list(at.shape)}.")
    return at


def _fitted(points: np.ndarray) -> np.ndarray:
    """Scale points into the square from -1 to 1, both directions alike."""
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - (low + high) / 2) / max((high - low).max() / 2, 1e-12)


@functools.cache
def _map_widget() -> type:
    import anywidget
    import traitlets

    class SentenceMap(anywidget.AnyWidget):
        """The widget in the page: draws the points, sends the selection, shows the neighbours that Python found."""

        _esm = Path(__file__).with_suffix(".js")
        names = traitlets.List(traitlets.Unicode()).tag(sync=True)
        xy = traitlets.Bytes().tag(sync=True)  # float32 [maps, N, 2]
        texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
        kinds = traitlets.List(traitlets.Int()).tag(sync=True)
        legend = traitlets.List(traitlets.Unicode()).tag(sync=True)
        colours = traitlets.List(traitlets.Unicode()).tag(sync=True)
        markers = traitlets.Unicode().tag(sync=True)
        chosen = traitlets.List(traitlets.Int()).tag(sync=True)
        hovered = traitlets.Int(-1).tag(sync=True)
        query = traitlets.Unicode().tag(sync=True)
        near = traitlets.Dict().tag(sync=True)  # map -> [[row, cosine], …]
        problem = traitlets.Unicode().tag(sync=True)

        @traitlets.validate("chosen")
        def _rows(self, proposal: Any) -> list[int]:
            if any(not 0 <= i < len(self.texts) for i in proposal["value"]):
                raise traitlets.TraitError(f"chosen holds row numbers below {len(self.texts)}.")
            return proposal["value"]

    return SentenceMap
