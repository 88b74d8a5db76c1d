"""Tiles on a GPU: what stands between two products of matrices, compiled into kernels that read a tile and write less.

One operation after another, a tile of scores is read and written by each: scaled, masked, exponentiated, rounded,
summed. That took three quarters of a contrast's time on an H100. `torch.compile` makes a kernel or two of the same
lines: those of `tiles` and `vocabulary`, written to save a processor's memory, of which the compiler keeps what they
compute. The products stay the library's. `fast.fuses` says when; the first call takes some seconds.

Letters: R and C rows and columns of a tile, V vocabulary.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit.fast import kernels, vocabulary
from contrast_kit.fast.tiles import LOG_2, Tiles


class FusedTiles(Tiles):
    """Tiles of which dot products stand in memory, [R, C], -inf where rows are `apart`; all else is made of them."""

    def room(self, z: Tensor, c: Tensor) -> None:
        """None: a GPU's allocator keeps its memory."""

    def scores(self, x: Tensor, y: Tensor, room: None) -> Tensor:
        return kernels.half_product(x, y.T) if self.half else x @ y.T

    def finished(self, products: Tensor, rows: slice, columns: slice) -> Tensor:
        return products

    def read(self, body: Callable, products: Tensor, rows: slice, columns: slice, *more):
        # a tensor, so that another τ compiles nothing anew
        scale, same = products.new_full((), self.scale / LOG_2), None
        if self.groups is not None:
            same = self.groups[rows, None], self.others[None, columns]
        return _read(body, products, scale, same, self.upper, *more)


@torch.compile(dynamic=True)
def _read(body, products, scale, same, upper, *more):
    scores = products * scale  # [R, C], which `body` may overwrite
    if same is not None:
        scores = scores.masked_fill(same[0] == same[1], -torch.inf)
    if upper:
        scores = scores.exp2()
    return body(scores, *more)


@torch.compile(dynamic=True)
def read_words(scores, label, other):
    """`vocabulary.read_words` of scores [R, V] in any precision, which are left as they are."""
    exact = torch.promote_types(scores.dtype, torch.float32)
    return vocabulary.read_words(scores.to(exact, copy=True), label, other)


@torch.compile(dynamic=True)
def word_slopes(scores, top, mass, label, slope):
    """`vocabulary.word_slopes`, from the scores themselves, and rounded as they are."""
    softmax = (scores.to(top.dtype) - top[:, None]).exp() / mass[:, None]  # [R, V]
    chosen = torch.arange(scores.shape[1], device=scores.device) == label
    return (slope * (chosen.to(top.dtype) - softmax)).to(scores.dtype)
