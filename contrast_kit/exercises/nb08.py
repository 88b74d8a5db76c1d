"""The exercises of notebook 08, CAPT, and the usual mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit import geometry, losses
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, equals, first_hint, many, shown


@exercise("08.sensitivity", right="The unit is another text, so a narrow cone does not make every noise look small.")
def sensitivity(answer: Callable[[Tensor, Tensor], Tensor]) -> str | None:
    """Noise sensitivity of vectors of texts [N, D] and of the same texts with noise."""
    noise = torch.Generator().manual_seed(0)
    clean, other = torch.randn(2, 6, 4, generator=noise, dtype=torch.float64)
    clean = (clean + 1) * torch.linspace(0.5, 2, 6, dtype=torch.float64)[:, None]
    noisy = clean + other
    said = answer(clean, noisy)
    u, v = losses.normalise(clean), losses.normalise(noisy)
    own = (u - v).square().sum(1)  # [N]

    def among(a: Tensor, b: Tensor, itself: bool = False) -> Tensor:
        return torch.cdist(a, b).square()[~torch.eye(len(a), dtype=torch.bool) | itself]

    right = geometry.noise_sensitivity(clean, noisy)
    mistakes = [
        (own.mean(), "That is how far the noise moves a text. The unit is missing: how far is another text?"),
        (own.mean() / 2, "That is how far the noise moves a text. The unit is missing: how far is another text?"),
        (among(u, u).mean(), "That is the unit alone."),
        (1 / right, "Upside down: the unit stands below."),
        (
            (clean - noisy).square().sum(1).mean() / among(clean, clean).mean(),
            "u has length 1: divide each vector by its length first.",
        ),
        (own.sqrt().mean() / among(u, u).sqrt().mean(), "*Squared* distances, above and below."),
        (
            own.mean() / among(u, u, itself=True).mean(),
            "In your unit each text is compared with itself too, at a distance of 0: i ≠ j.",
        ),
        (own.mean() / among(v, v).mean(), "The unit is the distance between *clean* texts; yours have the noise."),
        (own.mean() / among(u, v).mean(), "The unit is the distance between *clean* texts; one of yours has noise."),
        (
            (u * v).sum(1).mean() / (1 - among(u, u) / 2).mean(),
            "That is a quotient of cosines. A cosine of 1 is a distance of 0: 1 − cosine, above and below.",
        ),
        (own.sum() / among(u, u).sum(), "Means, not sums: there are N texts, and N(N − 1) pairs."),
    ]
    if hint := first_hint(said, mistakes) or many(said, "a quotient of two means"):
        return hint
    told = "What is the mean over, above the line and below it? Which pairs are of different texts?"
    return None if equals(said, right) else told


@exercise("08.temperature", right="0.55 at both ends, 0.05 half-way, on the clock of optimizer steps.")
def temperature(answer: Callable[[float, float], float]) -> str | None:
    """Eq. 6, at an odd T."""
    total, times = 21, (0, 5, 10, 11, 21)
    said = [answer(t, total) for t in times]

    def all_are(formula: Callable[[float], float]) -> bool:
        return all(equals(value, formula(t)) for value, t in zip(said, times, strict=True))

    if all_are(lambda t: abs(t - total / 2) / total + 0.05):
        return None
    mistakes = [
        (lambda t: 0.55 - abs(t - total / 2) / total, "The triangle is *inverted*: high at both ends."),
        (lambda t: 0.5 - abs(t - total / 2) / total + 0.05, "The triangle is *inverted*: high at both ends."),
        (
            lambda t: abs(t - total / 2) / total,
            "At t = T/2 your τ is 0, and eq. 2 divides by it: + 0.05 is missing.",
        ),
        (
            lambda t: 2 * abs(t - total / 2) / total + 0.05,
            "The slope is 1/T, so τ starts at 0.55; yours is twice that.",
        ),
        (lambda t: abs(t - total // 2) / total + 0.05, "T/2 is not an integer division: T may be odd."),
        (lambda t: (t - total / 2) / total + 0.05, "The bars around t − T/2 are an absolute value."),
        (lambda t: abs(t - total / 2) + 0.05, "The factor 1/T before the bars is missing."),
    ]
    return next((hint for formula, hint in mistakes if all_are(formula)), "τ(0) = 0.55, τ(T/2) = 0.05, τ(T) = 0.55.")


@exercise("08.denominator", right="And an anchor that cannot tell anything apart has the log of this as its loss.")
def denominator(answer: Callable[[int, int], int]) -> str | None:
    """How many terms stand in the denominator of eq. 2, with a queue."""
    tried = Tried(answer, (5, 13), (16, 0))
    mistakes = {
        lambda n, Q: 2 * n + Q: "Eq. 2 sums s_i · s_j over j ≠ i only: the anchor itself is left out.",
        lambda n, Q: 2 * n - 2 + Q: "These are the negatives. The positive stands in the denominator too.",
        lambda n, Q: n + Q: "That is one view's vectors (as in CMLM). CAPT takes both views' negatives.",
        lambda n, Q: n - 1 + Q: "That is one view's negatives. CAPT takes both views', and the positive.",
        lambda n, Q: 2 * n - 1: "Without the queue. Its vectors are further negatives, in addition to the batch's.",
        lambda n, Q: Q: "The queue is *added* to the batch's own negatives; it does not replace them.",
        lambda n, Q: Q + 1: "The queue is *added* to the batch's own negatives; it does not replace them.",
        lambda n, Q: max(2 * n - 1, Q): "The queue is *added* to the batch's own negatives; it does not replace them.",
        lambda n, Q: 4 * n - 2 + Q: "That counts both directions; each anchor has its own denominator.",
    }
    if wrong := tried.wrong(lambda n, Q: 2 * n - 1 + Q):
        (n, Q), said = wrong
        told = (
            f"For {n} texts and a queue of {Q} it gives {shown(said)}. Count: all ŝ_j, all s_j but s_i, and the queue."
        )
        return tried.hint(mistakes) or told
    return None


@exercise("08.gradient", right="The candidates' weighted mean minus the positive, over τ.")
def gradient(answer: Callable[[Tensor, Tensor, int, float], Tensor]) -> str | None:
    """Eq. 5 for one anchor."""
    noise = torch.Generator().manual_seed(0)
    s, s_hat = torch.nn.functional.normalize(torch.randn(2, 4, 3, generator=noise, dtype=torch.float64), dim=-1)
    i, tau = 2, 0.4
    said = answer(s, s_hat, i, tau)
    others = torch.arange(len(s)) != i
    right = losses.nt_xent_anchor_gradient(s, s_hat, tau)[i]

    def form(candidates: Tensor) -> Tensor:
        return ((candidates @ s[i] / tau).softmax(0) @ candidates - s_hat[i]) / tau

    both, negatives = torch.cat([s_hat, s[others]]), torch.cat([s_hat[others], s[others]])
    anchor = s[i].clone().requires_grad_()
    scores = torch.cat([s_hat, s[others]]) @ torch.nn.functional.normalize(anchor, dim=0) / tau
    through_norm = torch.autograd.grad(scores.logsumexp(0) - scores[i], anchor)[0]
    mistakes = [
        (right * tau, "The factor 1/τ is missing."),
        (right / tau, "You divide by τ twice."),
        (-right, "The sign: eq. 5 is the gradient of the loss; the force on s_i is minus that."),
        (right + s_hat[i] / tau, "The −Z in the last bracket is missing: it is what pulls towards ŝ_i."),
        (form(torch.cat([s_hat, s])), "The anchor itself stands among your candidates: j ≠ i for s_j."),
        (form(s_hat), "Only ŝ_j: the other originals s_j, j ≠ i, are negatives too."),
        (form(negatives), "The positive belongs to Z as well: the sum over ŝ_j in Z has all j."),
        (right * (both @ s[i] / tau).exp().sum(), "Divide by Z: without it the weights do not sum to 1."),
        (
            through_norm,
            "This is taken through the ℓ2 norm. Eq. 5 is the gradient before it: s_i as a free vector.",
        ),
        *(
            (
                of_all,
                "That is the gradient of eq. 4, the sum over *all* anchors. Eq. 5 is that of eq. 2, where s_i asks.",
            )
            for of_all in _of_all_anchors(s, s_hat, i, tau)
        ),
    ]
    if equals(said, right):
        return None
    if isinstance(said, Tensor) and said.shape != right.shape:
        return f"Return one vector, [D] = [3], for the one anchor i; yours has shape {list(said.shape)}."
    told = "Has each candidate its share of Z as its weight? Does ŝ_i stand there twice, as a candidate and as −Z?"
    return first_hint(said, mistakes) or told


def _of_all_anchors(s: Tensor, s_hat: Tensor, i: int, tau: float) -> list[Tensor]:
    """What s_i gets from eq. 4: through the norm, and without it."""
    free = s.clone().requires_grad_()
    x = torch.cat([free, s_hat])
    scores = (x @ x.T / tau).masked_fill(torch.eye(len(x), dtype=torch.bool), -torch.inf)
    partner = torch.arange(len(x)).roll(len(s))
    unnormed = torch.nn.functional.cross_entropy(scores, partner, reduction="sum")
    both = unnormed, losses.nt_xent(free, s_hat, tau, reduction="sum")
    return [torch.autograd.grad(loss, free)[0][i] for loss in both]


@exercise("08.push", right="Any number may come in, even more than there is room for.")
def push(answer: Callable[[list, list, int], list]) -> str | None:
    """First in, first out."""
    for old, new, capacity in (
        ([1, 2, 3], [4, 5], 4),
        ([1], [2], 4),
        ([1, 2], [3, 4, 5, 6], 3),
        ([], [1, 2], 3),
    ):
        said = answer(list(old), list(new), capacity)
        right = [*old, *new][-capacity:]
        try:
            said = list(said)
        except TypeError:
            return "Return a list, the oldest first."
        if said == right:
            continue
        here = f"For {old} with {new} coming in and room for {capacity}"
        if len(said) > capacity:
            return f"{here} you keep {len(said)}: the oldest must leave once the capacity is reached."
        if said == [*old, *new][:capacity]:
            return f"{here} you keep the oldest and turn the newest away: it is the other way round."
        if said == [*new, *old][:capacity] or said == right[::-1]:
            return f"{here} the order is wrong: the oldest stands first, what comes in goes to the end."
        if said == new[-capacity:]:
            return f"{here} you empty the queue at every step: the older ones stay while there is room."
        return f"{here} the queue should be {right}, not {said}."
    return None
