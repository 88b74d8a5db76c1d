"""Everything that is only for speed, behind one door: nothing here is needed to understand an equation.

The readable form of a computation stands in `losses`, `encoder` and `geometry`; where it would be slow or large it hands
over to this room in one line, and gets the same numbers back.

| file                          | makes                                                                            |
|-------------------------------|----------------------------------------------------------------------------------|
| `contrast`                    | the losses of `losses.contrast` without an N × N matrix: `logsumexp` over `tiles`, |
|                               | `info_nce` in panels, `class_means`, `unit_rows`                                 |
| `blocked_softmax`             | losses over a vocabulary without all its scores                                  |
| `packed`, `fixed_capacity`    | other ways through an encoder: no computation on padding; shapes that never change |
| `kernels`, `options`          | the processor's faster float32 product; switches for an objective's encoders     |
"""

import importlib
from typing import Any

TILED_FROM = 1024 * 1024
"""Cosines from which a contrast is made in tiles: below, one matrix is as fast, and small enough to hold."""

IMPLEMENTATIONS = ("auto", "plain", "tiled", "bf16")


def wanted(implementation: str, cosines: int) -> bool:
    """Whether a contrast of so many cosines is made in tiles: "auto" by size, "plain" never, "tiled" and "bf16" always.

    Example:
        >>> wanted("auto", 128 * 128), wanted("auto", 4096 * 4096), wanted("tiled", 4)
        (False, True, True)
    """
    if implementation not in IMPLEMENTATIONS:
        raise ValueError(
            f"implementation must be one of {', '.join(map(repr, IMPLEMENTATIONS))}, got {implementation!r}."
        )
    return implementation in ("tiled", "bf16") or (implementation == "auto" and cosines >= TILED_FROM)


_HOME = {"nt_xent": "contrast", "info_nce": "contrast", "sup_con": "contrast", "faster": "options"} | {
    "self_log_sum_exp": "logsumexp",
    "cross_log_sum_exp": "logsumexp",
    "sum_over_words": "blocked_softmax",
}


def __getattr__(name: str) -> Any:  # each part loads at first use: a reader of an equation imports none of them
    if name == "kernels":
        return importlib.import_module(f"{__name__}.kernels")
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
