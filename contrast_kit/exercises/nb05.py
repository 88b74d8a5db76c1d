"""The exercises of notebook 05, CMLM, and the usual mistakes."""

from torch.nn.functional import cosine_similarity

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import vectors


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
