"""Notebook 02: NT-Xent and SupCon as they are usually got wrong, each wrong number with the hint it deserves."""

import torch
from torch import Tensor

from contrast_kit import losses
from contrast_kit.exercises._numbers import OVER_THE_BATCH

PARTNER = "Where does the partner of row i stand in [2B, 2B]?"


def _two_views(a: Tensor, b: Tensor) -> Tensor:
    return losses.normalise(torch.cat([a, b]))


def nt_xent_mistakes(a: Tensor, b: Tensor, tau: float) -> list[tuple[Tensor, str]]:
    """Wrong values of NT-Xent for two views, [B, D] each, and what went wrong."""
    x = _two_views(a, b)
    n = len(x)
    cosines, partner = x @ x.T, torch.arange(n).roll(n // 2)
    itself = torch.eye(n, dtype=torch.bool)
    own = cosines[torch.arange(n), partner]  # [2B], the positives

    def entropy(scores: Tensor, leave_out: Tensor = itself, column: Tensor = partner, **kw: str) -> Tensor:
        return torch.nn.functional.cross_entropy(scores.masked_fill(leave_out, -torch.inf), column, **kw)

    rows = torch.arange(n)
    not_partners = rows.roll(1), rows.roll(-1), rows ^ 1  # the neighbour; views side by side
    scores, raw = cosines / tau, torch.cat([a, b]) @ torch.cat([a, b]).T
    without = scores.masked_fill(itself | itself.roll(n // 2, 0), -torch.inf).logsumexp(1)  # negatives only
    all_but_itself = scores.masked_fill(itself, -torch.inf).logsumexp(1)
    columns = torch.nn.functional.normalize(torch.cat([a, b]), dim=0)
    towards, back = losses.info_nce(a, b, tau), losses.info_nce(b, a, tau)
    return [
        (entropy(scores / tau), "You divided by τ twice."),
        (entropy(cosines * tau), "Divide by τ; do not multiply: a small τ must make differences larger."),
        (entropy(cosines), "τ is missing."),
        (entropy(raw / tau), "You forgot to normalise: a score is the *cosine* over τ, not the dot product."),
        (entropy(columns @ columns.T / tau), OVER_THE_BATCH),
        (
            entropy(scores, torch.zeros_like(itself)),
            "The anchor itself is among its candidates, at a cosine of 1: put -inf on the diagonal.",
        ),
        (
            entropy(scores.masked_fill(itself, 0.0), torch.zeros_like(itself)),
            "A 0 on the diagonal still adds e^0 = 1 to each denominator: only -inf takes the anchor out.",
        ),
        (
            (torch.logaddexp(all_but_itself, own / tau) - own / tau).mean(),
            "Your positive is in the denominator twice: the sum over the other 2B - 1 holds it already.",
        ),
        (
            (without - own / tau).mean(),
            "Your positive is not in the denominator: it is one of the 2B - 1 candidates.",
        ),
        (
            entropy(scores, reduction="none")[: n // 2].mean(),
            "One direction only: view b asks too, 2B anchors.",
        ),
        (
            entropy(scores, reduction="none")[n // 2 :].mean(),
            "One direction only: view a asks too, 2B anchors.",
        ),
        (towards, "That is info_nce: B candidates and one direction. Both views stand in both roles."),
        (back, "That is info_nce: B candidates and one direction. Both views stand in both roles."),
        ((towards + back) / 2, "Both directions, but only B candidates: the anchor's own view is missing."),
        (entropy(scores, reduction="sum"), "That is CAPT's sum (eq. 4). Here: the mean over the 2B anchors."),
        (
            entropy(scores, reduction="sum") / (n // 2),
            "There are 2B anchors, not B: divide by all of them.",
        ),
        (-entropy(scores), "The sign: a loss is *minus* the log of the probability."),
        *((entropy(scores, column=other), f"Your right column is a stranger's. {PARTNER}") for other in not_partners),
    ]


def sup_con_mistakes(x: Tensor, labels: Tensor, tau: float) -> list[tuple[Tensor, str]]:
    """Wrong values of SCL's eq. 3 for vectors [N, D] and labels [N], and what went wrong."""
    unit = losses.normalise(x)
    itself = torch.eye(len(x), dtype=torch.bool)
    same = labels[:, None] == labels[None, :]
    positive = same & ~itself
    count = positive.sum(1).clamp(min=1)  # [N]

    def total(scores: Tensor, candidates: Tensor = ~itself, share: Tensor = count) -> Tensor:
        z = scores.masked_fill(~candidates, -torch.inf).logsumexp(1, keepdim=True)
        return -((scores - z).masked_fill(~positive, 0).sum(1) / share).sum()

    scores = unit @ unit.T / tau
    p = scores.masked_fill(itself, -torch.inf).softmax(1)
    outside = -(p.masked_fill(~positive, 0).sum(1)[positive.any(1)]).log()
    negatives = scores.masked_fill(same, -torch.inf).logsumexp(1, keepdim=True)  # [N, 1]
    one_by_one = (torch.logaddexp(negatives, scores) - scores).masked_fill(~positive, 0)
    return [
        (
            outside.sum(),
            "The log stands outside the sum over positives: eq. 3 takes log p_ij first, then the mean.",
        ),
        (
            (outside + count[positive.any(1)].log()).sum(),
            "The log stands outside the mean over positives: eq. 3 takes log p_ij first, then the mean.",
        ),
        (total(scores, torch.ones_like(itself)), "The anchor itself is in the denominator: 1[i ≠ k]."),
        (total(scores, ~same), "The positives belong to the denominator too: k runs over all but i."),
        (
            (one_by_one.sum(1) / count).sum(),
            "Your other positives left the denominator; eq. 3 keeps them (that form is another library's NT-Xent).",
        ),
        (total(scores, share=same.sum(1)), "N_y − 1 positives, not N_y: the anchor is not its own positive."),
        (total(scores, share=torch.ones_like(count)), "Divide each anchor's sum by its N_y − 1 positives."),
        (total(scores / tau), "You divided by τ twice."),
        (total(scores * tau), "τ is missing."),
        (total(x @ x.T / tau), "You forgot to normalise: Φ(x) has length 1."),
        (total(scores) / len(x), "Eq. 3 is a sum over the N anchors; yours is their mean."),
        (-total(scores), "The sign: minus the log of the probability."),
    ]
