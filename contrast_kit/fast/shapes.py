"""Few shapes in place of many, where a product is compiled for each shape that it meets.

In half precision on a CPU torch's library of products writes machine code for a shape at its first use and keeps it,
which takes up to 20 ms each, and memory. Texts of all lengths bring new shapes at every step. Filling rows up
to the next round number leaves a few for a whole run: in the layers of packed batches, and in the vocabulary head.
"""

import torch
from torch import Tensor

ROUND = 64
"""Rows of words to predict are filled up to a multiple of this; a batch of tokens, with more, to one of `4 * ROUND`."""


def compiled_by_shape(x: Tensor) -> bool:
    """Whether products with x are now compiled for each shape anew."""
    return x.device.type == "cpu" and torch.is_autocast_enabled("cpu")


def rounded_up(rows: int, to: int = ROUND) -> int:
    """The next multiple.

    Example:
        >>> rounded_up(0), rounded_up(64), rounded_up(65)
        (0, 64, 128)
    """
    return -(-rows // to) * to


def filled_up(x: Tensor) -> Tensor:
    """x [N, D] with rows of zeros up to a multiple of `ROUND`, where products are compiled by shape."""
    if not compiled_by_shape(x):
        return x
    return torch.cat([x, x.new_zeros(rounded_up(len(x)) - len(x), x.shape[1])])
