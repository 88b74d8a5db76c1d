"""The exercises of notebook 05, CMLM, and the usual mistakes."""

import torch
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import vectors


@table("05.hidden_share", cases=[(0.2, 0.7), (0.4, 0.9)])
def hidden_share(p_m, p_c):
    """The share of all tokens that the complementary mask hides."""
    return p_c * (1 - p_m), {
        "p_c is conditional: it is the rate among the tokens *not* selected in T0, not among all.": p_c,
        "That is the share hidden in both, were the masks independent. T1 draws from the 1 - p_m left free.": p_c
        * p_m,
        "Probabilities of 'free in T0' and 'selected there' multiply; they are not subtracted.": p_c
        - p_m,
        "That is what the two copies hide together. Asked: T1 alone.": p_m
        + p_c * (1 - p_m),
        "That is the share that *neither* copy hides. Asked: what T1 hides.": (1 - p_m)
        * (1 - p_c),
    }


@table("05.info_nce", cases=[(vectors(6), vectors(6, seed=1), 0.3)], leaves="h0 h1")
def info_nce(h0, h1, tau):
    """Eq. 7 for K = 1, in matrix form."""
    cosines = ck.losses.cosine_matrix(h0, h1)
    own = torch.arange(len(h0))
    p = (cosines / tau).softmax(1).diag()
    right = ck.losses.info_nce(h0, h1, tau)
    back = ck.losses.info_nce(h1, h0, tau)
    return right, {
        (
            "Your loss is inf: the right column of some row was taken out. The diagonal holds the partners here "
            "and must stay: take nothing out."
        ): torch.inf,
        "Rows and columns are exchanged: the anchor is T0, the candidates are T1.": back,
        "sim is the *cosine* (eq. 8): divide each vector by its length first.": cross_entropy(
            h0 @ h1.T / tau, own
        ),
        "Divide by tau; do not multiply.": cross_entropy(cosines * tau, own),
        "You divide by tau twice.": cross_entropy(cosines / tau**2, own),
        "tau is missing.": cross_entropy(cosines, own),
        "Eq. 7 is a mean over the B anchors, not a sum.": right * len(h0),
        "That is NT-Xent, with both views in both denominators. Eq. 7 has B candidates.": ck.losses.nt_xent(
            h0, h1, tau
        ),
        "The positive belongs to the denominator too: i runs over all B.": (1 / p - 1)
        .log()
        .mean(),
        "The sign: a loss is *minus* the log of the probability.": -right,
        "That is the mean of both directions. In eq. 7 only T0 asks.": (right + back) / 2,
        "That is the mean of -p. The loss is -log p: it punishes a confident mistake without limit.": -p.mean(),
        "First the log of each row's p, then the mean; not the other way round.": -p.mean().log(),
        "You normalised over dim=0, the batch. Each *vector* must have length 1: dim=1.": cross_entropy(
            normalize(h0, dim=0) @ normalize(h1, dim=0).T / tau, own
        ),
    }


@table(
    "05.simsiam",
    cases=[(vectors(6), vectors(6, seed=1), vectors(6, seed=2), vectors(6, seed=3))],
    leaves="z0 h0 z1 h1",
)
def simsiam(z0, h0, z1, h1):
    """Eq. 9 with eq. 11 inside."""
    towards = cosine_similarity(z0, h1)
    back = cosine_similarity(z1, h0)
    crossed = towards + back
    straight = cosine_similarity(z0, h0) + cosine_similarity(z1, h1)
    return ck.losses.simsiam(z0, h0, z1, h1), {
        "The sign in the exponent: closer must mean a *smaller* loss.": (crossed / 2)
        .exp()
        .mean(),
        "The 1/2 in the exponent is missing: it averages the two directions.": (-crossed)
        .exp()
        .mean(),
        "First exp for each sentence, then the mean: eq. 9 has the sum outside.": (
            -crossed.mean() / 2
        ).exp(),
        "That is SimSiam's own loss; CMLM wraps it in an exponential.": -crossed.mean()
        / 2,
        "Each prediction points at the *other* copy: z0 with h1, z1 with h0.": (
            -straight / 2
        )
        .exp()
        .mean(),
        "Only one direction; eq. 9 takes both.": [
            (-towards).exp().mean(),
            (-back).exp().mean(),
        ],
    }
