"""Interactive maps of sentences: hover, lasso, neighbours of a typed sentence, encoders side by side."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contrast_kit import arguments, checks, plots
from contrast_kit.explore._panel import Panel, scripts, widgets
from contrast_kit.plots.style import MARKERS, array, by_name, in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 20_000
WARMTH = 0.05  # how much nearer neighbours count more, where a sentence is placed among them
AXES = {None: "coordinates made earlier", "pca": "two principal components", "tsne": "t-SNE", "umap": "UMAP"}


class EmbeddingMap(Panel):
    """A map of the same sentences for each encoder, with one selection for all. See `embedding_map`."""

    script, stand_in = ("canvas", "dots", "embedding_map"), "map_numbers"

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
        self.vectors = {name: _unit(value, f"vectors {name}".strip()) for name, value in vectors.items()}
        self.texts = arguments.strings("texts", texts, "sentences")
        self.labels = None if labels is None else [str(label) for label in arguments.listed("labels", labels, "labels")]
        checks.count("k", k, "a number of neighbours")
        self.encode, self.projection, self.k = encode, dict(projection), k
        self._check()
        self._linear = points is None and self.projection["method"] == "pca"
        turned = points is None
        if points is None:
            points = {name: plots.project(value, **self.projection) for name, value in self.vectors.items()}
        self.points = {name: _points(points, name, len(self.texts)) for name in self.vectors}
        kinds = in_order(self.labels) if self.labels else []
        place = {kind: i for i, kind in enumerate(kinds)}
        first = next(iter(self.points.values()))
        # The axes of a map may come out turned or mirrored: on the page all are aligned with the first.
        at = [plots.align(value, first) if turned and value is not first else value for value in self.points.values()]
        self.at = dict(zip(self.points, map(_fitted, at), strict=True))
        self.view = self.map = _map_widget()(
            names=list(self.vectors),
            xy=np.stack(list(self.at.values())).astype(np.float32).tobytes(),
            texts=self.texts,
            kinds=[place[label] for label in self.labels or []],
            legend=kinds,
            colours=list(plots.PALETTE),
            markers="".join(MARKERS),
        )
        self._row = {text.strip(): i for i, text in reversed([*enumerate(self.texts)])}  # the first of equal ones
        self._searched, self._planes = "", {}
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

        A sentence of the map is looked up, any other is encoded. Raises a ValueError where neither is possible.
        """
        arguments.string("sentence", sentence, "what is looked for")
        checks.count("k", k := self.k if k is None else k, "a number of neighbours")
        found = self._nearest(sentence, k)
        return {name: [(self.texts[i], cosine) for i, cosine in near] for name, near in found.items()}

    def place(self, sentence: str) -> dict[str, tuple[float, float]]:
        """Where a sentence stands on each map, both coordinates from -1 to 1.

        A sentence of the map stands where it is; any other is encoded. On a map by principal components it is projected
        as the others were; t-SNE and UMAP have no such rule, so there, and on maps made earlier, it stands at the mean
        of its nearest neighbours' places, weighted by e^{cosine / 0.05}. ValueError where it cannot be encoded.
        """
        arguments.string("sentence", sentence, "what is placed")
        return self._places(self._queries(sentence.strip()))

    def _places(self, queries: Mapping[str, torch.Tensor]) -> dict[str, tuple[float, float]]:
        found = {}
        for name, query in queries.items():
            if self._linear:
                at = np.append(query.double().numpy(), 1.0) @ self._plane(name)  # [D + 1] @ [D + 1, 2] -> [2]
            else:
                best = (self.vectors[name] @ query).topk(min(self.k, len(self.texts)))
                weights = (best.values.double() / WARMTH).softmax(dim=0).numpy()  # [k]
                at = weights @ self.at[name][best.indices.numpy()]  # [k] @ [k, 2] -> [2]
            found[name] = tuple(np.clip(at, -1, 1).tolist())
        return found

    def _plane(self, name: str) -> np.ndarray:
        """The linear rule [D + 1, 2] that put the sentences where they are on a map by principal components."""
        if name not in self._planes:
            x, at = self.vectors[name].double().numpy(), self.at[name]  # [N, D], [N, 2]
            turn = np.linalg.lstsq(x - x.mean(axis=0), at - at.mean(axis=0), rcond=1e-8)[0]  # [D, 2]
            self._planes[name] = np.vstack([turn, at.mean(axis=0) - x.mean(axis=0) @ turn])
        return self._planes[name]

    def _queries(self, sentence: str) -> dict[str, torch.Tensor]:
        """The vector [D] of a sentence in each space, looked up or encoded."""
        if sentence in self._row:
            return {name: vectors[self._row[sentence]] for name, vectors in self.vectors.items()}
        if missing := [name for name in self.vectors if name not in self.encode]:
            of = f" for {missing[0]!r}" if missing[0] else ""
            raise ValueError(f"This sentence is not on the map: give encode={of}, such as the encoder, to place it.")
        encoded = {name: self.encode[name]([sentence]) for name in self.vectors}  # [1, D] each
        return {name: _unit(vector, "what encode gave")[0] for name, vector in encoded.items()}

    def _nearest(self, sentence: str, k: int) -> dict[str, list[tuple[int, float]]]:
        own, queries, found = self._row.get(sentence.strip()), self._queries(sentence.strip()), {}
        for name, vectors in self.vectors.items():
            query = queries[name]  # [D]
            cosines = vectors @ query  # [N, D] @ [D] -> [N]
            if own is not None:
                cosines[own] = -2  # its nearest neighbour would be itself
            best = cosines.topk(min(k, len(cosines) - (own is not None)))
            found[name] = list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        return found

    def draw(self) -> None:
        if self.map.query != self._searched:  # not again for every sentence hovered over
            self._searched, near, placed, problem = self.map.query, {}, {}, ""
            if self._searched.strip():
                try:
                    near, placed = self._nearest(self._searched, self.k), self.place(self._searched)
                except ValueError as error:
                    problem = str(error)
            self.map.placed, self.map.near, self.map.problem = placed, near, problem
        super().draw()

    def words(self) -> str:
        sentence = f"{len(self.texts):,} sentences"
        if self.map.near:
            sentence += ". Neighbours come from the space itself: where the map puts them far apart, the map misleads"
        return f"{sentence}. Distances on a map by {AXES[self.projection['method']]} are not distances in the space."

    def page_state(self) -> dict[str, Any]:
        """The spaces in half precision: neighbours of its own sentences are found in the page too."""
        spaces = {name: _narrow(value).astype(np.float16) for name, value in self.vectors.items()}
        return {"spaces": spaces, "k": self.k, "axes": AXES[self.projection["method"]]}

    def figure(self) -> "Figure":
        """The maps as `plots.embedding_map` draws them."""
        unknown = self.projection["method"] is None
        options = self.projection | ({"method": "tsne"} if unknown else {}) | {"points": self.points}
        figure = plots.embedding_map(self.vectors, self.labels, max_points=MOST, **options)
        for panel in figure.axes if unknown else ():
            panel.set(xlabel="coordinate 1", ylabel="coordinate 2")
        return figure


