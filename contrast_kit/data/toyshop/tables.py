"""Rows of each task and split: read from `data/toyshop`, where the script that made them lies beside them."""

from typing import Any

from contrast_kit._util import choose, shipped
from contrast_kit.data.toyshop.unlabeled import corpus
from contrast_kit.data.toyshop.words import SHOPS

TASKS = ("sst2", "cola", "mrpc", "qqp", "stsb", "mnli", "rte", "qnli", "squad", "text")
SENTENCES = {"train": slice(100_000), "validation": slice(100_000, 102_000)}
"""The sentences of `corpus` that are the splits of "text"."""


def tasks() -> list[str]:
    """The names of the tasks, with "squad" for questions about paragraphs and "text" for the unlabeled corpus.

    >>> tasks()
    ['sst2', 'cola', 'mrpc', 'qqp', 'stsb', 'mnli', 'rte', 'qnli', 'squad', 'text']
    """
    return list(TASKS)


def splits(task: str) -> list[str]:
    """The splits of a task, named as in GLUE.

    >>> splits("qqp")
    ['train', 'validation', 'test']
    """
    choose(dict.fromkeys(TASKS), task, "toyshop task")
    if task == "text":
        return list(SENTENCES)
    halves = ("_matched", "_mismatched") if task == "mnli" else ("",)
    return ["train", *(held + half for held in ("validation", "test") for half in halves)]


def rows(task: str, split: str, shop: str = "toyshop") -> list[dict[str, Any]]:
    """All rows of one split, as dicts with the columns and label integers of `nyu-mll/glue`.

    Those of "squad" have SQuAD's columns: id, title, context, question, answers. The 102,000 sentences of "text" are
    made by the grammar, which takes a few seconds.

    Test labels are given, unlike on the hub. `shop="othershop"` gives the same task about garden goods; the mismatched
    splits of mnli are about the other one of the two shops.

    Raises ValueError, naming what exists, for an unknown task, split or shop.

    >>> rows("sst2", "validation")[0].keys()
    dict_keys(['sentence', 'label', 'idx'])
    """
    choose(SHOPS, shop, "shop")
    choose(dict.fromkeys(splits(task)), split, f"{task} split")
    if task == "text":
        return [{"text": text} for text in corpus(102_000, shop=shop)[SENTENCES[split]]]
    from pyarrow.parquet import read_table

    file = shipped("toyshop") / shop / task / f"{split}.parquet"
    return read_table(file).to_pylist()
