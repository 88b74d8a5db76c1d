"""The losses of words and pictures: each against loops written from its equation, its limits and its gradients."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from contrast_kit.vision import (
    masked_features,
    masked_objects,
    one_answer,
    soft_answers,
)

M, C, F, B, A = 5, 4, 3, 4, 6


@pytest.fixture
def named():
    """Scores, labels with one unknown, and confidences."""
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(M, C, generator=g, dtype=torch.float64) * 2
    return (
        logits,
        torch.tensor([3, 0, -100, 1, 1]),
        torch.rand(M, generator=g, dtype=torch.float64),
    )


@pytest.fixture
def answers():
    """Scores of a model and of people; the third question has no known answer."""
    g = torch.Generator().manual_seed(1)
    scores = (torch.randint(4, (B, A), generator=g) * 0.3).clamp(max=1.0).double()
    scores[2] = 0
    return torch.randn(B, A, generator=g, dtype=torch.float64) * 2, scores


def double(rows):
    return torch.tensor(rows, dtype=torch.float64)


def close(loss, number):
    assert loss.dtype == torch.float64
    assert loss.item() == pytest.approx(number, rel=1e-10, abs=1e-10)


def log_softmax(row, at):
    return row[at] - math.log(sum(math.exp(value) for value in row))


def object_loop(logits, labels, confidence):
    """1/M Σ -c_i log softmax(logits_i)[y_i] over regions with a label: the sum and M."""
    total, count = 0.0, 0
    for row, label, c in zip(
        logits.tolist(), labels.tolist(), confidence.tolist(), strict=True
    ):
        if label != -100:
            total -= c * log_softmax(row, label)
            count += 1
    return total, count


def huber(d):
    return d * d / 2 if abs(d) < 1 else abs(d) - 0.5


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def test_named_regions_are_the_weighted_cross_entropy(named):
    logits, labels, confidence = named
    total, count = object_loop(logits, labels, confidence)
    close(masked_objects(logits, labels, confidence=confidence, reduction="sum"), total)
    close(masked_objects(logits, labels, confidence=confidence), total / count)
    close(
        masked_objects(logits, labels),
        object_loop(logits, labels, torch.ones(M))[0] / count,
    )
    each = masked_objects(logits, labels, confidence=confidence, reduction="none")
    assert each.shape == (M,) and each[2] == 0


def test_features_are_the_smooth_l1_distance():
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randn(M, F, generator=g, dtype=torch.float64) * 2 for _ in range(2))
    rows = [
        [huber(x - y) for x, y in zip(p, q, strict=True)]
        for p, q in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert any(abs(d) < 1 for d in (a - b).flatten()) and any(
        abs(d) > 1 for d in (a - b).flatten()
    )
    close(masked_features(a, b), sum(sum(row) / F for row in rows) / M)
    close(masked_features(a, b, reduction="sum"), sum(sum(row) / F for row in rows))


def test_soft_answers_are_a_sum_over_answers_and_a_mean_over_questions(answers):
    logits, scores = answers
    total = 0.0
    for z, s in zip(logits.tolist(), scores.tolist(), strict=True):
        for a in range(A):
            total -= s[a] * math.log(sigmoid(z[a])) + (1 - s[a]) * math.log(
                1 - sigmoid(z[a])
            )
    close(soft_answers(logits, scores), total / B)
    close(soft_answers(logits, scores, reduction="sum"), total)


def test_one_answer_is_the_expectation_of_a_drawn_answer(answers):
    logits, scores = answers
    total, count = 0.0, 0
    for z, s in zip(logits.tolist(), scores.tolist(), strict=True):
        if sum(s):
            total -= sum(share / sum(s) * log_softmax(z, a) for a, share in enumerate(s))
            count += 1
    close(one_answer(logits, scores), total / count)
    assert count == B - 1


def test_limits_in_closed_form():
    even = torch.zeros(M, C, dtype=torch.float64)
    close(masked_objects(even, torch.ones(M, dtype=torch.long)), math.log(C))
    sure = 60 * torch.eye(C, dtype=torch.float64)
    close(masked_objects(sure, torch.arange(C)), 0.0)
    far = torch.full((M, F), 100.0, dtype=torch.float64)
    close(masked_features(far, far), 0.0)
    close(masked_features(far, -far), 199.5)
    close(
        soft_answers(torch.zeros(B, A).double(), torch.rand(B, A).double()),
        A * math.log(2),
    )
    close(one_answer(torch.zeros(B, A).double(), torch.ones(B, A).double()), math.log(A))
    entropy = -(0.3 * math.log(0.3) + 0.7 * math.log(0.7))
    close(soft_answers(double([[math.log(3 / 7)]]), double([[0.3]])), entropy)


def test_gradients(named, answers):
    logits, labels, confidence = named
    logits = logits.clone().requires_grad_()
    z, scores = answers[0].clone().requires_grad_(), answers[1]
    features = torch.randn(M, F, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: masked_objects(x, labels, confidence=confidence), logits)
    assert gradcheck(
        lambda x: masked_features(x, torch.zeros(M, F, dtype=torch.float64)), features
    )
    assert gradcheck(lambda x: soft_answers(x, scores), z)
    assert gradcheck(lambda x: one_answer(x, scores), z)


def test_nothing_masked_gives_zero_and_a_zero_gradient():
    nothing = torch.zeros(0, dtype=torch.long)
    for loss, x, rest in (
        (masked_objects, torch.zeros(0, C), (nothing,)),
        (masked_objects, torch.randn(M, C), (torch.full((M,), -100),)),
        (masked_features, torch.zeros(0, F), (torch.zeros(0, F),)),
        (one_answer, torch.randn(B, A), (torch.zeros(B, A),)),
        (one_answer, torch.zeros(0, A), (torch.zeros(0, A),)),
    ):
        x.requires_grad_()
        found = loss(x, *rest)
        found.backward()
        assert found.item() == 0 and (x.grad == 0).all()
