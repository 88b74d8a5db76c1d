"""The exercises of notebook 02, losses, and the usual mistakes."""

from collections.abc import Callable, Mapping
from math import exp

import torch
from torch import Tensor

from contrast_kit import losses
from contrast_kit.exercises._answer import NotYet
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._nb02_mistakes import PARTNER, nt_xent_mistakes, sup_con_mistakes
from contrast_kit.exercises._numbers import Tried, equals, first_hint, gradient, many, shown


def _vectors(count: int, rows: int = 5, width: int = 4) -> list[Tensor]:
    """Vectors of different lengths in float64, so that a missing normalisation or a transposition shows."""
    noise = torch.Generator().manual_seed(2)
    scale = torch.linspace(0.5, 3.0, rows, dtype=torch.float64)[:, None]
    return [torch.randn(rows, width, generator=noise, dtype=torch.float64) * scale for _ in range(count)]


def _no_number(said: object, what: str) -> str | None:
    if isinstance(said, Tensor) and said.dim() == 0 and not torch.isfinite(said):
        return f"Your loss is {said.item()}. Does an exponential overflow, or a -inf meet a 0?"
    return many(said, what)


@exercise("02.row", right="log-sum-exp minus the right score: no exponential can overflow.")
def row(answer: Callable[[Tensor, int], Tensor]) -> str | None:
    """-log softmax of one row of scores, at the right candidate."""
    scores, right = torch.tensor([1.6, -0.8, 0.5, 2.0], dtype=torch.float64), 2
    said = answer(scores, right)
    p = scores.softmax(0)
    others = torch.cat([scores[:right], scores[right + 1 :]])
    mistakes = [
        (p[right], "That is the probability of the right candidate. The loss is minus its logarithm."),
        (p[right].log(), "The sign: a loss is *minus* the log of the probability."),
        (-p[right].log2(), "The natural logarithm, please, as in torch.log: your number is in bits."),
        (
            others.logsumexp(0) - scores[right],
            "Your positive is not in the denominator: it runs over *all* candidates, the right one too.",
        ),
        (
            torch.cat([scores, scores[right : right + 1]]).logsumexp(0) - scores[right],
            "Your positive is in the denominator twice: the sum over all candidates holds it already.",
        ),
        (
            -torch.log(scores[right] / scores.sum()),
            "Take the exponential of each score first: scores may be negative, shares may not.",
        ),
        (-p.log().mean(), "Only the right candidate's probability counts, not the mean over all of them."),
    ]
    if hint := first_hint(said, mistakes) or _no_number(said, "the loss of the row"):
        return hint
    if not equals(said, -p[right].log()):
        return "The exponential of the right score, over the sum of all exponentials; then minus the log."
    for other, loss in ((1990.0, 10.0000454), (0.0, 2000.0)):  # a cosine of 1 at tau = 0.0005
        large = answer(torch.tensor([2000.0, other], dtype=torch.float64), 1)
        if not equals(large, loss):
            told = f"Right, but for the scores 2000 and {other:.0f} it gives {float(large):.8g}, not {loss:.8g}"
            return f"{told}: e^2000 overflows, e^-2000 is 0. Can you get the loss without either? Try logsumexp."
    return None


@exercise("02.nt_xent", right="2B anchors, and 2B - 1 candidates for each.")
def nt_xent(answer: Callable[[Tensor, Tensor, float], Tensor]) -> str | None:
    """NT-Xent of two views in matrix form."""
    a, b = _vectors(2)
    tau = 0.3
    said = answer(a.clone(), b.clone(), tau)
    if isinstance(said, Tensor) and said.dim() == 0 and said.isposinf():
        return f"Your loss is inf: the right column of some row was taken out, as the diagonal is. {PARTNER}"
    if hint := first_hint(said, nt_xent_mistakes(a, b, tau)) or _no_number(said, "the mean over all 2B anchors"):
        return hint
    if not equals(said, losses.nt_xent(a, b, tau)):
        return "Is each row a choice among 2B - 1 cosines over tau? And is the right column of row i its partner's?"
    return gradient(answer, {"a": a, "b": b}, tau, right=losses.nt_xent)


