"""The exercises of notebook 00: every cosine, what a loss says when nothing is known, and who is nearest."""

from collections.abc import Callable
from math import isclose, log, log2

import torch
from torch import Tensor
from torch.nn.functional import normalize

from contrast_kit import losses
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import equals, first_hint


@exercise("00.guess", right="Keep this number: a contrastive loss near log B has learned nothing yet.")
def guess(answer: Callable[[int], float]) -> str | None:
    """InfoNCE where all B candidates are alike."""
    if not callable(answer):
        return "Give a function of B, so that it can be tried with several."
    sizes = (4, 64)
    values = [float(answer(B)) for B in sizes]
    for wrong, hint in {
        lambda B: 1 / B: "That is the *probability* of the partner. The loss is minus its logarithm.",
        lambda B: -log(B): "The sign: the loss is −log of a probability below 1, so it is positive.",
        lambda B: log(B - 1): "The positive stands in the denominator too: B candidates, not B − 1.",
        lambda B: log(2 * B - 1): "That is NT-Xent, where both views give candidates. Here there are B.",
        log2: "Natural logarithms: math.log, not math.log2.",
        lambda B: 0.0: "0 is the loss of perfect knowledge: the partner with probability 1.",
    }.items():
        if all(isclose(value, wrong(B), abs_tol=1e-4) for value, B in zip(values, sizes, strict=True)):
            return hint
    if all(isclose(value, log(B), abs_tol=1e-4) for value, B in zip(values, sizes, strict=True)):
        return None
    return f"For B = 4 it gives {values[0]:.3f}. What is the probability of each candidate, if all look alike?"


@exercise("00.cosines", right="One product of normalised matrices compares everything with everything.")
def cosines(answer: Callable[[Tensor, Tensor], Tensor]) -> str | None:
    """The [B, B] cosines of two batches of vectors."""
    noise = torch.Generator().manual_seed(0)
    a, b = (torch.randn(3, 4, generator=noise, dtype=torch.float64) * size for size in (0.5, 2.0))
    said = torch.as_tensor(answer(a.clone(), b.clone()))
    right = losses.cosine_matrix(a, b)
    by_column = normalize(a, dim=0), normalize(b, dim=0)
    if said.shape == (len(a),):
        return "One number a row: you compared each a[i] with its own b[i]. Asked: with every b[j], a matrix [B, B]."
    if said.shape == (a.shape[1], a.shape[1]):
        return "That is [D, D]: the transpose stands on the other side, a @ b.T."
    mistakes = [
        (right.T, "Rows and columns are exchanged: row i belongs to a[i]."),
        (a @ b.T, "Those are dot products. Divide each vector by its length first: cosines lie between -1 and 1."),
        (normalize(a, dim=1) @ b.T, "Only a has length 1. Normalise b too."),
        (a @ normalize(b, dim=1).T, "Only b has length 1. Normalise a too."),
        (
            by_column[0] @ by_column[1].T,
            "You normalised over dim=0, the batch. Each *vector* gets length 1: dim=1.",
        ),
        (losses.cosine_matrix(a), "That compares a with itself: the columns belong to b."),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if not equals(said, right):
        return "Normalise the rows of a and of b to length 1, then a @ b.T."
    return None


@exercise("00.found", right="A measure that one close stranger can spoil: stricter than separation.")
def found(answer: Callable[[Tensor], float]) -> str | None:
    """The share of rows of a [N, N] matrix whose largest entry is on the diagonal."""
    similarity = torch.tensor([[0.9, 0.2, 0.1, 0.3], [0.8, 0.6, 0.1, 0.0], [0.1, 0.7, 0.9, 0.2], [0.6, 0.1, 0.2, 0.5]])
    said = answer(similarity.clone())
    if isinstance(said, Tensor) and said.dim() > 0:
        return f"Return one number, the share of rows; yours has shape {list(said.shape)}."
    mistakes = [
        (2.0, "That is the number of rows. Asked: their share, so divide by N."),
        (0.75, "You looked down the columns. Row i asks: the largest entry of each *row*."),
        (
            similarity.diagonal().mean(),
            "That is the mean cosine of partners. Asked: how often the partner is nearest.",
        ),
        (1.0, "The diagonal holds the partners here, it must stay: take nothing out."),
        (0.0, "The diagonal holds the partners here, it must stay: take nothing out."),
    ]
    if hint := first_hint(said, mistakes):
        return hint
    if not equals(said, 0.5):
        return f"Of four rows two have their largest entry on the diagonal, and it gives {float(said):.2f}."
    return None
