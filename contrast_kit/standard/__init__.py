"""The tests that researchers know, so that a number can be reproduced with other tools.

| question | call | as |
|---|---|---|
| are vectors as similar as people say? | `sts(encoder, read_sts(folder))` | SimCSE's table of seven tasks |
| which of two sentences is English? | `blimp(encoder, folder)` | BLiMP, by pseudo-log-likelihood |
| any task of mteb | `mteb.evaluate(ForMTEB(encoder), tasks)` | mteb |
| the same with rows of one's own | `mteb_task("STS", "mine", {"test": rows})` | mteb, without the hub |
| all of it, for a saved folder | `evaluate(folder)`, `python -m contrast_kit evaluate FOLDER` | one table |
"""

from contrast_kit.standard.harness import ForMTEB, mteb_task
from contrast_kit.standard.minimal_pairs import blimp, pseudo_log_likelihoods
from contrast_kit.standard.report import Report, evaluate
from contrast_kit.standard.similarity import read_sts, sts

__all__ = [
    "ForMTEB",
    "Report",
    "blimp",
    "evaluate",
    "mteb_task",
    "pseudo_log_likelihoods",
    "read_sts",
    "sts",
]
