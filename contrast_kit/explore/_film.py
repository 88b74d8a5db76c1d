"""What is measured while a model trains, as a page gets it: losses, cosines in bins, and a sphere of sentences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

import contrast_kit as ck
from contrast_kit.checks import NotFiniteError

MOST_ROWS, MOST_MOMENTS, BINS = 600, 60, 40
MOST_IN_A_PAGE = 24  # moments in a page without Python


def measured(
    encoder: Any, pairs: Sequence[list[str]] | None, texts: list[str] | None
) -> dict[str, Any]:
    """The cosines of similar and of random pairs, and the vectors of the texts, [N, D]. ValueError: one is NaN."""
    seen = {}
    if pairs is not None:
        a, b = (encoder.encode(side) for side in pairs)  # [P, D] each
        groups = torch.arange(len(a)).repeat(2)
        random = ck.geometry.random_pair_cosines(torch.cat([a, b]).cpu(), groups=groups)
        seen["cosines"] = ck.geometry.pair_cosines(a, b).cpu(), random
    if texts is not None:
        seen["vectors"] = encoder.encode(texts).cpu()
        if not seen["vectors"].isfinite().all():
            raise NotFiniteError(
                "A vector holds NaN or infinity: the model has diverged; lower its lr."
            )
    return seen


class Film:
    """The measurements of a run, as the page gets them: `moments`, at most `MOST_MOMENTS` of them."""

    def __init__(self) -> None:
        self.moments = []
        self._first = None
        self._last = {}

    def moment(self, step: int, now: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Spheres and cosines of all runs as they are now; coordinates in thousandths, which travel faster."""
        spheres = []
        for name, seen in now.items():
            if "vectors" not in seen:
                spheres.append(None)
                continue
            sphere = on_sphere(seen["vectors"].double().numpy(), self._last.get(name))
            self._last[name] = sphere.points
            points = (1000 * sphere.points).round().astype(int).tolist()
            spheres.append({"points": points, "share": sphere.share})
        made = {
            "step": step,
            "spheres": spheres,
            "hills": [hills(seen) for seen in now.values()],
        }
        self._first = self._first or made
        return made

    def keep(self, step: int, now: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """As `moment`, and keep it; when the film gets too long, every second moment is dropped."""
        made = self.moment(step, now)
        self.moments.append(made)
        if len(self.moments) > MOST_MOMENTS:
            del self.moments[1:-1:2]
        return made

    def for_page(self) -> list[dict[str, Any]]:
        """The moment before training and some of the others, the last among them: for a page without Python."""
        every = -(-len(self.moments) // MOST_IN_A_PAGE)
        *others, last = self.moments
        return [self._first, *others[::every], last]


def curve(
    rows: Sequence[Mapping[str, float]], parts: Iterable[str]
) -> dict[str, list[float]]:
    """The columns of a history to draw, at most `MOST_ROWS` rows of each, the last row among them."""
    if not rows:
        return {}
    apart = -(-len(rows) // MOST_ROWS)
    shown = [*rows[:-1:apart], rows[-1]]
    names = [part for part in parts if part in rows[0]]
    names = ["loss", *(names if len(names) > 1 else [])]
    return {
        column: [float(f"{row[column]:.5g}") for row in shown]
        for column in ("step", *names)
    }


def hills(seen: Mapping[str, Any]) -> dict[str, Any] | None:
    """Cosines of similar and of random pairs, counted in bins from -1 to 1, and their means."""
    if "cosines" not in seen:
        return None
    counted = {}
    for kind, cosines in zip(("similar", "random"), seen["cosines"], strict=True):
        counts, _ = np.histogram(cosines.numpy(), bins=BINS, range=(-1, 1))
        counted[kind] = {"counts": counts.tolist(), "mean": float(cosines.mean())}
    return counted


class Sphere(NamedTuple):
    """What is drawn of N vectors."""

    points: np.ndarray
    """[N, 3], of length 1."""
    share: float
    """The share of the unit vectors' squared length that these three directions hold."""


def on_sphere(vectors: np.ndarray, last: np.ndarray | None = None) -> Sphere:
    """N vectors [N, D] as points on a sphere, near where they were in `last` [N, 3].

    Each vector is divided by its length; the three directions of the space that hold most of the squared length are
    kept (the first right singular vectors, *not* centred: the middle of the sphere is the origin, so that a cone looks
    like one); and what is left of each vector is divided by its length again. The directions are fitted at each
    measurement, because those of an untrained encoder show little of what training opens; then the points are turned as
    a whole onto the last ones (`plots.align`), so that nothing jumps that did not move in the space.

    Example:
        >>> import numpy as np
        >>> from contrast_kit.explore._film import on_sphere
        >>> cone = on_sphere(np.array([[3.0, 0.1, 0, 0], [1.0, 0, 0.1, 0], [2.0, 0, 0, 0.1]]))
        >>> bool((cone.points @ cone.points.T > 0.98).all()), round(cone.share, 2)
        (True, 1.0)
    """
    x = vectors / np.maximum(
        np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12
    )  # [N, D]
    values, directions = np.linalg.eigh(x.T @ x)  # [D], [D, D], the smallest first
    if len(values) < 3:
        directions = np.pad(directions, ((0, 0), (3 - len(values), 0)))
    points = (
        x @ directions[:, -3:]
    )  # [N, D] @ [D, 3] -> [N, 3]; the first points to the front
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    if last is not None:
        points = ck.plots.align(points, last, center=False)
    elif points[:, 2].sum() < 0:
        points = -points
    return Sphere(points, float(values[-3:].sum() / max(values.sum(), 1e-12)))
