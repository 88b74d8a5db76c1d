"""The exercises of notebook 11, large batches, and the usual mistakes."""

import contextlib
import math
from collections.abc import Callable
from functools import partial
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from contrast_kit.exercises._answer import ReturnedNone
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, first_hint, many, near, shown


@exercise("11.negatives", right="Whatever is in the batch, wherever it was encoded; nothing from another batch.")
def negatives(answer: Callable[[int, int, int], float]) -> str | None:
    """InfoNCE's negatives for a batch, accumulated batches, and processes that gather."""
    tried = Tried(answer, (64, 4, 2), (32, 2, 4))
    mistakes = {
        lambda b, a, p: b: "One of the candidates is the positive.",
        lambda b, a, p: b * a - 1: "Accumulated batches never meet: each contrast sees its own batch only.",
        lambda b, a, p: b * a: "Accumulated batches never meet, and one of the candidates is the positive.",
        lambda b, a, p: b // p - 1: "The processes gather their vectors: an anchor meets those of the others, too.",
        lambda b, a, p: b * p - 1: "The processes share the batch; it does not grow with them.",
        lambda b, a, p: b * a * p - 1: "Accumulated batches never meet, and the processes share one batch.",
        lambda b, a, p: b * a // p - 1: "Accumulated batches never meet; processes that share one do, as they gather.",
        lambda b, a, p: (
            2 * (b - 1)
        ): "That is the symmetric form (NT-Xent). InfoNCE has the candidates of one view only.",
        lambda b, a, p: 2 * b - 1: "Those are NT-Xent's candidates, of both views and with the positive.",
    }
    if wrong := tried.wrong(lambda b, a, p: b - 1, same=near):
        (b, a, p), said = wrong
        told = f"For batches of {b}, {a} accumulated, on {p} processes you say {said}."
        return tried.hint(mistakes, same=near) or f"{told} Which texts stand in one row of the cosine matrix?"
    return None


class _Graph:
    """Stands for the graph of one call."""


