"""Regions from files: LXMERT's table of detected regions, and patches of pixels where there is no detector."""

from __future__ import annotations

import base64
import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contrast_kit import arguments, checks
from contrast_kit.data.pictures import NONE, Pictures, stack_pictures
from contrast_kit.data.utf8 import in_utf8

COLUMNS = (
    "img_id",
    "img_h",
    "img_w",
    "objects_id",
    "objects_conf",
    "attrs_id",
    "attrs_conf",
    "num_boxes",
    "boxes",
    "features",
)
"""The columns of LXMERT's table, which has no header line; arrays are base64 of int64 and float32."""


def region_table(file: str | Path, most: int | None = None) -> Pictures:
    """`Pictures` from LXMERT's tab-separated table: 36 regions a picture, as its Faster R-CNN saw them.

    Boxes stand there in pixels; here they are divided by width and height. The number of a picture is the one that its
    name ends in: COCO_val2014_000000000042 is 42. `most` reads only so many pictures: a table has many gigabytes.

    Raises FileNotFoundError, and ValueError, with the line, for a row of another form.
    """
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    if most is not None:
        checks.count("most", most, "a number of pictures")
    limit = csv.field_size_limit(2**31 - 1)  # a feature field is 400 kB
    pictures = []
    try:
        with in_utf8(path), path.open(encoding="utf-8", newline="") as lines:
            for number, row in enumerate(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
                if most is not None and len(pictures) >= most:
                    break
                if row:  # an empty line holds no picture
                    pictures.append(_picture(row, number, path.name))
    finally:
        csv.field_size_limit(limit)
    if not pictures:
        raise ValueError(f"{path} is empty: a table has one line for each picture.")
    return stack_pictures(pictures)


def _picture(row: list[str], number: int, name: str) -> dict[str, Any]:
    if len(row) != len(COLUMNS):
        raise ValueError(f"Line {number} of {name} has {len(row)} columns, not the {len(COLUMNS)} of LXMERT's tables.")
    table = dict(zip(COLUMNS, row, strict=True))
    digits = re.search(r"(\d+)$", table["img_id"])
    if not digits:
        raise ValueError(f"Line {number} of {name}: the picture {table['img_id']!r} does not end in a number.")
    try:
        n, height, width = (int(table[key]) for key in ("num_boxes", "img_h", "img_w"))
        arrays = {
            key: np.frombuffer(base64.b64decode(table[key], validate=True), kind).reshape(n, *shape)
            for key, kind, shape in (
                ("objects_id", np.int64, ()),
                ("objects_conf", np.float32, ()),
                ("attrs_id", np.int64, ()),
                ("attrs_conf", np.float32, ()),
                ("boxes", np.float32, (4,)),
                ("features", np.float32, (-1,)),
            )
        }
    except ValueError as error:
        raise ValueError(f"Line {number} of {name} is not a row of LXMERT's tables: {error}.") from None
    return {
        "image_id": int(digits[1]),
        "regions": arrays["features"].copy(),
        "boxes": arrays["boxes"] / np.array([width, height, width, height], np.float32),
        "objects": arrays["objects_id"].copy(),
        "attributes": arrays["attrs_id"].copy(),
        "object_confidence": arrays["objects_conf"].copy(),
        "attribute_confidence": arrays["attrs_conf"].copy(),
    }


def patches(pixels: np.ndarray, ids: Sequence[int], side: int) -> Pictures:
    """Pictures cut into square patches, each a region with its own pixels as feature: no detector, end to end.

    `pixels` [P, H, W, 3] bytes, `side` a divisor of H and W; the feature of a patch is `side² · 3` numbers from 0 to 1.
    With `side` equal to H = W a picture is one region. Objects and attributes are -100: nobody said what is in a patch.

    Raises ValueError for a side that does not divide the picture, and TypeError for pixels that are not bytes.

    >>> import numpy as np
    >>> found = patches(np.zeros((2, 30, 30, 3), np.uint8), ids=[0, 1], side=10)
    >>> found.regions.shape, found.boxes[0, 1].tolist()  # the second patch of the first row
    (torch.Size([2, 9, 300]), [0.3333..., 0.0, 0.6666..., 0.3333...])
    """
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8:  # shares would be divided by 255 once more
        kind = f"numbers of {pixels.dtype}" if isinstance(pixels, np.ndarray) else f"a {type(pixels).__name__}"
        raise TypeError(f"Pixels must be a numpy array of bytes (uint8), from 0 to 255, not {kind}.")
    if pixels.ndim != 4 or pixels.shape[3] != 3 or len(ids) != len(pixels):
        raise ValueError(f"Pixels must be [P, H, W, 3] with a number for each picture, not {list(pixels.shape)}.")
    p, height, width, _ = pixels.shape
    checks.count("side", side, "a number of pixels")
    if height % side or width % side:
        raise ValueError(f"Patches of {side} × {side} do not divide a picture of {height} × {width} pixels.")
    rows, columns = height // side, width // side
    cut = torch.from_numpy(pixels.copy()).float().div(255).view(p, rows, side, columns, side, 3)
    cut = cut.transpose(2, 3).reshape(p, rows * columns, side * side * 3)  # [P, R, F]
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    corners = torch.stack([x / columns, y / rows, (x + 1) / columns, (y + 1) / rows], -1).view(1, -1, 4)  # [1, R, 4]
    none = torch.full((p, rows * columns), NONE)
    sure = torch.ones(p, rows * columns)
    return Pictures(
        checks.integers(ids, p, torch.device("cpu"), "ids"),
        cut,
        corners.expand(p, -1, -1).contiguous(),
        none != 0,
        none,
        none.clone(),
        sure,
        sure.clone(),
    )


def read_pictures(files: Sequence[str | Path]) -> np.ndarray:
    """PNG files of one size as bytes [P, H, W, 3]. Raises FileNotFoundError, and ValueError where sizes differ."""
    from PIL import Image

    made = []
    for file in arguments.listed("files", files, "picture files"):
        if not Path(file).is_file():
            raise FileNotFoundError(f"There is no picture {file}.")
        with Image.open(file) as image:
            made.append(np.asarray(image.convert("RGB")))
        if made[-1].shape != made[0].shape:
            raise ValueError(
                f"{Path(file).name} is {made[-1].shape[:2]} pixels, the first picture {made[0].shape[:2]}."
            )
    if not made:
        raise ValueError("There are no pictures to read.")
    return np.stack(made)
