"""The exercises of notebook 00: what a loss says when nothing is known, and a trick test won by hand."""

from math import log, log2

import torch

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.exercises._frame import exercise, table


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


@exercise("00.by_hand")
def by_hand(answer):
    """Vectors [N, D], made without training, that win the trick test about numbers."""
    columns = zip(*toyshop.triples(100, change="number", seed=7), strict=True)
    vectors = [torch.as_tensor(answer(list(texts))).double() for texts in columns]
    if any(x.dim() != 2 or len(x) != 100 for x in vectors):
        return "Return a tensor [N, D], a vector for each of the N texts."
    if not all(x.any(1).all() for x in vectors):
        return "A text gets the zero vector, which has no direction. Is a capital letter or a full stop in the way?"
    share = ck.geometry.triplet_accuracy(*vectors)
    if share > 0.9:
        return None
    return f"{share:.0%} are right; a coin toss gets 50 %. Which word tells a sentence from its trap?"
