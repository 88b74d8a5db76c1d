"""The exercises of notebook 11, large batches, and the usual mistakes."""

import contextlib
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from contrast_kit.exercises._answer import NotYet
from contrast_kit.exercises._frame import exercise, table
from contrast_kit.losses import cosine_matrix


class _Graph:
    """Stands for the graph of one call."""


class _Watched(nn.Module):
    """An encoder that remembers of how many rows it kept a graph: in one call, and at any one time."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
        self.longest_call = 0
        self.most_alive = 0
        self.alive: WeakKeyDictionary[_Graph, int] = WeakKeyDictionary()

    def forward(self, x):
        if not torch.is_grad_enabled():
            return self.net(x)
        # what is kept for the backward pass holds the graph, and lets it go when that is done
        graph = _Graph()
        hooks = torch.autograd.graph.saved_tensors_hooks(
            lambda kept: (graph, kept.detach()), lambda pair: pair[1]
        )
        with hooks:
            v = self.net(x)
        self.alive[graph] = len(x)
        self.longest_call = max(self.longest_call, len(x))
        self.most_alive = max(self.most_alive, sum(self.alive.values()))
        return v

    def gradient(self):
        """All gradients in one vector; None where one has not arrived."""
        gradients = [p.grad for p in self.parameters() if p.grad is not None]
        if len(gradients) == 4:
            return torch.cat([gradient.flatten() for gradient in gradients])
        return None


def _contrast(v):
    """A loss in which every row meets every other one."""
    scores = cosine_matrix(v, v.flip(1)) / 0.3
    return nn.functional.cross_entropy(scores, torch.arange(len(v)))


@exercise("11.cached")
def cached(answer):
    """Cached gradients by hand."""
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    size = 3
    whole = _Watched()
    _contrast(whole(x)).backward()
    right = whole.gradient()
    each = _Watched()
    for chunk in x.split(size):
        _contrast(each(chunk)).backward()
    encode = _Watched()
    with contextlib.suppress(NotYet):  # what counts are the gradients
        answer(encode, _contrast, x, size)
    gradient = encode.gradient()
    if gradient is None and answer.last is None:
        raise NotYet
    if gradient is None:
        return "No gradient has reached the encoder's parameters: chunk by chunk, encode(chunk).backward(…)."
    if encode.longest_call > size:
        rows = f"The encoder had a graph of {encode.longest_call} rows"
        return f"{rows}: make the vectors of step 1 under torch.no_grad()."
    if encode.most_alive > size:
        kept = f"You encode {size} rows at a time, but the graphs of {encode.most_alive} rows were kept at once."
        return f"{kept} Which pass needs no graph? And when does each chunk go backward?"
    if torch.allclose(gradient, right):
        return None
    if torch.allclose(gradient, each.gradient()):
        return "You contrast each chunk by itself: that is accumulation. Join the vectors of all chunks first."
    if torch.allclose(gradient, 2 * right):
        return "Twice too much: does each chunk go backward twice?"
    ratio = (gradient @ right) / (right @ right)
    if torch.allclose(gradient, ratio * right):
        return f"The direction is right, but it is {ratio:.3g} times as long: sum over chunks, do not average."
    return "Does each chunk get its own rows of the vectors' .grad? Are all chunks there?"


class _Widest(TorchFunctionMode):
    """Notes the size of the largest tensor that is made meanwhile."""

    most = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            self.most = max(self.most, made.numel())
        return made


def _piece_by_piece(answer):
    """Whether a right answer holds one piece at a time."""
    with _Widest() as widest:
        answer(PIECES)
    if widest.most > 3:
        return f"Right, but {widest.most} scores stood in one tensor. One piece at a time: what must be kept of it?"
    return None


def _running(pieces, rescaled):
    """The sum around a running maximum; when that grows by d, the old sum is multiplied by e^(d · rescaled)."""
    largest = pieces[0].max()
    total = torch.zeros(())
    for piece in pieces:
        new = torch.maximum(largest, piece.max())
        total = total * ((new - largest) * rescaled).exp() + (piece - new).exp().sum()
        largest = new
    return largest + total.log()


PIECES = [torch.tensor([0.1, -0.4]), torch.tensor([1.2, 0.3, -2.0]), torch.tensor([0.5])]


@table(
    "11.in_pieces",
    cases=[(PIECES,)],
    further=[([400 * piece for piece in PIECES],), ([piece - 800 for piece in PIECES],)],
    then=_piece_by_piece,
)
def in_pieces(pieces):
    """log Σ exp over pieces, around a running maximum."""
    scores = torch.cat(pieces)
    right = scores.logsumexp(0)
    of_each = torch.stack([piece.logsumexp(0) for piece in pieces])
    return right, {
        "Logarithms of sums do not add up: add the sums.": of_each.sum(),
        "The logarithm of the sum is asked for.": right.exp(),
        "Not a mean over pieces: one sum over all.": of_each.mean(),
        "A larger maximum came: multiply the old sum, which is relative to the old one.": _running(
            pieces, 0
        ),
        "A larger maximum came, and the old sum grew: relative to a larger number it is *smaller*.": _running(
            pieces, 1
        ),
        "The sum is relative to the largest score: add that at the end.": right
        - scores.max(),
        "That is the largest score alone.": scores.max(),
    }
