"""The checkers of notebook 10: the right answers pass, each usual mistake gets its own hint."""

import numpy as np
import pytest
from scipy.stats import t

from contrast_kit.exercises import judge, names

t95 = lambda n: t.ppf(0.975, n - 1)  # noqa: E731


def commonest(labels):
    return np.bincount(labels).argmax()


def half(runs):
    return t95(5) * runs.mean(1).std(ddof=1) / 5**0.5


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
        ("10.majority", lambda train, test: 1 / 3, "guessing"),
        ("10.majority", lambda train, test: (test == commonest(train)).sum(), "divide"),
        ("10.majority", lambda train, test: 0.1234, "Which label"),
        ("10.top", lambda v, x, k: np.sort(x)[-k:].mean(), "its luck"),
        ("10.top", lambda v, x, k: x[np.argsort(v)[:k]].mean(), "upwards"),
        ("10.top", lambda v, x, k: x.mean(), "all runs"),
        ("10.top", lambda v, x, k: np.sort(v)[-k:].mean(), "report the"),
        ("10.top", lambda v, x, k: x[:k].mean(), "first k"),
        ("10.top", lambda v, x, k: x[v.argmax()], "single best"),
        ("10.top", lambda v, x, k: 0.1, "Sort the runs"),
        ("10.half_width", lambda r: t95(15) * r.std(ddof=1) / 15**0.5, "15 observations"),
        ("10.half_width", lambda r: 1.96 * r.std(ddof=1) / 15**0.5, "15 observations"),
        ("10.half_width", lambda r: 1.96 * r.mean(1).std(ddof=1) / 5**0.5, "Student"),
        ("10.half_width", lambda r: t95(5) * r.mean(1).std() / 5**0.5, "ddof"),
        ("10.half_width", lambda r: t95(5) * r.mean(1).std(ddof=1), "√5"),
        ("10.half_width", lambda r: r.mean(1).std(ddof=1) / 5**0.5, "standard error"),
        ("10.half_width", lambda r: r.mean(1).std(ddof=1), "spread of draws"),
        ("10.half_width", lambda r: 2 * half(r), "whole width"),
        ("10.half_width", lambda r: t95(5) * r.mean(0).std(ddof=1) / 5**0.5, "axes"),
        ("10.half_width", lambda r: 0.5, "degrees of freedom"),
        ("10.paired", lambda a, b: ((a.var(ddof=1) + b.var(ddof=1)) / len(a)) ** 0.5, "subtract first"),
        ("10.paired", lambda a, b: (b - a).std(ddof=1), "√n"),
        ("10.paired", lambda a, b: (b - a).std() / len(a) ** 0.5, "ddof"),
        ("10.paired", lambda a, b: (b - a).mean(), "how sure"),
        ("10.paired", lambda a, b: (b - a).var(ddof=1) / len(a), "root"),
        ("10.paired", lambda a, b: 0.5, "draw by draw"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text
