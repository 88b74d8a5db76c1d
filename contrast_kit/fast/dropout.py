"""Dropout on a CPU, drawn several times as fast: torch draws a number for each element, one after the other.

That was a fifth of a packed masked-LM step in bfloat16 on an AMD EPYC. Here one number of 64 bits serves four elements:
each is zeroed where its 16 bits, as a number from 0 to 65,535, lie below p · 65,536, so p is met to 1/131,072. On
Intel's processors, where torch has a fast way of its own, it has not been timed. The numbers come from NumPy's SFC64,
seeded by torch's generator: a seed repeats them, and where a random state is set back, they come again.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

STEPS = 2**16
"""The shares that 16 bits can tell apart."""


def quick_dropout(model: nn.Module, device: torch.device) -> AbstractContextManager:
    """The context for a model's forward pass: `QuickDropout` where it trains on a CPU, else one that does nothing.

    It also does nothing where activations are checkpointed: they are made again in the backward pass, outside of this
    context, and would meet other dropout there.
    """
    again = any(getattr(module, "gradient_checkpointing", False) for module in model.modules())
    return QuickDropout() if model.training and device.type == "cpu" and not again else nullcontext()


class QuickDropout(TorchFunctionMode):
    """Within this context every dropout of a model draws as `dropout` here does; nothing else changes.

    Example:
        >>> import torch
        >>> with QuickDropout():
        ...     kept = (torch.nn.Dropout(0.1)(torch.ones(1000, 100)) > 0).float().mean()
        >>> round(float(kept), 2)
        0.9
    """

    def __torch_function__(
        self, function: Callable, types: Any, args: Sequence = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return (dropout if function is nn.functional.dropout else function)(*args, **(kwargs or {}))


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability p and divide the others by the share that stays; torch's `dropout` elsewhere.

    Args:
        input: of any shape and floating dtype; on a device other than the CPU, torch's own dropout is taken.
        p: the probability.
        training: without it, the input as it is.
        inplace: write into the input, which torch's own dropout does.

    Returns:
        a tensor like the input. Its gradient is zeroed and divided alike.
    """
    below = round(p * STEPS) if 0 < p < 1 else 0
    if not training or inplace or input.device.type != "cpu" or not 0 < below < STEPS:
        return nn.functional.dropout(input, p, training, inplace)
    kept = _sixteen_bits(input.numel()) >= below - STEPS // 2
    return input * kept.view(input.shape).to(input.dtype).mul_(STEPS / (STEPS - below))


def _sixteen_bits(n: int) -> Tensor:
    """n random numbers from -32,768 to 32,767."""
    seed = int(torch.randint(2**63 - 1, (), device="cpu"))
    return torch.from_numpy(np.random.SFC64(seed).random_raw(-(-n // 4)).view(np.int16))[:n]
