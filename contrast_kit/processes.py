"""One process or many: the few collective operations the trainer needs. With one process each returns its input.

Every process holds some rows of the batch. Losses are computed over *all* rows on every process, each with a gradient
for its own rows only; parameter gradients are then summed. That sum is the gradient one process would have computed,
because the contrast has no parameters and local losses are divided by global counts.
"""

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Which of them this one is, from 0."""
    return dist.get_rank() if count() > 1 else 0


def share(rows: list) -> list:
    """This process's contiguous share of a list; the first shares are one longer where it does not divide."""
    size, extra = divmod(len(rows), count())
    start = rank() * size + min(rank(), extra)
    return rows[start : start + size + (rank() < extra)]


def total(value: Tensor) -> Tensor:
    """The sum of a tensor over processes."""
    if count() > 1:
        value = value.detach().clone()
        dist.all_reduce(value)
    return value


def wait() -> None:
    """Go on when every process has come here."""
    if count() > 1:
        dist.barrier()


def gather(rows: Tensor) -> Tensor:
    """The rows of all processes in order, [B_rank, …] → [B, …]; gradient flows to this process's own rows only.

    The shares may differ in length.
    """
    if count() == 1:
        return rows
    lengths = [torch.zeros(1, dtype=torch.long, device=rows.device) for _ in range(count())]
    dist.all_gather(lengths, torch.tensor([len(rows)], device=rows.device))
    lengths = [int(length) for length in lengths]
    padded = rows.detach().new_zeros(max(lengths), *rows.shape[1:])
    padded[: len(rows)] = rows.detach()
    everyone = [torch.empty_like(padded) for _ in lengths]
    dist.all_gather(everyone, padded)
    pieces = [piece[:length] for piece, length in zip(everyone, lengths, strict=True)]
    pieces[rank()] = rows  # the own rows with their gradient
    return torch.cat(pieces)  # [B, …]


def sum_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Add up the gradients of all processes, in place.

    A parameter without gradient here counts as zero; one without gradient anywhere keeps none, so that an optimizer
    passes over it as it does with one process.
    """
    if count() == 1:
        return
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if not trained:
        return
    touched = total(torch.tensor([float(p.grad is not None) for p in trained], device=trained[0].device))
    for parameter, processes_with_one in zip(trained, touched.tolist(), strict=True):
        if processes_with_one:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