class _Watched(nn.Module):
    """An encoder that remembers of how many rows it kept a graph: in one call, and at any one time."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        self.most_given = self.most_alive = 0
        self.alive: WeakKeyDictionary[_Graph, int] = WeakKeyDictionary()

    def forward(self, x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return self.net(x)
        graph = _Graph()  # what is kept for the backward pass holds it, and lets it go when that is done
        with torch.autograd.graph.saved_tensors_hooks(lambda kept: (graph, kept.detach()), lambda pair: pair[1]):
            v = self.net(x)
        self.alive[graph] = len(x)
        self.most_given = max(self.most_given, len(x))
        self.most_alive = max(self.most_alive, sum(self.alive.values()))
        return v

    def gradient(self) -> Tensor | None:
        if any(p.grad is None for p in self.parameters()):
            return None
        return torch.cat([p.grad.flatten() for p in self.parameters()])


def _contrast(v: Tensor) -> Tensor:
    """A loss in which every row meets every other one."""
    cosines = nn.functional.normalize(v, dim=1) @ nn.functional.normalize(v.flip(1), dim=1).T
    return nn.functional.cross_entropy(cosines / 0.3, torch.arange(len(v)))


@exercise("11.cached", right="The same gradient; the encoder never held the graph of more than a chunk.")
def cached(answer: Callable[..., object]) -> str | None:
    """Cached gradients by hand."""
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    size, whole, each = 3, _Watched(), _Watched()
    _contrast(whole(x)).backward()
    expected = whole.gradient()
    for chunk in x.split(size):
        _contrast(each(chunk)).backward()
    encode = _Watched()
    with contextlib.suppress(ReturnedNone):  # what counts are the gradients
        answer(encode, _contrast, x, size)
    found = encode.gradient()
    if found is None:
        return "No gradient has reached the encoder's parameters: chunk by chunk, encode(chunk).backward(…)."
    if encode.most_given > size:
        return f"The encoder had a graph of {encode.most_given} rows: make the vectors of step 1 under torch.no_grad()."
    if encode.most_alive > size:
        told = f"You encode {size} rows at a time, but the graphs of {encode.most_alive} rows were kept at once."
        return f"{told} Which pass needs no graph? And when does each chunk go backward?"
    if torch.allclose(found, expected):
        return None
    if torch.allclose(found, each.gradient()):
        return "You contrast each chunk by itself: that is accumulation. Join the vectors of all chunks first."
    if torch.allclose(found, 2 * expected):
        return "Twice too much: does each chunk go backward twice?"
    ratio = (found @ expected) / (expected @ expected)
    if torch.allclose(found, ratio * expected):
        return f"The direction is right, but it is {ratio:.3g} times as long: sum over chunks, do not average."
    return "Does each chunk get its own rows of the vectors' .grad? Are all chunks there?"


@exercise("11.smallest_tau", right="For float16 that is 0.09, for bfloat16 and float32 about 0.011.")
def smallest_tau(answer: Callable[[float], float]) -> str | None:
    """Where e^(1/τ) reaches the largest number of a format."""
    tried = Tried(answer, (65504.0,), (3.4028e38,))
    mistakes = {
        math.log: "That is the largest exponent, 1/τ. And τ?",
        lambda x: 1 / math.log10(x): "The exponential is that of e: take the natural logarithm.",
        lambda x: 1 / math.log2(x): "The exponential is that of e: take the natural logarithm.",
        lambda x: 1 / x: "The exponential stands between: e^(1/τ) = largest.",
    }
    same = partial(math.isclose, rel_tol=1e-3)
    if wrong := tried.wrong(lambda x: 1 / math.log(x), same):
        (largest,), said = wrong
        told = f"For a largest number of {largest:.5g} it gives {shown(said)}. The largest cosine is 1:"
        return tried.hint(mistakes, same) or f"{told} solve e^(1/τ) = largest for τ."
    return None


class _Widest(TorchFunctionMode):
    """Notes the size of the largest tensor that is made meanwhile."""

    most = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        made = func(*args, **(kwargs or {}))
        self.most = max(self.most, made.numel() if isinstance(made, Tensor) else 0)
        return made


def _running(pieces: list[Tensor], rescaled: float) -> float:
    """The sum around a running maximum; when that grows by d, the old sum is multiplied by e^(d · rescaled)."""
    largest, total = -math.inf, 0.0
    for piece in pieces:
        new = max(largest, piece.max().item())
        total = total * math.exp((new - largest) * rescaled) if total else 0.0
        total, largest = total + (piece - new).exp().sum().item(), new
    return largest + math.log(total)


@exercise("11.in_pieces", right="No exponent was above 0, and no tensor longer than the longest piece.")
def in_pieces(answer: Callable[[list[Tensor]], Tensor]) -> str | None:
    """log Σ exp over pieces, around a running maximum."""
    small = [torch.tensor([0.1, -0.4]), torch.tensor([1.2, 0.3, -2.0]), torch.tensor([0.5])]
    said = answer(small)
    if hint := many(said, "the logarithm of one sum"):
        return hint
    total = torch.cat(small).logsumexp(0).item()
    mistakes = {
        sum(piece.logsumexp(0).item() for piece in small): "Logarithms of sums do not add up: add the sums.",
        math.exp(total): "The logarithm of the sum is asked for.",
        torch.stack([piece.logsumexp(0) for piece in small]).mean().item(): "Not a mean over pieces: one sum over all.",
        _running(small, 0): "A larger maximum came: multiply the old sum, which is relative to the old one.",
        _running(small, 1): "A larger maximum came, and the old sum grew: relative to a larger number it is *smaller*.",
        total - 1.2: "The sum is relative to the largest score: add that at the end.",
        1.2: "That is the largest score alone.",
    }
    if hint := first_hint(said, mistakes.items(), same=near):
        return hint
    if not near(said, total):
        return "Take two pieces of one score each: what do you keep after the first, and what after the second?"
    said = answer([piece * 400 for piece in small])
    if not math.isfinite(float(said)):
        return "Right for small scores, but e^480 is infinite: subtract the largest score so far first."
    if not near(said, torch.cat(small).mul(400).logsumexp(0).item()):
        return "Right for small scores, not for large ones: was the old sum rescaled when a larger maximum came?"
    if not near(answer([piece - 800 for piece in small]), total - 800):
        return "Right, but not for scores near -800, where e^s is 0: what is the largest score before the first piece?"
    with _Widest() as widest:
        answer(small)
    if widest.most > max(map(len, small)):
        return f"Right, but {widest.most} scores stood in one tensor. One piece at a time: what must be kept of it?"
    return None
