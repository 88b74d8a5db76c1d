"""The exercises of notebooks 09, side by side, and 09b, on real English, and the usual mistakes."""

from math import log
from statistics import mean

from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import equals


class _Counted(float):
    """A number that counts how often one of its kind is compared with another."""

    comparisons = 0


def _counting(compare):
    def compared(one, other):
        _Counted.comparisons += 1
        return compare(one, other)

    return compared


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    setattr(_Counted, _name, _counting(getattr(float, _name)))


def _by_sorting(answer):
    """Whether a right answer for few pairs is right for many, without comparing all with all."""
    similar = [_Counted(x / 997) for x in range(300)]
    random = [_Counted(x / 991) for x in range(300)]
    _Counted.comparisons = 0
    value = answer(similar, random)
    if _Counted.comparisons > 300 * 300 / 2:
        count = f"{_Counted.comparisons:,}"
        return f"Right, but with {count} comparisons for 300 and 300 pairs. What does one sort tell you?"
    if not equals(value, auc(similar, random)[0]):
        return "Right for 6 and 3 pairs, not for 300 and 300: does it hold one of our numbers?"
    return None


@table(
    "09.auc",
    cases=[([0.9, 0.2, 0.5, 0.4, 0.25, 0.05], [0.5, 0.3, 0.1])],
    then=_by_sorting,
)
def auc(similar, random):
    """The share of comparisons that a similar pair wins, a tie as half; by ranks, not by all comparisons."""
    n = len(similar)
    m = len(random)
    more = sum(s > r for s in similar for r in random)
    ties = sum(s == r for s in similar for r in random)
    right = (more + ties / 2) / (n * m)
    return right, {
        "A tie counts half; yours counts for nothing.": more / (n * m),
        "A tie counts half; yours counts as won.": (more + ties) / (n * m),
        "The other way round: a *similar* pair wins when its cosine is the higher one.": 1
        - right,
        "That is the number of comparisons won; divide by how many there are.": right
        * n
        * m,
        "Divide by all comparisons, len(similar) * len(random).": right * m,
        "zip compares each similar pair with one random pair; AUC compares it with all.": mean(
            s > r for s, r in zip(similar, random, strict=False)
        ),
        "That compares the means; AUC compares pair with pair.": float(
            mean(similar) > mean(random)
        ),
        "Among these ranks are the wins of similar pairs over *similar* pairs. How many are there?": right
        + (n + 1) / 2 / m,
        "Each rank is off by one: does the lowest of all have rank 1, and does a pair win against itself?": [
            right - 1 / m,
            right + 1 / m,
        ],
    }


@table("09b.share", cases=[(0.12,), (0.3,), (0.7,)])
def share(share):
    """The loss per token of a detector that knows the share of replaced tokens, and nothing else."""
    replaced = -log(share)
    original = -log(1 - share)
    right = share * replaced + (1 - share) * original
    return right, {
        "The minus is missing: log p is below 0, a loss is not.": -right,
        "That is in bits. The table is in nats: the natural logarithm.": right / log(2),
        "That is the loss at a *replaced* token. How many are there, and what do the others cost?": replaced,
        "That is the loss at an *original* token. How many are there, and what do the others cost?": original,
        "That is the part of the replaced tokens. The originals cost something, too.": share
        * replaced,
        "That is the part of the original tokens. The replaced ones cost something, too.": (
            1 - share
        )
        * original,
        "Each kind of token is there as often as its share says: weigh by it.": [
            replaced + original,
            (replaced + original) / 2,
        ],
        "Exchanged: at a replaced token the right answer is 'replaced'.": share * original
        + (1 - share) * replaced,
        "That is the loss of a detector that knows nothing, not even the share.": log(2),
        "That is how often the better guess is wrong. The loss is minus the log of a probability.": min(
            share, 1 - share
        ),
    }
