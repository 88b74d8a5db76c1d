"""The exercises of notebook 11, large batches, and the mistakes that are usual there."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import first_hint, near


@exercise("11.negatives", right="Whoever is in the batch, wherever it was encoded; nobody from another batch.")
def negatives(answer: Callable[[int, int, int], float]) -> str | None:
    """InfoNCE's negatives for a batch, accumulated batches, and processes that gather."""
    batch, accumulate, processes = 64, 4, 2
    said = answer(batch, accumulate, processes)
    mistakes = {
        batch: "One of the candidates is the positive.",
        batch * accumulate - 1: "Accumulated batches never meet: each contrast sees its own batch only.",
        batch * accumulate: "Accumulated batches never meet, and one of the candidates is the positive.",
        batch // processes - 1: "The processes gather their vectors: an anchor meets those of the others, too.",
        batch * processes - 1: "The processes share the batch; it does not grow with them.",
        2 * (batch - 1): "That is the symmetric form (NT-Xent). InfoNCE has the candidates of one view only.",
    }
    if hint := first_hint(said, mistakes.items(), same=near):
        return hint
    return None if near(said, batch - 1) else "Which texts stand in one row of the cosine matrix?"


class _Watched(nn.Module):
    """An encoder that remembers how many rows it was given with a graph at once."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        self.most = 0

    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            self.most = max(self.most, len(x))
        return self.net(x)

    def gradient(self) -> Tensor | None:
        if any(p.grad is None for p in self.parameters()):
            return None
        return torch.cat([p.grad.flatten() for p in self.parameters()])


def _contrast(v: Tensor) -> Tensor:
    """A loss in which every row meets every other one."""
    cosines = nn.functional.normalize(v, dim=1) @ nn.functional.normalize(v.flip(1), dim=1).T
    return nn.functional.cross_entropy(cosines / 0.3, torch.arange(len(v)))


@exercise("11.cached", right="The same gradient; the encoder never held more than a chunk.")
def cached(answer: Callable[..., object]) -> str | None:
    """Cached gradients by hand."""
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    size, whole, each = 3, _Watched(), _Watched()
    _contrast(whole(x)).backward()
    expected = whole.gradient()
    for chunk in x.split(size):
        _contrast(each(chunk)).backward()
    encode = _Watched()
    answer(encode, _contrast, x, size)
    found = encode.gradient()
    if found is None:
        return "No gradient has reached the encoder's parameters: chunk by chunk, encode(chunk).backward(…)."
    if encode.most > size:
        return f"The encoder had a graph of {encode.most} rows: make the vectors of step 1 under torch.no_grad()."
    if torch.allclose(found, expected):
        return None
    if torch.allclose(found, each.gradient()):
        return "You contrast each chunk by itself: that is accumulation. Join the vectors of all chunks first."
    if torch.allclose(found, 2 * expected):
        return "Twice too much: does each chunk go backward twice?"
    ratio = (found @ expected) / (expected @ expected)
    if torch.allclose(found, ratio * expected):
        return f"The direction is right, but {ratio:.3g} times as long: sum over chunks, do not average."
    return "Does each chunk get its own rows of the vectors' .grad? Are all chunks there?"


@exercise("11.smallest_tau", right="For float16 that is 0.09, for bfloat16 and float32 about 0.011.")
def smallest_tau(answer: Callable[[float], float]) -> str | None:
    """Where e^(1/τ) reaches the largest number of a format."""
    largest = 65504.0
    said = answer(largest)
    mistakes = {
        math.log(largest): "That is the largest exponent, 1/τ. And τ?",
        1 / math.log10(largest): "The exponential is that of e: take the natural logarithm.",
        1 / math.log2(largest): "The exponential is that of e: take the natural logarithm.",
        1 / largest: "The exponential stands between: e^(1/τ) = largest.",
    }
    if hint := first_hint(said, mistakes.items(), same=near):
        return hint
    return None if near(said, 1 / math.log(largest)) else "The largest cosine is 1: solve e^(1/τ) = largest for τ."


@exercise("11.in_pieces", right="No exponent was above 0, and never more than one piece at a time was looked at.")
def in_pieces(answer: Callable[[list[Tensor]], Tensor]) -> str | None:
    """log Σ exp over pieces, around a running maximum."""
    small = [torch.tensor([0.1, -0.4]), torch.tensor([1.2, 0.3, -2.0]), torch.tensor([0.5])]
    large = [piece * 400 for piece in small]
    said = answer(small)
    total = torch.cat(small).logsumexp(0).item()
    mistakes = {
        sum(piece.logsumexp(0).item() for piece in small): "Logarithms of sums do not add up: add the sums.",
        math.exp(total): "The logarithm of the sum is asked for.",
        torch.stack([piece.logsumexp(0) for piece in small]).mean().item(): "Not a mean over pieces: one sum over all.",
    }
    if hint := first_hint(said, mistakes.items(), same=near):
        return hint
    if not near(said, total):
        return "When a larger maximum m' comes, multiply the old sum by e^(m - m')."
    said = answer(large)
    if not math.isfinite(float(said)):
        return "Right for small scores, but e^480 is infinite: subtract the largest score so far first."
    if not near(said, torch.cat(large).logsumexp(0).item()):
        return "Right for small scores, not for large ones: was the old sum rescaled when a larger maximum came?"
    return None
