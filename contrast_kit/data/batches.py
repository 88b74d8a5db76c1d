"""Which rows make which batch: a pure function of seed and epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from contrast_kit.data.texts import Texts

_POOL = 50  # batches whose rows are sorted by length together: padding nearly gone, still well shuffled


class Batches:
    """Which rows make which batch: every row once an epoch, rows of like length together unless told otherwise.

    `texts` is a `Texts`, or the lengths alone. `epoch(e)` is a pure function of `(seed, e)`: a run that is
    resumed in the middle finds the same batches as one that was never stopped. `len(batches)` is the batches
    of an epoch.

    Rows are shuffled, then sorted by length within pools of 50 batches, then the batches are shuffled: nearly no
    padding, and of many rows different ones meet in each epoch, all of like length. In fewer than 50 batches nearly the
    same rows meet again, and a contrast sees few others. Without `group_by_length` rows are only shuffled, and a batch
    is as mixed as the texts (COCO-LM, section 3.3: "a random set"; no paper here prints grouping). With `drop_last`
    (the default, since in a contrast a short batch has fewer negatives) the rows that do not fill a batch are left out
    of the epoch; they are drawn anew each time, whatever their length. Without it they form a short batch at the end.

    Raises `ValueError` where the rows do not fill one batch.

    >>> from contrast_kit.data import Batches
    >>> batches = Batches([3, 9, 3, 8, 9, 4, 5], batch_size=2, seed=0, drop_last=False)
    >>> len(batches), sorted(row for batch in batches.epoch(0) for row in batch)
    (4, [0, 1, 2, 3, 4, 5, 6])
    >>> [list(batches.epoch(1)) == list(batches.epoch(e)) for e in (1, 0)]
    [True, False]
    """

    def __init__(
        self,
        texts: Texts | Sequence[int] | Tensor,
        batch_size: int,
        seed: int = 0,
        *,
        drop_last: bool = True,
        group_by_length: bool = True,
    ) -> None:
        self.lengths = np.asarray(getattr(texts, "lengths", texts))  # [N]
        self.batch_size, self.seed, self.drop_last = batch_size, seed, drop_last
        self.group_by_length = group_by_length
        if batch_size < 1 or len(self) == 0:
            raise ValueError(
                f"{len(self.lengths)} rows do not fill one batch of {batch_size}; "
                "take a smaller batch_size, or drop_last=False."
            )

    def __len__(self) -> int:
        full, rest = divmod(len(self.lengths), self.batch_size)
        if rest and not self.drop_last:
            return full + 1
        return full

    def epoch(self, epoch: int) -> Sequence[list[int]]:
        """Give the batches of epoch `epoch` (0, 1, …), each a list of row numbers.

        The lists are made when they are looked at: for millions of rows they would not all fit into memory.
        """
        random = np.random.default_rng([self.seed, epoch])
        order = random.permutation(np.arange(len(self.lengths), dtype=np.uint32))  # [N]
        full = len(order) // self.batch_size
        order, rest = order[: full * self.batch_size], order[full * self.batch_size :]
        if self.group_by_length:
            for start in range(0, len(order), _POOL * self.batch_size):
                pool = order[start : start + _POOL * self.batch_size]
                pool[:] = pool[np.argsort(self.lengths[pool], kind="stable")]
        places = random.permutation(full)  # [batches]
        if self.drop_last:
            rest = rest[:0]
        return _Epoch(order.reshape(-1, self.batch_size), places, rest.tolist())


class _Epoch(Sequence):
    """The batches of an epoch, to look at as a list of lists."""

    def __init__(self, rows: np.ndarray, places: np.ndarray, rest: list[int]) -> None:
        self.rows, self.places, self.rest = rows, places, rest  # [batches, B], [batches]

    def __len__(self) -> int:
        return len(self.places) + bool(self.rest)

    def __getitem__(self, index: int) -> list[int]:
        if range(len(self))[index] == len(self.places):
            return self.rest
        return self.rows[self.places[index]].tolist()

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other)


def make_batches(texts: Texts | Sequence[int], training: Any) -> Batches:
    """The batches of a `Training`: all full, unless the data fills less than one, or each epoch wants every row."""
    full = len(texts) >= training.batch_size and training.epochs is None
    return Batches(
        texts,
        training.batch_size,
        training.seed,
        drop_last=full,
        group_by_length=training.group_by_length,
    )
