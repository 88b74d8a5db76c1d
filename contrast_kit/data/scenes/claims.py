"""Which captions are true of which scenes, for whole batches."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import torch
from torch import Tensor

from contrast_kit.data.rows import column
from contrast_kit.data.scenes.shelf import (
    COLOURS,
    GOODS,
    SHELVES,
    SIZES,
    SPLITS,
    scene,
    split_of,
)

KNOWN = {
    "good": GOODS,
    "colour": COLOURS,
    "size": SIZES,
    "price": range(10),
    "shelf": SHELVES,
    "material": (),
}
"""The fields of a fact, and what toys may have."""


def truth(rows: Any) -> Callable[[Sequence[int], Tensor], Tensor]:
    """Which captions are true of which pictures: a function of row numbers [B] and picture numbers [P] → [B, P] bool.

    A row's `facts` are the toyshop's `Stock` records as dicts. A caption is true where for each of them at least its
    number of toys fit all that it tells: "there is a drum" is true of two drums as well.

    Give it to `Regions(rows, …, truth=scenes.truth(rows))`, and each batch says in `true_of` which caption is true of
    which picture. Where `true_of[b, p]` holds, picture p is not a negative for caption b, though it may not be its own.

    >>> from contrast_kit.data import scenes
    >>> import torch
    >>> rows = scenes.rows("captions", "test")[:4]
    >>> is_true = scenes.truth(rows)([0, 2], torch.tensor([row["image_id"] for row in rows]))
    >>> is_true.shape, is_true[0, :2].tolist()  # both captions of one picture are true of it
    (torch.Size([2, 4]), [True, True])
    """
    rows_of_facts = column(rows, "facts")
    claims = _padded(
        [[[fact["number"], *_codes(fact)] for fact in facts] for facts in rows_of_facts]
    )

    def is_true(indices, pictures):
        for number in pictures.aminmax():
            split_of(int(number))  # refuses what is no scene
        claim = claims[list(indices)][:, None, :, None]  # [B, 1, facts, 1, 1 + fields]
        toys = _toys()[pictures][None, :, None]  # [1, P, 1, toys, fields]
        untold = claim[..., 1:] == UNTOLD
        fits = ((claim[..., 1:] == toys) | untold).all(-1)  # [B, P, facts, toys]
        return (fits.sum(-1) >= claim[..., 0, 0]).all(-1)  # [B, P]

    return is_true


@cache
def _toys():
    """The fields of the toys of all scenes as numbers, [scenes, toys, fields]."""
    scenes = [scene(number) for numbers in SPLITS.values() for number in numbers]
    return _padded(
        [[_codes(asdict(toy.stock())) for toy in each.toys] for each in scenes]
    )


UNTOLD, ABSENT = -1, -2


def _padded(rows):
    """Rows of facts or of toys, filled up with such as fit nothing: [rows, facts or toys, numbers]."""
    tensors = [torch.tensor(row) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(
        tensors, batch_first=True, padding_value=ABSENT
    )


def _codes(fact):
    """The values of a fact's fields as numbers. A ValueError where no toy of these scenes has a value."""
    values = [fact.get(field) for field in KNOWN]
    return [
        known.index(value) if value else UNTOLD
        for known, value in zip(KNOWN.values(), values, strict=True)
    ]
