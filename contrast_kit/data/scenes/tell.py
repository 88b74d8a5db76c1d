"""Captions: one to three facts of a scene, told by the toyshop's grammar; and their truth for whole batches."""

from __future__ import annotations

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
    Scene,
    image_ids,
    scene,
    split_of,
    those,
)
from contrast_kit.data.toyshop.grammar import clause, sentence
from contrast_kit.data.toyshop.shops import TOYSHOP
from contrast_kit.data.toyshop.words import pick
from contrast_kit.data.toyshop.world import Stock

FIELDS = ("good", "colour", "size", "price", "shelf")
_TOLD = {"colour": 0.8, "size": 0.5, "price": 0.25}  # how often a fact tells a detail


def draw_facts(rng: Random, scene: Scene) -> Facts:
    """One to three facts of a scene, each a `Stock` of all toys on one shelf that fit its description.

    No toy is mentioned twice.
    """
    facts: list[Stock] = []
    left = list(scene.toys)
    for _ in range(pick(rng, (1, 2, 2, 3))):
        if not left:
            break
        toy = pick(rng, left)
        details = [name for name, share in _TOLD.items() if rng.random() < share]
        same = ("good", "shelf", *details)
        alike = those(scene, lambda other, same=same, toy=toy: all(getattr(other, n) == getattr(toy, n) for n in same))
        told = {name: getattr(toy, name) for name in details}
        if not set(alike) <= set(left):
            continue
        left = [other for other in left if other not in alike]
        facts.append(Stock(len(alike), toy.good, SHELVES[toy.shelf], **told))
    return tuple(facts)


def tell(facts: Facts, rng: Random) -> str:
    """One sentence that claims all `facts`, each in one of the toyshop's ways to tell of stock.

    >>> from random import Random
    >>> tell((Stock(2, "drum", SHELVES[0], colour="red"), Stock(1, "kite", SHELVES[2])), Random(0))
    'The shop keeps two red drums on the top shelf, and a kite stands on the bottom shelf.'
    """
    clauses = []
    for fact in facts:
        text = clause(fact, rng, TOYSHOP)
        while text.startswith("look "):  # does not go on after "and"
            text = clause(fact, rng, TOYSHOP)
        clauses.append(text)
    return sentence(", and ".join(clauses))


def captions(split: str, each: int = 2) -> list[dict[str, Any]]:
    """`each` different captions of every scene of a split, as rows: `text`, `image_id`, `facts`."""
    made = []
    for image_id in image_ids(split):
        rng, texts = Random(f"captions/{image_id}"), set()
        while len(texts) < each:
            facts = draw_facts(rng, scene(image_id))
            text = tell(facts, rng)
            if text not in texts:
                texts.add(text)
                made.append({"text": text, "image_id": image_id, "facts": [asdict(fact) for fact in facts]})
    return made


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
    told = column(rows, "facts")
    claims = torch.full((len(rows), max(map(len, told), default=0), 1 + len(FIELDS)), -1)  # [N, facts, number, fields]
    claims[:, :, 0] = 0  # a fact that is not there asks for no toy
    for row, facts in enumerate(told):
        for at, fact in enumerate(facts):
            claims[row, at] = torch.tensor([fact["number"], *_codes(fact, SHELVES)])

    def is_true(indices: Sequence[int], pictures: Tensor) -> Tensor:
        if not ((pictures >= 0) & (pictures < len(_toys()))).all():
            split_of(int(pictures[(pictures < 0) | (pictures >= len(_toys()))][0]))  # says which there are
        claim = claims[list(indices)][:, None, :, None]  # [B, 1, facts, 1, 1 + fields]
        toys = _toys()[pictures][None, :, None]  # [1, P, 1, toys, fields]
        fits = ((claim[..., 1:] == toys) | (claim[..., 1:] == -1)) & (toys != -1)
        return (fits.all(-1).sum(-1) >= claim[..., 0, 0]).all(-1)  # [B, P]

    return is_true


@cache
def _toys() -> Tensor:
    """The fields of the toys of all scenes as numbers, [scenes, toys, fields]; -1 where there is no toy."""
    everything = [scene(number) for split in SPLITS for number in image_ids(split)]
    most = max(len(each.toys) for each in everything)
    nothing = [-1] * len(FIELDS)
    coded = [
        [_codes({name: getattr(toy, name) for name in FIELDS}, range(len(SHELVES))) for toy in each.toys]
        for each in everything
    ]
    return torch.tensor([toys + [nothing] * (most - len(toys)) for toys in coded])


def _codes(values: Mapping[str, Any], shelves: Sequence[Any]) -> list[int]:
    """Values of `FIELDS` as numbers; -1 where one is not told."""
    names = dict(zip(FIELDS, (GOODS, COLOURS, SIZES, range(10), shelves), strict=True)) | {"material": ()}
    codes = []
    for field, known in names.items():
        value = values.get(field, "")
        untold = value in ("", 0) and field != "shelf"
        if not untold and value not in known:  # a kind of good, say, that only `entails` understands
            raise ValueError(f"No toy of these scenes has the {field} {value!r}: ask true_of of each picture.")
        codes.append(-1 if untold else known.index(value))
    return codes[: len(FIELDS)]
