"""The precision in which an encoder of some width trains faster on this machine."""

import torch

from contrast_kit.fast import kernels


def faster() -> str:
    """bf16 on a GPU, and on a processor that multiplies it faster than float32; a tiny encoder gains nothing."""
    return "bf16" if torch.cuda.is_available() or kernels.bfloat16_speed() > 1 else "float32"
