"""One sum over all pairs of a space, for its uniformity: the value and the gradient in one visit of each tile.

A contrast divides each row by a sum of its own, which is known only when the row has been seen whole; so its gradient
visits every tile again. Here one number divides everything, and the gradient can be summed before that number is known:

    L = log Σ_{i ≠ j} e_ij,   e_ij = exp(x_i·x_j / τ)        dL/dx_i = 2 (Σ_j e_ij x_j / τ) / Σ_{i ≠ j} e_ij

3N²D operations where `self_log_sum_exp` and its gradient take 4N²D, and one exponential for each pair.
"""

import torch
from torch import Tensor
from torch.autograd import Function

from contrast_kit.fast import kernels
from contrast_kit.fast.logsumexp import first_derivative_only, needs_maximum, self_log_sum_exp, tile_sides
from contrast_kit.fast.tiles import Tiles, above


def pair_log_sum_exp(x: Tensor, tau: float, *, tile: int | None = None) -> Tensor:
    """log Σ_{i ≠ j} exp(x_i·x_j / τ) of N vectors of length 1, [N, D] → a number.

    Args:
        x: [N, D], rows of length 1, float32 or float64.
        tau: the temperature, > 0.
        tile: columns of a tile, as in `self_log_sum_exp`.

    Returns:
        a number (0-d tensor), whose gradient can be taken once, not twice.

    Example:
        >>> import torch
        >>> pair_log_sum_exp(torch.eye(3), tau=1.0)  # six pairs, each e^0
        tensor(1.7918)
    """
    if needs_maximum(tau, x.dtype, len(x) ** 2):  # sums of its own for each row, around its own maximum
        return torch.logsumexp(self_log_sum_exp(x, tau, tile=tile), dim=0)
    how = Tiles(1 / tau, (0,), tile_sides(x, tile), half=False, powers_of_2=True)
    return _PairSum.apply(x, how, torch.is_grad_enabled() and x.requires_grad)


class _PairSum(Function):
    @staticmethod
    def forward(ctx, x, how, grad):
        total, pull = 0.0, torch.zeros_like(x) if grad else None  # Σ e_ij; Σ_j e_ij x_j / τ, [N, D]
        with kernels.tile_products(x):
            for rows, columns, scores in how.upper(x, None):
                terms = scores.exp2_()  # [R, C], 0 where a row meets itself
                others, mirrored = above(rows, columns, terms)
                total = total + terms.sum().double() + mirrored.sum().double()
                if grad:
                    how.add_product(pull[rows], terms, x[columns])
                    how.add_product(pull[others], mirrored.T, x[rows])
        ctx.save_for_backward(x, None if pull is None else pull.mul_((2 / total).to(x.dtype)))
        return total.log().to(x.dtype)

    @staticmethod
    def backward(ctx, upstream):
        x, pull = ctx.saved_tensors
        return first_derivative_only(pull * upstream, x), None, None
