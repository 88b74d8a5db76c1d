"""What a run will cost, before it begins: negatives per anchor, memory, time, and what accumulation would not give."""

import copy
import math
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from contrast_kit._util import rounded
from contrast_kit.data.batches import make_batches
from contrast_kit.data.stream import prepare_texts
from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.base import Objective
from contrast_kit.training import distributed
from contrast_kit.training.fit import check_trainable, training_settings
from contrast_kit.training.gradient import gradient
from contrast_kit.training.settings import Training, adamw, autocast

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""Where Linux writes how much of the machine's memory a container, such as a notebook server's, may take."""


@dataclass(frozen=True)
class Plan:
    """What `plan` found out; printed, it is a short table. Bytes and seconds are of one process.

    `negatives`: those that an anchor meets, on average; None where a method has none; NaN for one that does not say.
    """

    method: str
    device: str
    examples: int
    """Texts in the data."""
    training: Training
    batch_size: int
    """Texts in one contrast."""
    processes: int
    steps: int
    negatives: float | None
    state_bytes: int
    """Weights, gradients and the optimizer's two moments; a memory queue."""
    step_bytes: int
    """The most that autograd keeps for the backward pass of a step."""
    available_bytes: int
    """Memory of the device, or what a container may take of it; 0 where that is unknown."""
    seconds: float
    """Of one optimizer step, without sending anything between processes."""

    @property
    def bytes(self) -> int:
        """All memory together."""
        return self.state_bytes + self.step_bytes

    @property
    def fits(self) -> bool:
        """Whether `bytes` is less than nine tenths of the device's memory; True where that is unknown."""
        return not self.available_bytes or self.bytes < 0.9 * self.available_bytes

    def __str__(self) -> str:
        batches, size = self.training.accumulate, self.batch_size
        passes = self.steps * batches * size / self.examples
        lines = [
            f"{self.method} on {self.device}",
            f"batch      {self.steps:,} steps of {batches} × {size:,} texts: {rounded(passes)} times {self.examples:,}",
            f"negatives  {self._negatives()}",
        ]
        if batches > 1 and self.negatives is not None:
            larger = f"batch_size={batches * size:,}"
            lines.append(f"           accumulate={batches} adds none, {larger} would")
        lines += [
            f"memory     about {in_bytes(self.bytes)} of {in_bytes(self.available_bytes)}:",
            f"           state {in_bytes(self.state_bytes)}, a step {in_bytes(self.step_bytes)}",
        ]
        if not self.fits:
            lines.append(
                "           TOO MUCH: take a (smaller) chunk_size, which loses no negatives"
            )
        whole = in_seconds(self.seconds * self.steps)
        lines.append(
            f"time       about {in_seconds(self.seconds)} a step, {whole} in all"
        )
        if self.processes > 1:
            each = f"each of {self.processes} encodes a share, and contrasts all"
            lines.append(f"processes  {each}; sending takes more")
        return "\n  ".join(lines)

    def _negatives(self) -> str:
        if self.negatives is None:
            return "none here, so accumulating batches and one larger batch are the same"
        if math.isnan(self.negatives):
            return f"unknown: {self.method} has no method `negatives` that counts them"
        return f"{rounded(self.negatives)} an anchor"


def plan(
    objective: Objective,
    dataset: Any,
    training: Training | None = None,
    *,
    processes: int | None = None,
    **settings: Any,
) -> Plan:
    """Measure a step of what `fit(objective, dataset, …)` with these settings would do, on a copy of the objective.

    Time is measured on the first batch, memory on the longest texts, on this machine at this moment. The negatives are
    counted in the first batch. On a CPU the memory is what autograd keeps for the backward pass; temporary buffers come
    on top.

    Args:
        objective, dataset, training, settings: as for `fit`.
        processes: how many will share each batch, by default as many as now run. A share of the batch is measured.

    Returns:
        the `Plan`; print it.

    Example:
        >>> import contrast_kit as ck
        >>> texts = [f"the {colour} kite flies over shelf {i}" for i in range(32) for colour in ("red", "blue")]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=90), dropout=0.1)
        >>> plan = ck.plan(ck.objectives.SimCSE(encoder), texts, steps=100, batch_size=16, accumulate=4)
        >>> print(plan)  # doctest: +ELLIPSIS
        SimCSE on cpu
          batch      100 steps of 4 × 16 texts: 100 times 64
          negatives  15 an anchor
                     accumulate=4 adds none, batch_size=64 would
          memory     about ... MiB of ...:
                     state ... MiB, a step ... MiB
          time       about ... a step, ... in all
    """
    processes = processes or distributed.count()
    training = training_settings(objective, training, settings)
    device = distributed.start()
    check_trainable(objective, training, device)
    objective = copy.deepcopy(objective).to(device).train()
    texts = prepare_texts(objective.encoder, dataset, training.max_length)
    batches = make_batches(texts, training)
    steps = training.total_steps(len(batches))
    objective.set_progress(0, steps)

    def batch_of(rows: list[int]) -> View:
        return {key: value.to(device) for key, value in texts.batch(rows).items()}

    first = batches.epoch(0)[0]
    batch, noise = batch_of(first), torch.Generator(device).manual_seed(0)
    facts = objective.facts(batch, objective.views(batch, noise))
    size = min(training.batch_size, len(texts))
    share = math.ceil(size / processes)
    longest = texts.lengths.argsort(descending=True)[:share].tolist()
    _, seconds = _measure(objective, batch_of(first[:share]), training)
    kept, _ = _measure(objective, batch_of(longest), training)
    trained = [
        parameter for parameter in objective.parameters() if parameter.requires_grad
    ]
    return Plan(
        method=type(objective).__name__,
        device=str(device),
        examples=len(texts),
        training=training,
        batch_size=size,
        processes=processes,
        steps=steps,
        negatives=objective.negatives(facts),
        state_bytes=_bytes([*objective.parameters(), *objective.buffers()])
        + 3 * _bytes(trained),
        step_bytes=kept,
        available_bytes=_available(device),
        seconds=training.accumulate * seconds,
    )


