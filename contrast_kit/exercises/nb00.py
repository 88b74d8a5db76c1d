"""The exercises of notebook 00: every cosine, what a loss says when nothing is known, and who is nearest."""

from collections.abc import Callable
from math import log, log2

import torch
from torch import Tensor
from torch.nn.functional import normalize

from contrast_kit import losses
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import OVER_THE_BATCH, TAKE_NOTHING_OUT, Tried, equals, first_hint, many, near


@exercise("00.guess", right="Keep this number: a contrastive loss near log B has learned nothing yet.")
def guess(answer: Callable[[int], float]) -> str | None:
    """InfoNCE where all B candidates are alike."""
    if not callable(answer):
        return "Give a function of B, so that it can be tried with several."
    tried = Tried(answer, (4,), (64,))
    if hint := tried.hint(
        {
            lambda B: 1 / B: "That is the *probability* of the partner. The loss is minus its logarithm.",
            lambda B: -log(B): "The sign: the loss is −log of a probability below 1, so it is positive.",
            lambda B: log(B - 1): "The positive stands in the denominator too: B candidates, not B − 1.",
            lambda B: log(2 * B - 1): "That is NT-Xent, where both views give candidates. Here there are B.",
            log2: "Natural logarithms: math.log, not math.log2.",
            lambda B: 0.0: "0 is the loss of perfect knowledge: the partner with probability 1.",
        },
        same=near,
    ):
        return hint
    if wrong := tried.wrong(log, same=near):
        (B,), said = wrong
        return f"For B = {B} it gives {said:.3f}. What is the probability of each candidate, if all look alike?"
    return None


@exercise("00.cosines", right="One product of normalised matrices compares everything with everything.")
def cosines(answer: Callable[[Tensor, Tensor], Tensor]) -> str | None:
    """The [B, B] cosines of two batches of vectors."""
    noise = torch.Generator().manual_seed(0)
    a, b = (torch.randn(3, 4, generator=noise, dtype=torch.float64) * size for size in (0.5, 2.0))
    said = torch.as_tensor(answer(a.clone(), b.clone()))
    right = losses.cosine_matrix(a, b)
    by_column = normalize(a, dim=0), normalize(b, dim=0)
    if said.shape == (len(a),):
        return "One number per row: you compared each a[i] with its own b[i]. Compare it with every b[j]: [B, B]."
    if said.shape == (a.shape[1], a.shape[1]):
        return "That is [D, D]: the transpose stands on the other side, a @ b.T."
    mistakes = [
        (right.T, "Rows and columns are exchanged: row i belongs to a[i]."),
        (a @ b.T, "Those are dot products. Divide each vector by its length first: cosines lie between -1 and 1."),
        (normalize(a, dim=1) @ b.T, "Only a has length 1. Normalise b too."),
        (a @ normalize(b, dim=1).T, "Only b has length 1. Normalise a too."),
        (by_column[0] @ by_column[1].T, OVER_THE_BATCH),
        (losses.cosine_matrix(a), "That compares a with itself: the columns belong to b."),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if not equals(said, right):
        return "Normalise the rows of a and of b to length 1, then a @ b.T."
    return None


# 3 of 5 and 2 of 3 rows find their partner.
SIMILARITIES = (
    [
        [0.9, 0.2, 0.1, 0.3, 0.0],
        [0.8, 0.6, 0.1, 0.0, 0.2],
        [0.1, 0.5, 0.7, 0.2, 0.3],
        [0.4, 0.3, 0.6, 0.2, 0.5],
        [0.0, 0.1, 0.3, 0.1, 0.4],
    ],
    [[0.9, 0.2, 0.1], [0.8, 0.4, 0.1], [0.1, 0.3, 0.4]],
)


@exercise("00.found", right="A measure that one close stranger can spoil: stricter than separation.")
def found(answer: Callable[[Tensor], float]) -> str | None:
    """The share of rows of a [N, N] matrix whose largest entry is on the diagonal."""
    own = lambda s: torch.arange(len(s))  # noqa: E731
    share = lambda s: (s.argmax(1) == own(s)).float().mean()  # noqa: E731
    tried = Tried(answer, *((torch.tensor(s),) for s in SIMILARITIES))
    if hint := many(tried.said[0], "the share of rows"):
        return hint
    if hint := tried.hint(
        {
            lambda s: share(s) * len(s): "That is the number of rows. Asked: their share, so divide by N.",
            lambda s: share(s.T): "You looked down the columns. Row i asks: the largest entry of each *row*.",
            lambda s: (
                s.diagonal().mean()
            ): "That is the mean cosine of partners. Asked: how often the partner is nearest.",
            lambda s: share(-s): "That counts the smallest entry of each row. The nearest has the *largest* cosine.",
            lambda s: 1 - share(s): "That is the share of rows that do *not* find their partner.",
            lambda s: share(s - 9 * torch.eye(len(s))): TAKE_NOTHING_OUT,
        }
    ):
        return hint
    if wrong := tried.wrong(share):
        (s,), said = wrong
        found = share(s) * len(s)
        return f"Of {len(s)} rows {found:.0f} have their largest entry on the diagonal, and it gives {said:.2f}."
    return None
