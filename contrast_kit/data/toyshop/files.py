"""The shipped copies of the toyshop: tab-separated text that GitHub shows and `grep` reads.

The library never reads them (it makes its rows from the seed); they are there to be looked at, and so that a
change of the grammar shows as a change of the data. Plain text and not gzip, because compressed bytes differ
from one zlib to the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from contrast_kit.data.toyshop.makers import Row
from contrast_kit.data.toyshop.tables import rows, splits, tasks
from contrast_kit.data.toyshop.unlabeled import labelled_corpus

SAMPLE = 1000  # sentences of the corpus that are shipped; the whole is pinned by its sha256


def tsv(table: list[Row]) -> bytes:
    r"""Rows as tab-separated lines under a header, without quoting (no text holds a tab or a line end).

    >>> tsv([{"sentence": "The kite is red.", "label": 1}])
    b'sentence\tlabel\nThe kite is red.\t1\n'
    """
    lines = ["\t".join(table[0])] + ["\t".join(str(value) for value in row.values()) for row in table]
    return ("\n".join(lines) + "\n").encode()


def contents() -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each shipped file. Of the other shop only the validation splits are shipped."""
    for shop in ("toyshop", "othershop"):
        for task in tasks():
            if task == "squad":  # its rows are nested, and no line of a table
                continue
            if task == "text":
                corpus = labelled_corpus(100_000, shop=shop)
                whole = "\n".join(line["text"] for line in corpus) + "\n"
                yield f"{shop}/text/sample.tsv", tsv(corpus[:SAMPLE])
                yield f"{shop}/text/train.sha256", f"{hashlib.sha256(whole.encode()).hexdigest()}\n".encode()
                continue
            for split in splits(task):
                shipped = shop == "toyshop" or split in ("validation", "validation_matched")
                if shipped:
                    yield f"{shop}/{task}/{split}.tsv", tsv(rows(task, split, shop))


def write(folder: str | Path) -> int:
    """Write all files under `folder` and return their size in bytes. The same bytes on every machine."""
    size = 0
    for name, data in contents():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        size += len(data)
    return size
