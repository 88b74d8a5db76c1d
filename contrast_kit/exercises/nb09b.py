"""The exercise of notebook 09b, on real English, and the usual mistakes."""

from collections.abc import Callable
from math import log

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, near, shown


def _entropy(q: float) -> float:
    return -q * log(q) - (1 - q) * log(1 - q)


@exercise(
    "09b.share",
    right="At a share of 0.12 that is 0.37 nats per token: a detector that pays more has found nothing.",
)
def share(answer: Callable[[float], float]) -> str | None:
    """The loss per token of a detector that knows the share of replaced tokens, and nothing else."""
    if not callable(answer):
        return "Give a function of the share, so that it can be tried with several."
    tried = Tried(answer, (0.12,), (0.3,), (0.7,))
    mistakes = {
        lambda q: -_entropy(q): "The minus is missing: log p is below 0, a loss is not.",
        lambda q: _entropy(q) / log(2): "That is in bits. The table is in nats: the natural logarithm.",
        lambda q: -log(q): "That is the loss at a *replaced* token. How many are there, and what do the others cost?",
        lambda q: (
            -log(1 - q)
        ): "That is the loss at an *original* token. How many are there, and what do the others cost?",
        lambda q: -q * log(q): "That is the part of the replaced tokens. The originals cost something, too.",
        lambda q: (
            -(1 - q) * log(1 - q)
        ): "That is the part of the original tokens. The replaced ones cost something, too.",
        lambda q: -log(q) - log(1 - q): "Each kind of token is there as often as its share says: weigh by it.",
        lambda q: -(log(q) + log(1 - q)) / 2: "Each kind of token is there as often as its share says: weigh by it.",
        lambda q: -q * log(1 - q) - (1 - q) * log(q): "Exchanged: at a replaced token the right answer is 'replaced'.",
        lambda q: log(2): "That is the loss of a detector that knows nothing, not even the share.",
        lambda q: min(
            q, 1 - q
        ): "That is how often the better guess is wrong. The loss is minus the log of a probability.",
    }
    if wrong := tried.wrong(_entropy, same=near):
        (q,), said = wrong
        told = f"At a share of {q} it gives {shown(said)}. At every token you say the same probability: which one?"
        return tried.hint(mistakes, same=near) or f"{told} What does that cost at a replaced token, and at another?"
    return None
