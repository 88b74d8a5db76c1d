"""Files of questions and statements about pictures, as rows: VQA v2, easy-VQA, NLVR, NLVR2 and SHAPES.

Nothing here is downloaded, and only easy-VQA and SHAPES come with pictures one may use; the rows name the others.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from contrast_kit import arguments

Row = dict[str, Any]


def truth_value(value: Any, where: str) -> int:
    """1 for true, 0 for false, however a file writes it; anything else is refused: `bool("false")` is True.

    >>> [truth_value(value, "row 0") for value in ("true", "False", True, 0)]
    [1, 0, 1, 0]
    """
    known = {"true": 1, "false": 0, "1": 1, "0": 0}
    if str(value).lower() not in known:
        raise ValueError(f"The label of {where} is {value!r}, neither true nor false.")
    return known[str(value).lower()]


def vqa_v2(questions: str | Path, annotations: str | Path) -> list[Row]:
    """VQA v2's questions with the answers of ten people each, from its two JSON files, plain or gzipped.

    Columns: `question`, `image_id`, `answers` (ten), `answer` (the most frequent), `answer_type` (yes/no, number,
    other), `question_type`, `question_id`. Raises FileNotFoundError, and ValueError for a file of another form or a
    question without annotation.
    """
    asked = _json(questions, "questions", "question_id", "question", "image_id")
    given = _json(
        annotations,
        "annotations",
        *("question_id", "answers", "multiple_choice_answer", "answer_type", "question_type"),
    )
    by_id = {each["question_id"]: each for each in given}
    rows = []
    for each in asked:
        if each["question_id"] not in by_id:
            raise ValueError(f"Question {each['question_id']} of {Path(questions).name} has no annotation: give the "
                             "annotations of the same split.")  # fmt: skip
        told = by_id[each["question_id"]]
        rows.append(
            {
                "question": each["question"],
                "image_id": each["image_id"],
                "answers": [person["answer"] for person in told["answers"]],
                "answer": told["multiple_choice_answer"],
                "answer_type": told["answer_type"],
                "question_type": told["question_type"],
                "question_id": each["question_id"],
            }
        )
    return rows


def easy_vqa(folder: str | Path, split: str) -> list[Row]:
    """easy-VQA's questions of a split, "train" or "test": `question`, `answer`, `image_id`, `file`.

    Pictures are numbered from 0 anew in each split, so a number alone does not name a picture.
    """
    place = Path(folder) / split
    rows = []
    for question, answer, image_id in _json(place / "questions.json"):
        file = str(place / "images" / f"{image_id}.png")
        rows.append({"question": question, "answer": answer, "image_id": image_id, "file": file})
    return rows


def nlvr(file: str | Path) -> list[Row]:
    """NLVR's sentences: `sentence`, `label` (1 true), `identifier`, `image_id`, `file`, and `boxes`.

    `boxes` are its structured representation: three boxes of objects with type, colour, size and place. `file` is the
    picture, `images/<directory>/<split>-<identifier>-0.png` beside the JSON lines.
    """
    path, rows = Path(file), []
    for at, each in enumerate(_lines(path, "sentence", "label", "identifier", "directory", "structured_rep")):
        picture = path.parent / "images" / each["directory"] / f"{path.stem}-{each['identifier']}-0.png"
        rows.append(
            {
                "sentence": each["sentence"],
                "label": truth_value(each["label"], f"row {at}"),
                "identifier": each["identifier"],
                "image_id": at,
                "file": str(picture),
                "boxes": each["structured_rep"],
            }
        )
    return rows


def nlvr2(file: str | Path) -> list[Row]:
    """NLVR2's sentences: `sentence`, `label` (1 true), `identifier`, and the names of two photographs, `left_name` and
    `right_name`, by its convention `<split>-<set>-<pair>-img0.png` and `-img1.png`. The photographs are not free."""
    rows = []
    for at, each in enumerate(_lines(Path(file), "sentence", "label", "identifier")):
        if str(each["identifier"]).count("-") != 3:
            raise ValueError(f"The identifier of row {at} is {each['identifier']!r}, not split-set-pair-sentence, as "
                             "NLVR2's are: give one of its files.")  # fmt: skip
        split, group, pair, _ = each["identifier"].split("-")
        rows.append(
            {
                "sentence": each["sentence"],
                "label": truth_value(each["label"], f"row {at}"),
                "identifier": each["identifier"],
                "left_name": f"{split}-{group}-{pair}-img0.png",
                "right_name": f"{split}-{group}-{pair}-img1.png",
            }
        )
    return rows


def shapes(folder: str | Path, split: str) -> tuple[list[Row], np.ndarray]:
    """SHAPES: rows with `question`, `program`, `label` (1 true), `image_id`, and all pictures, [N, 30, 30, 3] bytes.

    `split` is "train.small", "val" or "test"; `image_id` is the row of the picture. A question comes with many pictures
    and every picture once: split by picture, a model meets all questions of the test in training.
    """
    place = Path(folder)
    parts = [_text(place / f"{split}.{kind}") for kind in ("query_str.txt", "query", "output")]
    pixels = np.load(_there(place / f"{split}.input.npy"))  # [N, 30, 30, 3]
    if len({len(part) for part in (*parts, pixels)}) != 1:
        raise ValueError(f"The files of {split} in {place} do not have one line for each of {len(pixels)} pictures.")
    rows = [
        {"question": text, "program": query, "label": truth_value(output, f"row {at}"), "image_id": at}
        for at, (text, query, output) in enumerate(zip(*parts, strict=True))
    ]
    return rows, pixels


def _there(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    return path


def _text(path: Path) -> list[str]:
    return [line for line in _there(path).read_text("utf-8").split("\n") if line]


def _json(file: str | Path, key: str = "", *needed: str) -> list:
    """A JSON file, plain or gzipped; of an object, the list under `key`, of entries that have what is needed."""
    data = _there(Path(file)).read_bytes()
    try:
        found = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{file} is damaged, or no JSON ({arguments.in_a_line(error)}): fetch it again.") from None
    if key and (not isinstance(found, dict) or key not in found):
        raise ValueError(f"{Path(file).name} has no {key!r}: it is another of VQA's files, or none of them.")
    for entry in found[key] if key else ():
        if lacking := [name for name in needed if not isinstance(entry, dict) or name not in entry]:
            raise ValueError(f"An entry of {Path(file).name} has no {lacking[0]!r}: it is no file of VQA's.")
    return found[key] if key else found


def _lines(path: Path, *keys: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_text(path), 1):
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            raise ValueError(f"Line {number} of {path.name} is not JSON: the file holds one object per line.") from None
        lacking = [key for key in keys if not isinstance(found, dict) or key not in found]
        if lacking:
            raise ValueError(f"Line {number} of {path.name} has no {lacking[0]!r}: it is a file of another data set.")
        yield found
