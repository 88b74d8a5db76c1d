"""Words and pictures: LXMERT, CAPT's contrast of pairs, and what is fine-tuned on them (CAPT, section 4).

The rooms below read texts alone; here are the noise, the losses, the encoder and the objectives that a picture adds.
"""

from contrast_kit.vision.answers import Answer, TwoPictures
from contrast_kit.vision.encoder import CrossModalEncoder
from contrast_kit.vision.losses import (
    masked_features,
    masked_objects,
    one_answer,
    soft_answers,
)
from contrast_kit.vision.noise import MaskPair, MaskRegions, mismatched
from contrast_kit.vision.pretraining import LXMERT, CAPTPairs

__all__ = ["LXMERT", "Answer", "CAPTPairs", "CrossModalEncoder", "TwoPictures"]
__all__ += ["MaskPair", "MaskRegions", "mismatched"]
__all__ += [
    "masked_features",
    "masked_objects",
    "one_answer",
    "soft_answers",
]
