"""The tests that researchers know, so that a number can be reproduced with other tools.

| question | call | as |
|---|---|---|
| are vectors as similar as people say? | `sts(encoder, rows)` | STS-B, or any scored pairs |
| which of two sentences is English? | `blimp(encoder, folder)` | BLiMP, by pseudo-log-likelihood |
| all of it, for a saved folder | `evaluate(folder)`, `python -m contrast_kit evaluate FOLDER` | one table |

`examples/mteb_tasks.py` runs tasks of mteb on an encoder.
"""

from contrast_kit.tasks.prompt import has_word_head
from contrast_kit.tasks.standard.minimal_pairs import blimp, pseudo_log_likelihoods
from contrast_kit.tasks.standard.report import evaluate
from contrast_kit.tasks.standard.similarity import random_twin, sts

__all__ = [
    "blimp",
    "evaluate",
    "has_word_head",
    "pseudo_log_likelihoods",
    "random_twin",
    "sts",
]
