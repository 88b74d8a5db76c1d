"""Tiles of a matrix of dot products, one after the other in the same memory: what `fast` is made of.

Letters: N anchors, M candidates, D width, R and C rows and columns of a tile.
"""

from collections.abc import Iterator

import torch
from torch import Tensor


class Tiles:
    """How a matrix of scores is visited, and the memory for one tile of it.

    Args:
        scale: what dot products are multiplied by, 1/τ.
        left_out: entries (i, i + k) are -inf for each of these k (in `upper`, (i + k, i) as well).
        tile: rows and columns of a tile.
        half: multiply in bfloat16, add up in float32.
        columns: another number of columns (in `all`).
    """

    def __init__(
        self, scale: float, left_out: tuple[int, ...], tile: int, half: bool, columns: int | None = None
    ):
        self.columns = columns or tile
        self.scale, self.left_out, self.tile, self.half = scale, left_out, tile, half
        self._spare: Tensor | None = None

    def upper(self, z: Tensor, groups: Tensor | None) -> Iterator[tuple[slice, slice, Tensor]]:
        """Rows, columns and scores [R, C] of the tiles of z zᵀ on and above the diagonal.

        Each overwrites the one before. Tiles on the diagonal hold both (i, j) and (j, i). Rows of one group
        meet at -inf.
        """
        z = z.bfloat16() if self.half else z
        room = _room(z, min(self.tile, len(z)) ** 2)
        for rows in self._slices(0, len(z)):
            for columns in self._slices(rows.start, len(z)):
                scores = self._scores(z[rows], z[columns], room)
                for k in self.left_out:
                    scores.diagonal(rows.start - columns.start + k).fill_(-torch.inf)
                    if rows == columns:
                        scores.diagonal(-k).fill_(-torch.inf)
                if groups is not None:
                    scores.masked_fill_(groups[rows, None] == groups[None, columns], -torch.inf)
                yield rows, columns, scores

    def all(
        self, z: Tensor, c: Tensor, groups: Tensor | None, others: Tensor | None
    ) -> Iterator[tuple[slice, slice, Tensor]]:
        """The same for all tiles of z cᵀ; `groups` [N] and `others` [M] are compared."""
        z, c = (z.bfloat16(), c.bfloat16()) if self.half else (z, c)
        room = _room(z, min(self.tile, len(z)) * min(self.columns, len(c)))
        for rows in self._slices(0, len(z)):
            for columns in self._slices(0, len(c), self.columns):
                scores = self._scores(z[rows], c[columns], room)
                for k in self.left_out:
                    scores.diagonal(rows.start - columns.start + k).fill_(-torch.inf)
                if groups is not None:
                    scores.masked_fill_(groups[rows, None] == others[None, columns], -torch.inf)
                yield rows, columns, scores

    def spare(self, scores: Tensor) -> Tensor:
        """More memory of a tile's shape; what it holds is lost at the next call."""
        if self._spare is None or self._spare.numel() < scores.numel():
            self._spare = torch.empty(scores.numel(), device=scores.device, dtype=scores.dtype)
        return self._spare[: scores.numel()].view(scores.shape)

    def add_product(self, total: Tensor, p: Tensor, z: Tensor) -> None:
        """total += scale p z, [R, C] x [C, D], in place."""
        if self.half:
            total.add_(_half_product(p.bfloat16(), z.bfloat16()), alpha=self.scale)
        else:
            total.addmm_(p, z, alpha=self.scale)

    def _scores(self, x: Tensor, y: Tensor, room: Tensor) -> Tensor:
        """scale x yᵀ in float32 or better, written into `room`: [R, D], [C, D] → [R, C]."""
        scores = room[: len(x) * len(y)].view(len(x), len(y))
        if self.half:
            return torch.mul(_half_product(x, y.T), self.scale, out=scores)
        return torch.addmm(scores, x, y.T, beta=0, alpha=self.scale, out=scores)

    def _slices(self, start: int, stop: int, size: int | None = None) -> Iterator[slice]:
        size = size or self.tile
        for i in range(start, stop, size):
            yield slice(i, min(i + size, stop))


def _room(z: Tensor, entries: int) -> Tensor:
    """Memory for one tile, used again by every tile: fresh pages for each would cost more than the products."""
    return torch.empty(entries, device=z.device, dtype=torch.promote_types(z.dtype, torch.float32))


def _half_product(x: Tensor, y: Tensor) -> Tensor:
    """The float32 product of two bfloat16 matrices; rounding the product itself to bfloat16 would lose the cosine."""
    if x.device.type == "cuda":
        return torch.mm(x, y, out_dtype=torch.float32)
    return x.float() @ y.float()  # the same numbers where nothing is gained by it
