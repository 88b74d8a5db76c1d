"""The contrast in one direction; `contrast` compares it with the losses in both directions and explains the letters."""

import torch
from torch import Tensor

from contrast_kit import fast
from contrast_kit.checks import normalise, pair, reduce, temperature
from contrast_kit.losses.contrast import candidate_ids, dot_products, more_rows, pick_positives, same_text, warn_alone


def info_nce(
    anchors: Tensor,
    candidates: Tensor,
    tau: float,
    *,
    negatives: Tensor | None = None,
    ids: Tensor | None = None,
    reduction: str = "mean",
    implementation: str = "auto",
) -> Tensor:
    """Pick each anchor's partner out of the other view's B vectors: contrast in one direction.

    CMLM, eq. 7, for one k:

        L_CL = -1/B sum_b log( e^{sim(H_b^k, H_b^0)/tau} / sum_{i=1..B} e^{sim(H_i^k, H_b^0)/tau} )

    The anchor is view 0. With K views, take the mean over k of `info_nce(h[0], h[k], tau)`. In the denominator stand B
    terms: the positive and the B-1 other rows of view k, not the anchor itself and not the other rows of view 0.
    Identical vectors give log B. The loss is not symmetric: exchanging the views transposes the matrix of cosines.

    Args:
        anchors: vectors of view 0, [B, D].
        candidates: vectors of view k, [B, D]; row b is the positive of anchor b. Both are normalised here.
        tau: the temperature, > 0. The paper does not print it; small values focus on the hardest negatives.
        negatives: [H, D], more candidates of all anchors, such as hard negatives; with gradient, unlike a queue.
        ids: [B], which text each row comes from. A candidate with the anchor's id that is not its partner is a false
            negative, and is left out of the denominator. Without ids nothing is left out, as in the paper.
        reduction: "mean" over the B anchors (the paper), "sum", or "none": [B].
        implementation: one matrix or tiles, see the top of `contrast`.

    Returns:
        A number >= 0, in float32 or float64; with one example there is no negative: 0, with a warning.

    Raises:
        TypeError, ValueError, NotFiniteError: as `nt_xent`.

    See also:
        `nt_xent` takes the negatives from both views, in both directions. sentence-transformers calls this loss
        MultipleNegativesRankingLoss, with scale = 1/tau.

    Example:
        >>> import torch
        >>> info_nce(torch.eye(4), torch.eye(4), tau=0.5)         # partners equal, all others orthogonal
        tensor(0.3408)
        >>> torch.log1p(3 * torch.exp(torch.tensor(-1 / 0.5)))    # log(1 + (B-1) e^{-1/tau})
        tensor(0.3408)
        >>> info_nce(torch.eye(4), torch.eye(4), tau=0.5, negatives=torch.eye(4)[:1])  # as near as the first positive
        tensor(0.5440)
    """
    temperature(tau)
    pair(anchors, candidates, "anchors", "candidates")
    b, negatives = len(anchors), more_rows(negatives, anchors, "negatives")  # [H, D]
    warn_alone(b + len(negatives) == 1, "info_nce")
    ids = candidate_ids(ids, None, anchors, len(negatives))
    if fast.wanted(implementation, b * (b + len(negatives)), anchors):
        return reduce(fast.info_nce(anchors, candidates, negatives, tau, ids, implementation), reduction)

    anchors, candidates = normalise(anchors, "anchors"), normalise(candidates, "candidates")
    similarity = dot_products(anchors, torch.cat([candidates, negatives.to(candidates)])) / tau  # [B, B + H]
    positive = torch.eye(*similarity.shape, dtype=torch.bool, device=anchors.device)  # row b: anchor b against view k
    excluded = same_text(positive, ids) & ~positive
    return reduce(pick_positives(similarity, positive, excluded), reduction)
