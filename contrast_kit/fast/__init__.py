"""Everything that is only for speed, behind one door: nothing here is needed to understand an equation.

Where the readable form of a computation would be slow or large, it hands over to this room in one line and gets the
same numbers back: contrasts without an N × N matrix (`contrast`), losses over a vocabulary without all its scores
(`blocked_softmax`), other ways through an encoder (`packed`, `fixed_capacity`). `kernels` and `options` are switches.
"""

import importlib
from typing import Any

import torch

from contrast_kit import checks

TILED_FROM = 384 * 384
"""Cosines from which on a contrast is made in tiles: below that, the plain form is as fast."""

IMPLEMENTATIONS = ("auto", "plain", "tiled", "bf16")


def wanted(implementation: str, cosines: int, x: Any = None) -> bool:
    """Whether a contrast of so many cosines is made in tiles: "auto" by size, "plain" never, "tiled" and "bf16" always.

    Where the vectors `x` are traced (`torch.compile`, `torch.func`, the device "meta"), the plain form is taken.

    Example:
        >>> wanted("auto", 128 * 128), wanted("auto", 4096 * 4096), wanted("tiled", 4)
        (False, True, True)
    """
    checks.choice("implementation", implementation, IMPLEMENTATIONS)
    if x is not None and checks.is_traced(x):
        return False
    return implementation in ("tiled", "bf16") or (implementation == "auto" and cosines >= TILED_FROM)


SCORES_AT_ONCE = 2**21
"""Scores that stand in memory at once on a CPU: 8 MiB in float32."""


def scores_at_once(device: Any) -> int:
    """The same for a device: on a GPU larger products are faster."""
    return SCORES_AT_ONCE if device.type == "cpu" else 2**26


def wanted_blocks(encoder: Any, states: Any) -> bool:
    """Whether an encoder's word scores at states [M, D] are made in blocks: if too many to hold, or in fixed shapes."""
    if encoder.strategy.fixed_shapes:
        return True
    many = len(states) * encoder.vocabulary["vocab_size"] > 2 * scores_at_once(states.device)
    return many and encoder.word_layer(states[:0]) is not None


def compiled_by_shape(x: Any) -> bool:
    """Whether products with x are now compiled for each shape anew: in half precision on a CPU (`shapes`)."""
    return x.device.type == "cpu" and torch.is_autocast_enabled("cpu") and not checks.is_traced(x)


_PARTS = {
    "contrast": ("info_nce", "nt_xent", "sup_con"),
    "logsumexp": ("cross_log_sum_exp", "self_log_sum_exp"),
    "pair_sum": ("pair_log_sum_exp",),
    "blocked_softmax": ("sum_over_words", "word_loss"),
    "messages": ("in_large_messages",),
    "packed": ("Packed",),
    "shapes": ("filled_up",),
    "fixed_capacity": ("ready_made_mask",),
    "options": ("faster",),
    "within_steps": ("packing",),
    "waiting": ("share_processor",),
    "kernels": (),
}


def __getattr__(name: str) -> Any:  # each part loads at first use: a reader of an equation imports none of them
    for part, functions in _PARTS.items():
        if name == part or name in functions:
            module = importlib.import_module(f"{__name__}.{part}")
            return module if name == part else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
