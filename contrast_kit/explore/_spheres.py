"""Sentence vectors on a sphere to turn: three directions of the space, fitted anew and aligned with the last."""

from typing import NamedTuple

import numpy as np

from contrast_kit.plots.animations import align


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
        >>> from contrast_kit.explore._spheres import on_sphere
        >>> cone = on_sphere(np.array([[3.0, 0.1, 0, 0], [1.0, 0, 0.1, 0], [2.0, 0, 0, 0.1]]))
        >>> bool((cone.points @ cone.points.T > 0.98).all()), round(cone.share, 2)
        (True, 1.0)
    """
    x = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)  # [N, D]
    values, directions = np.linalg.eigh(x.T @ x)  # [D], [D, D], the smallest first
    points = x @ directions[:, :-4:-1]  # [N, D] @ [D, 3] -> [N, 3]
    if points.shape[1] < 3:
        points = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12)
    if last is not None:
        points = align(points, last, center=False)
    elif points.mean(axis=0) @ (front := np.array([0.0, 0.0, 1.0])) < 0.999:  # a cone should be seen from the front
        points = points @ _turn_onto(points.mean(axis=0), front).T
    return Sphere(points, float(values[-3:].sum() / max(values.sum(), 1e-12)))


def _turn_onto(here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """The rotation [3, 3] by the smallest angle that brings one direction onto the other."""
    here, there = here / max(np.linalg.norm(here), 1e-12), there / np.linalg.norm(there)
    axis, cosine = np.cross(here, there), float(here @ there)
    if cosine < -0.999:
        return np.diag([1.0, -1.0, -1.0]) if abs(there[0]) < 0.9 else np.diag([-1.0, -1.0, 1.0])
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + cross + cross @ cross / (1 + cosine)
