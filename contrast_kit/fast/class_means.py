"""The mean cosine of each anchor with the rest of its class, without a mask: the class's sum holds all positives.

    mean over j ≠ i with y_j = y_i of x_i·x_j  =  ( x_i·S_{y_i} - x_i·x_i ) / (n_{y_i} - 1),    S_y = sum of class y

Value and gradient are linear in N. Letters: N vectors, D width, C classes, R rows of a piece.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from contrast_kit.fast.logsumexp import first_derivative_only
from contrast_kit.fast.unit_rows import pieces


def mean_of_positives(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The mean dot product of each row with the other rows of its class, and how many those are: [N], [N].

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
    number = classes(labels)  # [N]
    # On a CPU looking at the number of classes costs nothing; a GPU would have to be waited for.
    room = int(number.max()) + 1 if labels.device.type == "cpu" else len(labels)
    others = torch.zeros(room, dtype=torch.long, device=x.device)
    others = others.index_add_(0, number, torch.ones_like(number))[number] - 1  # [C] -> [N]
    return _Means.apply(x, number, others, room), others


def classes(labels: Tensor) -> Tensor:
    """Labels as numbers 0, 1, … in their order, [N], found without asking how many there are."""
    ordered, order = labels.sort()
    new = F.pad(ordered[1:] != ordered[:-1], (1, 0))  # [N]: True where another label begins
    return torch.empty_like(order).scatter_(0, order, new.cumsum(0))


class _Means(Function):
    @staticmethod
    def forward(ctx, x, number, others, room):
        sums = x.new_zeros(room, x.shape[1]).index_add_(0, number, x)  # [C, D]
        weight = torch.where(others > 0, 1.0 / others.clamp(min=1).to(x.dtype), 0.0)  # [N]
        ctx.save_for_backward(x, number, weight)
        ctx.room = room
        means = torch.empty_like(weight)
        for rows in pieces(x):
            means[rows] = ((sums[number[rows]] - x[rows]) * x[rows]).sum(dim=1)  # [R, D] -> [R]
        return means * weight

    @staticmethod
    def backward(ctx, upstream):
        x, number, weight = ctx.saved_tensors
        with torch.no_grad():
            weight = (weight * upstream)[:, None]  # [N, 1]
            sums, pulls = x.new_zeros(2, ctx.room, x.shape[1])  # [C, D]
            for rows in pieces(x):
                sums.index_add_(0, number[rows], x[rows])
                pulls.index_add_(0, number[rows], weight[rows] * x[rows])
            gradient = torch.empty_like(x)
            for rows in pieces(x):  # as the anchor, to its positives; as a positive, to its anchors
                own = weight[rows] * (sums[number[rows]] - 2 * x[rows])
                gradient[rows] = own.add_(pulls[number[rows]])
        return first_derivative_only(gradient, x), None, None, None
