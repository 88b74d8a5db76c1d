"""Exercises of notebook 04: every usual mistake gets the hint that names it; the right answer passes."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from contrast_kit import exercises, losses
from contrast_kit.exercises import judge


def hint(name, answer):
    verdict = judge(name, answer)
    assert verdict.right is False, verdict
    return verdict.text


def test_names():
    assert exercises.names("04") == ["04.floor", "04.never", "04.sequence_mean", "04.token_loss"]


@pytest.mark.parametrize("name", exercises.names("04"))
def test_no_answer_is_no_mistake(name):
    assert judge(name, lambda *args: None).right is None


class TestTokenLoss:
    @staticmethod
    def log_p(h, x, ids):
        return (h @ x.T).log_softmax(1)[torch.arange(len(ids)), ids]

    @pytest.mark.parametrize(
        "answer",
        [
            lambda h, x, ids: losses.mlm(h @ x.T, ids),
            lambda h, x, ids: F.cross_entropy(h @ x.T, ids).item(),
            lambda h, x, ids: F.cross_entropy(h @ x.T, ids).numpy(),
            lambda h, x, ids: np.float32(F.cross_entropy(h @ x.T, ids)),
            lambda h, x, ids: sum(-math.log(torch.softmax(x @ h[i], 0)[ids[i]]) for i in range(len(ids))) / len(ids),
        ],
    )  # fmt: skip
    def test_right(self, answer):
        assert judge("04.token_loss", answer).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda h, x, ids: -TestTokenLoss.log_p(h, x, ids), "one loss a position"),
            (lambda h, x, ids: "low", "one number"),
            (lambda h, x, ids: [F.cross_entropy(h @ x.T, ids).item()], "one number"),
            (lambda h, x, ids: h.numpy(), "one number"),
            (lambda h, x, ids: TestTokenLoss.log_p(h, x, ids).mean(), "minus is missing"),
            (lambda h, x, ids: -TestTokenLoss.log_p(h, x, ids).sum(), "take the mean"),
            (lambda h, x, ids: -TestTokenLoss.log_p(h, x, ids).exp().mean(), "-log p"),
            (lambda h, x, ids: -TestTokenLoss.log_p(h, x, ids).exp().mean().log(), "other way round"),
            (lambda h, x, ids: -(h * x[ids]).sum(1).mean(), "numerator"),
            (lambda h, x, ids: F.cross_entropy(h @ x[ids].T, torch.arange(len(ids))), "in-batch"),
            (lambda h, x, ids: F.cross_entropy(F.normalize(h) @ F.normalize(x).T, ids), "no temperature"),
            (lambda h, x, ids: -TestTokenLoss.log_p(h, x, ids).mean() / math.log(2), "bits"),
            (lambda h, x, ids: 3.0, "Who competes at one position"),
            (lambda h, x, ids: F.cross_entropy((h @ x.T).softmax(1), ids), "takes the softmax itself"),
            (lambda h, x, ids: -(h @ x.T).log_softmax(0)[torch.arange(len(ids)), ids].mean(), "dim=0"),
            (lambda h, x, ids: TestTokenLoss.log_p(h, x, ids).exp().mean(), "mean of p"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("04.token_loss", answer)


class TestSequenceMean:
    @staticmethod
    def means(terms, rows):
        return torch.stack([terms[rows == row].mean() for row in rows.unique()])

    def test_right(self):
        assert judge("04.sequence_mean", lambda terms, rows: self.means(terms, rows).mean()).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda terms, rows: terms, "one number"),
            (
                lambda terms, rows: torch.stack([terms[rows == row].mean() for row in range(5)]).mean(),
                "0/0",
            ),
            (lambda terms, rows: terms.mean(), "token mean"),
            (lambda terms, rows: TestSequenceMean.means(terms, rows).sum(), "not their sum"),
            (lambda terms, rows: TestSequenceMean.means(terms, rows).sum() / 5, "leave them out"),
            (lambda terms, rows: terms.sum() / len(rows.unique()), "*within*"),
            (lambda terms, rows: terms.sum() / (rows.max() + 1), "*within*"),
            (
                lambda terms, rows: (8 + terms[1:5].mean() + terms[5]) / 3,
                "Shuffled",
            ),
            (lambda terms, rows: 0.0, "expected"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("04.sequence_mean", answer)


class TestFloor:
    @staticmethod
    def entropy(counts):
        p = counts[counts > 0] / counts.sum()
        return -(p * p.log()).sum()

    def test_right(self):
        assert judge("04.floor", self.entropy).right

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda counts: counts, "one number"),
            (lambda counts: -TestFloor.entropy(counts), "minus"),
            (lambda counts: TestFloor.entropy(counts) / math.log(2), "bits"),
            (lambda counts: math.log(len(counts)), "log V"),
            (lambda counts: TestFloor.entropy(counts).exp(), "perplexity"),
            (lambda counts: -(counts / counts.sum()).log().mean(), "weigh by p"),
            (lambda counts: -(counts * counts.log()).sum(), "a share"),
            (lambda counts: -(counts * (counts / counts.sum()).log()).sum(), "per word"),
            (lambda counts: -(counts.max() / counts.sum()).log(), "commonest"),
            (lambda counts: 7.0, "expected"),
            (lambda counts: -(counts / counts.sum() * (counts / counts.sum()).log()).sum(), "drop zero"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("04.floor", answer)


class TestNever:
    def test_right(self):
        for kind in (tuple, list, torch.tensor, np.array):
            assert judge("04.never", lambda p, epochs, kind=kind: kind([(1 - p) ** epochs, 1 - p])).right, kind

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda p, epochs: p, "two numbers"),
            (lambda p, epochs: {"dynamic": p, "static": p}, "two numbers"),
            (lambda p, epochs: torch.ones(3), "two numbers"),
            (lambda p, epochs: (1 - p, (1 - p) ** epochs), "exchanged"),
            (lambda p, epochs: (1 - (1 - p) ** epochs, p), "at least once"),
            (lambda p, epochs: (p**epochs, p), "*every*"),
            (lambda p, epochs: (1 - epochs * p, 1 - p), "multiply"),
            (lambda p, epochs: (max(0.0, 1 - epochs * p), 1 - p), "multiply"),
            (lambda p, epochs: ((1 - p) ** epochs,) * 2, "nothing new"),
            (lambda p, epochs: ((1 - p) ** epochs, p), "Dynamic is right"),
            (lambda p, epochs: (0.5, 0.5), "product"),
        ],
    )
    def test_hints(self, answer, words):
        assert words in hint("04.never", answer)
