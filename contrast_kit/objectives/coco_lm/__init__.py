"""COCO-LM: the method on two screens (`coco_lm`), its small auxiliary model, its token losses, how to read with it."""

from contrast_kit.objectives.coco_lm.coco_lm import COCOLM, COCOLMConfig

__all__ = ["COCOLM", "COCOLMConfig"]
