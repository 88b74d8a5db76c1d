"""Files of pictures, and of questions and statements on them: LXMERT's regions, VQA v2, easy-VQA, NLVR2.

Nothing here is downloaded, and only easy-VQA comes with pictures one may use; the rows name the others.
"""

from __future__ import annotations

import base64
import csv
import gzip
import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contrast_kit.data.pictures import Pictures, stack_pictures

Row = dict[str, Any]

COLUMNS = "img_id img_h img_w objects_id objects_conf attrs_id attrs_conf num_boxes boxes features"
"""The columns of LXMERT's table, which has no header line; arrays are base64 of int64 and float32."""


def region_table(file: str | Path, most: int | None = None) -> Pictures:
    """`Pictures` from LXMERT's tab-separated table: 36 regions a picture, as its Faster R-CNN saw them.

    Boxes stand there in pixels; here they are divided by width and height. The number of a picture is the one that its
    name ends in: COCO_val2014_000000000042 is 42. `most` reads only so many pictures: a table has many gigabytes.
    """
    csv.field_size_limit(2**31 - 1)  # a feature field is 400 kB
    with open(file, encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(
            lines, COLUMNS.split(), delimiter="\t", quoting=csv.QUOTE_NONE
        )
        return stack_pictures([_picture(row) for row in islice(rows, most)])


def _picture(row: dict[str, str]) -> dict[str, Any]:
    number = re.search(r"(\d+)$", row["img_id"])
    if number is None:
        raise ValueError(
            f"The name of picture {row['img_id']!r} does not end in a number."
        )
    count, height, width = (int(row[key]) for key in ("num_boxes", "img_h", "img_w"))

    def array(key: str, kind: type) -> np.ndarray:
        return np.frombuffer(base64.b64decode(row[key]), kind).reshape(count, -1).copy()

    return {
        "image_id": int(number[1]),
        "regions": array("features", np.float32),
        "boxes": array("boxes", np.float32)
        / np.array([width, height, width, height], np.float32),
        "objects": array("objects_id", np.int64),
        "attributes": array("attrs_id", np.int64),
        "object_confidence": array("objects_conf", np.float32),
        "attribute_confidence": array("attrs_conf", np.float32),
    }


def patches(pixels: np.ndarray, ids: Sequence[int], side: int) -> Pictures:
    """Pictures cut into square patches, each a region with its own pixels as feature: no detector, end to end.

    `pixels` [P, H, W, 3] bytes, `side` a divisor of H and W; the feature of a patch is `side² · 3` numbers from 0 to 1.
    With `side` equal to H = W a picture is one region. Objects and attributes are -100: nobody said what is in a patch.

    Raises TypeError for pixels that are not bytes.

    >>> import numpy as np
    >>> found = patches(np.zeros((2, 30, 30, 3), np.uint8), ids=[0, 1], side=10)
    >>> found.regions.shape, found.boxes[0, 1].tolist()  # the second patch of the first row
    (torch.Size([2, 9, 300]), [0.3333..., 0.0, 0.6666..., 0.3333...])
    """
    if pixels.dtype != np.uint8:  # shares would be divided by 255 once more
        raise TypeError(
            f"Pixels must be bytes (uint8), from 0 to 255, not {pixels.dtype}."
        )
    p, height, width, _ = pixels.shape
    rows, columns = height // side, width // side
    cut = (
        torch.from_numpy(pixels.copy())
        .float()
        .div(255)
        .view(p, rows, side, columns, side, 3)
    )
    cut = cut.transpose(2, 3).reshape(p, rows * columns, side * side * 3)  # [P, R, F]
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    corners = [x / columns, y / rows, (x + 1) / columns, (y + 1) / rows]
    boxes = torch.stack(corners, -1).view(-1, 4)  # [R, 4]
    made = [
        dict(image_id=int(i), regions=regions, boxes=boxes)
        for i, regions in zip(ids, cut, strict=True)
    ]
    return stack_pictures(made)


def read_pictures(files: Sequence[str | Path]) -> np.ndarray:
    """PNG files of one size as bytes [P, H, W, 3]."""
    from PIL import Image

    pictures = []
    for file in files:
        with Image.open(file) as image:
            pictures.append(np.asarray(image.convert("RGB")))
    return np.stack(pictures)


# Questions and statements

TRUTH = {"true": 1, "false": 0}  # `bool("false")` is True


def vqa_v2(questions: str | Path, annotations: str | Path) -> list[Row]:
    """VQA v2's questions with the answers of ten people each, from its two JSON files, plain or gzipped.

    Columns: `question`, `image_id`, `answers` (ten), `answer` (the most frequent), `answer_type` (yes/no, number,
    other), `question_type`, `question_id`. KeyError for a question without annotation: give those of the same split.
    """
    by_id = {entry["question_id"]: entry for entry in _json(annotations)["annotations"]}
    rows = []
    for question in _json(questions)["questions"]:
        annotation = by_id[question["question_id"]]
        row = {key: question[key] for key in ("question", "image_id", "question_id")}
        row |= {key: annotation[key] for key in ("answer_type", "question_type")}
        row["answers"] = [person["answer"] for person in annotation["answers"]]
        rows.append(row | {"answer": annotation["multiple_choice_answer"]})
    return rows


def easy_vqa(folder: str | Path, split: str) -> list[Row]:
    """easy-VQA's questions of a split, "train" or "test": `question`, `answer`, `image_id`, `file`.

    Pictures are numbered from 0 anew in each split, so a number alone does not name a picture.
    """
    place = Path(folder) / split
    return [
        dict(
            question=text,
            answer=answer,
            image_id=i,
            file=str(place / "images" / f"{i}.png"),
        )
        for text, answer, i in _json(place / "questions.json")
    ]


def nlvr2(file: str | Path) -> list[Row]:
    """NLVR2's sentences: `sentence`, `label` (1 true), `identifier`, and the names of two photographs, `left_name` and
    `right_name`, by its convention `<split>-<set>-<pair>-img0.png` and `-img1.png`. The photographs are not free."""
    rows = []
    for line in filter(None, Path(file).read_text("utf-8").split("\n")):
        row = json.loads(line)
        split, group, pair, _ = row["identifier"].split("-")
        entries = dict(sentence=row["sentence"], identifier=row["identifier"])
        entries["label"] = TRUTH[str(row["label"]).lower()]
        for side, number in (("left", 0), ("right", 1)):
            entries[f"{side}_name"] = f"{split}-{group}-{pair}-img{number}.png"
        rows.append(entries)
    return rows


def _json(file: str | Path) -> Any:
    """A JSON file, plain or gzipped."""
    data = Path(file).read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data)
