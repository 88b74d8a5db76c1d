"""`info_nce` for large B in 6 B²D operations: whole rows of scores, a few at a time.

A panel of whole rows [R, B] knows its own denominators, so the gradient is made along with the value and no score is
computed twice. It is made for a loss in which all anchors weigh the same (mean, sum); if they do not, the
candidates' gradient is made again. Letters: B texts, D width, R rows of a panel.
"""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from contrast_kit import fast
from contrast_kit.fast import kernels
from contrast_kit.fast.logsumexp import first_derivative_only, of_one_dtype, scaled
from contrast_kit.fast.tiles import Tiles


def pick_partner(x: Tensor, y: Tensor, tau: float | Tensor, *, half: bool = False) -> Tensor:
    """-log of the softmax over all rows of y, at the partner, row i of y: [B, D], [B + H, D] of length 1 -> [B].

    Example:
        >>> import torch
        >>> pick_partner(torch.eye(2), torch.eye(2), tau=1.0)  # log(1 + 1/e)
        tensor([0.3133, 0.3133])
    """
    x, y = of_one_dtype(x, y)
    (z, scale), (c, _) = scaled(x, tau), scaled(y, tau)
    panels = Tiles(scale, (0,), (max(1, fast.scores_at_once(x.device) // len(y)), len(y)), half, powers_of_2=True)
    return _Pick.apply(z, c, panels, torch.is_grad_enabled())


class _Pick(Function):
    @staticmethod
    def forward(ctx, z, c, panels, grad):
        loss = z.new_empty(len(z))
        of_z, of_c = (
            torch.zeros_like(x) if grad and want else None
            for x, want in zip((z, c), ctx.needs_input_grad[:2], strict=True)
        )
        with kernels.tile_products(z):
            for rows, pull in _pulls(z, c, panels, loss):
                if of_z is not None:
                    panels.add_product(of_z[rows], pull, c)
                if of_c is not None:
                    panels.add_product(of_c, pull.T, z[rows])
        ctx.save_for_backward(z, c, of_z, of_c)
        ctx.panels = panels
        return loss

    @staticmethod
    def backward(ctx, upstream):
        z, c, of_z, of_c = ctx.saved_tensors
        with torch.no_grad(), kernels.tile_products(z):
            if of_z is not None:
                of_z = of_z * upstream[:, None]
            if of_c is not None and (upstream.stride(0) == 0 or len(z) == 1):  # one number for all anchors
                of_c = of_c * upstream[0]
            elif of_c is not None:
                of_c = torch.zeros_like(c)
                for rows, pull in _pulls(z, c, ctx.panels, torch.empty_like(upstream)):
                    ctx.panels.add_product(of_c, pull.mul_(upstream[rows, None]).T, z[rows])
        return first_derivative_only(of_z, z, c), first_derivative_only(of_c, z, c), None, None


def _pulls(z: Tensor, c: Tensor, panels: Tiles, loss: Tensor):
    """For each panel its rows and what they pull on each candidate, [R, B]; their `loss` is filled in."""
    for rows, _, scores in panels.all(z, c, None, None):  # -inf at the partner
        own = (z[rows] * c[rows]).sum(dim=1) * panels.scale  # [R]
        lowest = torch.finfo(scores.dtype).min
        top = scores.amax(dim=1).clamp(min=lowest)  # [R], of the negatives; alone: none
        terms = scores.sub_(top[:, None]).exp2_()  # [R, B]
        mass = terms.sum(dim=1).clamp(min=1)  # the largest term is 1, unless there is none
        rest = top * panels.unit + mass.log()
        loss[rows] = F.softplus(rest - own, threshold=40.0)
        wrong = torch.sigmoid(rest - own)  # what the softmax gives to the negatives
        pull = terms.mul_((wrong / mass)[:, None])
        pull.diagonal(rows.start).copy_(-wrong)
        yield rows, pull
