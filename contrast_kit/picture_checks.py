"""Pictures as arguments, each refused in one sentence if something is wrong; `checks` does the same for texts."""

import torch
from torch import Tensor

from contrast_kit.checks import reads


def shares(x: Tensor, name: str, hint: str = "") -> None:
    """Numbers from 0 to 1."""
    if reads(x) and not ((x >= 0) & (x <= 1)).all():  # NaN is refused too
        raise ValueError(f"{name} must lie between 0 and 1, got {x.min().item():g} .. {x.max().item():g}{hint}.")


def boxes(corners: Tensor, real: Tensor) -> None:
    """Boxes x1 y1 x2 y2 as shares of the picture, [..., 4], wherever a region is real, [...]."""
    if not reads(corners):
        return
    corners, form = corners[real], "a box is x1, y1, x2, y2, as shares of the picture's width and height"  # [N, 4]
    if not ((corners >= 0) & (corners <= 1)).all():
        low, high = corners.min().item(), corners.max().item()
        raise ValueError(f"Boxes lie between 0 and 1, not {low:g} .. {high:g}: {form}; divide pixels by its size.")
    if (inverted := (corners[:, :2] >= corners[:, 2:]).any(1)).any():
        said = ", ".join(f"{value:g}" for value in corners[inverted][0].tolist())
        raise ValueError(f"A box ends before it begins ({said}): {form}, not width and height in the place of x2, y2.")


def pictures(features: Tensor, real: Tensor) -> None:
    """Features [B, R, F] of pictures with at least one region each, real [B, R], and no NaN in them."""
    if not reads(features):
        return
    if not real.any(1).all():
        row = int((~real.any(1)).nonzero()[0])
        raise ValueError(
            f"The picture of row {row} has no region: leave the row out, or give the whole picture as one."
        )
    if not torch.isfinite(features).all():
        raise ValueError("A region has NaN or infinity among its features: leave it out, or look at the detector.")
