"""One paper, one file. An objective is views + local losses + one contrast over the whole batch (`base`).

The settings of a method are its `Config`: `CMLM.Config(K=2)`.
"""

from contrast_kit.objectives.base import Encoded, ExampleInfo, Objective
from contrast_kit.objectives.capt import CAPT, MemoryQueue
from contrast_kit.objectives.cmlm import CMLM, CSSL
from contrast_kit.objectives.coco_lm import COCOLM
from contrast_kit.objectives.electra import ELECTRA, AllTokenMLM
from contrast_kit.objectives.mlm import MLM
from contrast_kit.objectives.scl import SCL, FineTune
from contrast_kit.objectives.simcse import SimCSE

METHODS: dict[str, type[Objective]] = {
    "mlm": MLM,
    "cmlm": CMLM,
    "coco-lm": COCOLM,
    "electra": ELECTRA,
    "all-token": AllTokenMLM,
    "scl": SCL,
    "fine-tune": FineTune,
    "capt": CAPT,
    "cssl": CSSL,
    "simcse": SimCSE,
}
"""Every method by its name on the command line. Left out are `tasks.Prompt`, which needs a prompt and label
words, `tasks.Span`, which needs windows of paragraphs, and the methods of `vision`, which need pictures."""
