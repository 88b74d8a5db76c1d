"""The exercises of notebook 07, SCL, and the usual mistakes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit import losses
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import equals, first_hint, gradient, many

TAU = 0.4
LABELS = torch.tensor([0, 1, 0, 2, 1, 0, 0])  # class 2 has one text


def _vectors() -> Tensor:
    """Seven vectors of different lengths in float64, so that a missing normalisation shows."""
    noise = torch.Generator().manual_seed(0)
    scale = torch.linspace(0.5, 2.0, 7, dtype=torch.float64)[:, None]
    return torch.randn(7, 4, generator=noise, dtype=torch.float64) * scale


@exercise("07.floor", right="The P positives share the probability; no model can give each of them more than 1/P.")
def floor(answer: Callable[[int], float]) -> str | None:
    """The smallest loss an anchor with P positives can have."""
    said = [answer(P) for P in (1, 3, 7)]

    def all_are(formula: Callable[[int], float]) -> bool:
        return all(equals(value, formula(P)) for value, P in zip(said, (1, 3, 7), strict=True))

    if all_are(math.log):
        return None
    mistakes = [
        (lambda P: 0, "Zero would need probability 1 for *each* positive, and the softmax sums to 1."),
        (lambda P: math.log(P + 1), "The anchor is no candidate of its own: it takes no share."),
        (
            lambda P: P * math.log(P),
            "Eq. 3 divides by the number of positives: it is their mean, not their sum.",
        ),
        (lambda P: -math.log(P), "A loss is *minus* the log of a probability: log 1/P comes with a minus."),
        (lambda P: 1 / P, "1/P is the probability that each positive gets. What is the loss of that?"),
        (lambda P: math.log2(P), "The natural logarithm, as in eq. 3."),
        (lambda P: math.log10(P), "The natural logarithm, as in eq. 3."),
    ]
    return next(
        (hint for formula, hint in mistakes if all_are(formula)),
        "How much probability can each of P positives get at best? Then -log.",
    )


def _form(
    x: Tensor,
    *,
    unit: bool = True,
    scale: float = 1 / TAU,
    itself: bool = False,
    candidates: str = "all",
    inside: bool = True,
) -> Tensor:
    """The terms of eq. 3 of the anchors that have a positive, as written or with one thing changed."""
    x = torch.nn.functional.normalize(x, dim=1) if unit else x
    scores = x @ x.T * scale  # [N, N]
    diagonal = torch.eye(len(x), dtype=torch.bool)
    positive = (LABELS[:, None] == LABELS[None, :]) & (itself | ~diagonal)
    out = torch.zeros_like(diagonal) if itself else diagonal
    if candidates == "negatives":
        out = out | positive
    denominator = scores.masked_fill(out, -torch.inf).logsumexp(dim=1, keepdim=True)  # [N, 1]
    if candidates == "this positive":  # and the negatives: the other positives are left out
        negatives = scores.masked_fill(out | positive, -torch.inf).logsumexp(dim=1, keepdim=True)
        denominator = torch.logaddexp(scores, negatives)  # [N, N]
    log_p = scores - denominator
    mean = log_p.where(positive, 0).sum(1) / positive.sum(1)
    if not inside:
        mean = (log_p.exp().where(positive, 0).sum(1) / positive.sum(1)).log()
    has = ((LABELS[:, None] == LABELS[None, :]) & ~diagonal).any(1)
    return -mean[has]


def _in_denominator_only(x: Tensor) -> Tensor:
    """The anchor among its candidates, but not among its positives."""
    scores = losses.cosine_matrix(x) / TAU
    diagonal = torch.eye(len(x), dtype=torch.bool)
    positive = (LABELS[:, None] == LABELS[None, :]) & ~diagonal
    terms = -scores.log_softmax(1).where(positive, 0).sum(1) / positive.sum(1)
    return terms[positive.any(1)]


@exercise("07.sup_con", right="Any lengths, any labels, and anchors that are alone in their class left out.")
def sup_con(answer: Callable[[Tensor, Tensor, float], Tensor]) -> str | None:
    """Eq. 3 as a mean over the anchors that have a positive."""
    x = _vectors()
    said = answer(x, LABELS, TAU)
    if hint := many(said, "the mean over anchors"):
        return hint
    if isinstance(said, Tensor) and said.isnan():
        return "NaN: the text that is alone in its class has 0 positives, and you divide by them."
    terms = _form(x)
    mistakes = [
        (
            terms.sum(),
            "That is the sum, eq. 3 as printed. Asked for is the mean over anchors with a positive.",
        ),
        (terms.sum() / len(x), "You divide by N: count only the anchors that have a positive."),
        (_form(x, unit=False).mean(), "Φ is l2-normalised: divide each vector by its length first."),
        (_form(x, scale=TAU).mean(), "Divide by tau; do not multiply."),
        (_form(x, scale=1).mean(), "tau is missing."),
        (_form(x, scale=1 / TAU**2).mean(), "You divide by tau twice."),
        (_in_denominator_only(x).mean(), "The anchor stands in its own denominator: k ≠ i."),
        (
            _form(x, itself=True).mean(),
            "The anchor is among its own positives and candidates: j ≠ i and k ≠ i.",
        ),
        (_form(x, candidates="negatives").mean(), "The denominator has *all* others: positives too."),
        (
            _form(x, candidates="this positive").mean(),
            "The *other* positives belong to the denominator as well: k runs over all but i.",
        ),
        (
            _form(x, inside=False).mean(),
            "The logarithm stands *inside* the sum over positives: mean of logs.",
        ),
        (-terms.mean(), "The sign: a loss is *minus* the log of a probability."),
        (TAU / 0.07 * terms.mean(), "The factor tau/0.07 is SupContrast's; it is not in eq. 3."),
        (TAU * terms.mean(), "A factor tau too many: lightly's rescaling, not in eq. 3."),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if not equals(said, terms.mean()):
        return "In each row: log_softmax over all but i, minus its mean over the positives; then the mean of rows."
    return _corners(answer, x)


def _corners(answer: Callable[[Tensor, Tensor, float], Tensor], x: Tensor) -> str | None:
    """What is asked of a right value besides: one class, no pair at all, and a gradient."""
    one_class = answer(x, torch.zeros(7, dtype=torch.long), TAU)
    if not equals(one_class, losses.sup_con(x, torch.zeros(7, dtype=torch.long), TAU, reduction="mean")):
        return "Right, but not for a batch with one class only: eq. 3 is not 0 there; positives compete."
    if not equals(answer(x, torch.arange(7), TAU), 0.0):
        return "Right, but where no two labels agree the loss should be 0, not 0/0: guard the division."
    right = lambda x: losses.sup_con(x, LABELS, TAU, reduction="mean_valid")  # noqa: E731
    return gradient(lambda x: answer(x, LABELS, TAU), {"x": x}, right=right)


@exercise("07.lam", right="So λ = 0.9 for the mean is about 0.36 for the sum, at batch size 16.")
def lam(answer: Callable[[float, int], float]) -> str | None:
    """Which λ gives, with the sum, the direction that λ gives with the mean."""
    cases = [(0.5, 16), (0.9, 16), (0.3, 64)]
    said = [answer(*case) for case in cases]

    def all_are(formula: Callable[[float, int], float]) -> bool:
        return all(equals(value, formula(*case)) for value, case in zip(said, cases, strict=True))

    if all_are(lambda λ, N: λ / (λ + N * (1 - λ))):
        for λ, words in ((0.0, "λ = 0"), (1.0, "λ = 1")):
            if not equals(answer(λ, 16), λ):
                return f"Right in between, but {words} must stay {words}."
        return None
    mistakes = [
        (lambda λ, N: λ, "The sum is N times the mean, so the same λ gives the contrast N times the weight."),
        (
            lambda λ, N: λ * N / (λ * N + 1 - λ),
            "That is the other way round: from the λ of the *sum* to that of the mean.",
        ),
        (lambda λ, N: λ / N, "λ/N makes the contrast right, but CE then has 1 - λ/N, no longer 1 - λ."),
        (lambda λ, N: λ * N, "That is not a weight between 0 and 1, and the sum needs a *smaller* one."),
        (
            lambda λ, N: λ / (1 - λ) / N,
            "That is the ratio of the two weights; which λ' has λ'/(1 - λ') equal to it?",
        ),
    ]
    return next(
        (hint for formula, hint in mistakes if all_are(formula)),
        "The ratio of the weights must agree: λ'·N / (1 - λ') = λ / (1 - λ). Solve for λ'.",
    )
