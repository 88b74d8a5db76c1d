"""One process or many: the few collective operations the trainer needs. With one process each returns its input.

Every process is given the whole batch, draws the same noise for it, and encodes its own share of the rows. Losses are
computed over *all* rows on every process, each with a gradient for its own rows only; parameter gradients are then
summed. That sum is the gradient one process would have computed: local losses are divided by counts over the whole
batch, and weights of the contrast itself get their gradient from the first process alone. Token ids are small, so
drawing the noise everywhere costs next to nothing, and the views do not depend on how many processes there are.
"""

import os
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

PATIENCE = timedelta(minutes=10)
"""How long to wait for another process. One that ended is noticed at once on a CPU; one that hangs, after this."""


class LostError(ConnectionError):
    """Another process ended, or did not answer."""


def start() -> torch.device:
    """Connect the processes that torchrun, accelerate or `notebook_launcher` started; the device of this one."""
    from accelerate import PartialState

    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return PartialState().device
    if not dist.is_initialized():
        PartialState._reset_state()  # a notebook's process that trained alone before hands this down to its copies
    return PartialState(timeout=PATIENCE).device


def stop() -> None:
    """Disconnect, at the end of a program: threads that still listen to the others would disturb its exit."""
    if count() > 1:
        dist.destroy_process_group()


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return dist.get_rank() if count() > 1 else 0


def shares(rows: int) -> list[slice]:
    """The rows of every process: contiguous, the first shares longer by at most one."""
    size, extra = divmod(rows, count())
    starts = [r * size + min(r, extra) for r in range(count() + 1)]
    return [slice(*bounds) for bounds in pairwise(starts)]


def own(rows: int) -> slice:
    """This process's share of that many rows."""
    return shares(rows)[rank()]


def _collective(operation: Callable[..., Any], *arguments: Any) -> None:
    """Run a collective operation; raise `LostError` where another process is gone."""
    try:
        operation(*arguments)
    except RuntimeError as error:
        reason = str(error).strip().split("\n")[0]
        raise LostError(
            f"Another process ended or did not answer, so this one ends too ({reason}): start all of them again, with "
            "resume=True if the run has a folder."
        ) from error


def total(value: Tensor) -> Tensor:
    """The sum of a tensor over processes."""
    if count() > 1:
        value = value.detach().clone()
        _collective(dist.all_reduce, value)
    return value


def anywhere(fact: bool, device: torch.device) -> bool:
    """Whether a fact is true on any process."""
    return bool(total(torch.tensor(float(fact), device=device))) if count() > 1 else fact


def gather(rows: Tensor, length: int) -> Tensor:
    """The rows of all processes in order, [B_rank, …] → [B, …], where B, the `length`, was shared out by `own`.

    Gradient flows to this process's own rows only.
    """
    if count() == 1:
        return rows
    sizes = [share.stop - share.start for share in shares(length)]
    padded = rows.new_zeros(sizes[0], *rows.shape[1:])  # all processes send equally much
    padded[: len(rows)] = rows.detach()
    everyone = [torch.empty_like(padded) for _ in sizes]
    _collective(dist.all_gather, everyone, padded)
    pieces = [piece[:size] for piece, size in zip(everyone, sizes, strict=True)]
    pieces[rank()] = rows  # the own rows with their gradient
    return torch.cat(pieces)  # [B, …]


def same_settings(settings: dict[str, Any]) -> None:
    """Raise a ValueError on every process if one was started with other settings, or other data, than the first."""
    everyone = [settings] * count()
    if count() > 1:
        _collective(dist.all_gather_object, everyone, settings)
    for process, theirs in enumerate(everyone):
        for name, value in theirs.items():
            if value != everyone[0][name]:
                raise ValueError(
                    f"Process {process} was started with another {name} than process 0: start all processes with the "
                    "same method, settings and data, in the same order."
                )


def same_weights(module: nn.Module) -> None:
    """Give every process the first one's parameters and buffers: gradients are summed, never weights."""
    if count() > 1:
        state = {name: value.clone() for name, value in module.state_dict().items()}
        for value in state.values():
            _collective(dist.broadcast, value, 0)
        module.load_state_dict(state)


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Add up the gradients of all processes, in place.

    A parameter without gradient here counts as zero; one without gradient anywhere keeps none, so that an optimizer
    skips it as it does with one process.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if count() == 1 or not trained:
        return
    touched = torch.tensor(
        [float(p.grad is not None) for p in trained], device=trained[0].device
    )
    for parameter, processes in zip(trained, total(touched).tolist(), strict=True):
        if processes:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            _collective(dist.all_reduce, parameter.grad)
