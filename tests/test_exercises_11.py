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


def nothing_returned(*args):
    cached(*args)


def one_graph(encode, contrast, x, size):
    contrast(torch.cat([encode(chunk) for chunk in x.split(size)])).backward()


def first_pass_with_graphs(encode, contrast, x, size):
    vectors = torch.cat([encode(chunk) for chunk in x.split(size)]).detach().requires_grad_()
    contrast(vectors).backward()
    for chunk, gradient in zip(x.split(size), vectors.grad.split(size), strict=True):
        encode(chunk).backward(gradient)


def last_pass_at_once(encode, contrast, x, size):
    with torch.no_grad():
        vectors = torch.cat([encode(chunk) for chunk in x.split(size)])
    contrast(vectors.requires_grad_()).backward()
    torch.cat([encode(chunk) for chunk in x.split(size)]).backward(vectors.grad)


def detached_one_by_one(encode, contrast, x, size):
    """No no_grad, but no graph outlives its chunk either."""
    vectors = torch.cat([encode(chunk).detach() for chunk in x.split(size)]).requires_grad_()
    contrast(vectors).backward()
    for chunk, gradient in zip(x.split(size), vectors.grad.split(size), strict=True):
        out = encode(chunk)
        (out * gradient).sum().backward()


def in_pieces(pieces, rescale=1.0, start=-torch.inf):
    largest, total = torch.tensor(start), torch.tensor(0.0)
    for piece in pieces:
        new = torch.maximum(largest, piece.max())
        factor = ((largest - new) * rescale).exp() if rescale else 1.0
        total = (total * factor if total else total) + (piece - new).exp().sum()
        largest = new
    return largest + total.log()


def test_right_answers():
    assert judge("11.negatives", lambda batch, accumulate, processes: batch - 1).right
    for answer in (cached, nothing_returned, detached_one_by_one):
        assert judge("11.cached", answer).right, judge("11.cached", answer)
    assert judge("11.smallest_tau", lambda largest: 1 / math.log(largest)).right
    assert judge("11.in_pieces", in_pieces).right, judge("11.in_pieces", in_pieces)
    of_each = lambda pieces: torch.stack([piece.logsumexp(0) for piece in pieces]).logsumexp(0)  # noqa: E731
    assert judge("11.in_pieces", of_each).right


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
        ("11.negatives", lambda b, a, p: 63, "For batches of 32, 2 accumulated, on 4 processes you say 63"),
        ("11.negatives", lambda b, a, p: 2 * b - 1, "NT-Xent's candidates"),
        ("11.negatives", lambda b, a, p: b * a // p - 1, "never meet"),
        ("11.cached", lambda *args: True, "No gradient"),
        ("11.cached", lambda *args: cached(*args, grad=True), "graph of 7 rows"),
        ("11.cached", by_chunks, "that is accumulation"),
        ("11.cached", lambda *args: one_graph(*args) or True, "the graphs of 7 rows were kept at once"),
        ("11.cached", first_pass_with_graphs, "rows were kept at once"),
        ("11.cached", last_pass_at_once, "the graphs of 7 rows were kept at once"),
        ("11.cached", lambda *args: cached(*args, times=2), "Twice"),
        ("11.cached", lambda *args: cached(*args, factor=1 / 3), "do not average"),
        ("11.cached", lambda *args: cached(*args, drop=1), "Are all chunks there"),
        ("11.smallest_tau", lambda m: math.log(m), "And τ?"),
        ("11.smallest_tau", lambda m: 1 / math.log10(m), "natural"),
        ("11.smallest_tau", lambda m: 1 / m, "exponential stands between"),
        ("11.smallest_tau", lambda m: 0.5, "solve"),
        ("11.smallest_tau", lambda m: 1 / math.log(65504), "3.4028e+38 it gives 0.09017"),
        ("11.in_pieces", lambda pieces: sum(p.logsumexp(0) for p in pieces), "do not add up"),
        ("11.in_pieces", lambda pieces: torch.cat(pieces).exp().sum(), "logarithm of the sum"),
        ("11.in_pieces", lambda pieces: torch.stack([p.logsumexp(0) for p in pieces]).mean(), "Not a mean"),
        ("11.in_pieces", lambda pieces: sum(p.exp().sum() for p in pieces).log(), "e^480 is infinite"),
        ("11.in_pieces", lambda pieces: in_pieces(pieces, rescale=0), "multiply the old sum"),
        ("11.in_pieces", lambda pieces: in_pieces(pieces, rescale=-1), "the old sum grew"),
        ("11.in_pieces", lambda pieces: in_pieces(pieces) - max(p.max() for p in pieces), "add that at the end"),
        ("11.in_pieces", lambda pieces: max(p.max() for p in pieces), "largest score alone"),
        ("11.in_pieces", lambda pieces: in_pieces(pieces, start=0.0), "near -800"),
        ("11.in_pieces", lambda pieces: torch.cat(pieces).logsumexp(0), "6 scores stood in one tensor"),
        ("11.in_pieces", lambda pieces: 1.0, "what do you keep after the first"),
        ("11.in_pieces", lambda pieces: torch.cat(pieces), "one number"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False and words in verdict.text, verdict.text
