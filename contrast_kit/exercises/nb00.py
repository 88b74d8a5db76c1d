"""The exercise of notebook 00: what a contrastive loss says when nothing is known."""

from collections.abc import Callable
from math import isclose, log, log2

from contrast_kit.exercises._frame import exercise


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
