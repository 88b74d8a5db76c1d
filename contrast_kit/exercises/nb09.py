"""The exercises of notebook 09, side by side, and the usual mistakes."""

from collections.abc import Callable, Sequence
from math import isclose, sqrt
from statistics import mean, pvariance, stdev, variance

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import first_hint, many

Scores = Sequence[float]

OFF_BY_ONE = "Each rank is off by one: does the lowest of all have rank 1, and does a pair win against itself?"


class _Counted(float):
    """A number that counts how often one of its kind is compared with another."""

    comparisons = 0


def _counting(compare: Callable) -> Callable:
    def compared(one: float, other: float) -> bool:
        _Counted.comparisons += 1
        return compare(one, other)

    return compared


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    setattr(_Counted, _name, _counting(getattr(float, _name)))


def _same(said: float, value: float) -> bool:
    return isclose(float(said), value, rel_tol=1e-6)


def _won(similar: Scores, random: Scores) -> float:
    return sum((s > r) + (s == r) / 2 for s in similar for r in random)


@exercise("09.auc", right="Every similar pair against every random pair; only the order counts.")
def auc(answer: Callable[[Scores, Scores], float]) -> str | None:
    """The share of comparisons that a similar pair wins, a tie as half; by ranks, not by all comparisons."""
    similar, random = [0.9, 0.2, 0.5, 0.4, 0.25, 0.05], [0.5, 0.3, 0.1]
    said = answer(similar, random)
    if hint := many(said, "a share of comparisons"):
        return hint
    n, m = len(similar), len(random)
    ranks = sum(sum(x < s for x in similar + random) + (1 + sum(x == s for x in similar + random)) / 2 for s in similar)
    more = sum(s > r for s in similar for r in random)
    ties = sum(s == r for s in similar for r in random)
    comparisons = len(similar) * len(random)
    right = (more + ties / 2) / comparisons
    mistakes = [
        (more / comparisons, "A tie counts half; yours counts for nothing."),
        ((more + ties) / comparisons, "A tie counts half; yours counts as won."),
        (1 - right, "The other way round: a *similar* pair wins when its cosine is the higher one."),
        (more + ties / 2, "That is the number of comparisons won; divide by how many there are."),
        ((more + ties / 2) / len(similar), "Divide by all comparisons, len(similar) * len(random)."),
        (
            mean(s > r for s, r in zip(similar, random, strict=False)),
            "zip compares each similar pair with one random pair; AUC compares it with all.",
        ),
        (float(mean(similar) > mean(random)), "That compares the means; AUC compares pair with pair."),
        (ranks / (n * m), "Among these ranks are the wins of similar pairs over *similar* pairs. How many are there?"),
        (right - 1 / m, OFF_BY_ONE),
        (right + 1 / m, OFF_BY_ONE),
    ]
    if not _same(said, right):
        told = "The lowest of all has rank 1. How many random pairs lie below a similar one, if its rank is known?"
        return first_hint(said, mistakes, same=_same) or told
    many_similar, many_random = ([_Counted(x / part) for x in range(300)] for part in (997, 991))
    _Counted.comparisons = 0
    said = answer(many_similar, many_random)
    if _Counted.comparisons > 300 * 300 / 2:
        return (
            f"Right, but with {_Counted.comparisons:,} comparisons for 300 and 300 pairs. What does one sort tell you?"
        )
    right = _won(many_similar, many_random) / 300**2
    return (
        None if _same(said, right) else "Right for 6 and 3 pairs, not for 300 and 300: does it hold one of our numbers?"
    )


@exercise("09.needed", right="Anything smaller may well be the luck of the seeds.")
def needed(answer: Callable[[Scores, Scores], float]) -> str | None:
    """t · s · sqrt(2/n) with the pooled standard deviation s."""
    from scipy.stats import t

    a, b = [0.61, 0.65, 0.60, 0.68], [0.70, 0.72, 0.71, 0.66]
    said, n = answer(a, b), len(a)
    if hint := many(said, "a difference of means"):
        return hint
    s = sqrt((variance(a) + variance(b)) / 2)
    quantile = t.ppf(0.975, 2 * (n - 1))
    right = quantile * s * sqrt(2 / n)
    biased = sqrt((pvariance(a) + pvariance(b)) / 2)
    mistakes = [
        (t.ppf(0.95, 2 * (n - 1)) * s * sqrt(2 / n), "5 % in both directions together leaves 2.5 % at each end."),
        (t.ppf(0.975, n - 1) * s * sqrt(2 / n), "Both lists tell something about s: 2(n - 1) degrees of freedom."),
        (t.ppf(0.975, 2 * n) * s * sqrt(2 / n), "Each list spends one degree of freedom on its mean: 2(n - 1)."),
        (quantile * s / sqrt(n), "Two means are uncertain, not one: sqrt(2/n)."),
        (quantile * s, "s is the spread of single seeds; means of n spread less: times sqrt(2/n)."),
        (quantile * biased * sqrt(2 / n), "Divide the variance by n - 1: the mean came from the same seeds."),
        (quantile * (sqrt(variance(a)) + sqrt(variance(b))) / 2 * sqrt(2 / n), "Average the variances, then the root."),
        (abs(mean(a) - mean(b)), "That is the difference itself; how large must it be to be surprising?"),
        (1.96 * s * sqrt(2 / n), "1.96 belongs to very many seeds. With few, s is uncertain too: Student's t."),
        (
            t.ppf(0.975, n - 1) * stdev(x - y for x, y in zip(a, b, strict=True)) / sqrt(n),
            "That pairs the seeds. Here nothing joins seed 1 of one method to seed 1 of the other.",
        ),
        (
            quantile * stdev(a + b) * sqrt(2 / n),
            "In one heap the spread also holds the methods' difference: take the variance of each list by itself.",
        ),
        (t.ppf(0.975, 2 * n - 1) * s * sqrt(2 / n), "Each list spends one degree of freedom on its mean: 2(n - 1)."),
        (-right, "That is the lower end: a quantile below one half is negative."),
    ]  # fmt: skip
    if _same(said, right):
        return None
    told = "How much do two means of n seeds differ by luck alone, and what multiple of it is exceeded in 5 % of cases?"
    return first_hint(said, mistakes, same=_same) or told


@exercise("09.shift", right="Every cosine moves; none overtakes another.")
def shift(answer: set[str]) -> str | None:
    """Which measures change when one orthogonal vector is added to all."""
    given = answer() if callable(answer) else answer
    if isinstance(given, str):
        return f'Give a set of names, {{"{given}"}} for one alone.'
    said = set(given)
    if unknown := said - {"auc", "alignment", "uniformity"}:
        return f"There are 'auc', 'alignment' and 'uniformity', but no {sorted(unknown)[0]!r}."
    if "auc" in said:
        return "With |v| = 1 and c at right angles, cos becomes (cos + c²) / (1 + c²). Does that change any order?"
    if missing := {"alignment", "uniformity"} - said:
        return f"{sorted(missing)[0]} is made of distances, 2 - 2 cos, and all cosines move towards 1."
    return None
