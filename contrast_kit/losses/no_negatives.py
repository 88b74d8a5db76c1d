"""The contrast without negatives: each view's prediction points where the other view stands."""

import torch
from torch import Tensor

from contrast_kit.checks import normalise, pair, reduce, switch


def simsiam(
    z_a: Tensor, h_a: Tensor, z_b: Tensor, h_b: Tensor, *, stop_gradient: bool = True, reduction: str = "mean"
) -> Tensor:
    """Let each view's prediction point where the other view stands: contrast without negatives.

    CMLM, eq. 9 for one k, with eq. 11 inside:

        L_CL    = 1/B sum_b exp( -1/2 (D(z_b^k, h_b^0) + D(z_b^0, h_b^k)) )
        D(z, h) = sim(z, stopgrad(h))

    D is a *positive* cosine. The exponential, taken per example and before the mean, keeps the loss positive, like the
    two losses that it is added to or compared with.

    There is no denominator and no negative: an encoder that gives every text the same vector has the smallest loss
    there is. The stop-gradient on h and the predictor z = W2 gelu(W1 h) (eq. 10) on the other side keep training away
    from that; if either of them is missing, vectors collapse.

    Args:
        z_a: the predictor's output for view a, [B, D].
        h_a: the encoder's first-token vector for view a, [B, D]. No gradient flows into it from here.
        z_b, h_b: the same for view b.
        stop_gradient: False lets the gradient into h as well, to watch the collapse that this allows.
        reduction: "mean" over examples (the paper), "sum", or "none": [B].

    Returns:
        A number, float32 or float64, from 1/e = 0.3679 (all predictions right) to e (all opposite).

    Raises:
        TypeError, ValueError, NotFiniteError: as `normalise`, or four shapes that are not equal.

    See also:
        `info_nce`, the paper's other contrast (eq. 7), which needs a large batch. SimSiam's own paper minimises the
        mean of *negative* cosines, without the exponential.

    Example:
        >>> import torch
        >>> h = torch.tensor([[1.0, 0.0]])
        >>> simsiam(h, h, h, h), simsiam(-h, h, -h, h)
        (tensor(0.3679), tensor(2.7183))
    """
    pair(z_a, h_a, "z_a", "h_a")
    pair(z_a, z_b, "z_a", "z_b")
    pair(z_a, h_b, "z_a", "h_b")
    switch("stop_gradient", stop_gradient)
    if stop_gradient:
        h_a, h_b = h_a.detach(), h_b.detach()
    towards_b = (normalise(z_a, "z_a") * normalise(h_b, "h_b")).sum(dim=1)  # D(z^a, h^b), [B, D] -> [B]
    towards_a = (normalise(z_b, "z_b") * normalise(h_a, "h_a")).sum(dim=1)  # D(z^b, h^a), [B]
    return reduce(torch.exp(-0.5 * (towards_b + towards_a)), reduction)
