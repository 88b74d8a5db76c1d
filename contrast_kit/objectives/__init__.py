"""One paper, one file. An objective is views + local losses + one contrast over the whole batch (`base`)."""

from contrast_kit.objectives.base import Encoded, ExampleInfo, Objective
from contrast_kit.objectives.capt import CAPT, CAPTConfig, MemoryQueue
from contrast_kit.objectives.cmlm import CMLM, CSSL, CMLMConfig, CSSLConfig
from contrast_kit.objectives.coco_lm import COCOLM, COCOLMConfig
from contrast_kit.objectives.electra import ELECTRA, AllTokenMLM, AllTokenMLMConfig, ELECTRAConfig
from contrast_kit.objectives.mlm import MLM, MLMConfig
from contrast_kit.objectives.prompt import Prompt, PromptConfig
from contrast_kit.objectives.scl import SCL, FineTune, FineTuneConfig, SCLConfig
from contrast_kit.objectives.simcse import SimCSE, SimCSEConfig
from contrast_kit.objectives.span import Span, SpanConfig

__all__ = ["METHODS", "Encoded", "ExampleInfo", "MemoryQueue", "Objective"]
__all__ += [
    "CAPT",
    "CMLM",
    "COCOLM",
    "CSSL",
    "ELECTRA",
    "MLM",
    "SCL",
    "AllTokenMLM",
    "FineTune",
    "Prompt",
    "SimCSE",
]
__all__ += ["Span", "SpanConfig"]
__all__ += [
    "AllTokenMLMConfig",
    "CAPTConfig",
    "CMLMConfig",
    "COCOLMConfig",
    "CSSLConfig",
    "ELECTRAConfig",
]
__all__ += ["FineTuneConfig", "MLMConfig", "PromptConfig", "SCLConfig", "SimCSEConfig"]

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
"""Every method by its name on the command line. Left out are `Prompt`, which needs a prompt and label words, `Span`,
which needs windows of paragraphs, and the methods of `vision`, which need pictures."""
