"""How close together the classes lie, and how far apart, by the labels."""

from typing import NamedTuple

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.geometry.pairs import exact_unit, is_one_point
from contrast_kit.geometry.spread import anisotropy


class ClassCosines(NamedTuple):
    """Mean cosines of pairs of vectors: `within`, both of one class; `between`, of two classes."""

    within: Tensor
    between: Tensor


def class_cosines(x: Tensor, labels: Tensor) -> ClassCosines:
    """The mean cosine of all pairs within a class, and of all pairs across classes.

    Every pair counts alike, never a vector with itself; so large classes weigh more. Computed from sums of vectors, in
    O(N·D + C·D): no pair is ever formed. For the distributions behind the two means use `random_pair_cosines` and its
    `groups`.

    `x` [N, D], `labels` [N] integers -> two numbers (0-d tensors) in [−1, 1]. Raises a ValueError for bad vectors,
    labels that do not fit, one class only (nothing lies between), or classes of one vector each (nothing lies within);
    a TypeError for labels that are not integers.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> geometry.class_cosines(x, torch.tensor([0, 0, 1, 1]))
    ClassCosines(within=tensor(0.), between=tensor(0.))
    >>> geometry.class_cosines(x, torch.tensor([0, 0, 1, 2]))
    ClassCosines(within=tensor(1.), between=tensor(-0.2000))
    """
    x, dtype = exact_unit(x, "x", at_least=2)  # a float32 sum of a million vectors loses the width of a cone
    label = checks.classes(labels, len(x), x.device, "labels").unique(return_inverse=True)[1]  # [N], in 0 … C−1
    counts = torch.bincount(label)  # [C]
    sums = x.new_zeros(len(counts), x.shape[1]).index_add_(0, label, x)  # [N, D] -> [C, D]
    own = x.square().sum()  # the pairs (i, i), as they came out: N up to rounding
    inside = (counts * (counts - 1)).sum()
    outside = len(x) * (len(x) - 1) - inside
    if not outside or not inside:
        raise ValueError(
            "All vectors have one label, so nothing lies between classes."
            if not outside
            else "No two vectors share a label, so nothing lies within a class."
        )
    squares = sums.square().sum()  # Σ_c ‖Σ_{i in c} u_i‖²
    within = (squares - own) / inside
    between = (sums.sum(dim=0).square().sum() - squares) / outside
    return ClassCosines(within.clamp(-1, 1).to(dtype), between.clamp(-1, 1).to(dtype))


def class_spread(x: Tensor, labels: Tensor) -> Tensor:
    """How wide a class is, in units of how far apart classes are: 0 if each is a point, 1 if the labels say nothing.

    (1 − mean cosine within classes) / (1 − mean cosine between classes): the mean squared distance of two texts of one
    class over that of two texts of different classes. What "more compact clustering of examples with the same label"
    (SCL, 5.2) claims, as a number that a cone or a stretched space cannot fake: shrinking all differences towards a
    common direction leaves it as it is. `noise_sensitivity` is the same with the copies of a text as the class.

    It says how tight classes are, not how well they can be told apart: a few texts on the wrong side, or one class in
    two heaps, cost it much and a classifier little. So read it beside an accuracy, on texts that were not trained on:
    with enough weights, classes of any labels, even random ones, can be made tight on the training texts.

    `x` [N, D], `labels` [N] integers -> a number (0-d tensor) in [0, ∞). Raises as `class_cosines` does, and a
    ValueError when all vectors point the same way.

    >>> import torch
    >>> from contrast_kit import geometry
    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> geometry.class_spread(x, torch.tensor([0, 0, 1, 1])), geometry.class_spread(x, torch.tensor([0, 1, 0, 1]))
    (tensor(0.), tensor(2.))
    """
    x, dtype = exact_unit(x, "x", at_least=2)
    within, between = class_cosines(x, labels)
    if is_one_point(1 - anisotropy(x), x, dtype) or between >= 1:
        raise ValueError("All vectors point the same way, so there is no distance between classes to measure in.")
    return ((1 - within) / (1 - between)).to(dtype)
