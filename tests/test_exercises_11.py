"""The checkers of notebook 11: the right answers pass, each usual mistake gets its own hint."""

import math

import pytest
import torch

from contrast_kit.exercises import judge


def cached(encode, contrast, x, size, *, grad=False, factor=1.0, times=1, drop=0):
    with torch.set_grad_enabled(grad):
        vectors = torch.cat([encode(chunk) for chunk in x.split(size if not grad else len(x))])
    vectors = vectors.detach().requires_grad_()
    contrast(vectors).backward()
    pieces = list(zip(x.split(size), vectors.grad.split(size), strict=True))
    for chunk, gradient in pieces[drop:]:
        for _ in range(times):
            encode(chunk).backward(gradient * factor)
    return True


def by_chunks(encode, contrast, x, size):
    for chunk in x.split(size):
        contrast(encode(chunk)).backward()
    return True


def in_pieces(pieces, rescale=True):
    largest, total = torch.tensor(-torch.inf), torch.tensor(0.0)
    for piece in pieces:
        new = torch.maximum(largest, piece.max())
        total = total * ((largest - new).exp() if rescale else 1.0) + (piece - new).exp().sum()
        largest = new
    return largest + total.log()


def test_right_answers():
    assert judge("11.negatives", lambda batch, accumulate, processes: batch - 1).right
    assert judge("11.cached", cached).right
    assert judge("11.smallest_tau", lambda largest: 1 / math.log(largest)).right
    assert judge("11.in_pieces", in_pieces).right


def test_no_answer_is_not_yet():
    for name in ("11.negatives", "11.cached", "11.smallest_tau", "11.in_pieces"):
        assert judge(name, lambda *args: None).right is None


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("11.negatives", lambda b, a, p: b, "is the positive"),
        ("11.negatives", lambda b, a, p: b * a - 1, "never meet"),
        ("11.negatives", lambda b, a, p: b // p - 1, "gather"),
        ("11.negatives", lambda b, a, p: b * p - 1, "share the batch"),
        ("11.negatives", lambda b, a, p: 2 * (b - 1), "symmetric"),
        ("11.negatives", lambda b, a, p: 3, "one row"),
        ("11.cached", lambda *args: True, "No gradient"),
        ("11.cached", lambda *args: cached(*args, grad=True), "graph of 7 rows"),
        ("11.cached", by_chunks, "that is accumulation"),
        ("11.cached", lambda *args: cached(*args, times=2), "Twice"),
        ("11.cached", lambda *args: cached(*args, factor=1 / 3), "do not average"),
        ("11.cached", lambda *args: cached(*args, drop=1), "Are all chunks there"),
        ("11.smallest_tau", lambda m: math.log(m), "And τ?"),
        ("11.smallest_tau", lambda m: 1 / math.log10(m), "natural"),
        ("11.smallest_tau", lambda m: 1 / m, "exponential stands between"),
        ("11.smallest_tau", lambda m: 0.5, "solve"),
        ("11.in_pieces", lambda pieces: sum(p.logsumexp(0) for p in pieces), "do not add up"),
        ("11.in_pieces", lambda pieces: torch.cat(pieces).exp().sum(), "logarithm of the sum"),
        ("11.in_pieces", lambda pieces: torch.stack([p.logsumexp(0) for p in pieces]).mean(), "Not a mean"),
        ("11.in_pieces", lambda pieces: sum(p.exp().sum() for p in pieces).log(), "e^480 is infinite"),
        ("11.in_pieces", lambda pieces: in_pieces(pieces, rescale=False), "multiply the old sum"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text
