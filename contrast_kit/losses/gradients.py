"""The gradient of a contrast, written out: what pushes a vector, and how hard."""

import torch
from torch import Tensor

from contrast_kit.checks import normalise, pair, temperature
from contrast_kit.losses.contrast import dot_products, more_rows


def nt_xent_anchor_gradient(a: Tensor, b: Tensor, tau: float, *, queue: Tensor | None = None) -> Tensor:
    """The gradient of each anchor's own term of `nt_xent`: which way, and how hard, it is pushed.

    CAPT, eq. 5: 1/(tau Z) [ sum_{j != i} ( exp(s_i . s_j/tau) s_j + exp(s_i . shat_j/tau) shat_j ) + ( exp(s_i .
    shat_i/tau) - Z ) shat_i ], where Z is the denominator of eq. 2: 2B - 1 terms, and the Q of the queue. With
    p_c = exp(s_i . c/tau) / Z, the softmax over the candidates c, it reads

        ( sum_c p_c c  -  shat_i ) / tau :

    the candidates' mean, weighted by how much they are mistaken for the positive, minus the positive.

    It is not the gradient of the batch's loss, in three ways. It differentiates L(x_i) alone: in eq. 4, s_i also stands
    in the terms of the other 2B - 1 anchors. It holds the candidates constant. And it is taken before the Jacobian of
    the l2 norm, so it has a part along s_i, which normalising removes.

    Its length is at most 2/tau: at a small temperature a few hard negatives take all the weight, which is what CAPT's
    schedule (`schedules.inverted_triangle`) controls. The result: [B, D], float32 or float64, detached from any graph.

    Args:
        a: vectors of one view, [B, D], the anchors s_i. Both are normalised here.
        b: vectors of the other, [B, D]; row i is the positive of row i of a. For eq. 3's gradients, swap a and b.
        tau: the temperature, > 0. queue: [Q, D], further negatives.

    Raises:
        TypeError, ValueError, NotFiniteError: as `nt_xent`.

    Example:
        >>> import torch
        >>> a = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> nt_xent_anchor_gradient(a, a, tau=1.0)  # partners agree: pushed away from the other text only
        tensor([[-0.4239,  0.4239],
                [ 0.4239, -0.4239]])
    """
    temperature(tau)
    pair(a, b, "a", "b")
    a, b = normalise(a.detach(), "a"), normalise(b.detach(), "b")
    candidates = torch.cat([b, a, more_rows(queue, a, "queue").detach().to(a)])  # [2B + Q, D]
    n = len(a)
    itself = torch.eye(n, len(candidates), dtype=torch.bool, device=a.device).roll(n, dims=1)  # s_i is column B + i
    p = (dot_products(a, candidates) / tau).masked_fill(itself, -torch.inf).softmax(dim=1)  # [B, 2B + Q]
    return (dot_products(p, candidates.T) - b) / tau  # p @ candidates, in full precision under autocast too: [B, D]
