"""How `fit` computes on a GPU, where nobody chose: decided from the sizes of a run, and undone at its end.

A GPU is fast where it is given much at once. What keeps it waiting differs: padding, which is computed for nothing;
in large models passes over memory between the products, which a compiler joins; in small models the Python that
launches each kernel, 15 ms for 2 ms of work, which a recorded step does not run.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from contrast_kit.fast.fixed_capacity import FixedCapacity
from contrast_kit.fast.packed import can_pack, unpack
from contrast_kit.fast.shapes import rounded_up

SMALL = 2e12
"""Operations of a step up to which its launches take longer than its kernels."""
REPAID = 4e16
"""Operations of a run, for each encoder, from which on 40 s of compiling are repaid: by a fifth of 200 s."""
PADDED = 0.85
"""Share of real tokens below which packing pays."""
SHAPES = 64
"""Shapes of batches that are recorded; the steps of further ones run as they are."""


class Way(NamedTuple):
    """How a run computes."""

    packing: bool = False
    share: float | None = None
    """Of the positions that are masked, for the fixed capacity."""
    compiled: bool = False
    recorded: bool = False


def way(objective: Any, training: Any, batches: Any, total: int) -> Way:
    """The quickest way of a run of `total` steps, from its sizes alone: a resumed run goes on in the same way.

    Only methods of the kit are recorded or have a fixed capacity: in another one `views` may do what a record of the
    device's work would not repeat, and choose any number of positions.
    """
    real = places = 0
    rows = list(islice(batches.epoch(0), 100))
    for row in rows:
        lengths = batches.lengths[row]
        real, places = real + lengths.sum(), places + lengths.max() * len(row)
    words = objective.encoder.model.get_input_embeddings().weight
    weights = sum(each.numel() for each in objective.parameters()) - words.numel()
    step = 6 * weights * places / len(rows) * training.accumulate
    if training.precision == "float32":
        step *= 4  # such products take so much longer
    own = type(objective).__module__.startswith("contrast_kit.objectives.")
    share = None
    if own:
        share = getattr(objective.config, "p_m", None)
    if step < SMALL:
        alone = training.chunk_size is None and not torch.distributed.is_initialized()
        return Way(share=share, recorded=alone and own and recordable(objective))
    parts = encoders(objective)
    packing = real < PADDED * places and all(can_pack(each.model) for each in parts)
    compiled = step * total > REPAID * len(parts)
    return Way(packing, share, compiled)


def recordable(objective: Any) -> bool:
    """Whether nothing changes from step to step but weights, noise and rate, as CAPT's queue does, and nobody looks on.

    A hook, or a method that somebody put on the objective, would run while a step is recorded and never again.
    """
    kind = type(objective)
    base = next(each for each in kind.mro() if each.__name__ == "Objective")
    changes = kind.set_progress != base.set_progress or kind.after_step != base.after_step
    hooks = [each._backward_hooks for each in objective.parameters()]
    for part in objective.modules():
        hooks += part._forward_hooks, part._forward_pre_hooks, part._backward_hooks
    return not (changes or any(hooks) or any(map(callable, vars(objective).values())))


def encoders(objective: nn.Module) -> list[Any]:
    """Its encoders of texts."""
    return [part for part in objective.modules() if hasattr(part, "use_packing")]


@contextmanager
def quicker(loop: Any, gradient: Callable) -> Iterator[Callable]:
    """A function that does what `gradient` does for a run; inside, its encoders compute in the quickest way.

    `loop` is `fit`'s own. Without CUDA, and with `compiled=False`, all is as it was.
    """
    chosen, parts = Way(), encoders(loop.objective)
    # By name, as `Objective` above: both classes stand in rooms that import this one.
    plain = all(type(each.strategy).__name__ == "Padded" for each in parts)
    if CudaGraphs.on(loop.device) and loop.training.compiled and parts and plain:
        chosen = way(loop.objective, loop.training, loop.batches, loop.total)
    with ExitStack() as undo:
        for each in parts:
            undo.callback(setattr, each, "strategy", each.strategy)
            if chosen.packing:
                undo.callback(unpack, each.model)
                each.use_packing()
            if chosen.share:
                each.strategy = FixedCapacity(each.strategy, chosen.share)
            if chosen.compiled:
                each.strategy = Compiled(each.strategy)
        if chosen.recorded:
            gradient = Recorded(gradient, CudaGraphs())
            for each in (loop.texts, *getattr(loop.texts, "wordings", ())):
                undo.callback(
                    setattr, each, "pad_to_multiple_of", each.pad_to_multiple_of
                )
                if rounded_up(each.lengths.max(), 8) <= loop.objective.encoder.max_length:
                    each.pad_to_multiple_of = 8  # few shapes
        yield gradient


class Compiled:
    """How an encoder computes when compiled: in training alone, so that measuring on the way compiles nothing anew."""

    def __init__(self, strategy: Any, **options: Any) -> None:
        self.positions, self.fixed_shapes = strategy.positions, strategy.fixed_shapes
        self.plain = strategy.hidden_states
        self.quick = torch.compile(self.plain, **options)

    def hidden_states(self, model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        """Last hidden states, [B, T, D]."""
        if model.training:
            return self.quick(model, inputs)
        return self.plain(model, inputs)


class Recorded:
    """`gradient`, recorded for each shape of batches: run once, recorded the second time, from then on only replayed.

    A record holds memory, which a replay writes again: what is returned is valid until the next call.
    """

    def __init__(self, gradient: Callable, device: Any) -> None:
        self.gradient, self.device = gradient, device
        self.met: Counter = Counter()
        self.records: dict[Any, tuple] = {}

    def __call__(
        self,
        objective: Any,
        batches: list[dict[str, Tensor]],
        generator: torch.Generator,
        **options: Any,
    ) -> Any:
        given = [value for batch in batches for value in batch.values()]
        shapes = tuple(value.shape for value in given)
        # A callback may have set weights to rest.
        shapes += tuple(weight.requires_grad for weight in objective.parameters())

        def run(batches: list[dict[str, Tensor]]) -> Any:
            return self.gradient(objective, batches, generator, **options)

        self.met[shapes] += 1
        new = shapes not in self.records
        # What is set up at first use must not be recorded.
        if self.met[shapes] == 1 or (new and len(self.records) == SHAPES):
            return self.device.run(lambda: run(batches))
        if new:
            held = [{key: x.clone() for key, x in batch.items()} for batch in batches]
            try:
                made, replay = self.device.record(lambda: run(held), generator)
            except RuntimeError as error:
                error.add_note("This step cannot be recorded: train with compiled=False.")
                raise
            inputs = [value for batch in held for value in batch.values()]
            grads = [(weight, weight.grad) for weight in objective.parameters()]
            self.records[shapes] = inputs, made, grads, replay
        inputs, made, grads, replay = self.records[shapes]
        for mine, value in zip(inputs, given, strict=True):
            mine.copy_(value)
        replay()
        for weight, grad in grads:
            weight.grad = grad
        return made


class CudaGraphs:
    """Runs and records work of a GPU, on a stream of its own, as recording demands."""

    @staticmethod
    def on(device: torch.device) -> bool:
        """Whether this device has them."""
        return device.type == "cuda"

    def __init__(self) -> None:
        self.stream = torch.cuda.Stream()
        self.memory = torch.cuda.graph_pool_handle()

    def run(self, function: Callable) -> Any:
        """The function's result."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            made = function()
        torch.cuda.current_stream().wait_stream(self.stream)
        return made

    def record(self, function: Callable, generator: torch.Generator) -> tuple:
        """What the function will have made after each replay, and the replay; both draw from `generator`."""
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(generator)
        with torch.cuda.graph(graph, pool=self.memory, stream=self.stream):
            made = function()
        return made, graph.replay
