"""The exercises of notebook 00: every cosine, what a loss says when nothing is known, and who is nearest."""

from math import log, log2

import torch
from torch.nn.functional import normalize

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import draw, shape_of


@table("00.guess", cases=[(4,), (64,)])
def guess(B):
    """InfoNCE where all B candidates are alike."""
    return log(B), {
        "That is the *probability* of the partner. The loss is minus its logarithm.": 1
        / B,
        "The sign: the loss is −log of a probability below 1, so it is positive.": -log(
            B
        ),
        "The positive stands in the denominator too: B candidates, not B − 1.": log(
            B - 1
        ),
        "That is NT-Xent, where both views give candidates. Here there are B.": log(
            2 * B - 1
        ),
        "Natural logarithms: math.log, not math.log2.": log2(B),
        "0 is the loss of perfect knowledge: the partner with probability 1.": 0.0,
    }


@table("00.cosines", cases=[(0.5 * draw(3, 4), 2.0 * draw(3, 4, seed=1))])
def cosines(a, b):
    """The [B, B] cosines of two batches of vectors."""
    right = ck.losses.cosine_matrix(a, b)
    return right, {
        (
            "One number per row: you compared each a[i] with its own b[i]. Compare it with every "
            "b[j]: [B, B]."
        ): lambda value: shape_of(value) == [len(a)],
        "That is [D, D]: the transpose stands on the other side, a @ b.T.": lambda value: (
            shape_of(value) == [a.shape[1], a.shape[1]]
        ),
        "Rows and columns are exchanged: row i belongs to a[i].": right.T,
        "Those are dot products. Divide each vector by its length first: cosines lie between -1 and 1.": a
        @ b.T,
        "Only a has length 1. Normalise b too.": normalize(a) @ b.T,
        "Only b has length 1. Normalise a too.": a @ normalize(b).T,
        "You normalised over dim=0, the batch. Each *vector* must have length 1: dim=1.": normalize(
            a, dim=0
        )
        @ normalize(b, dim=0).T,
        "That compares a with itself: the columns belong to b.": ck.losses.cosine_matrix(
            a
        ),
    }


# 3 of 5 and 2 of 3 rows find their partner.
FIVE = torch.tensor(
    [
        [0.9, 0.2, 0.1, 0.3, 0.0],
        [0.8, 0.6, 0.1, 0.0, 0.2],
        [0.1, 0.5, 0.7, 0.2, 0.3],
        [0.4, 0.3, 0.6, 0.2, 0.5],
        [0.0, 0.1, 0.3, 0.1, 0.4],
    ]
)
THREE = torch.tensor([[0.9, 0.2, 0.1], [0.8, 0.4, 0.1], [0.1, 0.3, 0.4]])


@table("00.found", cases=[(FIVE,), (THREE,)])
def found(similarity):
    """The share of rows of a [N, N] matrix whose largest entry is on the diagonal."""
    N = len(similarity)

    def share(matrix):
        return (matrix.argmax(1) == torch.arange(N)).double().mean()

    right = share(similarity)
    return right, {
        "That is the number of rows. Asked: their share, so divide by N.": right * N,
        "You looked down the columns. Row i asks: the largest entry of each *row*.": share(
            similarity.T
        ),
        "That is the mean cosine of partners. Asked: how often the partner is nearest.": similarity.diagonal().mean(),
        "That counts the smallest entry of each row. The nearest has the *largest* cosine.": share(
            -similarity
        ),
        "That is the share of rows that do *not* find their partner.": 1 - right,
        "The diagonal holds the partners here and must stay: take nothing out.": share(
            similarity - 9 * torch.eye(N)
        ),
    }
