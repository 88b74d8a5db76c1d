"""The exercises of notebook 05, CMLM, and the usual mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit import losses
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import (
    LOG_OF_MEAN,
    MEAN_OF_P,
    OVER_THE_BATCH,
    TAKE_NOTHING_OUT,
    Tried,
    equals,
    first_hint,
    gradient,
    many,
    no_gradient,
    shown,
)


def _vectors(count: int, rows: int = 6, width: int = 4) -> list[Tensor]:
    """Vectors of different lengths in float64, so that a missing normalisation or a transposition shows."""
    noise = torch.Generator().manual_seed(0)
    scale = torch.linspace(0.5, 3.0, rows, dtype=torch.float64)[:, None]
    return [torch.randn(rows, width, generator=noise, dtype=torch.float64) * scale for _ in range(count)]


@exercise("05.hidden_share", right="p_c is a rate among the tokens that T0 left free.")
def hidden_share(answer: Callable[[float, float], float]) -> str | None:
    """The share of all tokens that the complementary mask hides."""
    tried = Tried(answer, (0.2, 0.7), (0.4, 0.9))
    mistakes = {
        lambda m, c: c: "p_c is conditional: it is the rate among the tokens *not* selected in T0, not among all.",
        lambda m, c: c * m: (
            "That is the share hidden in both, were the masks independent. T1 draws from the 1 - p_m left free."
        ),
        lambda m, c: c - m: "Probabilities of 'free in T0' and 'selected there' multiply; they are not subtracted.",
        lambda m, c: m + c * (1 - m): "That is what the two copies hide together. Asked: T1 alone.",
        lambda m, c: (1 - m) * (1 - c): "That is the share that *neither* copy hides. Asked: what T1 hides.",
    }
    if wrong := tried.wrong(lambda m, c: c * (1 - m)):
        told = (
            f"At {wrong[0]} it gives {shown(wrong[1])}. Which tokens may T1 select at all? With which probability each?"
        )
        return tried.hint(mistakes) or told
    return None


@exercise("05.info_nce", right="B candidates in the row of each anchor, its own copy among them.")
def info_nce(answer: Callable[[Tensor, Tensor, float], Tensor]) -> str | None:
    """Eq. 7 for K = 1, in matrix form."""
    h0, h1 = _vectors(2)
    tau = 0.3
    said = answer(h0, h1, tau)
    cosines = losses.cosine_matrix(h0, h1)
    own = torch.arange(len(h0))
    entropy, p = torch.nn.functional.cross_entropy, (cosines / tau).softmax(1).diag()
    by_column = (torch.nn.functional.normalize(h, dim=0) for h in (h0, h1))
    if isinstance(said, Tensor) and said.dim() == 0 and said.isposinf():
        return f"Your loss is inf: the right column of some row was taken out. {TAKE_NOTHING_OUT}"
    without_own = (cosines / tau).masked_fill(torch.eye(len(h0), dtype=torch.bool), -torch.inf).logsumexp(1)
    mistakes = [
        (
            entropy(cosines.T / tau, own),
            "Rows and columns are exchanged: the anchor is T0, the candidates are T1.",
        ),
        (
            entropy(h0 @ h1.T / tau, own),
            "sim is the *cosine* (eq. 8): divide each vector by its length first.",
        ),
        (entropy(cosines * tau, own), "Divide by tau; do not multiply."),
        (entropy(cosines / tau**2, own), "You divide by tau twice."),
        (entropy(cosines, own), "tau is missing."),
        (entropy(cosines / tau, own, reduction="sum"), "Eq. 7 is a mean over the B anchors, not a sum."),
        (
            losses.nt_xent(h0, h1, tau),
            "That is NT-Xent, with both views in both denominators. Eq. 7 has B candidates.",
        ),
        (
            (without_own - cosines.diag() / tau).mean(),
            "The positive belongs to the denominator too: i runs over all B.",
        ),
        (-entropy(cosines / tau, own), "The sign: a loss is *minus* the log of the probability."),
        (
            (entropy(cosines / tau, own) + entropy(cosines.T / tau, own)) / 2,
            "That is the mean of both directions. In eq. 7 only T0 asks.",
        ),
        (-p.mean(), MEAN_OF_P),
        (-p.mean().log(), LOG_OF_MEAN),
        (entropy(torch.mm(next(by_column), next(by_column).T) / tau, own), OVER_THE_BATCH),
    ]
    if hint := first_hint(said, mistakes) or many(said, "the mean over anchors"):
        return hint
    if not equals(said, losses.info_nce(h0, h1, tau)):
        return "Compute the B × B cosines over tau; which cell is right?"
    return gradient(answer, {"h0": h0, "h1": h1}, tau, right=losses.info_nce)


@exercise("05.simsiam", right="The value and the gradient: h is a target, and targets do not move.")
def simsiam(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str | None:
    """Eq. 9 with eq. 11 inside."""
    z0, h0, z1, h1 = (x.requires_grad_() for x in _vectors(4))
    said = answer(z0, h0, z1, h1)

    def cosine(z: Tensor, h: Tensor) -> Tensor:
        return torch.cosine_similarity(z, h, dim=1)

    crossed, straight = cosine(z0, h1) + cosine(z1, h0), cosine(z0, h0) + cosine(z1, h1)
    mistakes = [
        (torch.exp(crossed / 2).mean(), "The sign in the exponent: closer must mean a *smaller* loss."),
        (torch.exp(-crossed).mean(), "The 1/2 in the exponent is missing: it averages the two directions."),
        (
            torch.exp(-crossed.mean() / 2),
            "First exp for each sentence, then the mean: eq. 9 has the sum outside.",
        ),
        (-crossed.mean() / 2, "That is SimSiam's own loss; CMLM wraps it in an exponential."),
        (
            torch.exp(-straight / 2).mean(),
            "Each prediction points at the *other* copy: z0 with h1, z1 with h0.",
        ),
        (torch.exp(-cosine(z0, h1)).mean(), "Only one direction; eq. 9 takes both."),
        (torch.exp(-cosine(z1, h0)).mean(), "Only one direction; eq. 9 takes both."),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if hint := many(said, "the mean over sentences"):
        return hint
    if not equals(said, losses.simsiam(z0, h0, z1, h1).detach()):
        return "Two cosines per sentence, half their sum, exp of minus that, mean over sentences."
    if hint := no_gradient(said, " Detach only h."):
        return hint
    found = torch.autograd.grad(said, (z0, z1, h0, h1), allow_unused=True)
    if any(gradient is not None and gradient.abs().max() > 0 for gradient in found[2:]):
        return "The value is right, but a gradient flows into h: stop it with h.detach() (eq. 11)."
    if any(gradient is None for gradient in found[:2]):
        return "The value is right, but no gradient reaches z: detach h, not z."
    return None
