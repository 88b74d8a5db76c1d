"""What a contrastive loss is given, brought into shape or refused in one clear sentence."""

import warnings

import torch
from torch import Tensor

from .similarity import check_vectors, normalise


def repeated_texts(
    ids: Tensor | None, queue_ids: Tensor | None, n: int, queue_length: int, device: torch.device
) -> Tensor:
    """Bool [2B, 2B + Q]: True where a candidate is from the anchor's own text. Without ids: a lone False."""
    ids, queue_ids = ids_of_pairs(ids, queue_ids, n // 2, queue_length, device)
    if ids is None:
        return torch.zeros((), dtype=torch.bool, device=device)
    rows = ids.repeat(2)  # [B] -> [2B]
    repeated = same_text(rows, n, device)  # [2B, 2B]
    if queue_ids is None:
        in_queue = repeated.new_zeros(n, queue_length)
    else:
        in_queue = rows[:, None] == queue_ids[None, :]
    return torch.cat([repeated, in_queue], dim=1)  # [2B, 2B + Q]


def ids_of_pairs(
    ids: Tensor | None, queue_ids: Tensor | None, b: int, queue_length: int, device: torch.device
) -> tuple[Tensor | None, Tensor | None]:
    """The ids of B texts and of the queue as integers, [B] and [Q], or None where they are not told."""
    if ids is None and queue_ids is not None:
        raise ValueError("queue_ids need ids to be compared with: pass the ids of the batch too.")
    ids = None if ids is None else integers_for_rows(ids, b, device, "ids")
    if queue_ids is not None:
        queue_ids = integers_for_rows(queue_ids, queue_length, device, "queue_ids")
    return ids, queue_ids


def same_text(ids: Tensor | None, n: int, device: torch.device) -> Tensor:
    """Bool [N, N]: True where two rows have one id. Without ids: a lone False, which broadcasts."""
    if ids is None:
        return torch.zeros((), dtype=torch.bool, device=device)
    ids = integers_for_rows(ids, n, device, "ids")
    return ids[:, None] == ids[None, :]  # [N] -> [N, N]


def constant_rows(queue: Tensor, x: Tensor) -> Tensor:
    """The queue as constants of x's dtype, [Q, D]; rows that nothing has filled yet are zeros: refused."""
    shape = list(queue.shape) if isinstance(queue, Tensor) else type(queue).__name__
    if not isinstance(queue, Tensor) or queue.dim() != 2 or queue.shape[1] != x.shape[1]:
        raise ValueError(f"queue must be [Q, {x.shape[1]}], as wide as a and b, got {shape}.")
    if len(queue) == 0:
        return x[:0]
    return normalise(queue.detach(), "queue").to(x.dtype)


def check_temperature(tau: float | Tensor) -> float | Tensor:
    """Refuse a temperature that is no number above 0."""
    try:
        value = float(tau)
    except (TypeError, ValueError):
        value = tau
    if not isinstance(value, float) or not value > 0:
        raise ValueError(f"tau is a temperature and must be a number > 0, got {value!r}.")
    return tau


def check_pair(x: Tensor, y: Tensor, x_name: str, y_name: str) -> None:
    """Refuse two sets of vectors that do not pair up, [B, D] each."""
    check_vectors(x, x_name)
    check_vectors(y, y_name)
    if x.shape != y.shape:
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        raise ValueError(
            f"{x_name} and {y_name} must have one shape [B, D], row b of each a pair, got {shapes}."
        )


def integers_for_rows(labels: Tensor, n: int, device: torch.device, name: str) -> Tensor:
    """One integer for each of n rows, [N], on their device."""
    labels = torch.as_tensor(labels, device=device)
    if labels.is_floating_point():
        raise TypeError(f"{name} must be integers, not {labels.dtype}.")
    if labels.shape != (n,):
        raise ValueError(f"{name} must be [{n}], one for each row, got shape {list(labels.shape)}.")
    return labels


def warn_if_alone(n: int, loss: str) -> None:
    """Say that a contrast of one example teaches nothing."""
    if n == 1:
        warnings.warn(
            f"{loss} has one example and so no negatives: the loss is 0 and teaches nothing. "
            "Use a larger batch (gradient accumulation adds no negatives).",
            stacklevel=3,
        )


def reduce(per_anchor: Tensor, reduction: str, others: tuple[str, ...] = ()) -> Tensor:
    """[N] -> a number, or [N] as it is."""
    if reduction == "mean":
        return per_anchor.sum() / len(per_anchor)  # its gradient is one number for all: `_partners` sees that
    if reduction == "sum":
        return per_anchor.sum()
    if reduction == "none":
        return per_anchor
    choices = ", ".join(repr(name) for name in ("mean", "sum", "none", *others))
    raise ValueError(f"reduction must be one of {choices}, got {reduction!r}.")
