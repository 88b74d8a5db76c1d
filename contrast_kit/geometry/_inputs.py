"""Vectors brought onto the unit sphere, or refused in one sentence; and their pairs, a block of rows at a time."""

from collections.abc import Iterator

import torch
from torch import Tensor

from contrast_kit import checks


def unit(x: Tensor, name: str, at_least: int = 1) -> Tensor:
    """The rows of `x` [N, D] on the unit sphere."""
    x = checks.vectors(x, name, at_least)
    largest = x.detach().abs().amax(dim=1, keepdim=True)  # [N, 1]
    # Squares of very large or small entries would leave the range of floats.
    return checks.normalise(x / largest.masked_fill(largest == 0, 1.0), name)


def unit_pairs(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of `a` and `b`, [N, D] each, on the unit sphere and in one dtype."""
    a, b = unit(a, "a"), unit(b, "b")
    if a.shape != b.shape:
        raise ValueError(f"Row i of a pairs with row i of b, so shapes must agree: {list(a.shape)}, {list(b.shape)}.")
    dtype = torch.promote_types(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def cosine_list(x: Tensor, name: str) -> Tensor:
    """`x` as a non-empty list [P] of finite numbers."""
    x = checks.floats(x, name)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"{name} must be a non-empty list [P] of cosines, not {list(x.shape)}.")
    if not torch.isfinite(x).all():
        raise checks.NotFiniteError(f"{name} holds NaN or infinity; look for the step that made them.")
    return x


def pairs_of(n: int) -> int:
    """How many pairs n vectors make."""
    return n * (n - 1) // 2


def check_block(block: int) -> None:
    """Refuse a block without rows."""
    if block < 1:
        raise ValueError(f"block is a number of rows and must be at least 1, not {block}.")


def block_starts(n: int, block: int) -> range:
    """The first rows of blocks of `block` rows."""
    check_block(block)
    return range(0, n - 1, block)  # the last row alone has no partner after it


def upper_block(x: Tensor, i: int, block: int) -> tuple[Tensor, Tensor]:
    """Cosines of rows i … i+block with rows from i on, and which of them are pairs with first < second."""
    cosines = (x[i : i + block] @ x[i:].T).clamp(-1, 1)  # [R, D] @ [D, C] -> [R, C]
    keep = torch.ones_like(cosines, dtype=torch.bool).triu(diagonal=1)
    return cosines, keep


def upper_blocks(x: Tensor, block: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """`upper_block` for one block after the other, each with its first row."""
    for i in block_starts(len(x), block):
        yield *upper_block(x, i, block), i
