"""Cosines, in float32 or better: what every contrastive loss is made of."""

from torch import Tensor

from contrast_kit.checks import normalise
from contrast_kit.losses.contrast import dot_products


def cosine_matrix(x: Tensor, y: Tensor | None = None) -> Tensor:
    """Every cosine between a row of x and a row of y, in [-1, 1] up to rounding.

    CMLM, eq. 8: sim(H_i, H_j) = (h_i / ||h_i||) . (h_j / ||h_j||).

    Args:
        x: vectors [N, D]. y: vectors [M, D]; x itself if left out, and then the diagonal is 1.

    Returns:
        [N, M], float32 or float64, also under autocast: a cosine in bfloat16 has two decimal digits, and dividing by
        tau = 0.05 makes its error twenty times as large.

    Raises:
        TypeError, ValueError, NotFiniteError: as `normalise`, or different widths.

    Example:
        >>> import torch
        >>> cosine_matrix(torch.tensor([[1.0, 0.0], [0.0, 5.0]]), torch.tensor([[2.0, 0.0]]))
        tensor([[1.],
                [0.]])
    """
    x_unit = normalise(x, "x")
    y_unit = x_unit if y is None else normalise(y, "y")
    if x_unit.shape[1] != y_unit.shape[1]:
        raise ValueError(f"x and y must have the same width D, got {x_unit.shape[1]} and {y_unit.shape[1]}.")
    return dot_products(x_unit, y_unit)
