"""Cosines, in float32 or better: what every contrastive loss is made of."""

import torch
from torch import Tensor

from . import values


class NotFiniteError(ValueError):
    """A number that should be finite is not: a `ValueError` of its own, so that a trainer can catch it."""


def check_vectors(x: Tensor, name: str) -> None:
    """Refuse anything but at least one row of floating-point numbers, [N, D]."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{name} must be a floating-point tensor [N, D], not {kind}.")
    if x.dim() != 2 or 0 in x.shape:
        shape = list(x.shape)
        raise ValueError(f"{name} must be [N, D] with at least one row and one column, got shape {shape}.")


def normalise(x: Tensor, name: str = "x") -> Tensor:
    """Scale each row to length 1, so that a dot product of two rows is their cosine.

    CMLM, eq. 8: h / ||h||_2. CAPT, eq. 1: the outer norm of s(x). SCL calls it "l2 normalization".

    Args:
        x: vectors [N, D], any floating dtype. float16 and bfloat16 are raised to float32 *before* the norm
            is taken.
        name: what to call x in an error message.

    Returns:
        [N, D], each row of length 1, float32 (float64 where x is float64).

    Raises:
        TypeError, ValueError: x is no [N, D] floating-point tensor, or has a row of zeros, which has no
            direction.
        NotFiniteError: a row holds NaN or infinity.

    Example:
        >>> import torch
        >>> normalise(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    check_vectors(x, name)
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    norm = torch.linalg.vector_norm(x, dim=1, keepdim=True)  # [N, D] -> [N, 1]
    usable = torch.isfinite(norm.detach()) & (norm.detach() > 0)
    if values.checked() and not usable.all():
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


def cosine_matrix(x: Tensor, y: Tensor | None = None) -> Tensor:
    """Every cosine between a row of x and a row of y.

    CMLM, eq. 8: sim(H_i, H_j) = (h_i / ||h_i||) . (h_j / ||h_j||). Entry (i, j) lies in [-1, 1] (up to
    rounding).

    Args:
        x: vectors [N, D].
        y: vectors [M, D]; x itself if left out, and then the diagonal is 1.

    Returns:
        [N, M], float32 (float64 where both are float64), also under autocast: a cosine in bfloat16 has
        two decimal digits, and dividing by tau = 0.05 makes its error twenty times as large.

    Raises:
        TypeError, ValueError: wrong kind or shape, different widths, or a row of zeros.
        NotFiniteError: NaN or infinity in a row.

    Example:
        >>> import torch
        >>> cosine_matrix(torch.tensor([[1.0, 0.0], [0.0, 5.0]]), torch.tensor([[2.0, 0.0]]))
        tensor([[1.],
                [0.]])
    """
    x_unit = normalise(x, "x")
    y_unit = x_unit if y is None else normalise(y, "y")
    if x_unit.shape[1] != y_unit.shape[1]:
        widths = f"{x_unit.shape[1]} and {y_unit.shape[1]}"
        raise ValueError(f"x and y must have the same width D to be compared, got {widths}.")
    return dot_products(x_unit, y_unit)


def dot_products(x: Tensor, y: Tensor) -> Tensor:
    """x y^T for rows that are normalised already; autocast would do this one product in half precision."""
    dtype = torch.promote_types(x.dtype, y.dtype)
    with torch.autocast(x.device.type, enabled=False):
        return x.to(dtype) @ y.to(dtype).T  # [N, D] x [D, M] -> [N, M]
