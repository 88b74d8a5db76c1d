"""What is given, brought into shape or refused in one sentence: what was wrong, and what to do.

Torch only; every room may ask here. Letters: N vectors, D width, V vocabulary.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

_reads_values = True


class NotFiniteError(ValueError):
    """A number that should be finite is not: a `ValueError` of its own, so that a trainer can catch it."""


@contextmanager
def unchecked(on: bool = True) -> Iterator[None]:
    """Inside, losses check kinds and shapes, never values, which a GPU would have to be waited for.

    The trainer does so on a GPU, and reads the loss once, at the end of a step. `unchecked(False)` changes nothing.
    """
    global _reads_values
    before, _reads_values = _reads_values, _reads_values and not on
    try:
        yield
    finally:
        _reads_values = before


def floats(x: Tensor, name: str) -> Tensor:
    """Numbers in float32 or better: half precision is raised before anything is summed."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{name} must be a tensor of floating-point numbers, not {kind}.")
    return x.to(torch.promote_types(x.dtype, torch.float32))


def vectors(x: Tensor, name: str, at_least: int = 1) -> Tensor:
    """At least so many rows of numbers, [N, D], in float32 or better."""
    x = floats(x, name)
    if x.dim() != 2 or not x.shape[1] or len(x) < at_least:
        least = "one row" if at_least == 1 else f"{at_least} rows"
        raise ValueError(f"{name} must be [N, D], one vector a row, with at least {least}, got shape {list(x.shape)}.")
    return x


