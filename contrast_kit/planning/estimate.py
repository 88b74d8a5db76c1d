"""What a run will cost, before it begins: negatives per anchor, memory, time, and what accumulation would not give."""

import copy
import math
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from itertools import count as count_from
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from contrast_kit import checks, trainer_checks
from contrast_kit.data import Batches, Texts
from contrast_kit.data.batches import make_batches
from contrast_kit.data.stream import prepare_texts
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.method_checks import Facts
from contrast_kit.objectives import MemoryQueue
from contrast_kit.objectives.base import ExampleInfo, Objective
from contrast_kit.planning.measure import Encoding, measure_contrast, optimizer_seconds
from contrast_kit.planning.report import Plan
from contrast_kit.training.distributed import alone, count, start
from contrast_kit.training.fit import training_settings
from contrast_kit.training.settings import Training

LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux writes how much of the machine's memory a container, such as a notebook server's, may take."""


def plan(
    objective: Objective,
    dataset: Any,
    training: Training | None = None,
    *,
    processes: int | None = None,
    **settings: Any,
) -> Plan:
    """Estimate what `fit(objective, dataset, …)` with these settings will cost, without training anything.

    It takes a few texts through one step, as at the start of the run (`set_progress`), and as many random vectors as a
    batch has through the contrast. Time and memory of the encoder are extrapolated in proportion to the number of
    texts, so they are estimates for this machine at this moment. The negatives are counted exactly, in the first batch.
    On a CPU the memory is what autograd keeps for the backward pass; temporary buffers come on top.

    Args:
        objective, dataset, training, settings: as for `fit`. If the objective reads single texts without labels,
            their lengths in tokens are enough as data.
        processes: how many will share each batch, by default as many as now run. One of them is measured.

    Returns:
        the `Plan`; print it.

    Raises:
        ValueError, TypeError: for data and settings that `fit` would refuse, and for fewer than 1 process, or more than
            the smallest batch has texts.

    Example:
        >>> import contrast_kit as ck
        >>> texts = [f"the {colour} kite flies over shelf {i}" for i in range(32) for colour in ("red", "blue")]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=90))
        >>> simcse = ck.objectives.SimCSE(encoder)
        >>> plan = ck.plan(simcse, texts, steps=100, batch_size=16, accumulate=4)
        >>> print(plan)  # doctest: +ELLIPSIS
        SimCSE on cpu
          batch      100 steps of 4 batches of 16 texts: 100 passes over 64
          negatives  15 an anchor;
                     accumulate=4 does not change that, batch_size=64 would: 63
          memory     about ... MiB of ... GiB:
                     weights, gradients and AdamW ... MiB, 16 texts at once ... MiB, contrast ... MiB
          time       about ... a step, ... in all
        >>> plan.negatives, ck.plan(simcse, [12] * 64, batch_size=64, chunk_size=8).negatives
        (15.0, 63.0)
    """
    processes = count() if processes is None else processes
    checks.count("processes", processes, "how many share each batch")
    training = training_settings(objective, training, settings)
    trainer_checks.trainable(objective, device := start())
    objective = objective.to(device)
    texts = prepare_texts(objective.encoder, _texts_of_lengths(objective, dataset), training.max_length)
    objective.check_data(getattr(texts, "labels", None))
    batches = make_batches(texts, training)
    checks.count("processes", processes, "how many share each batch", most=min(map(len, batches.epoch(0))))
    size = min(training.batch_size, len(texts))
    steps = training.total_steps(len(batches))
    passes, rest = divmod(training.total_batches(len(batches)), len(batches))  # short batches end a pass
    with torch.inference_mode(False), _as_it_was(objective):  # with gradients, inside a torch.no_grad() too
        objective.set_progress(0, steps)
        facts = _facts(objective, texts, batches.epoch(0)[0], size)
        most = min(size * training.accumulate, len(texts))  # a batch has no text twice
        more = _facts(objective, texts, _first_rows(batches, most), size)
        return Plan(
            method=type(objective).__name__,
            device=str(objective.encoder.device),
            examples=len(texts),
            batch_size=size,
            accumulate=training.accumulate,
            processes=processes,
            steps=steps,
            seen=passes * min(len(batches) * size, len(texts)) + rest * size,
            negatives=objective.negatives(facts),
            negatives_of_one_batch=objective.negatives(more),
            contrastive=objective.contrastive,
            parameters=sum(p.numel() for p in objective.parameters()),
            **_cost(objective, texts, training, facts, math.ceil(size / processes), processes),
        )


def _cost(
    objective: Objective, texts: Texts, training: Training, facts: ExampleInfo, share: int, processes: int
) -> dict[str, Any]:
    """Measure memory and time, as fields of a `Plan`, of one process that encodes a `share` of each batch."""
    chunk = min(training.chunk_size, share) if training.chunk_size else None
    with alone():
        whole = Encoding.measure(objective, texts, training, chunked=False)
        cut = whole if chunk in (None, share) else Encoding.measure(objective, texts, training, chunked=True)
        _fill_queues(objective)
        contrast_bytes, contrast_seconds, vector_bytes = measure_contrast(objective, whole.vectors, facts)
        optimizer = optimizer_seconds(objective)
    trained = sum(p.numel() * p.element_size() for p in objective.parameters() if p.requires_grad)
    held = (*objective.parameters(), *objective.buffers())
    fixed = sum(p.numel() * p.element_size() for p in held) + 3 * trained
    available = _available(objective.encoder.device)
    return dict(
        chunk_size=chunk,
        state_bytes=fixed,
        activation_bytes=cut.bytes_at(chunk or share),
        whole_bytes=whole.bytes_at(share),
        contrast_bytes=contrast_bytes,
        available_bytes=available,
        largest_chunk=max(0, cut.largest(0.9 * available - fixed - contrast_bytes)),
        seconds=training.accumulate * (cut.seconds_at(share) + contrast_seconds) + optimizer,
        sent_bytes=trained + vector_bytes // processes,
    )


@contextmanager
def _as_it_was(objective: Objective) -> Iterator[None]:
    """Restore the objective and the random streams afterwards: mode, weights, buffers, gradients, and the attributes of
    its modules and of their configs, with the lists, dicts and sets among them."""
    device = objective.encoder.device
    gradients = [(p, p.grad, p.requires_grad) for p in objective.parameters()]
    held = list(objective.buffers())  # BatchNorm's means, a queue
    if type(objective).set_progress is not Objective.set_progress:  # which may move weights: those of an averaged copy
        held += objective.parameters()
    values = [(tensor, tensor.detach().to("cpu", copy=True)) for tensor in held]  # where a GPU need not hold them twice
    parts = [part for module in objective.modules() for part in (module, getattr(module, "config", None))]
    attributes = [vars(part) for part in parts if hasattr(part, "__dict__")]
    inner = [value for of in attributes for value in of.values() if type(value) in (dict, list, set, OrderedDict)]
    containers = [(container, copy.copy(container)) for container in (*attributes, *inner)]
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), evaluating(objective):
        objective.train()
        try:
            yield
        finally:
            for container, had in containers:
                container.clear()
                (container.extend if isinstance(container, list) else container.update)(had)
            for parameter, grad, trained in gradients:
                parameter.grad = grad
                parameter.requires_grad_(trained)
            with torch.no_grad():
                for tensor, value in values:
                    tensor.copy_(value)


def _fill_queues(objective: Objective) -> None:
    """Fill memory queues with random vectors, since they are full for most of a run; `_as_it_was` restores them."""
    for module in objective.modules():
        if isinstance(module, MemoryQueue):
            module.push(torch.randn_like(module.rows))


def _texts_of_lengths(objective: Objective, dataset: Any) -> Any:
    """Texts of the given lengths, if `dataset` is a list of lengths; other data as it is."""
    if isinstance(dataset, Texts | str | bytes) or not isinstance(dataset, Sequence | Tensor | np.ndarray):
        return dataset
    if getattr(dataset, "shape", None) == () or not len(dataset) or not isinstance(dataset[0], Integral | Tensor):
        return dataset
    lengths = checks.integers(dataset, None, torch.device("cpu"), "The lengths of texts")
    return _OfLengths(lengths, objective.encoder.tokenizer, objective.encoder.max_length)


class _OfLengths(Texts):
    """Texts of given lengths, each the beginning of the same random words, so that one takes 8 bytes."""

    def __init__(self, lengths: Tensor, tokenizer: Any, longest: int):
        if lengths.ndim != 1:
            raise TypeError("The lengths of texts are whole numbers of tokens, one per text.")
        if int(lengths.max()) > longest:
            raise ValueError(f"A text of {int(lengths.max())} tokens is longer than the encoder takes: {longest}.")
        if int(lengths.min()) < 3:
            raise ValueError(
                f"A length of {int(lengths.min())} tokens leaves no word beside the special tokens: "
                "give lengths from 3 on."
            )
        self.lengths = lengths = lengths.int()  # [N]
        self.pad_id, self.types, self.labels = tokenizer.pad_token_id, None, None
        self.starts = torch.zeros((), dtype=torch.int32).expand(len(lengths))  # [N]: all begin with the same word
        special = set(tokenizer.all_special_ids)
        words = torch.tensor([i for i in range(len(tokenizer)) if i not in special])
        random = torch.randint(len(words), (int(lengths.max()),), generator=torch.Generator().manual_seed(0))
        self.ids = words[random].int()
        self.ids[0] = tokenizer.cls_token_id
        self.maskable = ~torch.isin(self.ids, torch.tensor(sorted(special), dtype=torch.int32))
        self.text_ids, self.highest = torch.arange(len(lengths), dtype=torch.int32), int(self.ids.max())


@torch.no_grad()
def _facts(objective: Objective, texts: Texts, rows: list[int], size: int) -> ExampleInfo:
    """The facts of these rows, in batches of `size`; views are only drawn where a method has facts of its own."""
    device, own = objective.encoder.device, type(objective).facts is not Objective.facts
    generator, found = torch.Generator(device).manual_seed(0), []
    for first in range(0, len(rows), size):
        batch = {key: value.to(device) for key, value in texts.batch(rows[first : first + size]).items()}
        found.append(objective.facts(batch, objective.views(batch, generator) if own else {}))
    return Facts({name: torch.cat([facts[name] for facts in found]) for name in found[0]})


def _first_rows(batches: Batches, n: int) -> list[int]:
    """The first n different rows of a run, over as many epochs as they take: some leave rows out."""
    rows: dict[int, None] = {}
    for epoch in count_from(0):
        for row in chain.from_iterable(batches.epoch(epoch)):
            if len(rows) == n:
                return list(rows)
            rows[int(row)] = None


def _available(device: torch.device) -> int:
    """Bytes of memory of a device, or of what a container may take; 0 where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    if not hasattr(os, "sysconf"):  # Windows
        return 0
    limits = [int(text) for path in LIMITS if path.is_file() and (text := path.read_text().strip()).isdigit()]
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *limits])
