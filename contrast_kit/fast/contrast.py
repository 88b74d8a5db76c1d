"""The three losses with negatives for large N: the numbers of `losses.contrast`, per anchor, without an N x N matrix.

Letters: B texts, N vectors, D width, Q queue, H further negatives, C classes, R rows of a piece.
"""

import torch
from torch import Tensor
from torch.autograd import Function

from contrast_kit.checks import normalise
from contrast_kit.fast.tiles import (
    first_derivative_only,
    rows_log_sum_exp,
    self_log_sum_exp,
    slices,
    softplus,
)

PIECE = 2048
"""Rows whose gradient is made at once on a CPU: memory for one piece at a time is enough."""


def info_nce(
    anchors: Tensor,
    candidates: Tensor,
    negatives: Tensor,
    tau: float | Tensor,
    ids: Tensor | None,
) -> Tensor:
    """[B] for vectors [B, D] and unit rows [H, D]. Candidates with the anchor's id in `ids` [B + H] are left out."""
    x, y = unit_rows(anchors, "anchors"), unit_rows(candidates, "candidates")
    if len(negatives):
        y = torch.cat([y, negatives.to(y)])  # [B + H, D]
    if ids is None:
        return rows_log_sum_exp(x, y, tau, partner=True)
    return rows_log_sum_exp(x, y, tau, groups=ids[: len(x)], others=ids, partner=True)


def nt_xent(
    a: Tensor, b: Tensor, queue: Tensor, tau: float | Tensor, ids: Tensor | None
) -> Tensor:
    """[2B] for vectors a, b [B, D] and unit rows of a queue [Q, D]; `ids` are those of all candidates, [2B + Q]."""
    a, b = unit_rows(a, "a"), unit_rows(b, "b")
    x = torch.cat([a, b])  # [2B, D]
    rows, queued = None, None
    if ids is None:
        rest = self_log_sum_exp(x, tau, apart=(len(a),))
    else:
        rows, queued = ids[: len(x)], ids[len(x) :]
        rest = self_log_sum_exp(x, tau, groups=rows)
    if len(queue):
        rest = torch.logaddexp(
            rest, rows_log_sum_exp(x, queue.to(x), tau, groups=rows, others=queued)
        )
    own = (a * b).sum(dim=1) / tau  # [B, D] -> [B]
    return softplus(rest - own.repeat(2))


def sup_con(x: Tensor, labels: Tensor, tau: float | Tensor) -> tuple[Tensor, Tensor]:
    """[N], and which anchors have a positive, [N]: the positives of one class enter through the class's sum alone."""
    x = unit_rows(x)
    means, positives = mean_of_positives(x, labels)  # [N], [N]
    loss = self_log_sum_exp(x, tau) - means / tau
    least = positives.clamp(min=1).to(x.dtype).log()  # [N]
    # Else rounding goes below, in tight classes.
    loss = loss + (least - loss).clamp(min=0).detach()
    return torch.where(positives > 0, loss, 0.0), positives > 0


def mean_of_positives(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The mean dot product of each row with the other rows of its class, and how many those are: [N], [N].

    Without a mask, since the class's sum holds all positives; value and gradient are linear in N:

        mean over j ≠ i with y_j = y_i of x_i·x_j  =  ( x_i·S_{y_i} - x_i·x_i ) / (n_{y_i} - 1),    S_y = sum of class y

    Args:
        x: [N, D]. labels: [N] integers.

    Returns:
        0 for a row that is alone in its class. The gradient can be taken once.

    Example:
        >>> import torch
        >>> means, others = mean_of_positives(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([7, 0, 7]))
        >>> means, others
        (tensor([4., 0., 4.]), tensor([1, 0, 1]))
    """
    names, label, sizes = labels.unique(return_inverse=True, return_counts=True)
    others = sizes[label] - 1  # [C] -> [N]
    return _Means.apply(x, label, others, len(names)), others


class _Means(Function):
    @staticmethod
    def forward(ctx, x, label, others, classes):
        sums = x.new_zeros(classes, x.shape[1]).index_add_(0, label, x)  # [C, D]
        weight = (others > 0) / others.clamp(min=1).to(x.dtype)  # [N]
        ctx.save_for_backward(x, label, weight)
        ctx.classes = classes
        means = torch.empty_like(weight)
        for rows in pieces(x):
            # [R, D] -> [R]
            means[rows] = ((sums[label[rows]] - x[rows]) * x[rows]).sum(dim=1)
        return means * weight

    @staticmethod
    def backward(ctx, upstream):
        x, label, weight = ctx.saved_tensors
        with torch.no_grad():
            weight = (weight * upstream)[:, None]  # [N, 1]
            sums, pulls = x.new_zeros(2, ctx.classes, x.shape[1])  # [C, D]
            for rows in pieces(x):
                sums.index_add_(0, label[rows], x[rows])
                pulls.index_add_(0, label[rows], weight[rows] * x[rows])
            gradient = torch.empty_like(x)
            # As the anchor, to its positives; as a positive, to its anchors.
            for rows in pieces(x):
                own = weight[rows] * (sums[label[rows]] - 2 * x[rows])
                gradient[rows] = own.add_(pulls[label[rows]])
        return first_derivative_only(gradient, x), None, None, None


def unit_rows(x: Tensor, name: str = "x") -> Tensor:
    """The numbers of `checks.normalise` with a lean gradient: [N, D] of length 1, float32 or better.

    Automatic differentiation of x / |x| keeps or makes five further [N, D]; the formula needs the result alone:

        d/dx of g·(x / |x|)  =  ( g - (g·u) u ) / |x|,    u = x / |x|

    Example:
        >>> import torch
        >>> unit_rows(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return _Unit.apply(x, name)


class _Unit(Function):
    @staticmethod
    def forward(ctx, x, name):
        u = normalise(x, name)
        ctx.save_for_backward(
            u, torch.linalg.vector_norm(x, dim=1, keepdim=True, dtype=u.dtype)
        )
        ctx.dtype = x.dtype
        return u

    @staticmethod
    def backward(ctx, upstream):
        u, norm = ctx.saved_tensors
        with torch.no_grad():
            gradient = torch.empty_like(u)
            for rows in pieces(u):
                along = (upstream[rows] * u[rows]).sum(dim=1, keepdim=True)  # [R, 1]
                torch.addcmul(
                    upstream[rows], u[rows], along, value=-1, out=gradient[rows]
                ).div_(norm[rows])
            gradient = gradient.to(ctx.dtype)
        return first_derivative_only(gradient, u), None


def pieces(x: Tensor) -> list[slice]:
    """The rows of x in pieces."""
    size = PIECE if x.device.type == "cpu" else 32 * PIECE
    return list(slices(0, len(x), size))
