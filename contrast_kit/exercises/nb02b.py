"""The exercises of notebook 02b, losses in practice, and the usual mistakes."""

from collections.abc import Callable
from functools import partial
from math import exp, isclose, log

import torch
from torch import Tensor

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried


@exercise("02b.left_out", right="The anchor itself, and other copies of its text, but never its own partner.")
def left_out(answer: Callable[[Tensor], Tensor]) -> str | None:
    """The [2B, 2B] cells that stand in no numerator and no denominator, with ids of texts."""
    ids = torch.tensor([4, 7, 4, 9])
    said = torch.as_tensor(answer(ids.clone()))
    b, n = len(ids), 2 * len(ids)
    if said.shape == (b, b):
        return f"Both views ask, and both are candidates: [2B, 2B] = [{n}, {n}], not [B, B]. Try ids.repeat(2)."
    if said.shape != (n, n):
        return f"The mask is [2B, 2B] = [{n}, {n}]; yours has shape {list(said.shape)}."
    said = said != 0
    twins = ids.repeat_interleave(2)
    both = ids.repeat(2)
    same = both[:, None] == both[None, :]
    itself = torch.eye(n, dtype=torch.bool)
    partner = itself.roll(b, 0)
    mistakes = [
        (same, "Your mask leaves the positives out as well: an anchor's own partner must stay."),
        (same & ~itself & ~partner, "And the anchor itself: it is no candidate of its own."),
        (
            same & ~itself,
            "The anchor itself must be out, and its own partner must stay in: it is the other way round.",
        ),
        (itself, "Those are the anchors only. Texts 0 and 2 are the same: their copies are false negatives."),
        (~((same & ~partner) | itself), "Inverted: True should mean *left out*."),
        (
            (twins[:, None] == twins[None, :]) & ~itself[:, torch.arange(n) ^ 1],
            "You put the two views of a text side by side. Rows: all of view 0, then all of view 1.",
        ),
    ]
    for wrong, hint in mistakes:
        if torch.equal(said, wrong):
            return hint
    if not torch.equal(said, (same & ~partner) | itself):
        return "True where row and column belong to one text, unless they are each other's partner (B rows apart)."
    return None


@exercise("02b.log", right="4.84 gives 64: the 256 were accumulated from four parts, and an anchor saw only its own.")
def first_loss(answer: Callable[[float], float]) -> str | None:
    """The number of texts B behind NT-Xent's value log(2B - 1) where all vectors are alike."""
    if not callable(answer):
        return "Give a function of the first loss, so that it can be tried with several."
    tried = Tried(answer, *((log(2 * B - 1),) for B in (8, 64, 256)))
    mistakes = {
        exp: "That is the number of candidates, 2B − 1. How many texts give that many?",
        lambda loss: exp(loss) + 1: "Those are the 2B vectors, two views of each text. How many texts?",
        lambda loss: exp(loss) / 2: "Almost: 2B − 1 candidates, the anchor itself is not one. Add it before halving.",
        lambda loss: (exp(loss) - 1) / 2: "The anchor is missing among the candidates: add it, do not take one away.",
        lambda loss: 2 ** (loss - 1): "Natural logarithms: e to the loss, not 2 to the loss.",
        lambda loss: (2**loss + 1) / 2: "Natural logarithms: e to the loss, not 2 to the loss.",
    }
    same = partial(isclose, rel_tol=1e-3)
    if wrong := tried.wrong(lambda loss: (exp(loss) + 1) / 2, same):
        (loss,), said = wrong
        told = f"For a batch of {(exp(loss) + 1) / 2:.0f} the log begins at {loss:.2f}, yours says {float(said):.2f}."
        return tried.hint(mistakes, same) or f"{told} Each of 2B − 1 has an equal share."
    return None
