"""What a run will be, before it begins: negatives of an anchor, memory, time."""

from contrast_kit.planning.estimate import plan
from contrast_kit.planning.report import Plan

__all__ = ["Plan", "plan"]
