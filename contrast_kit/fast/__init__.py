"""Everything that is only for speed, behind one door: nothing here is needed to understand an equation.

Where the readable form of a computation would be slow or large, it hands over to this room in one line and gets the
same numbers back: contrasts without an N × N matrix (`contrast`, on `tiles`), losses over a vocabulary without all its
scores (`vocabulary`; on a GPU both compiled: `fused`), other ways through an encoder (`packed`, `fixed_capacity`).
`kernels` and `faster` are switches.
"""

import importlib
import importlib.util
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

TILED_FROM = 384 * 384
"""Cosines from which on a contrast is made in tiles: below that, the plain form is as fast."""

HALF = False
"""Whether tiles are products of vectors rounded to bfloat16, added up in float32."""

SCORES_AT_ONCE = 2**21
"""Scores that stand in memory at once on a CPU: 8 MiB in float32."""


@contextmanager
def plain() -> Iterator[None]:
    """Inside, every contrast is its plain form, one matrix of cosines, as needed for a gradient of the gradient."""
    with _contrasts(math.inf, False):
        yield


@contextmanager
def tiled(half: bool = False) -> Iterator[None]:
    """Inside, every contrast is made in tiles, however small; `half`: of vectors rounded to bfloat16.

    Relative errors of the gradient, beside float64: float32 up to 2e-6, `half` up to 5e-3 (of the value 1e-5). Between
    them stands TF32, several times as fast as float32 on a GPU: off by default as everywhere in torch, and taken by
    tiles as by all products after `torch.set_float32_matmul_precision("high")`; up to 5e-4 (1e-6).

    Example:
        >>> import torch
        >>> from contrast_kit import fast, losses
        >>> with fast.tiled():
        ...     losses.nt_xent(torch.ones(4, 3), torch.ones(4, 3), tau=1.0)
        tensor(1.9459)
    """
    with _contrasts(0, half):
        yield


@contextmanager
def _contrasts(tiled_from: float, half: bool) -> Iterator[None]:
    global TILED_FROM, HALF
    before = TILED_FROM, HALF
    TILED_FROM, HALF = tiled_from, half
    try:
        yield
    finally:
        TILED_FROM, HALF = before


def scores_at_once(device: Any) -> int:
    """Scores that stand in memory at once on a device: on a GPU larger products are faster."""
    return SCORES_AT_ONCE if device.type == "cpu" else 2**26


def fuses(device: Any, scores: int) -> bool:
    """Whether tiles of so many scores are `fused`: on a GPU with a compiler, where several repay its seconds."""
    several = scores > scores_at_once(device)
    compiler = importlib.util.find_spec("triton") is not None
    return several and device.type == "cuda" and compiler


_HOMES = {
    "contrast": ("info_nce", "nt_xent", "sup_con"),
    "tiles": ("pair_log_sum_exp",),
    "fused": (),
    "vocabulary": ("Guesses", "WordScores", "sum_over_words"),
    "options": ("faster",),
    "on_gpu": ("quicker",),
    "packed": ("Packed", "attend", "unpack"),
    "shapes": ("filled_up",),
    "fixed_capacity": ("quick_mask",),
    "kernels": (),
}


def __getattr__(name: str) -> Any:
    """Each part loads at first use: a reader of an equation imports none of them."""
    for home, names in _HOMES.items():
        if name == home or name in names:
            module = importlib.import_module(f"{__name__}.{home}")
            return module if name == home else getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
