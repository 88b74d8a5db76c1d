"""Rows of a task and split: drawn from the seed, balanced in length, and never sharing a sentence between splits.

And their shipped copies: tab-separated text that GitHub shows and `grep` reads. The library never reads them; they are
there to be looked at, and so that a change of the grammar shows as a change of the data. Plain text and not gzip,
because compressed bytes differ from one zlib to the next.
"""

import hashlib
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random

from contrast_kit._util import choose
from contrast_kit.data.toyshop import squad
from contrast_kit.data.toyshop.makers import MAKERS, Row
from contrast_kit.data.toyshop.unlabeled import labelled_corpus
from contrast_kit.data.toyshop.words import SHOPS

TRAIN = {"sst2": 4000, "cola": 4000, "mnli": 4000}  # the others: 2,500
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
    choose(dict.fromkeys(tasks()), task, "toyshop task")
    if task == "text":
        return dict(CORPUS)
    held_out = ["validation", "test"]
    if task == "mnli":
        held_out = [
            f"{split}_{side}" for split in held_out for side in ("matched", "mismatched")
        ]
    return {"train": TRAIN.get(task, 2500)} | dict.fromkeys(held_out, 500)


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
    choose(SHOPS, shop, "shop")
    choose(splits(task), split, f"{task} split")
    make = {"text": _texts, "squad": _questions}.get(task, _labelled)
    made = make(task, shop)[split]
    if task == "squad":
        return deepcopy(made)
    return [dict(row) for row in made]


@cache
def _texts(task, shop):
    lines = [
        {"text": line["text"]}
        for line in labelled_corpus(sum(CORPUS.values()), shop=shop)
    ]
    return {"train": lines[: CORPUS["train"]], "validation": lines[CORPUS["train"] :]}


@cache
def _questions(task, shop):
    """The splits of "squad"; no paragraph stands in two of them, nor a question twice about one."""
    made = {split: [] for split in splits(task)}
    known = set()
    for split, size in splits(task).items():
        rng = Random(f"squad/{split}/{shop}")
        while len(made[split]) < size:
            row = squad.row(rng, SHOPS[shop])
            if row["context"] not in known:
                known.add(row["context"])
                name = {"id": f"{shop}-{split}-{len(made[split])}", "title": shop}
                made[split].append(name | row)
    return made


@cache
def _labelled(task, shop):
    split_of = {}  # by sentence
    made = {split: [] for split in splits(task)}
    for split in reversed(made):  # small splits first: they take the commonest sentences
        where = shop
        if split.endswith("mismatched"):
            (where,) = SHOPS.keys() - {shop}
        rng = Random(f"{task}/{split}/{where}/{shop}")
        known = set()
        while len(known) < splits(task)[split]:
            row = MAKERS[task](rng, SHOPS[where])
            texts = tuple(value for value in row.values() if isinstance(value, str))
            if texts in known or any(
                split_of.get(text, split) != split for text in texts
            ):
                continue
            made[split].append(row | {"idx": len(known)})
            known.add(texts)
            split_of |= dict.fromkeys(texts, split)
    return made


def tsv(table: list[Row]) -> bytes:
    r"""Rows as tab-separated lines under a header, without quoting (no text holds a tab or a line end).

    >>> tsv([{"sentence": "The kite is red.", "label": 1}])
    b'sentence\tlabel\nThe kite is red.\t1\n'
    """
    lines = [table[0].keys(), *(row.values() for row in table)]
    return "".join("\t".join(map(str, line)) + "\n" for line in lines).encode()


def contents() -> dict[str, bytes]:
    """The name and the bytes of each shipped file: of the other shop only the validation splits; of the corpus a
    sample, and the sha256 of the whole."""
    files = {}
    for shop in SHOPS:
        for task in MAKERS:
            for split in splits(task):
                if shop == "toyshop" or split in ("validation", "validation_matched"):
                    files[f"{shop}/{task}/{split}.tsv"] = tsv(rows(task, split, shop))
        corpus = labelled_corpus(CORPUS["train"], shop=shop)
        text = "".join(line["text"] + "\n" for line in corpus)
        digest = hashlib.sha256(text.encode()).hexdigest()
        files[f"{shop}/text/sample.tsv"] = tsv(corpus[:1000])
        files[f"{shop}/text/train.sha256"] = f"{digest}\n".encode()
    return files


def write(folder: str | Path) -> int:
    """Write all files under `folder` and return their size in bytes. The same bytes on every machine."""
    size = 0
    for name, content in contents().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(content)
    return size
