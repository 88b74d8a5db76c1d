"""The exercise of notebook 07b, SCL in practice, and the usual mistakes."""

from collections.abc import Callable

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import equals


@exercise(
    "07b.wrong_pairs",
    right="At q = 0.2 it is 0.32: a contrast meets more wrong pairs than CE meets wrong labels.",
)
def wrong_pairs(answer: Callable[[float], float]) -> str | None:
    """The share of pairs with one given label that are of two classes, when a share q of labels is flipped."""
    said = [answer(q) for q in (0.0, 0.2, 0.5)]

    def all_are(formula: Callable[[float], float]) -> bool:
        return all(equals(value, formula(q)) for value, q in zip(said, (0.0, 0.2, 0.5), strict=True))

    if all_are(lambda q: 2 * q * (1 - q)):
        return None
    mistakes = [
        (lambda q: q, "That is the share of wrong *labels*. A pair has two."),
        (
            lambda q: 2 * q,
            "Where both are flipped, the two are of one class again: those are not wrong pairs.",
        ),
        (lambda q: q * (1 - q), "Either of the two may be the flipped one."),
        (
            lambda q: 1 - (1 - q) ** 2,
            "That is 'at least one is flipped'. If both are, the pair is right again.",
        ),
        (lambda q: q**2, "That is 'both are flipped', and then the two are of one class again."),
        (lambda q: (1 - q) ** 2, "That is 'neither is flipped': a share of the right pairs."),
        (lambda q: (1 - q) ** 2 + q**2, "That is the share of *right* pairs."),
    ]
    return next(
        (hint for formula, hint in mistakes if all_are(formula)),
        "A pair is wrong where exactly one of the two labels was flipped. How likely is that?",
    )
