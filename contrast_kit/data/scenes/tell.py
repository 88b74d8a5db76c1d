"""Captions: one to three facts of a scene, told by the toyshop's grammar; and their truth for whole batches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from random import Random
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
    Facts,
    image_ids,
    scene,
    split_of,
)
from contrast_kit.data.toyshop.grammar import clause_beginning_otherwise, sentence
from contrast_kit.data.toyshop.words import pick
from contrast_kit.data.toyshop.world import Stock

KNOWN = {
    "good": GOODS,
    "colour": COLOURS,
    "size": SIZES,
    "price": range(10),
    "shelf": SHELVES,
    "material": (),
}
"""The fields of a fact, and what toys may have."""
_TOLD = {"colour": 0.8, "size": 0.5, "price": 0.25}  # how often a fact tells a detail


def draw_facts(rng, scene):
    """One to three facts of a scene, each a `Stock` of all toys on one shelf that fit its description.

    No toy is mentioned twice.
    """
    facts = []
    left = list(scene.toys)
    for _ in range(pick(rng, (1, 2, 2, 3))):
        if not left:
            break
        toy = pick(rng, left)
        details = [name for name, share in _TOLD.items() if rng.random() < share]
        same = {name: getattr(toy, name) for name in ("good", "shelf", *details)}
        alike = [other for other in scene.toys if same.items() <= vars(other).items()]
        if set(alike) <= set(left):
            left = [other for other in left if other not in alike]
            facts.append(Stock(len(alike), **same | {"shelf": SHELVES[toy.shelf]}))
    return tuple(facts)


def tell(facts: Facts, rng: Random) -> str:
    """One sentence that claims all `facts`, each in one of the toyshop's ways to tell of stock.

    >>> from random import Random
    >>> tell((Stock(2, "drum", SHELVES[0], colour="red"), Stock(1, "kite", SHELVES[2])), Random(0))
    'The shop keeps two red drums on the top shelf, and a kite stands on the bottom shelf.'
    """
    clauses = [clause_beginning_otherwise(fact, rng, "look ") for fact in facts]
    return sentence(", and ".join(clauses))


def captions(split: str) -> list[dict[str, Any]]:
    """Two different captions of every scene of a split, as rows: `text`, `image_id`, `facts`."""
    rows = []
    for image_id in image_ids(split):
        rng = Random(f"captions/{image_id}")
        texts = {}
        while len(texts) < 2:
            facts = draw_facts(rng, scene(image_id))
            texts.setdefault(tell(facts, rng), [asdict(fact) for fact in facts])
        rows += [
            {"text": text, "image_id": image_id, "facts": texts[text]} for text in texts
        ]
    return rows


def facts_of(row: Mapping[str, Any]) -> Facts:
    """The facts of a caption's row as `Stock` records, to ask `true_of` with.

    >>> from contrast_kit.data import scenes
    >>> row = scenes.rows("captions", "test")[0]
    >>> scenes.true_of(facts_of(row), scenes.scene(row["image_id"]))
    True
    """
    return tuple(Stock(**fact) for fact in row["facts"])


def truth(rows: Any) -> Callable[[Sequence[int], Tensor], Tensor]:
    """`true_of` for whole batches: a function of row numbers [B] and picture numbers [P] → [B, P] bool.

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
    scenes = [scene(number) for split in SPLITS for number in image_ids(split)]
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
    """The values of a fact's fields as numbers."""
    codes = []
    for field, known in KNOWN.items():
        value = fact.get(field)
        # A kind of good, say, that only `entails` understands.
        if value and value not in known:
            raise ValueError(
                f"No toy of these scenes has the {field} {value!r}: ask true_of of each picture."
            )
        codes.append(known.index(value) if value else UNTOLD)
    return codes