@exercise("02.sup_con", right="The logarithm inside the sum over positives, and 0 where there is none.")
def sup_con(answer: Callable[[Tensor, Tensor, float], Tensor]) -> str | None:
    """SCL, eq. 3, as the sum over anchors; one class has a single member."""
    x = _vectors(1, rows=7)[0]
    labels, tau = torch.tensor([0, 1, 0, 2, 1, 0, 0]), 0.3
    said = answer(x.clone(), labels.clone(), tau)
    if isinstance(said, Tensor) and said.dim() == 0 and said.isnan():
        return "NaN: is it 0 · -inf on the diagonal, or 0/0 for the label that occurs only once?"
    if hint := first_hint(said, sup_con_mistakes(x, labels, tau)) or _no_number(said, "the sum over anchors"):
        return hint
    if not equals(said, losses.sup_con(x, labels, tau)):
        return "log p_ij for all pairs; per row the mean over j of the same label, j ≠ i; then the sum over rows."
    return gradient(lambda x: answer(x, labels, tau), {"x": x}, right=lambda x: losses.sup_con(x, labels, tau))


TERMS: Mapping[str, tuple[int, dict[int, str]]] = {
    "info_nce": (
        32,
        {
            31: "info_nce: the positive stands in the denominator too, so B, not B - 1.",
            63: "info_nce: that is nt_xent's number. Candidates are the *other* view only.",
            64: "info_nce: candidates are the other view only.",
        },
    ),
    "nt_xent": (
        63,
        {
            62: "nt_xent: 2B - 2 are the *negatives*. The positive stands in the denominator as well.",
            64: "nt_xent: the anchor is no candidate of its own: 2B - 1.",
            32: "nt_xent: that is info_nce's number. Both views are candidates.",
            31: "nt_xent: both views are candidates.",
        },
    ),
    "nt_xent with a queue": (
        163,
        {
            100: "With a queue: the queue comes *in addition to* the batch.",
            101: "With a queue: that is MoCo, the positive and the queue. In CAPT the batch stays in.",
            162: "With a queue: the positive stands in the denominator too.",
            164: "With a queue: the anchor is no candidate of its own.",
            132: "With a queue: nt_xent has both views as candidates.",
        },
    ),
    "sup_con": (
        63,
        {
            64: "sup_con: the anchor is no candidate of its own: N - 1.",
            32: "sup_con: the other positives stay in the denominator.",
            33: "sup_con: the *other* positives stay in the denominator too.",
            62: "sup_con: all but the anchor, N - 1.",
            31: "sup_con: those are the positives; the denominator holds all but the anchor.",
        },
    ),
    "simsiam": (0, {1: "simsiam: there is no denominator at all: 0."}),
}


@exercise("02.denominators", right="Who is in the denominator is all that tells these losses apart.")
def denominators(answer: Mapping[str, int | None] | Callable[[], Mapping]) -> str | None:
    """How many terms stand under one anchor, for B = 32, Q = 100 and N = 64 vectors in two equal classes."""
    answer = answer() if callable(answer) else answer  # a function that gives the dict will do
    if not isinstance(answer, Mapping):
        return "Fill in the dict, and keep its names as they were."
    missing = [name for name in TERMS if name not in answer]
    if missing:
        return f"The entry {missing[0]!r} is gone: keep the names as they were."
    if all(answer[name] is None for name in TERMS):
        raise NotYet
    for name, (right, hints) in TERMS.items():
        said = answer[name]
        if said is None:
            return f"{name} is still None."
        if said != right:
            return hints.get(said, f"{name}: count the coloured cells in one row of its matrix, for B = 32.")
    return None


@exercise("02.weight", right="Only the difference counts, and τ is its unit.")
def weight(answer: Callable[[float, float, float], float]) -> str | None:
    """How many times as hard one negative is pushed as another, as a scalar weight p."""
    tried = Tried(answer, (0.9, 0.4, 0.2), (0.7, -0.2, 0.5))
    mistakes = {
        lambda h, e, t: h / e: (
            "The weights are not proportional to the cosines, but to *exponentials* of cosine over τ."
        ),
        lambda h, e, t: exp(h - e): "τ is missing: the exponent is the difference *divided by τ*.",
        lambda h, e, t: exp((h - e) * t): "Divide by τ; do not multiply: a small τ makes the hard one heavier.",
        lambda h, e, t: exp((e - h) / t): "That is the easy one's weight in units of the hard one's: upside down.",
        lambda h, e, t: (h - e) / t: "That is the logarithm of the answer.",
        lambda h, e, t: exp(h / e / t): "A quotient of exponentials is the exponential of a *difference*.",
        lambda h, e, t: exp(h / t): "And the other one? Divide by its exponential; Z cancels.",
        lambda h, e, t: exp((h - e) / t**2): "You divided by τ twice.",
    }
    if wrong := tried.wrong(lambda h, e, t: exp((h - e) / t)):
        told = "For hard = {}, easy = {} and τ = {} it gives {}.".format(*wrong[0], shown(wrong[1]))
        asked = "Each weight is e^{cosine/τ} / Z with the same Z. Divide one by the other."
        return tried.hint(mistakes) or f"{told} {asked}"
    return None
