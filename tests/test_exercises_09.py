"""The checkers of notebook 09: the right answers pass, each usual mistake gets its own hint."""

import math
from bisect import bisect_left, bisect_right
from statistics import mean, stdev, variance

import pytest
from scipy.stats import rankdata, t

from contrast_kit.exercises import judge


def won(similar, random):
    return sum((s > r) + 0.5 * (s == r) for s in similar for r in random)


def needed(a, b, level=0.975, freedom=None):
    n = len(a)
    return t.ppf(level, freedom or 2 * (n - 1)) * ((variance(a) + variance(b)) / 2) ** 0.5 * (2 / n) ** 0.5


def by_ranks(similar, random, start=1, less=lambda n: n * (n + 1) / 2):
    n, m = len(similar), len(random)
    return ((rankdata([*similar, *random])[:n] + start - 1).sum() - less(n)) / (n * m)


def by_bisection(similar, random):
    random = sorted(random)
    below = sum(bisect_left(random, s) + bisect_right(random, s) for s in similar)
    return below / 2 / len(similar) / len(random)


def test_right_answers():
    assert judge("09.auc", by_ranks).right, judge("09.auc", by_ranks)
    assert judge("09.auc", by_bisection).right, judge("09.auc", by_bisection)
    assert judge("09.needed", needed).right
    assert judge("09.shift", {"uniformity", "alignment"}).right


def test_the_added_vector_indeed_changes_these_and_no_order():
    import torch

    from contrast_kit import geometry

    v = torch.nn.functional.normalize(torch.randn(30, 8, generator=torch.Generator().manual_seed(0)).double(), dim=1)
    v = torch.cat([v, torch.zeros(30, 1).double()], dim=1)
    moved = v + 3 * torch.eye(9).double()[8]
    pairs, others = (geometry.pair_cosines(x[:15], x[15:]) for x in (v, moved))
    random, random_moved = (geometry.random_pair_cosines(x[:15]) for x in (v, moved))
    assert geometry.separation(pairs, random) == pytest.approx(geometry.separation(others, random_moved).item())
    assert geometry.alignment(v[:15], v[15:]) > 2 * geometry.alignment(moved[:15], moved[15:])
    assert geometry.uniformity(v) < geometry.uniformity(moved) - 0.5


def test_no_answer_is_not_yet():
    assert judge("09.auc", lambda *args: None).right is None
    assert judge("09.needed", lambda *args: None).right is None
    assert judge("09.shift", None).right is None


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("09.auc", lambda s, r: mean(a > b for a in s for b in r), "counts for nothing"),
        ("09.auc", lambda s, r: mean(a >= b for a in s for b in r), "counts as won"),
        ("09.auc", lambda s, r: won(r, s) / len(s) / len(r), "other way round"),
        ("09.auc", won, "divide by how many"),
        ("09.auc", lambda s, r: won(s, r) / len(s), "all comparisons"),
        ("09.auc", lambda s, r: mean(a > b for a, b in zip(s, r, strict=False)), "zip"),
        ("09.auc", lambda s, r: float(mean(s) > mean(r)), "the means"),
        ("09.auc", lambda s, r: 0.123, "if its rank is known"),
        ("09.auc", lambda s, r: won(s, r) / len(s) / len(r), "comparisons for 300 and 300 pairs"),
        ("09.auc", lambda s, r: by_ranks([0.9, 0.2, 0.5, 0.4, 0.25, 0.05], [0.5, 0.3, 0.1]), "not for 300"),
        ("09.auc", lambda s, r: by_ranks(s, r, less=lambda n: 0), "over *similar* pairs"),
        ("09.auc", lambda s, r: by_ranks(s, r, start=0), "off by one"),
        ("09.auc", lambda s, r: by_ranks(s, r, less=lambda n: n * (n - 1) / 2), "off by one"),
        ("09.auc", lambda s, r: [a > b for a in s for b in r], "one number"),
        ("09.needed", lambda a, b: needed(a, b, 0.95), "at each end"),
        ("09.needed", lambda a, b: needed(a, b, freedom=len(a) - 1), "degrees of freedom"),
        ("09.needed", lambda a, b: needed(a, b, freedom=2 * len(a)), "spends one degree"),
        ("09.needed", lambda a, b: needed(a, b) / 2**0.5, "not one"),
        ("09.needed", lambda a, b: needed(a, b) / (2 / len(a)) ** 0.5, "spread less"),
        ("09.needed", lambda a, b: needed(a, b) * ((len(a) - 1) / len(a)) ** 0.5, "n - 1"),
        (
            "09.needed",
            lambda a, b: t.ppf(0.975, 6) * (stdev(a) + stdev(b)) / 2 * 0.5**0.5,
            "Average the variances",
        ),
        ("09.needed", lambda a, b: abs(mean(a) - mean(b)), "difference itself"),
        ("09.needed", lambda a, b: 0.5, "by luck alone"),
        ("09.needed", lambda a, b: 1.96 * ((variance(a) + variance(b)) / 2) ** 0.5 * (2 / len(a)) ** 0.5, "1.96"),
        (
            "09.needed",
            lambda a, b: t.ppf(0.975, 3) * stdev(x - y for x, y in zip(a, b, strict=True)) / len(a) ** 0.5,
            "pairs the seeds",
        ),
        ("09.needed", lambda a, b: t.ppf(0.975, 6) * stdev([*a, *b]) * (2 / len(a)) ** 0.5, "one heap"),
        ("09.needed", lambda a, b: needed(a, b, freedom=2 * len(a) - 1), "spends one degree"),
        ("09.needed", lambda a, b: needed(a, b, 0.025), "lower end"),
        ("09.shift", "uniformity", 'Give a set of names, {"uniformity"}'),
        ("09.shift", {"auc", "alignment", "uniformity"}, "change any order"),
        ("09.shift", {"alignment"}, "uniformity is made of distances"),
        ("09.shift", {"noise"}, "no 'noise'"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text


def entropy(q):
    return -q * math.log(q) - (1 - q) * math.log(1 - q)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (0.37, "function of the share"),
        (lambda q: -entropy(q), "minus is missing"),
        (lambda q: entropy(q) / math.log(2), "in bits"),
        (lambda q: -math.log(q), "at a *replaced* token"),
        (lambda q: -math.log(1 - q), "at an *original* token"),
        (lambda q: -q * math.log(q), "The originals cost something"),
        (lambda q: -(1 - q) * math.log(1 - q), "The replaced ones cost something"),
        (lambda q: -math.log(q) - math.log(1 - q), "weigh by it"),
        (lambda q: -(math.log(q) + math.log(1 - q)) / 2, "weigh by it"),
        (lambda q: -q * math.log(1 - q) - (1 - q) * math.log(q), "Exchanged"),
        (lambda q: math.log(2), "not even the share"),
        (lambda q: min(q, 1 - q), "better guess is wrong"),
        (lambda q: q, "At a share of 0.12 it gives 0.12"),
        (lambda q: entropy(0.12), "At a share of 0.3 it gives 0.3669"),
    ],
)
def test_what_it_costs_to_know_the_share_only(answer, words):
    assert judge("09b.share", entropy).right and judge("09b.share", lambda share: None).right is None
    verdict = judge("09b.share", answer)
    assert verdict.right is False and words in verdict.text, verdict.text
