"""The exercises of notebook 03, the representation space, and the usual mistakes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit import geometry
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, equals, first_hint, many, shown


@exercise("03.alignment", right="So a mean cosine of 1 gives 0, of 0 gives 2, of −1 gives 4.")
def alignment(answer: Callable[[float], float]) -> str | None:
    """Alignment from the mean cosine of the positive pairs."""
    tried = Tried(answer, (0.3,), (-0.5,))
    mistakes = {
        lambda c: 1 - c: "Half of it: ‖u − v‖² = ‖u‖² + ‖v‖² − 2·cos, and both squared lengths are 1.",
        lambda c: 2 - c: "Expand ‖u − v‖²: the inner product u·v occurs twice.",
        lambda c: 2 + 2 * c: "The sign: closer pairs, with a higher cosine, must have a *smaller* distance.",
        lambda c: 2 * c - 2: "The sign: a squared distance is not negative.",
        lambda c: math.sqrt(2 - 2 * c): (
            "That is a distance; alignment (with its power 2) is the mean *squared* distance."
        ),
        lambda c: c: "That is the mean cosine itself; alignment is a distance, and 0 when the cosine is 1.",
    }
    if wrong := tried.wrong(lambda c: 2 - 2 * c):
        told = f"At a mean cosine of {wrong[0][0]} it gives {shown(wrong[1])}."
        return tried.hint(mistakes) or f"{told} Expand ‖u − v‖² for two vectors of length 1."
    return None


@exercise("03.uniformity", right="Distinct pairs, unit vectors, the log outside the mean.")
def uniformity(answer: Callable[[Tensor], Tensor]) -> str | None:
    """Wang and Isola's uniformity, t = 2."""
    noise = torch.Generator().manual_seed(0)
    x = torch.randn(6, 4, generator=noise, dtype=torch.float64) * torch.linspace(0.5, 2, 6)[:, None]
    said = answer(x.clone())
    unit = torch.nn.functional.normalize(x, dim=1)
    distance = torch.pdist(unit)
    raw, everyone = torch.pdist(x), torch.cdist(unit, unit)
    terms = (-2 * distance**2).exp()
    mistakes = [
        ((-2 * raw**2).exp().mean().log(), "Put the rows on the sphere first: divide each by its length."),
        (
            (-2 * everyone**2).exp().mean().log(),
            "Each vector is paired with itself too, the closest pair there is: leave the diagonal out.",
        ),
        (terms.mean(), "The log is missing."),
        (terms.sum().log(), "A mean over the pairs, not a sum: else it grows with the number of vectors."),
        ((-2 * distance).exp().mean().log(), "The *squared* distance stands in the exponent."),
        (
            terms.log().mean(),
            "The log stands outside the mean; inside, it undoes the exp, and the kernel is gone.",
        ),
        ((2 * distance**2).exp().mean().log(), "The sign in the exponent: close pairs must weigh most."),
        ((-(distance**2)).exp().mean().log(), "t = 2 is missing in the exponent."),
        (
            -terms.mean().log(),
            "The sign in front: uniformity is a loss, and *lower* (more negative) is more even.",
        ),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if hint := many(said, "the log of a mean"):
        return hint
    return (
        None
        if equals(said, geometry.uniformity(x))
        else "Distances of unit vectors, squared, times −2, exp, mean, log."
    )


@exercise("03.cone", right="With shared = own it is one half: a cone needs no more than that.")
def cone(answer: Callable[[float, float], float]) -> str | None:
    """The cosine of two sums of a shared and an own part."""
    tried = Tried(answer, (3.0, 1.5), (1.0, 4.0))
    mistakes = {
        lambda s, o: s / o: "The denominator is the squared length of the whole vector, shared part and own part.",
        lambda s, o: o / (s + o): "Exchanged: what the two have in common is the *shared* part.",
        lambda s, o: s / (s + 2 * o): (
            "Two vectors, but each length once: √(shared + own) · √(shared + own) is shared + own."
        ),
        lambda s, o: s / math.sqrt(s + o): "Divide by both lengths: √(shared + own) twice, which is shared + own.",
        lambda s, o: math.sqrt(s / (s + o)): (
            "That is the cosine with the *shared* direction; two such vectors lie further apart."
        ),
        lambda s, o: s**2 / (s**2 + o**2): "`shared` and `own` are squared lengths already: do not square them again.",
        lambda s, o: (s - o) / (s + o): "The own parts are at right angles: their product is 0, it is not taken away.",
    }
    if wrong := tried.wrong(lambda s, o: s / (s + o)):
        told = "At shared = {} and own = {} it gives {}.".format(*wrong[0], shown(wrong[1]))
        return tried.hint(mistakes) or f"{told} Which parts meet in (c + a)·(c + b), and how long is c + a?"
    return None


@exercise("03.effective_rank", right="k equal values give exactly k, and a small value counts a little.")
def effective_rank(answer: Callable[[Tensor], Tensor]) -> str | None:
    """Roy and Vetterli's effective rank from the singular values."""
    sigma = torch.tensor([4.0, 2.0, 1.0, 0.5], dtype=torch.float64)
    said = answer(sigma.clone())

    def entropy(p: Tensor) -> Tensor:
        return -(p * p.log()).sum()

    p = sigma / sigma.sum()
    squares = sigma**2 / (sigma**2).sum()
    mistakes = [
        (entropy(p), "That is the entropy; the rank is its exponential."),
        (
            entropy(p) / math.log(2),
            "That is the entropy in bits; the rank is the exponential of the one in nats.",
        ),
        (
            (entropy(p) / math.log(2)).exp(),
            "Entropy in bits goes with 2 to its power; with exp take the natural log.",
        ),
        (
            entropy(squares).exp(),
            "That weighs the *squared* values (also in use, and smaller); here p = σ / Σσ.",
        ),
        ((-entropy(p)).exp(), "The sign of the entropy: it is *minus* the sum of p log p."),
        (
            len(sigma),
            "That counts the values above 0, the plain rank: small ones count as much as large ones.",
        ),
        (
            1 / (p**2).sum(),
            "That is the participation ratio, another count of directions; here it is exp of the entropy.",
        ),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if isinstance(said, Tensor) and said.dim() == 0 and not torch.isfinite(said):
        return "Not finite: did you take the exp of something that is not an entropy? Divide sigma by its sum first."
    if equals(said, entropy(sigma).exp()):
        return "Make a distribution of the values first: divide by their sum."
    return None if equals(said, entropy(p).exp()) else "p = σ / Σσ, then exp(−Σ p log p)."
