"""The checkers of notebook 12: the right answers pass, each usual mistake gets its own hint."""

import math

import pytest
import torch

from contrast_kit.exercises import judge, names


def entropy(p):
    return -(p * p.clamp(min=1e-300).log()).sum()


def cosines(query, vectors):
    return torch.nn.functional.normalize(vectors, dim=1) @ torch.nn.functional.normalize(query, dim=0)


RIGHT = {
    "12.second_rate": lambda p_m, share: share / (1 - p_m),
    "12.effective": lambda p: entropy(p).exp(),
    "12.search": lambda query, vectors, k: cosines(query, vectors).topk(k).indices,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers(name):
    assert judge(name, RIGHT[name]).right, judge(name, RIGHT[name])
    assert judge(name, lambda *args: None).right is None


def test_every_exercise_is_proven():
    assert names("12") == sorted(RIGHT)


def test_other_forms_of_a_right_answer_pass():
    assert judge("12.search", lambda q, v, k: cosines(q, v).argsort(descending=True)[:k]).right
    assert judge("12.search", lambda q, v, k: (torch.nn.functional.normalize(v) @ q).topk(k).indices).right


def test_a_list_is_an_answer_too():
    assert judge("12.search", lambda query, vectors, k: cosines(query, vectors).topk(k).indices.tolist()).right


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("12.second_rate", lambda p_m, share: share, "fewer than all"),
        ("12.second_rate", lambda p_m, share: share * (1 - p_m), "Turn it round"),
        ("12.second_rate", lambda p_m, share: share / p_m, "did *not* select"),
        ("12.second_rate", lambda p_m, share: share - p_m, "subtract"),
        ("12.second_rate", lambda p_m, share: share + p_m, "do not add"),
        ("12.second_rate", lambda p_m, share: 0.9, "Solve"),
        ("12.second_rate", lambda p_m, share: 0.5, "At p_m = 0.15 and share = 0.5 it gives 0.5"),
        ("12.second_rate", lambda p_m, share: share + p_m / 2, "it gives 0.575"),
        ("12.second_rate", lambda p_m, share: 1 - share / (1 - p_m), "leaves alone"),
        ("12.effective", entropy, "in nats"),
        ("12.effective", lambda p: -entropy(p), "a minus"),
        ("12.effective", lambda p: (-entropy(p)).exp(), "a minus"),
        ("12.effective", lambda p: entropy(p) / math.log(2), "in bits"),
        ("12.effective", lambda p: (entropy(p) / math.log(2)).exp(), "2 to the power"),
        ("12.effective", lambda p: 1 / p.square().sum(), "another count"),
        ("12.effective", lambda p: 1 / p.max(), "hardest negative alone"),
        ("12.effective", len, "That many there are"),
        ("12.effective", lambda p: 3.0, "then e to that"),
        ("12.effective", lambda p: (-(p * p.log()).sum()).exp(), "NaN"),
        ("12.search", lambda q, v, k: (v @ q).topk(k).indices, "Long vectors"),
        ("12.search", lambda q, v, k: (v - q).norm(dim=1).topk(k, largest=False).indices, "by distance"),
        ("12.search", lambda q, v, k: cosines(q, v).topk(k, largest=False).indices, "farthest"),
        ("12.search", lambda q, v, k: cosines(q, v).topk(k).indices.flip(0), "wrong order"),
        ("12.search", lambda q, v, k: cosines(q, v).topk(k).values, "numbers of the rows"),
        ("12.search", lambda q, v, k: cosines(q, v).argmax(), "shape"),
        ("12.search", lambda q, v, k: torch.arange(k), "topk"),
        ("12.search", lambda q, v, k: cosines(q, v).topk(k), "return the indices"),
        ("12.search", lambda q, v, k: cosines(q, v).topk(3).indices, "k = 2 rows, [2]; yours has shape [3]"),
        ("12.search", lambda q, v, k: cosines(torch.tensor([2.0, 0.5]), v).topk(k).indices, "with every row"),
        ("12.search", lambda q, v, k: cosines(q, v).abs().topk(k).indices, "keep the sign"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text
