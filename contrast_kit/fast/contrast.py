"""The three losses with negatives for large N: the numbers of `losses.contrast`, per anchor, without an N x N matrix.

In `info_nce` and `nt_xent` an anchor has one positive, and its loss is softplus(rest - own), with `own` the positive's
score and `rest` the log-sum-exp of the negatives alone: near 0 no digits are lost, and it cannot fall below 0.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from contrast_kit.fast.class_means import mean_of_positives
from contrast_kit.fast.logsumexp import cross_log_sum_exp, self_log_sum_exp
from contrast_kit.fast.panels import pick_partner
from contrast_kit.fast.unit_rows import unit_rows


def info_nce(
    anchors: Tensor, candidates: Tensor, negatives: Tensor, tau: float | Tensor, ids: Tensor | None, implementation: str
) -> Tensor:
    """[B] for vectors [B, D] and unit rows [H, D]. Candidates with the anchor's id in `ids` [B + H] are left out."""
    x, y, half = unit_rows(anchors, "anchors"), unit_rows(candidates, "candidates"), implementation == "bf16"
    own = None if ids is None else _own(x, y, tau)
    y = torch.cat([y, negatives.to(y)]) if len(negatives) else y  # [B + H, D]
    if ids is None:
        return pick_partner(x, y, tau, half=half)
    return _softplus(cross_log_sum_exp(x, y, tau, groups=(ids[: len(x)], ids), half=half) - own)


def nt_xent(
    a: Tensor, b: Tensor, queue: Tensor, tau: float | Tensor, ids: Tensor | None, implementation: str
) -> Tensor:
    """[2B] for vectors a, b [B, D] and unit rows of a queue [Q, D]; `ids` are those of all candidates, [2B + Q]."""
    a, b, half = unit_rows(a, "a"), unit_rows(b, "b"), implementation == "bf16"
    x = torch.cat([a, b])  # [2B, D]
    rows, queued = (None, None) if ids is None else (ids[: len(x)], ids[len(x) :])
    rest = self_log_sum_exp(x, tau, left_out=(len(a),) if ids is None else (), groups=rows, half=half)
    if len(queue):
        groups = None if ids is None else (rows, queued)
        rest = torch.logaddexp(rest, cross_log_sum_exp(x, queue.to(x), tau, groups=groups, half=half))
    return _softplus(rest - _own(a, b, tau).repeat(2))


def sup_con(x: Tensor, labels: Tensor, tau: float | Tensor, implementation: str) -> tuple[Tensor, Tensor]:
    """[N], and which anchors have a positive, [N]: the positives of one class enter through the class's sum alone."""
    x = unit_rows(x)
    lse = self_log_sum_exp(x, tau, half=implementation == "bf16")
    means, positives = mean_of_positives(x, labels)  # [N], [N]
    loss, least = lse - means / tau, positives.clamp(min=1).to(x.dtype).log()  # [N] each
    loss = loss + (least - loss).clamp(min=0).detach()  # else rounding goes below, in tight classes
    return torch.where(positives > 0, loss, 0.0), positives > 0


def _own(x: Tensor, y: Tensor, tau: float | Tensor) -> Tensor:
    return (x * y).sum(dim=1) / tau  # [B, D] -> [B]


def _softplus(x: Tensor) -> Tensor:
    return F.softplus(x, threshold=40.0)  # torch's 20 would be seen in float64
