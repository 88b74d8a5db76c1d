"""The exercises of notebook 03, the representation space, and the usual mistakes."""

from math import log, sqrt

import torch
from torch.nn.functional import normalize

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import NOT_FINITE, vectors


@table("03.alignment", cases=[(0.3,), (-0.5,)])
def alignment(cosine):
    """Alignment from the mean cosine of the positive pairs."""
    right = 2 - 2 * cosine
    return right, {
        "Half of it: ‖u − v‖² = ‖u‖² + ‖v‖² − 2·cos, and both squared lengths are 1.": right
        / 2,
        "Expand ‖u − v‖²: the inner product u·v occurs twice.": 2 - cosine,
        "The sign: closer pairs, with a higher cosine, must have a *smaller* distance.": 2
        + 2 * cosine,
        "The sign: a squared distance is not negative.": -right,
        "That is a distance; alignment (with its power 2) is the mean *squared* distance.": sqrt(
            right
        ),
        "That is the mean cosine itself; alignment is a distance, and 0 when the cosine is 1.": cosine,
    }


@table("03.uniformity", cases=[(vectors(6),)])
def uniformity(x):
    """Wang and Isola's uniformity, t = 2."""
    distances = torch.pdist(normalize(x))

    def form(squares, t=2):
        return (-t * squares).exp().mean().log()

    right = ck.geometry.uniformity(x)
    return right, {
        "Put the rows on the sphere first: divide each by its length.": form(
            torch.pdist(x) ** 2
        ),
        "Each vector is paired with itself too, the closest pair there is: leave the diagonal out.": form(
            torch.cdist(normalize(x), normalize(x)) ** 2
        ),
        "The log is missing.": right.exp(),
        "A mean over the pairs, not a sum: else it grows with the number of vectors.": right
        + log(len(distances)),
        "The *squared* distance stands in the exponent.": form(distances),
        "The log stands outside the mean; inside, it undoes the exp, and the kernel is gone.": -2
        * (distances**2).mean(),
        "The sign in the exponent: close pairs must weigh most.": form(
            distances**2, t=-2
        ),
        "t = 2 is missing in the exponent.": form(distances**2, t=1),
        "The sign in front: uniformity is a loss, and *lower* (more negative) is more even.": -right,
    }


@table("03.cone", cases=[(3.0, 1.5), (1.0, 4.0)])
def cone(shared, own):
    """The cosine of two sums of a shared and an own part."""
    right = shared / (shared + own)
    return right, {
        "The denominator is the squared length of the whole vector, shared part and own part.": shared
        / own,
        "Exchanged: what the two have in common is the *shared* part.": 1 - right,
        "Two vectors, but each length once: √(shared + own) · √(shared + own) is shared + own.": shared
        / (shared + 2 * own),
        "Divide by both lengths: √(shared + own) twice, which is shared + own.": shared
        / sqrt(shared + own),
        "That is the cosine with the *shared* direction; two such vectors lie further apart.": sqrt(
            right
        ),
        "`shared` and `own` are squared lengths already: do not square them again.": shared
        ** 2
        / (shared**2 + own**2),
        "The own parts are at right angles: their product is 0, it is not taken away.": (
            shared - own
        )
        / (shared + own),
    }


@table("03.effective_rank", cases=[(torch.tensor([4.0, 2.0, 1.0, 0.5]).double(),)])
def effective_rank(sigma):
    """Roy and Vetterli's effective rank from the singular values."""
    p = sigma / sigma.sum()
    entropy = torch.special.entr(p).sum()
    squares = sigma**2 / (sigma**2).sum()
    return entropy.exp(), {
        "That is the entropy; the rank is its exponential.": entropy,
        "That is the entropy in bits; the rank is the exponential of the one in nats.": entropy
        / log(2),
        "Entropy in bits goes with 2 to its power; with exp take the natural log.": (
            entropy / log(2)
        ).exp(),
        "That weighs the *squared* values (also in use, and smaller); here p = σ / Σσ.": torch.special.entr(
            squares
        )
        .sum()
        .exp(),
        "The sign of the entropy: it is *minus* the sum of p log p.": (-entropy).exp(),
        "That counts the values above 0, the plain rank: small ones count as much as large ones.": len(
            sigma
        ),
        "That is the participation ratio, another count of directions; here it is exp of the entropy.": 1
        / (p**2).sum(),
        (
            "Not finite: did you take the exp of something that is not an entropy? Divide sigma by its "
            "sum first."
        ): NOT_FINITE,
        "Make a distribution of the values first: divide by their sum.": torch.special.entr(
            sigma
        )
        .sum()
        .exp(),
    }
