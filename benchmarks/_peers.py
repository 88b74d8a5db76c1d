"""What the contrast is measured against: installed peers as they are, and two algorithms written from descriptions.

lightly (which needs torchvision) and SupContrast (no package) are not installed: `lightly_nt_xent` and
`supcontrast` do what their papers and documentation say, in the same order of tensor operations and so with
the same buffers. A peer is imported at its first call: one that is missing costs its own row only.
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional as F

TAU = 0.1


def lightly_nt_xent(a: Tensor, b: Tensor, tau: float = TAU) -> Tensor:
    """Four blocks of similarities, the diagonals of two cut out, cross-entropy towards the partner's column."""
    a, b = F.normalize(a), F.normalize(b)
    n = len(a)
    others = ~torch.eye(n, dtype=torch.bool, device=a.device)
    aa, ab = a @ a.T / tau, a @ b.T / tau  # [B, B]
    ba, bb = b @ a.T / tau, b @ b.T / tau
    aa, bb = aa[others].view(n, -1), bb[others].view(n, -1)  # [B, B - 1]
    logits = torch.cat([torch.cat([ab, aa], dim=1), torch.cat([ba, bb], dim=1)])  # [2B, 2B - 1]
    return F.cross_entropy(logits, torch.arange(n, device=a.device).repeat(2))


def supcontrast(x: Tensor, labels: Tensor, tau: float = TAU) -> Tensor:
    """A label mask, logits less their row's maximum, log of the masked sum, the mean over positives."""
    x = F.normalize(x)
    mask = (labels[:, None] == labels[None, :]).float()  # [N, N]
    logits = x @ x.T / tau
    logits = logits - logits.max(dim=1, keepdim=True).values.detach()
    others = torch.ones_like(mask).fill_diagonal_(0)
    mask = mask * others
    exp_logits = torch.exp(logits) * others
    log_prob = logits - torch.log(exp_logits.sum(1, keepdim=True))
    return -((mask * log_prob).sum(1) / mask.sum(1)).mean()


def masked_cross_entropy(a: Tensor, b: Tensor, tau: float = TAU) -> Tensor:
    """The shortest way to write NT-Xent: one matrix, the diagonal filled, cross-entropy."""
    x = F.normalize(torch.cat([a, b]))
    logits = (x @ x.T / tau).fill_diagonal_(-torch.inf)  # [2B, 2B]
    return F.cross_entropy(logits, torch.arange(len(x), device=a.device).roll(len(a)))


def linear_cross_entropy(a: Tensor, b: Tensor, tau: float = TAU) -> Tensor:
    """torch's own chunked form: the other view as a linear layer's weight."""
    return linear_words(F.normalize(a) / tau, F.normalize(b), torch.arange(len(a), device=a.device), "mean")


def linear_words(states: Tensor, weight: Tensor, labels: Tensor, reduction: str = "sum") -> Tensor:
    """torch's own chunked form (2.13) of a loss over a vocabulary."""
    if not hasattr(F, "linear_cross_entropy"):
        raise ImportError("torch has linear_cross_entropy from 2.13 on")
    options = torch.nn.LinearCrossEntropyOptions(chunking_method="auto")
    return F.linear_cross_entropy(states, weight, labels, reduction=reduction, options=options)


def liger_words(states: Tensor, weight: Tensor, labels: Tensor) -> Tensor:
    """liger-kernel's fused form of the same, where it is installed."""
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

    return LigerFusedLinearCrossEntropyLoss(reduction="sum")(weight, states, labels)


def metric_learning(name: str, tau: float = TAU) -> Callable[[Tensor, Tensor], Tensor]:
    """A loss of pytorch-metric-learning by name: (vectors, labels) -> number."""

    @cache
    def loss() -> Callable[[Tensor, Tensor], Tensor]:
        from pytorch_metric_learning import losses

        return getattr(losses, name)(temperature=tau)

    return lambda x, labels: loss()(x, labels)


def sentence_transformers(cached: int | None = None, tau: float = TAU) -> Callable[[Tensor, Tensor], Tensor]:
    """MultipleNegativesRankingLoss, or its cached form in chunks of this many rows: (anchors, candidates) -> number."""

    @cache
    def loss() -> torch.nn.Module:
        from sentence_transformers import losses

        if cached is None:
            return losses.MultipleNegativesRankingLoss(torch.nn.Identity(), scale=1 / tau)
        return losses.CachedMultipleNegativesRankingLoss(
            torch.nn.Sequential(torch.nn.Identity()), scale=1 / tau, mini_batch_size=cached
        )

    def of_cached(a: Tensor, b: Tensor) -> Tensor:
        # Its own way: the gradient of the vectors is made chunk by chunk inside, then handed over.
        leaves = a.detach().requires_grad_(), b.detach().requires_grad_()
        value = loss().calculate_loss([list(x.split(cached)) for x in leaves], with_backward=True)
        return value + sum(
            (x * g.grad).sum() - (x * g.grad).sum().detach() for x, g in zip((a, b), leaves, strict=True)
        )

    return of_cached if cached else lambda a, b: loss().compute_loss_from_embeddings([a, b], None)


def uniformity(x: Tensor, t: float = 2) -> Tensor:
    """align_uniform's form: all pairwise distances of rows that are normalised already."""
    return torch.pdist(x).pow(2).mul(-t).exp().mean().log()
