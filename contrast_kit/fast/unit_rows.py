"""Rows scaled to length 1 with a lean gradient: the numbers of `checks.normalise`, for large N and first derivatives.

Automatic differentiation of x / |x| keeps or makes five further [N, D]; the formula needs the result alone:

    d/dx of g·(x / |x|)  =  ( g - (g·u) u ) / |x|,    u = x / |x|
"""

import torch
from torch import Tensor
from torch.autograd import Function

from contrast_kit.checks import normalise
from contrast_kit.fast.logsumexp import first_derivative_only

ROWS = 2048
"""Rows of a piece on a CPU."""


def unit_rows(x: Tensor, name: str = "x") -> Tensor:
    """[N, D] of length 1, float32 or better; errors as `normalise`.

    Example:
        >>> import torch
        >>> unit_rows(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    return _Unit.apply(x, name)


def pieces(x: Tensor) -> list[slice]:
    """The rows of x in pieces: memory for one piece at a time is enough."""
    size = ROWS if x.device.type == "cpu" else 32 * ROWS
    return [slice(i, i + size) for i in range(0, len(x), size)]


class _Unit(Function):
    @staticmethod
    def forward(ctx, x, name):
        u = normalise(x, name)
        ctx.save_for_backward(u, torch.linalg.vector_norm(x, dim=1, keepdim=True, dtype=u.dtype))
        ctx.dtype = x.dtype
        return u

    @staticmethod
    def backward(ctx, upstream):
        u, norm = ctx.saved_tensors
        with torch.no_grad():
            gradient = torch.empty_like(u)
            for rows in pieces(u):
                g, row = upstream[rows], u[rows]  # [R, D]
                along = (g * row).sum(dim=1, keepdim=True)  # [R, 1]
                torch.addcmul(g, row, along, value=-1, out=gradient[rows]).div_(norm[rows])
            gradient = gradient.to(ctx.dtype)
        return first_derivative_only(gradient, u), None
