"""The three losses with negatives for large N: the numbers of `contrast`, per anchor, without an N x N matrix.

In `info_nce` and `nt_xent` an anchor has one positive, and its loss is softplus(rest - own), with `own` the positive's
score and `rest` the log-sum-exp of the negatives alone: near 0 no digits are lost, and it cannot fall below 0.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from contrast_kit import fast

from ._partners import pick_partner
from ._positives import mean_of_positives


def info_nce(x: Tensor, y: Tensor, tau: float | Tensor, ids: Tensor | None, how: str) -> Tensor:
    """[B] for unit rows x, y [B, D]. Candidates with the anchor's id, its own partner apart, are left out."""
    if ids is None:
        return pick_partner(x, y, tau, half=how == "bf16")
    rest = fast.cross_log_sum_exp(x, y, tau, groups=(ids, ids), half=how == "bf16")
    return _softplus(rest - _own(x, y, tau))


def nt_xent(
    a: Tensor,
    b: Tensor,
    queue: Tensor,
    tau: float | Tensor,
    ids: Tensor | None,
    queue_ids: Tensor | None,
    how: str,
) -> Tensor:
    """[2B] for unit rows a, b [B, D] and a queue of unit rows [Q, D]; ids [B] leave out what has the anchor's id."""
    x, half = torch.cat([a, b]), how == "bf16"  # [2B, D]
    ids = None if ids is None else ids.repeat(2)  # [B] -> [2B]
    rest = fast.self_log_sum_exp(x, tau, left_out=(len(a),) if ids is None else (), groups=ids, half=half)
    if len(queue):
        groups = None if queue_ids is None else (ids, queue_ids)
        rest = torch.logaddexp(rest, fast.cross_log_sum_exp(x, queue, tau, groups=groups, half=half))
    return _softplus(rest - _own(a, b, tau).repeat(2))


def sup_con(x: Tensor, labels: Tensor, tau: float | Tensor, how: str) -> tuple[Tensor, Tensor]:
    """[N], and which anchors have a positive, [N]: the positives of one class enter through the class's sum alone."""
    lse = fast.self_log_sum_exp(x, tau, half=how == "bf16")
    means, positives = mean_of_positives(x, labels)  # [N], [N]
    return torch.where(positives > 0, lse - means / tau, 0.0), positives > 0


def _own(x: Tensor, y: Tensor, tau: float | Tensor) -> Tensor:
    return (x * y).sum(dim=1) / tau  # [B, D] -> [B]


def _softplus(x: Tensor) -> Tensor:
    return F.softplus(x, threshold=40.0)  # torch's 20 would be seen in float64
