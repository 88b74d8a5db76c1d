"""What a token loss is given, brought into shape or refused; and its terms, made one number."""

import torch
from torch import Tensor

from . import values
from .similarity import NotFiniteError


def floating(x: Tensor, name: str) -> Tensor:
    """Half precision becomes float32 before anything is summed; float64 stays."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise TypeError(
            f"{name} must be a tensor of floating-point numbers, not {getattr(x, 'dtype', type(x))}."
        )
    return x.to(torch.promote_types(x.dtype, torch.float32))


def flags(x: Tensor, name: str) -> Tensor:
    """Bool or 0/1 integers as bool."""
    if x.is_floating_point():
        raise TypeError(f"{name} must be bool (or 0/1 integers), not {x.dtype}.")
    return x != 0


def check_in_vocabulary(labels: Tensor, vocab_size: int) -> None:
    """Refuse labels that are no ids of the vocabulary."""
    if labels.is_floating_point():
        raise TypeError(f"labels must be token ids (integers), not {labels.dtype}.")
    if values.checked() and ((labels < 0) | (labels >= vocab_size)).any():
        low, high = int(labels.min()), int(labels.max())
        raise ValueError(
            f"Labels must be ids in 0 .. {vocab_size - 1}, the width of logits, got {low} .. {high}."
        )


def refuse_not_finite(total: Tensor, loss: str) -> None:
    """Refuse a sum that is NaN or infinite."""
    if values.checked() and not torch.isfinite(total.detach()):
        raise NotFiniteError(
            f"{loss} is {total.item()}: the logits hold NaN or infinity, so the model has diverged; "
            "lower the learning rate or go back to an earlier checkpoint."
        )


def reduce_terms(terms: Tensor, counted: Tensor, reduction: str, loss: str) -> Tensor:
    """Terms -> a number; terms that do not count are 0 in them already. No terms at all: 0, and no 0/0."""
    total = terms.sum()
    refuse_not_finite(total, loss)
    if reduction == "sum":
        return total
    if reduction == "mean":
        return total / counted.sum().clamp(min=1)
    if reduction == "none":
        return terms
    raise ValueError(
        f"reduction must be 'mean', 'sum' or 'none' (for mlm also with '_per_seq'), got {reduction!r}."
    )
