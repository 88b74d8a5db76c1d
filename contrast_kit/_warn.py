"""Warnings that point at the reader's own line."""

import sys
import warnings

BETWEEN = ("contrast_kit", "dataclasses", "torch")
"""Packages whose lines are not the reader's: the kit, and what its own calls pass through."""


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the reader's line that called the kit, however deep inside the kit the cause was found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
