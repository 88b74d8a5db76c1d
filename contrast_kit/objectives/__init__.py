"""One paper, one file or folder. An objective is views + local losses + one contrast over the whole batch (`base`)."""

from contrast_kit._renamed import former_names
from contrast_kit.objectives.answers import Answer, AnswerConfig, TwoPictures, TwoPicturesConfig
from contrast_kit.objectives.base import Encoded, ExampleInfo, Objective
from contrast_kit.objectives.capt import CAPT, CAPTConfig
from contrast_kit.objectives.capt_pairs import CAPTPairs, CAPTPairsConfig
from contrast_kit.objectives.cmlm import CMLM, CMLMConfig
from contrast_kit.objectives.coco_lm.coco_lm import COCOLM, COCOLMConfig
from contrast_kit.objectives.cssl import CSSL, CSSLConfig
from contrast_kit.objectives.electra import ELECTRA, AllTokenMLM, AllTokenMLMConfig, ELECTRAConfig
from contrast_kit.objectives.fine_tune import FineTune, FineTuneConfig
from contrast_kit.objectives.lxmert import LXMERT, LXMERTConfig
from contrast_kit.objectives.mlm import MLM, MLMConfig
from contrast_kit.objectives.prompt import Prompt, PromptConfig
from contrast_kit.objectives.queue import MemoryQueue
from contrast_kit.objectives.scl import SCL, SCLConfig
from contrast_kit.objectives.simcse import SimCSE, SimCSEConfig
from contrast_kit.objectives.span import Span, SpanConfig

__all__ = ["METHODS", "Encoded", "ExampleInfo", "MemoryQueue", "Objective"]
__all__ += ["CAPT", "CMLM", "COCOLM", "CSSL", "ELECTRA", "MLM", "SCL", "AllTokenMLM", "FineTune", "Prompt", "SimCSE"]
__all__ += ["LXMERT", "Answer", "CAPTPairs", "TwoPictures"]
__all__ += ["AnswerConfig", "CAPTPairsConfig", "LXMERTConfig", "TwoPicturesConfig"]
__all__ += ["Span", "SpanConfig"]
__all__ += ["AllTokenMLMConfig", "CAPTConfig", "CMLMConfig", "COCOLMConfig", "CSSLConfig", "ELECTRAConfig"]
__all__ += ["FineTuneConfig", "MLMConfig", "PromptConfig", "SCLConfig", "SimCSEConfig"]

__getattr__ = former_names(__name__, {})  # suggests the method that was meant

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
which needs windows of paragraphs, and `LXMERT`, `CAPTPairs`, `Answer` and `TwoPictures`, which need pictures."""
