"""The memory queue: vectors of earlier steps, as further negatives (CAPT 2.2, after MoCo)."""

import torch
from torch import Tensor, nn

from contrast_kit import checks
from contrast_kit.checks import normalise

UNKNOWN = -1
"""The id of a vector whose text is not known."""


class MemoryQueue(nn.Module):
    """The newest vectors of earlier steps, first in, first out, at most `capacity` of them.

    CAPT 2.2: the representations of "original inputs and its corresponding corrupted inputs are enqueued into Q. Once
    reaching the preset capacity of Q, the oldest redundant representations are dequeued." There is no slowly moving
    encoder as in MoCo: only the replacement of old vectors by new ones keeps the queue close to the current model.

    The capacity counts *vectors* (CAPT: 8,192); a step on n texts pushes 2n, and neither has to divide the other. The
    queue starts empty: an unfilled row is never a negative. Rows have length 1 and no gradient. Contents and position
    are buffers of fixed size, written in place: they go into checkpoints and follow `.to(device)`. A `capacity` or
    `width` D below 1 is a ValueError.

    Example:
        >>> import torch
        >>> from contrast_kit.objectives import MemoryQueue
        >>> queue = MemoryQueue(capacity=3, width=2)
        >>> queue.push(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), ids=torch.tensor([7, 8]))
        >>> len(queue), queue.vectors
        (2, tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]]))
        >>> queue.push(torch.eye(2), ids=torch.tensor([9, 10]))
        >>> queue.ids  # the oldest, 7, had to go
        tensor([ 8,  9, 10])
    """

    def __init__(self, capacity: int, width: int):
        super().__init__()
        checks.count("capacity", capacity, "the most vectors that the queue holds")
        checks.count("width", width, "the size of a vector")
        self.capacity = capacity
        self.register_buffer("rows", torch.zeros(capacity, width))  # [capacity, D], a ring
        self.register_buffer("row_ids", torch.full((capacity,), UNKNOWN))  # [capacity]
        self.register_buffer("pushed", torch.zeros((), dtype=torch.long))  # since the first step
        self._known = (None, 0, 0)  # `pushed`, its version, its value: to read it is to wait for a device

    def __len__(self) -> int:
        """How many vectors are in it now, Q."""
        return min(self._count(), self.capacity)

    def _count(self) -> int:
        """How many vectors were pushed; read anew if something other than `push` wrote it, such as a checkpoint."""
        tensor, version, count = self._known
        if tensor is not self.pushed or version != self.pushed._version:
            count = int(self.pushed)
            self._known = (self.pushed, self.pushed._version, count)
        return count

    @property
    def vectors(self) -> Tensor:
        """What is in it, oldest first: [Q, D], rows of length 1, without gradient. A copy."""
        return self.rows[self._order()]

    @property
    def ids(self) -> Tensor:
        """The text that each of these vectors came from, [Q]; -1 where it is not known. A copy."""
        return self.row_ids[self._order()]

    def _order(self) -> Tensor:
        """Where the vectors stand in the ring, oldest first, [Q]."""
        ages = torch.arange(len(self), device=self.rows.device)  # [Q]
        return (self.pushed - len(self) + ages) % self.capacity

    @torch.no_grad()
    def push(self, vectors: Tensor, ids: Tensor | None = None) -> None:
        """Add vectors, and drop the oldest where there is no room. Call it *after* the loss.

        Pushed earlier, each positive would stand in its own denominator a second time, as a negative. `vectors` [N, D]
        are normalised here; if N is above the capacity, the last ones remain. `ids` [N], integers, are the texts they
        came from. TypeError or ValueError: wrong kind, width or number of ids, or a row of zeros.
        """
        rows = normalise(vectors.detach(), "vectors").to(self.rows)  # [N, D]
        if rows.shape[1] != self.rows.shape[1]:
            raise ValueError(f"This queue holds vectors of width {self.rows.shape[1]}, not {rows.shape[1]}.")
        if ids is None:
            ids = torch.full((len(rows),), UNKNOWN, device=rows.device)
        ids = checks.integers(ids, len(rows), rows.device, "ids")
        places = (self.pushed + torch.arange(len(rows), device=rows.device)) % self.capacity  # [N]
        newest = slice(-self.capacity, None)  # of too many vectors only the last: no place is written twice
        self.rows[places[newest]] = rows[newest]
        self.row_ids[places[newest]] = ids[newest].to(self.row_ids)
        count = self._count() + len(rows)
        self.pushed += len(rows)
        self._known = (self.pushed, self.pushed._version, count)
