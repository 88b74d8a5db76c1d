"""For each loss: which vector is a candidate for which anchor, with what weight, and where each vector is pushed.

Letters: B texts, N = 2B vectors (view 0 of every text, then view 1).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from contrast_kit import arguments, losses

LOSSES = ("info_nce", "nt_xent", "sup_con", "simsiam")


@dataclass(frozen=True)
class Contrast:
    """One loss on N vectors."""

    value: float
    weights: Tensor
    """[N, N]: the softmax over the candidates of the anchor in that row; NaN where there is no term."""
    roles: list[list[str]]
    """[N][N]: "positive" and "negative" stand in the anchor's denominator, "numerator" in none, "out" is left out."""
    forces: Tensor
    """[N, D]: minus the gradient of the loss, along the sphere."""


def contrast(loss: str, x: Tensor, tau: float, classes: Tensor) -> Contrast:
    """The loss (mean over anchors), its pair weights and its forces.

    Args:
        loss: one of `LOSSES`. For "simsiam" the predictor is the identity, so its prediction is the vector itself.
        x: [N, D], view 0 of B texts, then view 1 in the same order.
        tau: the temperature; "simsiam" has none.
        classes: [B], the class of each text; only "sup_con" uses it.

    Raises:
        ValueError: for a loss that is not in the list, or an odd number of vectors.

    Example:
        >>> import torch
        >>> from contrast_kit.explore._contrasts import contrast
        >>> seen = contrast("nt_xent", torch.eye(2).repeat(2, 1), tau=0.5, classes=torch.tensor([0, 1]))
        >>> seen.weights[0]  # of e^2, 1 and 1: the partner, and two at right angles
        tensor([   nan, 0.1065, 0.7870, 0.1065])
        >>> seen.roles[0]
        ['out', 'negative', 'positive', 'negative']
    """
    arguments.known(loss, LOSSES, "loss")
    if len(x) % 2:
        raise ValueError(f"There must be two views of every text, but there are {len(x)} vectors.")
    x = x.detach().requires_grad_()
    value = _value(loss, x, tau, classes)
    (slope,) = torch.autograd.grad(value, x)
    positive, candidate = _masks(loss, classes)
    weights = torch.full_like(positive, torch.nan, dtype=x.dtype)  # [N, N]
    cosines = losses.cosine_matrix(x.detach())
    rows = candidate.any(dim=1)
    weights[rows] = (cosines[rows] / tau).masked_fill(~candidate[rows], -torch.inf).softmax(dim=1)
    weights[~candidate] = torch.nan
    return Contrast(value.item(), weights, _roles(positive, candidate), -slope)


def _value(loss: str, x: Tensor, tau: float, classes: Tensor) -> Tensor:
    a, b = x.chunk(2)  # [N, D] -> two of [B, D]
    if loss == "info_nce":
        return losses.info_nce(a, b, tau)
    if loss == "nt_xent":
        return losses.nt_xent(a, b, tau)
    if loss == "sup_con":
        return losses.sup_con(x, classes.repeat(2), tau, reduction="mean")
    return losses.simsiam(a, a, b, b)


def _masks(loss: str, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Two bool [N, N]: the positives of the anchor in each row, and everything in its denominator."""
    n = 2 * len(classes)
    itself = torch.eye(n, dtype=torch.bool)
    positive, candidate = itself.roll(n // 2, dims=0), ~itself
    if loss == "sup_con":
        labels = classes.repeat(2)  # [B] -> [N]
        positive = (labels[:, None] == labels[None, :]) & ~itself
    elif loss == "simsiam":
        candidate = torch.zeros_like(itself)
    elif loss == "info_nce":
        first = torch.arange(n) < n // 2
        candidate = first[:, None] & ~first[None, :]  # anchors are view 0, candidates view 1
        positive = positive & candidate
    return positive, candidate


def _roles(positive: Tensor, candidate: Tensor) -> list[list[str]]:
    names = {
        (True, True): "positive",
        (False, True): "negative",
        (True, False): "numerator",
        (False, False): "out",
    }
    pairs = zip(positive.tolist(), candidate.tolist(), strict=True)
    return [[names[p, c] for p, c in zip(*row, strict=True)] for row in pairs]
