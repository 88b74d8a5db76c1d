"""The tests that researchers know, so that a number can be reproduced with other tools.

| question | call | as |
|---|---|---|
| are vectors as similar as people say? | `sts(encoder, read_sts(folder))` | SimCSE's table of seven tasks |
| which of two sentences is English? | `blimp(encoder, folder)` | BLiMP, by pseudo-log-likelihood |
| all of it, for a saved folder | `evaluate(folder)`, `python -m contrast_kit evaluate FOLDER` | one table |

`examples/mteb_tasks.py` runs tasks of mteb on an encoder.
"""

from contrast_kit.tasks.standard.minimal_pairs import blimp, pseudo_log_likelihoods
from contrast_kit.tasks.standard.report import Report, evaluate, has_word_head
from contrast_kit.tasks.standard.similarity import random_twin, read_sts, sts

__all__ = [
    "Report",
    "blimp",
    "evaluate",
    "has_word_head",
    "pseudo_log_likelihoods",
    "random_twin",
    "read_sts",
    "sts",
]
