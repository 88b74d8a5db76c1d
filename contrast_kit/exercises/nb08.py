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


@table("08.temperature", cases=[(0, 21), (5, 21), (10, 21), (11, 21), (21, 21)])
def temperature(t, T):
    """Eq. 6."""
    slope = abs(t - T / 2) / T
    return slope + 0.05, {
        "The triangle is *inverted*: high at both ends.": 0.55 - slope,
        "At t = T/2 your τ is 0, and eq. 2 divides by it: + 0.05 is missing.": slope,
        "The slope is 1/T, so τ starts at 0.55; yours is twice that.": 2 * slope + 0.05,
        "T/2 is not an integer division: T may be odd.": abs(t - T // 2) / T + 0.05,
        "The bars around t − T/2 are an absolute value.": (t - T / 2) / T + 0.05,
        "The factor 1/T before the bars is missing.": slope * T + 0.05,
    }


@table("08.denominator", cases=[(5, 13), (16, 0)])
def denominator(n, Q):
    """How many terms stand in the denominator of eq. 2, with a queue."""
    right = 2 * n - 1 + Q
    return right, {
        "Eq. 2 sums s_i · s_j over j ≠ i only: the anchor itself is left out.": right + 1,
        "These are the negatives. The positive stands in the denominator too.": right - 1,
        "That is one view's vectors (as in CMLM). CAPT takes both views' negatives.": n
        + Q,
        "That is one view's negatives. CAPT takes both views', and the positive.": n
        - 1
        + Q,
        "Without the queue. Its vectors are further negatives, in addition to the batch's.": 2
        * n
        - 1,
        "The queue is *added* to the batch's own negatives; it does not replace them.": [
            Q,
            Q + 1,
            max(2 * n - 1, Q),
        ],
        "That counts both directions; each anchor has its own denominator.": 4 * n
        - 2
        + Q,
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


@table(
    "08.push",
    cases=[
        ([1, 2, 3], [4, 5], 4),
        ([1], [2], 4),
        ([1, 2], [3, 4, 5, 6], 3),
        ([], [1, 2], 3),
    ],
)
def push(queue, new, capacity):
    """First in, first out."""
    right = (queue + new)[-capacity:]

    return right, {
        "Return a list, the oldest first.": lambda value: (
            not isinstance(value, list | tuple)
        ),
        (
            "For {queue} with {new} coming in and room for {capacity} you keep more: the oldest must leave once "
            "the capacity is reached."
        ): tuple(queue + new),
        (
            "For {queue} with {new} coming in and room for {capacity} you keep the oldest and turn the newest "
            "away: it is the other way round."
        ): tuple((queue + new)[:capacity]),
        (
            "For {queue} with {new} coming in and room for {capacity} the order is wrong: the oldest stands "
            "first, what comes in goes to the end."
        ): [
            tuple((new + queue)[:capacity]),
            tuple(right[::-1]),
        ],
        (
            "For {queue} with {new} coming in and room for {capacity} you empty the queue at every step: the "
            "older ones stay while there is room."
        ): tuple(new[-capacity:]),
    }
