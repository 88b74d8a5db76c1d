"""Pictures as a model reads them: a few regions each, with a feature, a box, and what a detector saw in it.

`Pictures` holds them, `Regions` joins them to texts. A batch of `Regions` is one of `Texts`, and beside it the regions
of the picture that each text goes with (`P` pictures, `R` regions of the richest, `F` width of a feature, `A` answers):

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

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any
from zlib import crc32

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from contrast_kit.data.rows import column, column_names
from contrast_kit.data.texts import Texts, numbered

NONE = -100
"""The class of a region without one (a padded region, or one whose attribute nobody named): no loss counts it."""
REGION_KEYS = (
    "regions",
    "boxes",
    "region_mask",
    "objects",
    "attributes",
    "object_confidence",
    "attribute_confidence",
)
"""What a batch tells of each picture, in this order."""
PER_VOTE = 0.3
"""LXMERT's target for an answer is 0, 0.3, 0.6, 0.9, then 1, for 0, 1, 2, 3, then more people who gave it."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """The regions of many pictures, checked once: what `Regions` joins to texts.

    Args:
        ids: [P] long, the number of each picture, which rows of text call `image_id`; each once.
        regions: [P, R, F] floating point, features. Standardise them (`standardised`) before training on them.
        boxes: [P, R, 4], the corners x1, y1, x2, y2 of each region, divided by the picture's width and height.
        region_mask: [P, R] bool, False for padding, which stands behind the regions.
        objects, attributes: [P, R] long, the classes that a detector *predicted*; -100 where there is none.
        object_confidence, attribute_confidence: [P, R] from 0 to 1, the probability that it gave to them.
        object_names, attribute_names: the names of the classes; empty where they are not known.

    A detector's prediction is not the truth. LXMERT trains on it all the same, weighted by its confidence.

    Raises:
        ValueError: a box in pixels, or with x2 ≤ x1; a picture without a region; a number that comes twice.

    Example:
        >>> from contrast_kit.data import scenes
        >>> pictures = scenes.pictures()
        >>> len(pictures), pictures.regions.shape, pictures.rows([2, 0]).tolist()
        (5000, torch.Size([5000, 6, 64]), [2, 0])
    """

    ids: Tensor
    regions: Tensor
    boxes: Tensor
    region_mask: Tensor
    objects: Tensor
    attributes: Tensor
    object_confidence: Tensor
    attribute_confidence: Tensor
    object_names: Sequence[str] = ()
    attribute_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        real, boxes = self.region_mask, self.boxes[self.region_mask]  # [P, R], [N, 4]
        if len(self.ids.unique()) < len(self):
            raise ValueError("ids must be distinct, and two pictures have one number.")
        if not real[:, 0].all() or (real[:, 1:] & ~real[:, :-1]).any():
            raise ValueError(
                "Each picture has a region, and padding stands behind the regions."
            )
        corners_fit = (boxes[:, :2] < boxes[:, 2:]).all()
        if not corners_fit or boxes.min() < 0 or boxes.max() > 1:
            raise ValueError(
                f"Boxes are x1, y1, x2, y2 as shares of the picture, between 0 and 1, and x1 < x2, y1 < y2; these lie "
                f"between {boxes.min():g} and {boxes.max():g}: divide pixels by width and height, and give corners."
            )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def width(self) -> int:
        """F, the width of a feature."""
        return self.regions.shape[2]

    def rows(self, ids: Sequence[int] | Tensor) -> Tensor:
        """Where the pictures with these numbers stand, as a tensor like `ids`.

        Raises `ValueError` for a picture that is not here.
        """
        wanted = torch.as_tensor(ids)
        order = self.ids.argsort()
        # Like ids.
        places = torch.searchsorted(self.ids[order], wanted).clamp(max=len(self) - 1)
        rows = order[places]
        missing = wanted[self.ids[rows] != wanted].flatten().tolist()
        if missing:
            raise ValueError(
                f"There is no picture {missing[0]} among these {len(self)}: leave out the rows that name it, or give "
                "the pictures of all splits."
            )
        return rows

    def standardised(self, on: Sequence[int] | Tensor | None = None) -> Pictures:
        """The same pictures with each of the F columns at mean 0 and deviation 1 *over the regions of `on`*.

        `on` holds the numbers of the training pictures (None: all of these pictures). Mean and deviation are theirs,
        whatever else is standardised with them: a test picture must not shift its own scale. Padding stays zero.
        """
        rows = slice(None) if on is None else self.rows(on).unique()
        features = self.regions[rows][self.region_mask[rows]]  # [regions of `on`, F]
        mean, deviation = features.mean(0), features.std(0, correction=0)
        constant = deviation <= 1e-6 * (1 + mean.abs())
        scaled = (self.regions - mean) / deviation.masked_fill(constant, 1.0)
        return replace(self, regions=scaled.masked_fill(~self.region_mask[:, :, None], 0))

    def only(self, ids: Sequence[int] | Tensor) -> Pictures:
        """The pictures with these numbers, in this order."""
        rows = self.rows(ids)
        return replace(
            self, **{key: getattr(self, key)[rows] for key in ("ids", *REGION_KEYS)}
        )


BESIDE = {
    "boxes": (torch.float32, 0, 0),
    "objects": (torch.long, NONE, NONE),
    "attributes": (torch.long, NONE, NONE),
    "object_confidence": (torch.float32, 1, 0),
    "attribute_confidence": (torch.float32, 1, 0),
}
"""What is told of a region besides its feature: kind, and the value that stands for unknown, or for padding."""


def stack_pictures(
    pictures: Sequence[Mapping[str, Any]],
    object_names: Sequence[str] = (),
    attribute_names: Sequence[str] = (),
) -> Pictures:
    """`Pictures` from one dict for each: `image_id`, `regions` [r, F], `boxes` [r, 4], and the rest if known.

    Pictures with fewer regions than the richest are padded behind. `objects` and `attributes` that are not given
    are -100, confidences 1. Raises what `Pictures` raises.

    >>> import torch
    >>> one = {"image_id": 7, "regions": torch.ones(2, 3), "boxes": [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]}
    >>> two = {"image_id": 9, "regions": torch.ones(1, 3), "boxes": [[0, 0, 1, 1]]}
    >>> stack_pictures([one, two]).region_mask.tolist()
    [[True, True], [True, False]]
    """
    ids = torch.tensor([picture["image_id"] for picture in pictures])
    # [r, F] each
    regions = [torch.as_tensor(picture["regions"]).float() for picture in pictures]
    columns = {"regions": pad_sequence(regions, batch_first=True)}  # [P, R, F]
    for key, (kind, unknown, padding) in BESIDE.items():
        rows = []
        for picture, own in zip(pictures, regions, strict=True):
            values = torch.as_tensor(picture.get(key, [unknown] * len(own)), dtype=kind)
            rows.append(values.view(len(own), 4) if key == "boxes" else values.flatten())
        # [P, R, …]
        columns[key] = pad_sequence(rows, batch_first=True, padding_value=padding)
    counts = torch.tensor([len(rows) for rows in regions])
    columns["region_mask"] = torch.arange(int(counts.max())) < counts[:, None]  # [P, R]
    return Pictures(
        ids, **columns, object_names=object_names, attribute_names=attribute_names
    )


# With texts


class Regions(Texts):
    """`Texts` whose batches also hold the regions of the picture each text goes with (see the top of this file).

    Args:
        rows: as for `Texts`, with a column `image_id` of integers, or two, `left` and `right`.
        tokenizer, columns, max_length, label: as for `Texts`.
        pictures: `Pictures` with all that the rows name, standardised.
        answers: the answers to choose from, in order. Adds `answer_scores` from the column `answers` (ten people's)
            or `answer` (one), by `data.answer_scores`.
        truth: adds `true_of`, so that a caption which is *also true* of another picture is never called wrong for
            it: a function of rows [B] and pictures [B'] that gives [B, B'] bool. For drawn shelves
            `scenes.truth(rows)`; photographs come without one.

    Raises:
        TypeError, ValueError: what `Texts` raises; a picture that is not there.

    Example:
        >>> from contrast_kit.data import Regions, scenes, train_tokenizer
        >>> rows = [{"text": "a red ball", "image_id": 0}, {"text": "a red ball", "image_id": 3}]
        >>> texts = Regions(rows, train_tokenizer(["a red ball"], vocab_size=60), scenes.pictures())
        >>> batch = texts.batch([0, 1])
        >>> batch["regions"].shape, batch["text_id"].tolist(), batch["image_id"].tolist()
        (torch.Size([2, 3, 64]), [0, 1], [0, 3])
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
        truth: Callable[[Sequence[int], Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__(rows, tokenizer, columns, max_length, label=label)
        names = column_names(rows)
        self.pictures, self.truth = pictures, truth
        self.image_columns = ("image_id",) if "image_id" in names else ("left", "right")
        image_ids = [torch.tensor(column(rows, name)) for name in self.image_columns]
        self.image_ids = torch.stack(image_ids, 1)  # [N, 1 or 2]
        self.picture_rows = pictures.rows(self.image_ids)  # [N, 1 or 2]
        pairs = torch.cat([self.text_ids[:, None], self.image_ids], 1)  # [N, 2 or 3]
        self.text_ids = torch.tensor(numbered(map(tuple, pairs.tolist())))  # [N]
        self.answers, self.answer_scores = answers, None
        if answers is not None:
            people = column(rows, "answers" if "answers" in names else "answer")
            self.answer_scores = answer_scores(people, answers)  # [N, A]

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The rows `indices` as one padded batch; pictures are padded to the most regions among them."""
        indices = list(indices)
        batch = super().batch(indices)
        for place, name in enumerate(self.image_columns):
            prefix = "" if name == "image_id" else f"{name}/"
            rows = self.picture_rows[indices, place]  # [B]
            most = int(self.pictures.region_mask[rows].sum(1).max())
            for key in REGION_KEYS:
                # [B, R, …]
                batch[prefix + key] = getattr(self.pictures, key)[rows, :most]
            batch[f"{prefix}image_id"] = self.image_ids[indices, place]  # [B]
        if self.answer_scores is not None:
            batch["answer_scores"] = self.answer_scores[indices]  # [B, A]
        if self.truth is not None:
            batch["true_of"] = self.truth(indices, self.image_ids[indices, 0])  # [B, B]
        return batch

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where a text, a label, or a picture that a text goes with does.

        What a detector says of the picture is a part of it."""
        used = self.picture_rows.unique()
        parts = [
            self.image_ids,
            *(getattr(self.pictures, key)[used] for key in REGION_KEYS),
        ]
        if self.answer_scores is not None:
            parts.append(self.answer_scores)
        # numpy knows no bfloat16
        as_bytes = (part.contiguous().view(torch.uint8).numpy() for part in parts)
        crc = reduce(
            lambda crc, part: crc32(part, crc), as_bytes, int(super().fingerprint(), 16)
        )
        return f"{crc:08x}"


def answer_list(answers: Iterable[Any], least: int = 1) -> list[str]:
    """The distinct answers of a training split, the most frequent first; rarer than `least` are left out.

    `answers` holds a string, or a list of strings (VQA's ten), for each question. Each person counts: an answer that
    two people give to one question was given twice.

    >>> answer_list([["red", "red", "scarlet"], "two", "red"], least=2)
    ['red']
    """
    votes = Counter(answer for people in answers for answer in _people(people))
    return [answer for answer, count in votes.most_common() if count >= least]


def answer_scores(answers: Sequence[Any], names: Sequence[str]) -> Tensor:
    """What each answer is worth for each question, [N, A] from 0 to 1: the soft labels that LXMERT trains on.

    Of ten people's answers one vote is worth 0.3, two 0.6, three 0.9, more 1. A single answer (a string) is worth 1.
    None, a row without a question, is all 0. An answer outside `names` is worth nothing to anyone. This is how to
    *train*; how to *score* is `tasks.soft_accuracy`.

    >>> answer_scores([["red"] * 7 + ["scarlet"] * 2 + ["pink"], "two", None], ["red", "two", "scarlet"])
    tensor([[1.0000, 0.0000, 0.6000],
            [0.0000, 1.0000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    number = {name: n for n, name in enumerate(names)}
    scores = torch.zeros(len(answers), len(names))  # [N, A]
    for row, people in enumerate(answers):
        worth = 1.0 if isinstance(people, str) else PER_VOTE
        for answer, count in Counter(_people(people)).items():
            if answer in number:
                scores[row, number[answer]] = min(1.0, worth * count)
    return scores


def _people(answers: Any) -> list[str]:
    """The answer of each person to one question."""
    if isinstance(answers, str):
        return [answers]
    return list(answers or ())
