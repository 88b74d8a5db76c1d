"""The toyshop: a small world made by a seeded grammar, in which every GLUE task exists with true labels.

>>> from contrast_kit.data import toyshop
>>> row = toyshop.rows("mnli", "train")[0]
>>> sorted(row)
['hypothesis', 'idx', 'label', 'premise']

Read `world` for meaning (records), `grammar` for how it is said, `makers` for how labels follow, `squad` for paragraphs
with questions; `words` holds the vocabulary and the shops, `tables` rows, splits and shipped copies, `unlabeled` the
corpus.
"""

from contrast_kit.data.toyshop.tables import rows, splits, tasks
from contrast_kit.data.toyshop.unlabeled import (
    corpus,
    families,
    kind_of,
    labelled_corpus,
    paraphrase,
    probe_pairs,
    record_of,
    tell,
    triples,
    ways_to_say,
)
from contrast_kit.data.toyshop.world import (
    Opinion,
    Stock,
    Visit,
    contradicts,
    draw_record,
    entails,
    similarity,
)

__all__ = [
    "Opinion",
    "Stock",
    "Visit",
    "contradicts",
    "corpus",
    "draw_record",
    "entails",
    "families",
    "kind_of",
    "labelled_corpus",
    "paraphrase",
    "probe_pairs",
    "record_of",
    "rows",
    "similarity",
    "splits",
    "tasks",
    "tell",
    "triples",
    "ways_to_say",
]
