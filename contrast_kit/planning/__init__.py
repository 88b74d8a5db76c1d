"""What a run will cost, before it begins: negatives per anchor, memory, time."""

from contrast_kit.planning.estimate import plan
from contrast_kit.planning.report import Plan

__all__ = ["Plan", "plan"]