def _measure(objective: Objective, batch: View, training: Training) -> tuple[int, float]:
    """Bytes kept and seconds taken by one step on a batch; the second of two, as the first one is slower."""
    device = objective.encoder.device
    generator = torch.Generator(device).manual_seed(0)
    options = dict(
        chunk_size=training.chunk_size, autocast=autocast(training.precision, device)
    )
    optimizer = adamw(objective, training)
    devices = [device] if device.type == "cuda" else []
    with torch.inference_mode(False), torch.random.fork_rng(devices):
        for _ in range(2):
            start = _now(device)
            with most_kept(objective) as kept:
                _, remembered = gradient(objective, [batch], generator, **options)
            optimizer.step()
            optimizer.zero_grad()
            seconds = _now(device) - start
            for vectors, facts in remembered:
                objective.after_step(vectors, facts)
    return kept.most, seconds


def _bytes(tensors: list[Tensor | None]) -> int:
    return sum(each.nbytes for each in tensors if each is not None)


def _available(device: torch.device) -> int:
    """Bytes of memory of a device, or of what a container may take; 0 where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    if not hasattr(os, "sysconf"):
        return 0
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = (
        CONTAINER_LIMIT.read_text("utf-8").strip() if CONTAINER_LIMIT.is_file() else ""
    )
    return min(machine, int(limit)) if limit.isdigit() else machine


def _now(device: torch.device) -> float:
    """The time when the device has done its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


class Kept:
    """Bytes that autograd keeps for the backward pass: `now`, and the `most` so far. Parameters are not counted."""

    def __init__(self, parameters: list[nn.Parameter]):
        self.now = self.most = 0
        self.uncounted = {
            parameter.untyped_storage().data_ptr() for parameter in parameters
        }
        # Of each piece of memory, which counts once.
        self.holders: Counter[int] = Counter()

    def change(self, storage: torch.UntypedStorage, holders: int) -> None:
        """Count a holder of this memory more, or one less."""
        key = storage.data_ptr()
        if key in self.uncounted:
            return
        before = self.holders[key] > 0
        self.holders[key] += holders
        after = self.holders[key] > 0
        self.now += (after - before) * storage.nbytes()
        self.most = max(self.most, self.now)


class _Held:
    """A tensor, counted until autograd lets it go."""

    def __init__(self, kept: Kept, tensor: Tensor):
        # Detached: a result that its own graph keeps would hold that graph, and neither would ever be freed.
        self.kept = kept
        self.tensor = tensor.detach()
        self.storage = tensor.untyped_storage()
        kept.change(self.storage, 1)

    def __del__(self) -> None:
        self.kept.change(self.storage, -1)


@contextmanager
def most_kept(module: nn.Module | None = None) -> Iterator[Kept]:
    """Measure what is kept inside for the backward pass: on a CPU by counting, on CUDA by asking the allocator.

    Args:
        module: its parameters are not counted.

    Example:
        >>> import torch
        >>> from contrast_kit.training.plan import most_kept
        >>> x = torch.ones(256, requires_grad=True)
        >>> with most_kept() as kept:
        ...     y = x.exp()  # keeps its result: 256 numbers of 4 bytes
        >>> kept.most, kept.now
        (1024, 1024)
    """
    parameters = list(module.parameters()) if module else []
    kept = Kept(parameters)
    if not parameters or parameters[0].device.type != "cuda":
        pack = torch.autograd.graph.saved_tensors_hooks
        with pack(lambda tensor: _Held(kept, tensor), lambda held: held.tensor):
            yield kept
        return
    device = parameters[0].device
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    yield kept
    peak = torch.cuda.max_memory_allocated(device) - before
    kept.most = max(0, peak - _bytes([parameter.grad for parameter in parameters]))


def in_bytes(number: float) -> str:
    """Bytes for a reader: `3.2 MiB`."""
    if number < 2**30:
        return f"{rounded(number / 2**20)} MiB"
    return f"{rounded(number / 2**30)} GiB"


def in_seconds(number: float) -> str:
    """Seconds for a reader: `35 ms`, `2.1 s`, `3.5 h`."""
    for most, unit, name in ((1, 1e-3, "ms"), (100, 1, "s"), (6000, 60, "min")):
        if number < most:
            return f"{rounded(number / unit)} {name}"
    return f"{rounded(number / 3600)} h"
