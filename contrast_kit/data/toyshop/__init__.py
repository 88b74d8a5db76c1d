"""The toyshop: a small world made by a seeded grammar, in which every GLUE task exists with true labels.

>>> from contrast_kit.data import toyshop
>>> row = toyshop.rows("mnli", "train")[0]
>>> sorted(row)
['hypothesis', 'idx', 'label', 'premise']

Read `world` for meaning (records), `grammar` for how it is said, `unlabeled` for the corpus; `words` holds the
vocabulary and the shops, `wordings` says a sentence in other words. `tables` reads the labelled tasks, which
`data/toyshop/make.py` has made.
"""

from contrast_kit.data.toyshop.tables import rows, splits, tasks
from contrast_kit.data.toyshop.unlabeled import (
    corpus,
    families,
    kind_of,
    labelled_corpus,
    probe_pairs,
    record_of,
    tell,
    triples,
    ways_to_say,
)
from contrast_kit.data.toyshop.world import Opinion, Stock, Visit

__all__ = [
    "Opinion",
    "Stock",
    "Visit",
    "corpus",
    "families",
    "kind_of",
    "labelled_corpus",
    "probe_pairs",
    "record_of",
    "rows",
    "splits",
    "tasks",
    "tell",
    "triples",
    "ways_to_say",
]
