"""The checkers of notebook 03: the right answers pass, each usual mistake gets its own hint."""

import math

import pytest
import torch
from torch.nn.functional import normalize

from contrast_kit.exercises import judge


def kernel(x, power=2, t=2):
    return (-t * torch.pdist(normalize(x, dim=1)) ** power).exp()


def entropy(p):
    return -(p * p.log()).sum()


def test_right_answers():
    assert judge("03.alignment", lambda c: 2 - 2 * c).right
    assert judge("03.uniformity", lambda x: kernel(x).mean().log()).right
    assert judge("03.cone", lambda shared, own: shared / (shared + own)).right
    assert judge("03.effective_rank", lambda sigma: entropy(sigma / sigma.sum()).exp()).right


def test_no_answer_is_not_yet():
    for name in ("03.alignment", "03.uniformity", "03.cone", "03.effective_rank"):
        assert judge(name, lambda *args: None).right is None


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("03.alignment", lambda c: 1 - c, "Half of it"),
        ("03.alignment", lambda c: 2 - c, "occurs twice"),
        ("03.alignment", lambda c: 2 + 2 * c, "sign"),
        ("03.alignment", lambda c: math.sqrt(2 - 2 * c), "squared"),
        ("03.alignment", lambda c: c, "mean cosine itself"),
        ("03.alignment", lambda c: "2 - 2c", "Expand"),
        ("03.alignment", lambda c: 1.4, "At a mean cosine of -0.5 it gives 1.4"),
        ("03.alignment", lambda c: 2 * c - 2, "not negative"),
        ("03.uniformity", lambda x: (-2 * torch.pdist(x) ** 2).exp().mean().log(), "on the sphere"),
        (
            "03.uniformity",
            lambda x: (-2 * torch.cdist(normalize(x, dim=1), normalize(x, dim=1)) ** 2).exp().mean().log(),
            "diagonal",
        ),
        ("03.uniformity", lambda x: kernel(x).mean(), "log is missing"),
        ("03.uniformity", lambda x: kernel(x).sum().log(), "not a sum"),
        ("03.uniformity", lambda x: kernel(x, power=1).mean().log(), "squared"),
        ("03.uniformity", lambda x: kernel(x).log().mean(), "outside the mean"),
        ("03.uniformity", lambda x: kernel(x, t=-2).mean().log(), "close pairs"),
        ("03.uniformity", lambda x: kernel(x, t=1).mean().log(), "t = 2"),
        ("03.uniformity", lambda x: -kernel(x).mean().log(), "sign in front"),
        ("03.uniformity", lambda x: kernel(x), "one number"),
        ("03.cone", lambda shared, own: shared / own, "whole vector"),
        ("03.cone", lambda shared, own: own / (shared + own), "Exchanged"),
        ("03.cone", lambda shared, own: shared / (shared + 2 * own), "each length once"),
        ("03.cone", lambda shared, own: shared / (shared + own) ** 0.5, "both lengths"),
        ("03.cone", lambda shared, own: (shared / (shared + own)) ** 0.5, "shared* direction"),
        ("03.cone", lambda shared, own: shared**2 / (shared**2 + own**2), "square them again"),
        ("03.cone", lambda shared, own: 0.0, "Which parts meet"),
        ("03.cone", lambda shared, own: 2 / 3, "At shared = 1.0 and own = 4.0 it gives 0.6667"),
        ("03.cone", lambda shared, own: 1 / 3, "Which parts meet"),
        ("03.cone", lambda shared, own: (shared - own) / (shared + own), "right angles"),
        ("03.effective_rank", lambda s: entropy(s / s.sum()), "exponential"),
        ("03.effective_rank", lambda s: entropy(s / s.sum()) / math.log(2), "in bits"),
        ("03.effective_rank", lambda s: (entropy(s / s.sum()) / math.log(2)).exp(), "natural log"),
        ("03.effective_rank", lambda s: entropy(s**2 / (s**2).sum()).exp(), "squared"),
        ("03.effective_rank", lambda s: (-entropy(s / s.sum())).exp(), "minus"),
        ("03.effective_rank", lambda s: len(s), "plain rank"),
        ("03.effective_rank", lambda s: 1 / ((s / s.sum()) ** 2).sum(), "participation"),
        ("03.effective_rank", lambda s: entropy(s).exp(), "distribution"),
        ("03.effective_rank", lambda s: (-1000 * s).sum().log(), "Not finite"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text
