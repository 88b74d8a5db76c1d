"""One paper, one file. An objective is views + local losses + one contrast over the whole batch (`base`)."""

from contrast_kit.objectives.base import Encoded, Objective
from contrast_kit.objectives.cmlm import CMLM, CMLMConfig
from contrast_kit.objectives.mlm import MLM, MLMConfig

__all__ = ["CMLM", "MLM", "CMLMConfig", "Encoded", "MLMConfig", "Objective"]
