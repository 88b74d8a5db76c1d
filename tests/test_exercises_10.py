"""The checkers of notebooks 10 and 10b: the right answers pass, each usual mistake gets its own hint."""

import math

import numpy as np
import pytest
from scipy.stats import binom, t

from contrast_kit.exercises import judge, names

t95 = lambda n: t.ppf(0.975, n - 1)  # noqa: E731


def commonest(labels):
    return np.bincount(labels).argmax()


def half(runs):
    return t95(len(runs)) * runs.mean(1).std(ddof=1) / len(runs) ** 0.5


RIGHT = {
    "10.majority": lambda train, test: (test == commonest(train)).mean(),
    "10.top": lambda validation, test, k: test[np.argsort(validation)[-k:]].mean(),
    "10.half_width": half,
    "10.paired": lambda a, b: (b - a).std(ddof=1) / len(a) ** 0.5,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers(name):
    assert judge(name, RIGHT[name]).right
    assert judge(name, lambda *args: None).right is None


def test_every_exercise_is_proven():
    assert names("10") == sorted(RIGHT)


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("10.majority", lambda train, test: (test == commonest(test)).mean(), "test"),
        ("10.majority", lambda train, test: (train == commonest(train)).mean(), "training rows"),
        ("10.majority", lambda train, test: 1 / len(set(train)), "guessing"),
        (
            "10.majority",
            lambda train, test: (test == commonest(np.append(train, test))).mean(),
            "train and test together",
        ),
        ("10.majority", lambda train, test: (test == np.median(train)).mean(), "*median*"),
        ("10.majority", lambda train, test: (test == train.max()).mean(), "largest class number"),
        ("10.majority", lambda train, test: commonest(train), "the label itself"),
        ("10.majority", lambda train, test: (test != commonest(train)).mean(), "how often it is wrong"),
        ("10.majority", lambda train, test: 0.15, "Which label"),  # right for the first pair
        ("10.majority", lambda train, test: (test == commonest(train)).sum(), "divide"),
        ("10.majority", lambda train, test: 0.1234, "Which label"),
        ("10.top", lambda v, x, k: np.sort(x)[-k:].mean(), "its luck"),
        ("10.top", lambda v, x, k: x[np.argsort(v)[:k]].mean(), "upwards"),
        ("10.top", lambda v, x, k: x.mean(), "all runs"),
        ("10.top", lambda v, x, k: np.sort(v)[-k:].mean(), "report the"),
        ("10.top", lambda v, x, k: x[:k].mean(), "first k"),
        ("10.top", lambda v, x, k: x[v.argmax()], "single best"),
        ("10.top", lambda v, x, k: 0.1, "For k = 3 it gives 0.1"),
        ("10.top", lambda v, x, k: RIGHT["10.top"](v, x, 3), "where does your function use k"),
        ("10.top", lambda v, x, k: np.median(x[np.argsort(v)[-k:]]), "the median of the k"),
        ("10.top", lambda v, x, k: x[np.argsort(v)[-k:]].sum(), "the sum of the k"),
        ("10.top", lambda v, x, k: list(x[np.argsort(v)[-k:]]), "one number"),
        ("10.half_width", lambda r: t95(15) * r.std(ddof=1) / 15**0.5, "15 observations"),
        ("10.half_width", lambda r: 1.96 * r.std(ddof=1) / 15**0.5, "15 observations"),
        ("10.half_width", lambda r: 1.96 * r.mean(1).std(ddof=1) / 5**0.5, "Student"),
        ("10.half_width", lambda r: t95(5) * r.mean(1).std() / 5**0.5, "ddof"),
        ("10.half_width", lambda r: t95(5) * r.mean(1).std(ddof=1), "√5"),
        ("10.half_width", lambda r: r.mean(1).std(ddof=1) / 5**0.5, "standard error"),
        ("10.half_width", lambda r: r.mean(1).std(ddof=1), "spread of draws"),
        ("10.half_width", lambda r: 2 * half(r), "whole width"),
        ("10.half_width", lambda r: t95(5) * r.mean(0).std(ddof=1) / 5**0.5, "axes"),
        ("10.half_width", lambda r: 0.5, "one observation here"),
        ("10.half_width", lambda r: t95(5) * r.mean(1).std(ddof=1) / 5**0.5, "Right for five draws, but for eight"),
        ("10.half_width", lambda r: t95(5) * r.mean(1).std(ddof=1) / len(r) ** 0.5, "degrees of freedom come from"),
        ("10.half_width", lambda r: half(r) / t95(5) * t.ppf(0.95, 4), "at each end"),
        ("10.half_width", lambda r: half(r) / t95(5) * t95(6), "used up one degree"),
        ("10.half_width", lambda r: half(r) / t95(5) * t95(15), "those of five"),
        ("10.half_width", lambda r: t95(3) * r.mean(0).std(ddof=1) / 3**0.5, "axes"),
        ("10.half_width", lambda r: (r.mean() - half(r), r.mean() + half(r)), "yours is a tuple of 2"),
        ("10.paired", lambda a, b: ((a.var(ddof=1) + b.var(ddof=1)) / len(a)) ** 0.5, "subtract first"),
        ("10.paired", lambda a, b: (b - a).std(ddof=1), "√n"),
        ("10.paired", lambda a, b: (b - a).std() / len(a) ** 0.5, "ddof"),
        ("10.paired", lambda a, b: (b - a).mean(), "how sure"),
        ("10.paired", lambda a, b: (b - a).var(ddof=1) / len(a), "root"),
        ("10.paired", lambda a, b: 0.5, "draw by draw"),
        ("10.paired", lambda a, b: np.abs(b - a).std(ddof=1) / len(a) ** 0.5, "keep their signs"),
        ("10.paired", lambda a, b: (b - a).std(ddof=1) / len(a), "not with n"),
        ("10.paired", lambda a, b: t95(8) * (b - a).std(ddof=1) / 8**0.5, "half of the 95 % interval"),
        ("10.paired", lambda a, b: (a - b).mean(), "how sure"),
        ("10.paired", lambda a, b: b - a, "one number"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text


def test_no_verdict_has_the_quantile_that_is_asked_for():
    for answer in (lambda runs: 0.5, lambda runs: 1.96 * runs.mean(1).std(ddof=1) / 5**0.5):
        assert "2.78" not in judge("10.half_width", answer).text and "ppf" not in judge("10.half_width", answer).text


def exactly(k, n):
    return binom.pmf(k, n, 0.05)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (0.26, "function of k and n"),
        (exactly, "*exactly* k"),
        (lambda k, n: binom.sf(k, n, 0.05), "*more* than k"),
        (lambda k, n: binom.cdf(k - 1, n, 0.05), "*fewer* than k"),
        (lambda k, n: binom.cdf(k, n, 0.05), "*at most* k"),
        (lambda k, n: 1 - 0.95**n, "at least *one*"),
        (lambda k, n: 0.05 * n, "*expect*"),
        (lambda k, n: 0.05**k, "named beforehand"),
        (lambda k, n: math.comb(n, k) * 0.05**k, "other n − k"),
        (lambda k, n: binom.sf(k - 1, n, 0.95), "misses it in 5"),
        (lambda k, n: binom.sf(k - 1, n, 0.025), "2.5 % each"),
        (lambda k, n: 0.5, "For k = 2 and n = 20 it gives 0.5"),
        (lambda k, n: binom.sf(1, 20, 0.05), "For k = 1 and n = 20 it gives 0.2642"),  # right at the first point
    ],
)
def test_what_luck_alone_would_bring(answer, words):
    assert names("10b") == ["10b.luck"]
    assert judge("10b.luck", lambda k, n: binom.sf(k - 1, n, 0.05)).right
    assert judge("10b.luck", lambda k, n: None).right is None
    verdict = judge("10b.luck", answer)
    assert verdict.right is False and words in verdict.text, verdict.text
