"""Where the real tokens of a padded batch stand when they are packed into one row, and which of them attend together.

Letters: B examples, T tokens, N real tokens, R rows (N, or somewhat more), D width, H heads, d = D/H.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from contrast_kit.fast.shapes import ROUND, rounded_up

LONG = 256
"""Texts above this length go through the fused kernel on a CPU: it holds no [T, T], but is slower on shorter ones."""

ALIKE = 32
"""Texts whose lengths differ by less than this attend together: padding them costs less than further calls would.
Above `LONG`, and on a GPU, only texts of one length."""


@dataclass(frozen=True)
class Group:
    """Texts that attend together, [texts, t] tokens, the short ones padded."""

    real: Tensor
    """bool [texts, t]."""
    places: Tensor | None
    """[n] long, where the n real tokens stand among all texts * t; None: there is no padding."""

    @classmethod
    def of(cls, lengths: list[int], device: torch.device) -> "Group":
        """A group of texts of these lengths."""
        real = torch.arange(longest := max(lengths)) < torch.tensor(lengths)[:, None]  # [texts, t]
        places = None if min(lengths) == longest else real.flatten().nonzero()[:, 0].to(device, non_blocking=True)
        return cls(real.to(device, non_blocking=True), places)

    @property
    def size(self) -> int:
        """n."""
        return self.real.numel() if self.places is None else len(self.places)

    def spread(self, x: Tensor) -> Tensor:
        """[n, H, d] → [texts, H, t, d], zeros at padding."""
        if self.places is not None:
            x = x.new_zeros(self.real.numel(), *x.shape[1:]).index_copy(0, self.places, x)
        return x.unflatten(0, self.real.shape).transpose(1, 2)

    def collect(self, x: Tensor) -> Tensor:
        """[texts, H, t, d] → [n, H, d]."""
        x = x.transpose(1, 2).flatten(0, 1)  # [texts * t, H, d]
        return x if self.places is None else x.index_select(0, self.places)


@dataclass(frozen=True)
class Layout:
    """Where the N real tokens of a batch come from, and which of them belong together."""

    shape: tuple[int, int]
    """(B, T)."""
    index: Tensor
    """[R] long, places in the flattened batch: texts from short to long, each in its order. R is N, or, where products
    are compiled by shape, a round number above it: the first token then fills it up, and is cut off in the end."""
    lengths: list[int]
    """Of the texts that have any token, from short to long."""

    @cached_property
    def groups(self) -> list[Group]:
        """The same texts, grouped by length; made when attention asks for them, which torch's own on a GPU does not."""
        starts, device = [], self.index.device
        for place, tokens in enumerate(self.lengths):
            alike = ALIKE if tokens <= LONG and device.type == "cpu" else 1
            if not starts or tokens - self.lengths[starts[-1]] >= alike:
                starts.append(place)
        return [Group.of(self.lengths[i:j], device) for i, j in zip(starts, [*starts[1:], None], strict=True)]

    @property
    def size(self) -> int:
        """N."""
        return sum(self.lengths)

    def asking(self, read: Tensor) -> tuple[Tensor, list[Group]]:
        """The M of the R rows that are read, bool [B, T] → [M] long, and their tokens in the same texts and groups."""
        asks = read.flatten()[self.index[: self.size]]  # [N]
        each = iter([int(text.sum()) for text in asks.split(self.lengths)])
        return asks.nonzero()[:, 0], [Group.of([next(each) for _ in group.real], asks.device) for group in self.groups]

    @classmethod
    def of(cls, attention_mask: Tensor, fill_up: bool = False) -> "Layout":
        """The layout of a padded batch, from its attention mask [B, T], with R a round number if asked to fill up.

        Waits for the device once.
        """
        real, (examples, length) = attention_mask.bool(), attention_mask.shape
        lengths = real.sum(1).tolist()
        order = sorted(range(examples), key=lengths.__getitem__)
        kept = [lengths[text] for text in order if lengths[text]]
        order = torch.tensor(order).to(real.device, non_blocking=True)  # [B]
        row, column = real[order].nonzero(as_tuple=True)  # [N] each
        places = order[row] * length + column  # [N]
        if fill_up:
            places = nn.functional.pad(places, (0, rounded_up(len(places), 4 * ROUND) - len(places)))
        return cls((examples, length), places, kept)

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, …] → [1, R, …], the shape of a batch of one long text."""
        return x.flatten(0, 1).index_select(0, self.index).unsqueeze(0)

    def unpack(self, x: Tensor) -> Tensor:
        """[1, R, …] → [B, T, …] with zeros at padding."""
        examples, length = self.shape
        places = x.new_zeros(examples * length, *x.shape[2:])
        return places.index_copy(0, self.index[: self.size], x[0, : self.size]).unflatten(0, self.shape)
