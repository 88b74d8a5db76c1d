"""What is measured while a model trains, as a page gets it: losses, cosines in bins, and a sphere of sentences."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

import contrast_kit as ck
from contrast_kit.checks import NotFiniteError

MOST_ROWS, MOST_MOMENTS, BINS = 600, 24, 40


def measured(
    encoder: Any, pairs: Sequence[list[str]] | None, texts: list[str] | None
) -> dict[str, Any]:
    """The cosines of similar and of random pairs, and the vectors of the texts, [N, D]. ValueError: one is NaN."""
    space = {}
    if pairs is not None:
        a, b = (encoder.encode(side) for side in pairs)  # [P, D] each
        groups = torch.arange(len(a)).repeat(2)
        random = ck.geometry.random_pair_cosines(torch.cat([a, b]).cpu(), groups=groups)
        space["cosines"] = ck.geometry.pair_cosines(a, b).cpu(), random
    if texts is not None:
        space["vectors"] = encoder.encode(texts).cpu()
        if not space["vectors"].isfinite().all():
            raise NotFiniteError(
                "A vector holds NaN or infinity: the model has diverged; lower its lr."
            )
    return space


def moment(
    step: int, space: Mapping[str, Any], last: np.ndarray | None = None
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Sphere and cosines as the page gets them, coordinates in thousandths, which travel faster; and the sphere."""
    points, sphere = None, None
    if "vectors" in space:
        points, share = on_sphere(space["vectors"].double().numpy(), last)
        sphere = {"points": (1000 * points).round().astype(int).tolist(), "share": share}
    return {"step": step, "sphere": sphere, "hills": hills(space)}, points


def curve(
    rows: Sequence[Mapping[str, float]], parts: Iterable[str]
) -> dict[str, list[float]]:
    """The columns of a history to draw, at most `MOST_ROWS` rows of each."""
    shown = rows[:: 1 + len(rows) // MOST_ROWS]
    names = [part for part in parts if rows and part in rows[0]]
    names = ["step", "loss", *(names if len(names) > 1 else [])]
    return {name: [float(f"{row[name]:.5g}") for row in shown] for name in names}


def hills(space: Mapping[str, Any]) -> dict[str, Any] | None:
    """Cosines of similar and of random pairs, counted in bins from -1 to 1, and their means."""
    if "cosines" not in space:
        return None
    counted = {}
    for kind, cosines in zip(("similar", "random"), space["cosines"], strict=True):
        counts, _ = np.histogram(cosines.numpy(), bins=BINS, range=(-1, 1))
        counted[kind] = {"counts": counts.tolist(), "mean": float(cosines.mean())}
    return counted


def on_sphere(
    vectors: np.ndarray, last: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """N vectors [N, D] as points [N, 3] on a sphere, near where they were in `last`, and how much that shows.

    The second number is the share of the unit vectors' squared length that the three directions hold.

    Each vector is divided by its length; the three directions of the space that hold most of the squared length are
    kept (the first right singular vectors, *not* centred: the middle of the sphere is the origin, so that a cone looks
    like one); and what is left of each vector is divided by its length again. The directions are fitted at each
    measurement, because those of an untrained encoder show little of what training opens; then the points are turned as
    a whole onto the last ones (`plots.align`), so that nothing jumps that did not move in the space.

    Example:
        >>> import numpy as np
        >>> from contrast_kit.explore._film import on_sphere
        >>> cone, share = on_sphere(np.array([[3.0, 0.1, 0, 0], [1.0, 0, 0.1, 0], [2.0, 0, 0, 0.1]]))
        >>> bool((cone @ cone.T > 0.98).all()), round(share, 2)
        (True, 1.0)
    """
    x = _unit(vectors)
    values, directions = np.linalg.eigh(x.T @ x)  # [D], [D, D], the smallest first
    if len(values) < 3:
        directions = np.pad(directions, ((0, 0), (3 - len(values), 0)))
    points = _unit(x @ directions[:, -3:])  # [N, 3]; the first points to the front
    if last is not None:
        points = ck.plots.align(points, last, center=False)
    elif points[:, 2].sum() < 0:
        points = -points
    return points, float(values[-3:].sum() / max(values.sum(), 1e-12))


def _unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
