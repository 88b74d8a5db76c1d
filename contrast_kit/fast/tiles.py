"""Tiles of a matrix of dot products, one after the other in the same memory.

Letters: N anchors, M candidates, D width, R and C rows and columns of a tile.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor


class Tiles:
    """How a matrix of scores is visited, and the memory for one tile of it.

    Args:
        scale: what dot products are multiplied by, 1/τ.
        left_out: entries (i, i + k) are -inf for each of these k (in `upper`, (i + k, i) as well).
        tile: R and C.
        half: multiply in bfloat16, add up in float32.
        powers_of_2: scores are made for `exp2`, which on a CPU takes half the time of `exp`: e^s = 2^(s / log 2).
    """

    def __init__(
        self,
        scale: float,
        left_out: tuple[int, ...],
        tile: tuple[int, int],
        half: bool,
        powers_of_2: bool = False,
    ):
        self.scale, self.left_out, self.tile, self.half = scale, left_out, tile, half
        self.unit = math.log(2) if powers_of_2 else 1.0
        self._spare: Tensor | None = None

    def upper(self, z: Tensor, groups: Tensor | None) -> Iterator[tuple[slice, slice, Tensor]]:
        """Rows, columns and scores [R, C] of the tiles of z zᵀ on and above the diagonal.

        Each overwrites the one before. The first tile of a strip of rows begins with those rows' own columns, and so
        holds both (i, j) and (j, i) of them; see `above`. Scores between rows of one group are -inf.
        """
        z = z.bfloat16() if self.half else z
        room = self._room(z, z)
        for rows in _slices(0, len(z), self.tile[0]):
            for columns in _slices(rows.start, len(z), self.tile[1]):
                scores = self._scores(z[rows], z[columns], room)
                for k in self.left_out:
                    scores.diagonal(rows.start - columns.start + k).fill_(-torch.inf)
                    if rows.start == columns.start:
                        scores.diagonal(-k).fill_(-torch.inf)
                if groups is not None:
                    scores.masked_fill_(groups[rows, None] == groups[None, columns], -torch.inf)
                yield rows, columns, scores

    def all(
        self, z: Tensor, c: Tensor, groups: Tensor | None, others: Tensor | None
    ) -> Iterator[tuple[slice, slice, Tensor]]:
        """The same for all tiles of z cᵀ; `groups` [N] and `others` [M] are compared."""
        z, c = (z.bfloat16(), c.bfloat16()) if self.half else (z, c)
        room = self._room(z, c)
        for rows in _slices(0, len(z), self.tile[0]):
            for columns in _slices(0, len(c), self.tile[1]):
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
        return self._spare[: scores.numel()].view(scores.T.shape).T

    def add_product(self, total: Tensor, p: Tensor, z: Tensor) -> None:
        """total += scale p z, [R, C] x [C, D], in place."""
        if self.half:
            total.add_(_half_product(p.bfloat16(), z.bfloat16()), alpha=self.scale)
        else:
            total.addmm_(p, z, alpha=self.scale)

    def _scores(self, x: Tensor, y: Tensor, room: Tensor) -> Tensor:
        """scale x yᵀ / unit in float32 or better, written into `room`: [R, D], [C, D] → [R, C].

        Stored column by column: for low strips, processors multiply the transpose faster, on either side.
        """
        scores = room[: len(x) * len(y)].view(len(y), len(x))  # [C, R]
        if self.half:
            torch.mul(_half_product(y, x.T), self.scale / self.unit, out=scores)
        else:
            torch.addmm(scores, y, x.T, beta=0, alpha=self.scale / self.unit, out=scores)
        return scores.T

    def _room(self, x: Tensor, y: Tensor) -> Tensor:
        """Memory for one tile, used again by every tile: fresh pages for each would cost more than the products."""
        entries = min(self.tile[0], len(x)) * min(self.tile[1], len(y))
        return torch.empty(entries, device=x.device, dtype=torch.promote_types(x.dtype, torch.float32))


def above(rows: slice, columns: slice, scores: Tensor) -> tuple[slice, Tensor]:
    """The part of an upper tile that serves its columns as well: the columns that are not among its rows, [R, ≤ C]."""
    start = max(columns.start, rows.stop)
    return slice(start, columns.stop), scores[:, start - columns.start :]


def _slices(start: int, stop: int, size: int) -> Iterator[slice]:
    for i in range(start, stop, size):
        yield slice(i, min(i + size, stop))


def _half_product(x: Tensor, y: Tensor) -> Tensor:
    """The float32 product of two bfloat16 matrices; rounding the product itself to bfloat16 would lose the cosine."""
    if x.device.type == "cuda":
        return torch.mm(x, y, out_dtype=torch.float32)
    return x.float() @ y.float()  # the same numbers where nothing is gained by it
