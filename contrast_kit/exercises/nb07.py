"""The exercises of notebooks 07 and 07b, SCL, and the usual mistakes."""

from math import log, log2, log10

import torch

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import vectors
from contrast_kit.exercises.nb02 import of_eq_3, over_positives


@table("07.floor", cases=[(1,), (3,), (7,)])
def floor(P):
    """The smallest loss an anchor with P positives can have."""
    return log(P), {
        "Zero would need probability 1 for *each* positive, and the softmax sums to 1.": 0,
        "The anchor is no candidate of its own: it takes no share.": log(P + 1),
        "Eq. 3 divides by the number of positives: it is their mean, not their sum.": P
        * log(P),
        "A loss is *minus* the log of a probability: log 1/P comes with a minus.": -log(
            P
        ),
        "1/P is the probability that each positive gets. What is the loss of that?": 1
        / P,
        "The natural logarithm, as in eq. 3.": [log2(P), log10(P)],
    }


X = vectors(7)


@table(
    "07.sup_con",
    cases=[(X, torch.tensor([0, 1, 0, 2, 1, 0, 0]), 0.4)],
    further=[(X, torch.zeros(7, dtype=torch.long), 0.4), (X, torch.arange(7), 0.4)],
    leaves="x",
)
def sup_con(x, labels, tau):
    """Eq. 3 as a mean over the anchors that have a positive."""
    right = ck.losses.sup_con(x, labels, tau, reduction="mean_valid")
    log_p = (ck.losses.cosine_matrix(x) / tau).log_softmax(1)
    anchors = len(over_positives(log_p, labels))
    return right, of_eq_3(x, labels, tau, torch.mean) | {
        "That is the sum, eq. 3 as printed. Asked for is the mean over anchors with a positive.": right
        * anchors,
        "You divide by N: count only the anchors that have a positive.": right
        * anchors
        / len(x),
        "Divide by tau; do not multiply.": ck.losses.sup_con(
            x, labels, 1 / tau, reduction="mean_valid"
        ),
        "The anchor is among its own positives and candidates: j ≠ i and k ≠ i.": -over_positives(
            log_p, labels, itself=True
        ).mean(),
        "The factor tau/0.07 is SupContrast's; it is not in eq. 3.": tau / 0.07 * right,
        "A factor tau too many: lightly's rescaling, not in eq. 3.": tau * right,
    }


@table("07.lam", cases=[(0.5, 16), (0.9, 16), (0.3, 64)], further=[(0.0, 16), (1.0, 16)])
def lam(λ, N):
    """Which λ gives, with the sum, the direction that λ gives with the mean."""
    return λ / (λ + N * (1 - λ)), {
        "The sum is N times the mean, so the same λ gives the contrast N times the weight.": λ,
        "That is the other way round: from the λ of the *sum* to that of the mean.": λ
        * N
        / (λ * N + 1 - λ),
        "λ/N makes the contrast right, but CE then has 1 - λ/N, no longer 1 - λ.": λ / N,
        "That is not a weight between 0 and 1, and the sum needs a *smaller* one.": λ * N,
        "That is the ratio of the two weights; which λ' has λ'/(1 - λ') equal to it?": λ
        / N
        / (1 - λ + 1e-12),
    }


@table("07b.wrong_pairs", cases=[(0.0,), (0.2,), (0.5,)])
def wrong_pairs(q):
    """The share of pairs with one given label that are of two classes, when a share q of labels is flipped."""
    right = 2 * q * (1 - q)
    return right, {
        "That is the share of wrong *labels*. A pair has two.": q,
        "Where both are flipped, the two are of one class again: those are not wrong pairs.": 2
        * q,
        "Either of the two may be the flipped one.": q * (1 - q),
        "That is 'at least one is flipped'. If both are, the pair is right again.": 1
        - (1 - q) ** 2,
        "That is 'both are flipped', and then the two are of one class again.": q**2,
        "That is 'neither is flipped': a share of the right pairs.": (1 - q) ** 2,
        "That is the share of *right* pairs.": 1 - right,
    }
