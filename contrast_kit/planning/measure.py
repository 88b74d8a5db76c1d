"""What a step keeps in memory and how long it takes: small measurements, extrapolated to a whole batch."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from contrast_kit.data import Texts
from contrast_kit.objectives.base import ExampleInfo, Objective, Vectors
from contrast_kit.training.gradient import backward, gradient
from contrast_kit.training.settings import Training, autocast

LARGEST_MEASURED = 4096
"""Rows of a contrast up to which its time and memory are measured; above it they are extrapolated from two sizes."""
MOST_TEXTS = 32
"""Texts of the smaller of the two steps that are measured; the larger takes twice as many."""


class Kept:
    """Bytes that autograd keeps for the backward pass: now, and the most so far. Parameters are not counted."""

    def __init__(self, module: nn.Module | None):
        self.now = self.most = 0
        self._holders: dict[int, int] = {}
        self._free = {p.untyped_storage().data_ptr() for p in module.parameters()} if module else set()

    def pack(self, tensor: Tensor) -> "_Held":
        """Called by autograd for a tensor that it keeps. Tensors that share memory count once."""
        return _Held(self, tensor)

    def hold(self, storage: torch.UntypedStorage) -> None:
        """Count this memory, if nobody held it before."""
        key = storage.data_ptr()
        if key not in self._free:
            if key not in self._holders:
                self.now += storage.nbytes()
                self.most = max(self.most, self.now)
            self._holders[key] = self._holders.get(key, 0) + 1

    def release(self, storage: torch.UntypedStorage) -> None:
        """Count it no longer, if this was its last holder."""
        key = storage.data_ptr()
        if key in self._holders:
            self._holders[key] -= 1
            if not self._holders[key]:
                del self._holders[key]
                self.now -= storage.nbytes()


class _Held:
    """A tensor, counted until autograd lets it go."""

    def __init__(self, kept: Kept, tensor: Tensor):
        # Detached: a result that its own graph keeps would hold that graph, and neither would ever be freed.
        self.kept, self.tensor, self.storage = kept, tensor.detach(), tensor.untyped_storage()
        kept.hold(self.storage)

    def __del__(self) -> None:
        self.kept.release(self.storage)


@contextmanager
def most_kept(module: nn.Module | None = None) -> Iterator[Kept]:
    """Measure what is kept inside for the backward pass: on a CPU by counting, on CUDA by asking the allocator.

    Args:
        module: its parameters are not counted.

    Example:
        >>> import torch
        >>> from contrast_kit.planning.measure import most_kept
        >>> x = torch.ones(256, requires_grad=True)
        >>> with most_kept() as kept:
        ...     y = x.exp()  # keeps its result: 256 numbers of 4 bytes
        >>> kept.most, kept.now
        (1024, 1024)
    """
    kept = Kept(module)
    if module is None or next(module.parameters()).device.type != "cuda":
        with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda held: held.tensor):
            yield kept
        return
    device = next(module.parameters()).device
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    yield kept
    gradients = sum(p.grad.numel() * p.grad.element_size() for p in module.parameters() if p.grad is not None)
    kept.most = max(0, torch.cuda.max_memory_allocated(device) - before - gradients)


@dataclass(frozen=True)
class Encoding:
    """How bytes and seconds of encoding grow with the number of texts: two straight lines, from two measured steps."""

    bytes_zero: float
    bytes_each: float
    seconds_zero: float
    seconds_each: float
    vectors: Vectors

    @classmethod
    def measure(cls, objective: Objective, texts: Texts, training: Training, *, chunked: bool) -> "Encoding":
        """Measure steps of n and 2n texts, n as large as a fraction of a second allows; if chunked, in two chunks each.

        The longest texts are measured for memory; for time, texts of ordinary length, or any if batches are mixed.
        """
        order = np.argsort(texts.lengths.numpy())[::-1]  # [N], longest first: not a list, as there may be millions
        usual = order[max(0, len(order) // 2 - MOST_TEXTS) :]
        if not training.group_by_length:
            usual = np.random.default_rng(0).choice(order, min(2 * MOST_TEXTS, len(order)), replace=False)
        n, most = 2, max(2, min(MOST_TEXTS, len(order) // 2))
        step = _Step(objective, texts, training)
        step(_some(order, 2))  # the first one is slower
        while n < most and step(_some(usual, n))[1] < 0.1:
            n *= 2
        part = (lambda rows: len(rows) // 2) if chunked else (lambda rows: None)
        small, large = _some(order, n), _some(order, 2 * n)
        (b1, _, _), (b2, _, vectors) = step(small, part(small)), step(large, part(large))
        at_once = n // 2 if chunked else n
        small, large = _some(usual, n), _some(usual, 2 * n)
        t1 = min(step(small, part(small))[1] for _ in range(2))
        t2 = min(step(large, part(large))[1] for _ in range(2))
        bytes_each, seconds_each = max(0.0, b2 - b1) / at_once, max(t2 - t1, t2 / 4) / n
        return cls(b1 - bytes_each * at_once, bytes_each, max(0.0, t1 - seconds_each * n), seconds_each, vectors)

    def bytes_at(self, texts: int) -> int:
        """Bytes that so many texts keep when they are encoded at once."""
        return int(max(0, self.bytes_zero) + self.bytes_each * texts)

    def seconds_at(self, texts: int) -> float:
        """How long so many texts take."""
        return self.seconds_zero + self.seconds_each * texts

    def largest(self, left: float) -> int:
        """How many texts can be encoded at once in so many bytes."""
        return int((left - max(0, self.bytes_zero)) / max(1, self.bytes_each))


class _Step:
    """Take the gradient of some rows; returns the bytes it kept, the seconds it took and its vectors."""

    def __init__(self, objective: Objective, texts: Texts, training: Training):
        self.objective, self.texts, self.device = objective, texts, objective.encoder.device
        self.generator = torch.Generator(self.device).manual_seed(0)
        self.autocast = autocast(training.precision, self.device)

    def __call__(self, rows: list[int], chunk: int | None = None) -> tuple[int, float, Vectors]:
        batch = {key: value.to(self.device) for key, value in self.texts.batch(rows).items()}
        self.objective.zero_grad(set_to_none=True)
        with most_kept(self.objective) as kept:
            start = _now(self.device)
            _, seen = gradient(self.objective, [batch], self.generator, chunk_size=chunk, autocast=self.autocast)
            seconds = _now(self.device) - start
        return kept.most, seconds, seen[0][0] if seen else {}


def measure_contrast(objective: Objective, vectors: Vectors, facts: ExampleInfo) -> tuple[int, float, int]:
    """Bytes and seconds of the contrast of a batch with these facts, and the bytes of its vectors."""
    if not objective.contrastive or not vectors:
        return 0, 0.0, 0
    n = len(next(iter(facts.values())))
    sizes = [min(n, LARGEST_MEASURED)] if n <= LARGEST_MEASURED else [LARGEST_MEASURED // 2, LARGEST_MEASURED]
    found = [_contrast_of(objective, vectors, {k: v[:size] for k, v in facts.items()}) for size in sizes]
    kept, seconds = found[-1]
    if n > sizes[-1]:  # extrapolated with the exponent between the two sizes
        growth = n / sizes[-1]
        kept *= growth ** math.log2(max(1.0, kept / max(1, found[0][0])))
        seconds *= growth ** math.log2(max(2.0, seconds / max(1e-9, found[0][1])))
    width = sum(rows.shape[1] * rows.element_size() for of in vectors.values() for rows in of.values())
    return int(kept) + 2 * n * width, seconds, n * width


def _contrast_of(objective: Objective, like: Vectors, facts: ExampleInfo) -> tuple[float, float]:
    """Bytes and seconds of the contrast of random vectors, shaped as `like`, with these facts."""
    n, device = len(next(iter(facts.values()))), objective.encoder.device
    vectors = {
        name: {head: torch.randn(n, rows.shape[1], device=device).requires_grad_() for head, rows in of.items()}
        for name, of in like.items()
    }
    best = math.inf
    for _ in range(2):  # the first one is slower
        with most_kept(objective) as kept:
            start = _now(device)
            backward(objective.total(objective.contrast(vectors, facts)))
            best = min(best, _now(device) - start)
    return kept.most, best


def optimizer_seconds(objective: Objective) -> float:
    """The time of AdamW over all parameters, extrapolated from a step over a million of them."""
    sample = nn.Parameter(torch.zeros(2**20, device=objective.encoder.device))
    sample.grad = torch.ones_like(sample)
    optimizer = torch.optim.AdamW([sample], fused=True)
    optimizer.step()
    start = _now(sample.device)
    optimizer.step()
    trained = sum(p.numel() for p in objective.parameters() if p.requires_grad)
    return (_now(sample.device) - start) * trained / sample.numel()


def _some(order: np.ndarray, n: int) -> list[int]:
    """The first n rows of an order; where it is too short, they repeat."""
    return (order[:n].tolist() * n)[:n]


def _now(device: torch.device) -> float:
    """The time when the device has done its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def in_bytes(number: float) -> str:
    """Bytes for a reader: `3.2 MiB`."""
    unit, name = (2**30, "GiB") if number >= 2**30 else (2**20, "MiB")
    return f"{number / unit:.3g} {name}" if number < 1000 * unit else f"{number / unit:,.0f} {name}"


def in_seconds(number: float) -> str:
    """Seconds for a reader: `35 ms`, `2.1 s`, `3.5 h`."""
    sizes = ((1, 1e-3, "ms"), (100, 1, "s"), (6000, 60, "min"), (math.inf, 3600, "h"))
    unit, name = next((unit, name) for limit, unit, name in sizes if number < limit)
    return f"{number / unit:.2g} {name}" if number < 10 * unit else f"{number / unit:,.0f} {name}"
