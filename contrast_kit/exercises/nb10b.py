"""The exercise of notebook 10b, thirty draws, and the usual mistakes."""

from collections.abc import Callable
from math import comb

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, near, shown


def _exactly(k: int, n: int, q: float = 0.05) -> float:
    return comb(n, k) * q**k * (1 - q) ** (n - k)


def _at_least(k: int, n: int, q: float = 0.05) -> float:
    return sum(_exactly(i, n, q) for i in range(k, n + 1))


@exercise(
    "10b.luck",
    right="Of 20 intervals with nothing behind them at least one excludes zero in 64 cases of 100. Count them all.",
)
def luck(answer: Callable[[int, int], float]) -> str | None:
    """The probability that at least k of n independent 95 % intervals exclude zero where there is no difference."""
    if not callable(answer):
        return "Give a function of k and n, so that it can be tried with several."
    tried = Tried(answer, (2, 20), (1, 20), (4, 60))
    mistakes = {
        _exactly: "That is the probability of *exactly* k. More of them would surprise you, too: add those.",
        lambda k, n: _at_least(k + 1, n): (
            "That is *more* than k, without k itself. (With scipy: binom.sf(k - 1, n, 0.05).)"
        ),
        lambda k, n: 1 - _at_least(k, n): "That is the probability of *fewer* than k: one minus the right answer.",
        lambda k, n: 1 - _at_least(k + 1, n): "That is the probability of *at most* k. How probable are k or more?",
        lambda k, n: _at_least(1, n): "That is at least *one*, whatever k is. Where does your function use k?",
        lambda k, n: 0.05 * n: "That is how many to *expect*. How probable are k of them, or more?",
        lambda k, n: 0.05**k: "That is for k intervals that you named beforehand. Any k of the n will do.",
        lambda k, n: comb(n, k) * 0.05**k: "And the other n − k? Each of them holds zero, with probability 0.95.",
        lambda k, n: _at_least(k, n, 0.95): "A 95 % interval *holds* the truth in 95 of 100 cases. It misses it in 5.",
        lambda k, n: _at_least(k, n, 0.025): "Zero may lie to the left of the interval or to the right: 2.5 % each.",
    }
    if wrong := tried.wrong(_at_least, same=near):
        (k, n), said = wrong
        told = f"For k = {k} and n = {n} it gives {shown(said)}. Each interval excludes zero with probability 0.05."
        return tried.hint(mistakes, same=near) or f"{told} Add up k of them, k + 1 of them, and so on."
    return None
