"""Vectors on the unit sphere, and all their pairs, a block of rows at a time."""

from collections.abc import Iterator

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.losses.contrast import dot_products


def unit(x: Tensor, name: str, at_least: int = 1) -> Tensor:
    """The rows of `x` [N, D] on the unit sphere."""
    x = checks.vectors(x, name, at_least)
    largest = x.detach().abs().amax(dim=1, keepdim=True)  # [N, D] -> [N, 1]
    # Squares of very large or small entries would leave the range of floats. A row of zeros stays, to be refused.
    return checks.normalise(x / largest.masked_fill(largest == 0, 1.0), name)


def exact_unit(x: Tensor, name: str, at_least: int = 1) -> tuple[Tensor, torch.dtype]:
    """The rows of `x` [N, D] on the unit sphere in float64, and the dtype that a measure of them returns.

    In a narrow cone all cosines are 1 up to the last digits of a float32: 1 − cosine needs the others. A Mac's GPU has
    no float64, so vectors there keep float32.
    """
    x = checks.vectors(x, name, at_least)
    return unit(x if x.device.type == "mps" else x.double(), name), x.dtype


def is_one_point(gap: Tensor, x: Tensor, dtype: torch.dtype) -> bool:
    """True where `gap`, 1 − mean cosine of the rows of `x`, is no more than rounding makes of one direction.

    `dtype` is that of the vectors as given: an error of eps in their entries leaves eps² in 1 − cosine.
    """
    given, computed = torch.finfo(dtype).eps, torch.finfo(x.dtype).eps
    return bool(gap <= max((8 * given) ** 2, 8 * computed))


def unit_pairs(a: Tensor, b: Tensor, a_name: str = "a", b_name: str = "b") -> tuple[Tensor, Tensor]:
    """The rows of `a` and `b`, [N, D] each, on the unit sphere and in one dtype; an error calls them by these names."""
    a, b = unit(a, a_name), unit(b, b_name)
    checks.pair(a, b, a_name, b_name)
    dtype = torch.promote_types(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def check_block(block: int) -> None:
    """Refuse a block without rows."""
    checks.count("block", block, "a number of rows")


def cosine_block(x: Tensor, i: int, block: int) -> tuple[Tensor, Tensor]:
    """Cosines [R, C] of rows i … i+block with all rows from i on, and a mask of those where first < second."""
    cosines = dot_products(x[i : i + block], x[i:]).clamp(-1, 1)  # [R, D], [C, D] -> [R, C]
    distinct = torch.ones_like(cosines, dtype=torch.bool).triu(diagonal=1)
    return cosines, distinct


def cosine_blocks(x: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """`cosine_block` for one block after the other, each with the number of its first row."""
    check_block(block)
    for i in range(0, len(x) - 1, block):  # the last row alone has no partner after it
        yield *cosine_block(x, i, block), i
