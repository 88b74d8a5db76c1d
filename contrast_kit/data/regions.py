"""Texts with pictures: a batch of `Texts`, and beside it the regions of the picture that each text goes with.

| key | shape | what |
|---|---|---|
| all of `Texts` | | `text_id` is the id of the *pair*: one text with two pictures has two |
| `regions` | `[B, R, F]` float | features, standardised on the training pictures; 0 where padded |
| `boxes` | `[B, R, 4]` float | corners x1, y1, x2, y2 in 0 … 1 |
| `region_mask` | `[B, R]` bool | False for padding |
| `objects`, `attributes` | `[B, R]` long | the detector's classes; -100 where there is none |
| `object_confidence`, `attribute_confidence` | `[B, R]` float | how sure it was |
| `image_id` | `[B]` long | two texts of one picture have one |
| `answer_scores` | `[B, A]` float | only with `answers=`: what each answer is worth |
| `true_of` | `[B, B]` bool | only with `truth=`: whether text b is true of picture b' |

A text on two pictures has each key of a picture twice, `left/regions` and `right/regions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from numbers import Integral
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from contrast_kit import arguments, checks
from contrast_kit.data.answers import answer_scores
from contrast_kit.data.pictures import REGION_KEYS, Pictures
from contrast_kit.data.rows import as_rows, column, column_names
from contrast_kit.data.texts import Texts

ONE, TWO = ("image_id",), ("left", "right")
"""The columns that name a row's picture, or its two pictures."""

Truth = Callable[[Sequence[int], Tensor], Tensor]
"""Rows [B] and pictures [B'] → [B, B'] bool: whether the text of row b is true of picture b'."""


class Regions(Texts):
    """`Texts` whose batches also hold the regions of the picture each text goes with (see the top of this file).

    Args:
        rows: as for `Texts`, with a column `image_id` of integers, or two, `left` and `right`.
        tokenizer, columns, max_length, label: as for `Texts`.
        pictures: `Pictures` with all that the rows name, standardised.
        answers: the answers to choose from, in order. Adds `answer_scores` from the column `answers` (ten people's)
            or `answer` (one), by `data.answer_scores`.
        truth: adds `true_of`, so that a caption which is *also true* of another picture is never called wrong for
            it. For drawn shelves `scenes.truth(rows)`; photographs come without one.

    Raises:
        TypeError, ValueError: what `Texts` raises; a picture that is not there; `image_id` that is not an integer;
            answers that are not text.

    Example:
        >>> from contrast_kit.data import Regions, train_tokenizer
        >>> from contrast_kit.data.pictures import random_pictures
        >>> rows = [{"text": "a red ball", "image_id": 0}, {"text": "a red ball", "image_id": 3}]
        >>> texts = Regions(rows, train_tokenizer(["a red ball"], vocab_size=60), random_pictures().standardised())
        >>> batch = texts.batch([0, 1])
        >>> batch["regions"].shape, batch["text_id"].tolist(), batch["image_id"].tolist()
        (torch.Size([2, 5, 6]), [0, 1], [0, 3])
    """

    def __init__(
        self,
        rows: Any,
        tokenizer: Any,
        pictures: Pictures,
        columns: str | Sequence[str] | None = None,
        max_length: int | None = None,
        *,
        label: str = "label",
        answers: Sequence[str] | None = None,
        truth: Truth | None = None,
    ) -> None:
        if not isinstance(pictures, Pictures):
            raise TypeError(f"pictures must be data.Pictures, not {type(pictures).__name__}.")
        if truth is not None and not callable(truth):
            raise TypeError(f"truth must be a function, such as scenes.truth(rows), not {checks.shown(truth)}.")
        super().__init__(rows, tokenizer, columns, max_length, label=label)
        rows = as_rows(rows)
        self.pictures, self.truth = pictures, truth
        self.image_columns = _image_columns(rows)
        self.image_ids = torch.stack([_image_ids(rows, name) for name in self.image_columns], 1)  # [N, 1 or 2]
        self.picture_rows = pictures.rows(self.image_ids)  # [N, 1 or 2]
        pairs = torch.cat([self.text_ids[:, None], self.image_ids], 1)  # [N, 2 or 3]
        self.text_ids = _first_come(pairs)  # [N]
        self.answers = None if answers is None else arguments.strings("answers", answers, "answers")
        self.answer_scores = None if answers is None else answer_scores(_answers(rows), self.answers)  # [N, A]

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The rows `indices` as one padded batch; pictures are padded to the most regions among them."""
        indices = arguments.listed("indices", indices, "row numbers")
        batch = super().batch(indices)
        indices = [int(i) for i in indices]
        for at, name in enumerate(self.image_columns):
            prefix = "" if name == "image_id" else f"{name}/"
            rows = self.picture_rows[indices, at]  # [B]
            most = int(self.pictures.region_mask[rows].sum(1).max())
            batch |= {f"{prefix}{key}": getattr(self.pictures, key)[rows, :most] for key in REGION_KEYS}  # [B, R, …]
            batch[f"{prefix}image_id"] = self.image_ids[indices, at]  # [B]
        if self.answer_scores is not None:
            batch["answer_scores"] = self.answer_scores[indices]  # [B, A]
        if self.truth is not None:
            batch["true_of"] = self.truth(indices, self.image_ids[indices, 0])  # [B, B]
        return batch

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where a text, a label, or a picture that a text goes with does.

        What a detector says of the picture is a part of it."""
        used = self.picture_rows.unique()
        parts = [self.image_ids, *(getattr(self.pictures, key)[used] for key in REGION_KEYS)]
        parts += [] if self.answer_scores is None else [self.answer_scores]
        as_bytes = (part.contiguous().view(torch.uint8).numpy() for part in parts)  # numpy knows no bfloat16
        crc = reduce(lambda crc, part: crc32(part, crc), as_bytes, int(super().fingerprint(), 16))
        return f"{crc:08x}"


def _image_columns(rows: Any) -> tuple[str, ...]:
    names = column_names(rows)
    for wanted in (ONE, TWO):
        if set(wanted) <= set(names):
            return wanted
    raise ValueError(
        f"The rows name no picture: they need a column image_id, or left and right; theirs are {', '.join(names)}."
    )


def _image_ids(rows: Any, name: str) -> Tensor:
    values = column(rows, name)
    for at, value in enumerate(values):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{name} of row {at} is {checks.shown(value)}, not the number of a picture (an integer).")
    return torch.tensor([int(value) for value in values])


def _answers(rows: Any) -> list:
    names = column_names(rows)
    for name in ("answers", "answer"):
        if name in names:
            return column(rows, name)
    raise ValueError(f"There is no column answers or answer; the columns are {', '.join(names)}.")


def _first_come(pairs: Tensor) -> Tensor:
    """Number distinct rows [N, k] from 0 as they come: [N]."""
    seen: dict[tuple[int, ...], int] = {}
    return torch.tensor([seen.setdefault(tuple(pair), len(seen)) for pair in pairs.tolist()])