def normalise(x: Tensor, name: str = "x") -> Tensor:
    """Scale each row to length 1, so that a dot product of two rows is their cosine.

    CMLM, eq. 8: h / ||h||_2. CAPT, eq. 1: the outer norm of s(x). SCL calls it "l2 normalization".

    Args:
        x: vectors [N, D], any floating dtype. Half precision is raised to float32 *before* the norm is taken.
        name: what to call x in an error message.

    Returns:
        [N, D], float32 (float64 where x is float64).

    Raises:
        TypeError, ValueError: no [N, D] of numbers, or a row of zeros. NotFiniteError: NaN or infinity in a row.

    Example:
        >>> import torch
        >>> normalise(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    x = vectors(x, name)
    norm = torch.linalg.vector_norm(x, dim=1, keepdim=True)  # [N, D] -> [N, 1]
    usable = torch.isfinite(norm.detach()) & (norm.detach() > 0)
    if _reads_values and not usable.all():
        row = int((~usable.squeeze(1)).nonzero()[0])
        if norm[row] == 0:
            raise ValueError(
                f"Row {row} of {name} is a vector of zeros, which has no direction and so no cosine: "
                "leave it out, or look for the layer that gives zeros."
            )
        raise NotFiniteError(
            f"Row {row} of {name} has NaN or infinity in it: the model that made it has diverged, "
            "so lower the learning rate or go back to an earlier checkpoint."
        )
    return x / norm


def pair(x: Tensor, y: Tensor, x_name: str, y_name: str) -> None:
    """Two sets of vectors that pair up row by row, [B, D] each."""
    if vectors(x, x_name).shape != vectors(y, y_name).shape:
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        raise ValueError(f"{x_name} and {y_name} must have one shape [B, D], row b of each a pair, got {shapes}.")


def integers(x: Tensor, n: int, device: torch.device, name: str) -> Tensor:
    """One integer for each of n rows, [n], on their device."""
    x = torch.as_tensor(x, device=device)
    if x.is_floating_point():
        raise TypeError(f"{name} must be integers, not {x.dtype}.")
    if x.shape != (n,):
        raise ValueError(f"{name} must be [{n}], one for each row, got shape {list(x.shape)}.")
    return x


def in_vocabulary(ids: Tensor, size: int) -> None:
    """Labels that are ids of a vocabulary of this size."""
    if ids.is_floating_point():
        raise TypeError(f"labels must be token ids (integers), not {ids.dtype}.")
    if _reads_values and ((ids < 0) | (ids >= size)).any():
        low, high = int(ids.min()), int(ids.max())
        raise ValueError(f"Labels must be ids in 0 .. {size - 1}, the width of logits, got {low} .. {high}.")


def shares(x: Tensor, name: str, hint: str = "") -> None:
    """Numbers from 0 to 1."""
    if _reads_values and not ((x >= 0) & (x <= 1)).all():  # NaN is refused too
        raise ValueError(f"{name} must lie between 0 and 1, got {x.min().item():g} .. {x.max().item():g}{hint}.")


def boxes(corners: Tensor, real: Tensor) -> None:
    """Boxes x1 y1 x2 y2 as shares of the picture, [..., 4], wherever a region is real, [...]."""
    if not _reads_values:
        return
    corners, form = corners[real], "a box is x1, y1, x2, y2, as shares of the picture's width and height"  # [N, 4]
    if not ((corners >= 0) & (corners <= 1)).all():
        low, high = corners.min().item(), corners.max().item()
        raise ValueError(f"Boxes lie between 0 and 1, not {low:g} .. {high:g}: {form}; divide pixels by its size.")
    if (inverted := (corners[:, :2] >= corners[:, 2:]).any(1)).any():
        said = ", ".join(f"{value:g}" for value in corners[inverted][0].tolist())
        raise ValueError(f"A box ends before it begins ({said}): {form}, not width and height in the place of x2, y2.")


def pictures(features: Tensor, real: Tensor) -> None:
    """Features [B, R, F] of pictures with at least one region each, real [B, R], and no NaN in them."""
    if not _reads_values:
        return
    if not real.any(1).all():
        row = int((~real.any(1)).nonzero()[0])
        raise ValueError(
            f"The picture of row {row} has no region: leave the row out, or give the whole picture as one."
        )
    if not torch.isfinite(features).all():
        raise ValueError("A region has NaN or infinity among its features: leave it out, or look at the detector.")


def finite(total: Tensor, loss: str) -> None:
    """A sum of terms of a token loss that is neither NaN nor infinite."""
    if _reads_values and not torch.isfinite(total.detach()):
        raise NotFiniteError(
            f"{loss} is {total.item()}: the logits hold NaN or infinity, so the model has diverged; "
            "lower the learning rate or go back to an earlier checkpoint."
        )


def reduce(terms: Tensor, reduction: str, count: Tensor | int | None = None, others: tuple = ()) -> Tensor:
    """Terms as a number, or as they are. `count` of them count (all, if not told); where none does, the mean is 0."""
    if reduction == "mean":
        count = len(terms) if count is None else torch.as_tensor(count).clamp(min=1)
        return terms.sum() / count
    if reduction in ("sum", "none"):
        return terms.sum() if reduction == "sum" else terms
    raise ValueError(
        f"reduction must be one of {', '.join(map(repr, ('mean', 'sum', 'none', *others)))}, got {reduction!r}."
    )


# -- settings ------------------------------------------------------------------------------------------------------


def temperature(tau: float | Tensor) -> None:
    """A number above 0."""
    value = tau.item() if isinstance(tau, Tensor) and tau.numel() == 1 else tau
    if not _number(value) or not value > 0:
        raise ValueError(f"tau is a temperature and must be a number > 0, got {value!r}.")


def probability(name: str, value: Any) -> None:
    """A number from 0 to 1."""
    if not _number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} is a probability and must lie between 0 and 1, got {value!r}.")


def weight(name: str, value: Any) -> None:
    """What a part of the loss is multiplied by."""
    if not _number(value) or not value >= 0:
        raise ValueError(f"{name} weighs a part of the loss and must be a number of at least 0, not {value!r}.")


def choice(name: str, value: Any, choices: tuple) -> None:
    """One of some words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}.")


def count(name: str, value: Any, what: str, least: int = 1) -> None:
    """A whole number."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {what}, at least {least}, not {value!r}.")


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
