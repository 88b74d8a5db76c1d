"""Tiles of a matrix of dot products, one after the other in the same memory: what `fast` is made of.

Letters: N anchors, M candidates, D width, R and C rows and columns of a tile.
"""

from collections.abc import Iterator

import torch
from torch import Tensor


def upper_tiles(
    z: Tensor, groups: Tensor | None, left_out: tuple[int, ...], tile: int, half: bool
) -> Iterator[tuple[slice, slice, Tensor]]:
    """Rows, columns and scores [R, C] of the tiles on and above the diagonal; the next overwrites the last.

    What does not meet is -inf. Tiles on the diagonal hold both (i, j) and (j, i).
    """
    z = z.bfloat16() if half else z
    room = _room(z, min(tile, len(z)) ** 2)
    for rows in _slices(0, len(z), tile):
        for columns in _slices(rows.start, len(z), tile):
            scores = _scores(z[rows], z[columns], room)
            ahead = rows.start - columns.start
            for k in left_out:
                scores.diagonal(ahead + k).fill_(-torch.inf)
                if rows == columns:
                    scores.diagonal(-k).fill_(-torch.inf)
            if groups is not None:
                scores.masked_fill_(groups[rows, None] == groups[None, columns], -torch.inf)
            yield rows, columns, scores


def all_tiles(
    z: Tensor,
    c: Tensor,
    groups: Tensor | None,
    others: Tensor | None,
    left_out: tuple[int, ...],
    tile: int,
    half: bool,
) -> Iterator[tuple[slice, slice, Tensor]]:
    """The same for all tiles of anchors [N, D] against candidates [M, D]."""
    z, c = (z.bfloat16(), c.bfloat16()) if half else (z, c)
    room = _room(z, min(tile, len(z)) * min(tile, len(c)))
    for rows in _slices(0, len(z), tile):
        for columns in _slices(0, len(c), tile):
            scores = _scores(z[rows], c[columns], room)
            for k in left_out:
                scores.diagonal(rows.start - columns.start + k).fill_(-torch.inf)
            if groups is not None:
                scores.masked_fill_(groups[rows, None] == others[None, columns], -torch.inf)
            yield rows, columns, scores


def _slices(start: int, stop: int, tile: int) -> Iterator[slice]:
    for i in range(start, stop, tile):
        yield slice(i, min(i + tile, stop))


def _room(z: Tensor, entries: int) -> Tensor:
    """Memory for one tile, used again by every tile: fresh pages for each would cost more than the products."""
    return torch.empty(entries, device=z.device, dtype=torch.promote_types(z.dtype, torch.float32))


def _scores(x: Tensor, y: Tensor, room: Tensor) -> Tensor:
    """x yᵀ in float32 or better, written into `room`: [R, D], [C, D] → [R, C]."""
    scores = room[: len(x) * len(y)].view(len(x), len(y))
    return scores.copy_(_half_product(x, y.T)) if x.dtype == torch.bfloat16 else torch.mm(x, y.T, out=scores)


def add_product(total: Tensor, p: Tensor, z: Tensor, half: bool) -> None:
    """total += p z, [R, C] x [C, D], in place."""
    if half:
        total += _half_product(p.bfloat16(), z.bfloat16())
    else:
        total.addmm_(p, z)


def _half_product(x: Tensor, y: Tensor) -> Tensor:
    """The float32 product of two bfloat16 matrices; rounding the product itself to bfloat16 would lose the cosine."""
    if x.device.type == "cuda":
        return torch.mm(x, y, out_dtype=torch.float32)
    return x.float() @ y.float()  # the same numbers where nothing is gained by it
