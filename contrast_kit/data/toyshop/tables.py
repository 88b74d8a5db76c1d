"""Rows of a task and split: drawn from the seed, balanced in length, and never sharing a sentence between splits."""

from __future__ import annotations

from functools import cache
from random import Random

from contrast_kit import arguments
from contrast_kit.data.toyshop import squad
from contrast_kit.data.toyshop.makers import MAKERS, Row
from contrast_kit.data.toyshop.shops import SHOPS
from contrast_kit.data.toyshop.unlabeled import labelled_corpus

TRAIN = {"sst2": 4000, "cola": 4000, "mnli": 4000}  # the others: 2,500
HELD_OUT = 500
CORPUS = {"train": 100_000, "validation": 2_000}


def tasks() -> list[str]:
    """The names of the tasks, with "squad" for questions about paragraphs and "text" for the unlabeled corpus.

    >>> tasks()
    ['sst2', 'cola', 'mrpc', 'qqp', 'stsb', 'mnli', 'rte', 'qnli', 'squad', 'text']
    """
    return [*MAKERS, "squad", "text"]


def splits(task: str) -> dict[str, int]:
    """The splits of a task and their numbers of rows, named as in GLUE.

    >>> splits("qqp")
    {'train': 2500, 'validation': 500, 'test': 500}
    """
    arguments.known(task, tasks(), "task", "of a shop")
    if task == "text":
        return dict(CORPUS)
    held_out = ("validation", "test")
    if task == "mnli":
        held_out = tuple(f"{split}_{kind}" for split in held_out for kind in ("matched", "mismatched"))
    return {"train": TRAIN.get(task, 2500)} | dict.fromkeys(held_out, HELD_OUT)


def rows(task: str, split: str, shop: str = "toyshop") -> list[Row]:
    """All rows of one split, as dicts with the columns and label integers of `nyu-mll/glue`.

    Those of "squad" have SQuAD's columns: id, title, context, question, answers.

    They are made from the seed when first asked for (well under a second; the 100,000 sentences of "text"
    take a few) and kept. Test labels are given, unlike on the hub. `shop="othershop"` gives the same task
    about garden goods; the mismatched splits of mnli are about the other one of the two shops.

    Raises ValueError, naming what exists, for an unknown task, split or shop.

    >>> rows("sst2", "validation")[0].keys()
    dict_keys(['sentence', 'label', 'idx'])
    """
    arguments.known(shop, SHOPS, "shop")
    arguments.known(split, splits(task), "split", f"in toyshop/{task}")
    if task == "squad":
        made = _questions(shop)[split]
        return [row | {"answers": {name: list(found) for name, found in row["answers"].items()}} for row in made]
    made = _text(split, shop) if task == "text" else _made(task, shop)[split]
    return [dict(row) for row in made]


@cache
def _text(split: str, shop: str) -> list[Row]:
    start = 0 if split == "train" else CORPUS["train"]
    lines = labelled_corpus(sum(CORPUS.values()), shop=shop)[start : start + CORPUS[split]]
    return [{"text": line["text"]} for line in lines]


@cache
def _questions(shop: str) -> dict[str, list[Row]]:
    """The splits of "squad"; no paragraph stands in two of them, nor a question twice about one."""
    made, known = {}, set()
    for split, size in splits("squad").items():
        rng, chosen = Random(f"squad/{split}/{shop}"), []
        while len(chosen) < size:
            row = squad.row(rng, SHOPS[shop])
            if row["context"] not in known:
                known.add(row["context"])
                about = {"id": f"{shop}-{split}-{len(chosen)}", "title": shop}
                chosen.append(about | row)
        made[split] = chosen
    return made


@cache
def _made(task: str, shop: str) -> dict[str, list[Row]]:
    other = next(name for name in SHOPS if name != shop)
    home: dict[str, str] = {}  # sentence -> the split it belongs to
    made: dict[str, list[Row]] = {}
    for split, size in reversed(splits(task).items()):  # small splits first: they take the commonest sentences
        where = SHOPS[other if split.endswith("mismatched") else shop]
        rng = Random(f"{task}/{split}/{where.name}/{shop}")
        chosen: list[Row] = []
        known: set[tuple[str, ...]] = set()
        while len(chosen) < size:
            row = MAKERS[task](rng, where)
            texts = tuple(value for value in row.values() if isinstance(value, str))
            if texts in known or any(home.get(text, split) != split for text in texts):
                continue
            known.add(texts)
            home.update(dict.fromkeys(texts, split))
            chosen.append(row | {"idx": len(chosen)})
        made[split] = chosen
    return {split: made[split] for split in splits(task)}
