"""The exercises of notebook 08, CAPT, and the usual mistakes."""

import torch
from torch.nn.functional import cross_entropy, normalize

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import apart, draw, vectors

CLEAN = 1 + vectors(6)


@table("08.sensitivity", cases=[(CLEAN, CLEAN + draw(6, 4, seed=1))])
def sensitivity(clean, noisy):
    """Noise sensitivity of vectors of texts [N, D] and of the same texts with noise."""
    u = normalize(clean)
    v = normalize(noisy)
    n = len(u)

    def distance(a, b, power=2):
        return (torch.cdist(a, b) ** power)[apart(n)].mean()

    def moved(a, b, power=2):
        return ((a - b).norm(dim=1) ** power).mean()

    right = ck.geometry.noise_sensitivity(clean, noisy)
    return right, {
        "That is how far the noise moves a text. The unit is missing: how far is another text?": [
            moved(u, v),
            moved(u, v) / 2,
        ],
        "That is the unit alone.": distance(u, u),
        "Upside down: the unit stands below.": 1 / right,
        "u has length 1: divide each vector by its length first.": moved(clean, noisy)
        / distance(clean, clean),
        "*Squared* distances, above and below.": moved(u, v, 1) / distance(u, u, 1),
        "In your unit each text is compared with itself too, at a distance of 0: i ≠ j.": right
        * n
        / (n - 1),
        "The unit is the distance between *clean* texts; yours have the noise.": moved(
            u, v
        )
        / distance(v, v),
        "The unit is the distance between *clean* texts; one of yours has noise.": moved(
            u, v
        )
        / distance(u, v),
        "That is a quotient of cosines. A cosine of 1 is a distance of 0: 1 − cosine, above and below.": (
            2 - moved(u, v)
        )
        / (2 - distance(u, u)),
        "Means, not sums: there are N texts, and N(N − 1) pairs.": right / (n - 1),
    }


@table(
    "08.gradient", cases=[(normalize(draw(4, 3)), normalize(draw(4, 3, seed=1)), 2, 0.4)]
)
def gradient(s, s_hat, i, tau):
    """Eq. 5 for one anchor."""
    others = torch.arange(len(s)) != i
    candidates = torch.cat([s_hat, s[others]])
    right = ck.losses.nt_xent_anchor_gradient(s, s_hat, tau)[i]

    def form(candidates):
        return ((candidates @ s[i] / tau).softmax(0) @ candidates - s_hat[i]) / tau

    def through_norm(gradient):
        return gradient - (gradient @ s[i]) * s[i]

    leaf = s.clone().requires_grad_()
    x = torch.cat([leaf, s_hat])
    scores = (x @ x.T / tau).masked_fill(~apart(len(x)), -torch.inf)
    eq_4 = cross_entropy(scores, torch.arange(len(x)).roll(len(s)), reduction="sum")
    of_eq_4 = torch.autograd.grad(eq_4, leaf)[0][i]
    return right, {
        "The factor 1/τ is missing.": right * tau,
        "You divide by τ twice.": right / tau,
        "The sign: eq. 5 is the gradient of the loss; the force on s_i is minus that.": -right,
        "The −Z in the last bracket is missing: it is what pulls towards ŝ_i.": right
        + s_hat[i] / tau,
        "The anchor itself stands among your candidates: j ≠ i for s_j.": form(
            torch.cat([s_hat, s])
        ),
        "Only ŝ_j: the other originals s_j, j ≠ i, are negatives too.": form(s_hat),
        "The positive belongs to Z as well: the sum over ŝ_j in Z has all j.": form(
            torch.cat([s_hat[others], s[others]])
        ),
        "Divide by Z: without it the weights do not sum to 1.": right
        * (candidates @ s[i] / tau).exp().sum(),
        "This is taken through the ℓ2 norm. Eq. 5 is the gradient before it: s_i as a free vector.": through_norm(
            right
        ),
        "That is the gradient of eq. 4, the sum over *all* anchors. Eq. 5 is that of eq. 2, where s_i asks.": [
            of_eq_4,
            through_norm(of_eq_4),
        ],
    }