def embedding_map(
    vectors: Any,
    texts: Sequence[str],
    labels: Sequence[Any] | None = None,
    *,
    encode: Any = None,
    method: str | None = None,
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
        method: "pca" (the default), "tsne" or "umap", with `seed`, `perplexity` or `neighbors` as in `plots.project`.
            t-SNE takes ten seconds for 5,000 sentences. With `points` it names how they were made, on the axes.
        points: [N, 2], or a dict like `vectors`: coordinates made earlier, in place of a projection.
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
    vectors = by_name(vectors)
    if encode is None:
        encode = {}
    elif not isinstance(encode, Mapping):
        encode = dict.fromkeys(vectors, encode)
    encode = {name: _encoding(each) for name, each in encode.items()}
    if points is not None and not isinstance(points, Mapping):
        points = {"": points} if "" in vectors else points
    if points is None or method is not None:
        method = "pca" if method is None else method
        arguments.known(method, plots.maps.AXES, "method")
    return EmbeddingMap(vectors, texts, labels, encode, {"method": method, **projection}, points, k)


def _encoding(encoder: Any) -> Callable[[list[str]], Any]:
    """What turns texts into vectors: a function, or the `encode` of an encoder."""
    encode = encoder if isinstance(encoder, str | bytes) else getattr(encoder, "encode", encoder)
    if not callable(encode):
        shown = checks.shown(encoder)
        raise TypeError(f"encode must be an encoder, or a function from a list of texts to vectors, not {shown}.")
    return encode


def _unit(vectors: Any, name: str) -> torch.Tensor:
    return checks.normalise(torch.from_numpy(array(vectors, name)).float(), name)


def _points(points: Mapping[str, Any], name: str, n: int) -> np.ndarray:
    if not isinstance(points, Mapping) or name not in points:
        raise ValueError(f"points must be a dict with coordinates for {name!r}, as vectors is.")
    at = array(points[name], f"points {name}".strip())
    if at.shape != (n, 2):
        raise ValueError(f"points {name!r} must be [{n}, 2], one place for each text, not {list(at.shape)}.")
    return at


def _narrow(vectors: torch.Tensor) -> np.ndarray:
    """The vectors rotated onto as few axes as keep each within 0.01 of its place, and so all cosines within 0.0001."""
    u, s, _ = np.linalg.svd(vectors.double().numpy(), full_matrices=False)
    turned = u * s  # [N, D]: the same lengths and angles, the most important axes first
    left = np.sqrt(np.cumsum(turned[:, ::-1] ** 2, axis=1))[:, ::-1].max(axis=0)  # what axes from here on hold, at most
    return turned[:, : max(1, int((left > 0.01).sum()))]


def _fitted(points: np.ndarray) -> np.ndarray:
    """Scale points into the square from -1 to 1, by one factor for both directions."""
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - (low + high) / 2) / max((high - low).max() / 2, 1e-12)


@functools.cache
def _map_widget() -> type:
    import anywidget
    import traitlets

    class SentenceMap(anywidget.AnyWidget):
        """The widget in the page: draws the points, sends the selection, shows the neighbours that Python found."""

        _esm = scripts("shared", *EmbeddingMap.script)
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
        placed = traitlets.Dict().tag(sync=True)  # map -> [x, y]: where the typed sentence stands
        problem = traitlets.Unicode().tag(sync=True)

        @traitlets.validate("chosen")
        def _rows(self, proposal: Any) -> list[int]:
            if any(not 0 <= i < len(self.texts) for i in proposal["value"]):
                raise traitlets.TraitError(f"chosen holds row numbers below {len(self.texts)}.")
            return proposal["value"]

    return SentenceMap
