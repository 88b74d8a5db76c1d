"""Rows of each task and split, made from the numbers of the scenes; and the pictures, kept once they are made."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import torch

from contrast_kit._util import choose
from contrast_kit.data.cache import cached
from contrast_kit.data.pictures import REGION_KEYS, Pictures
from contrast_kit.data.scenes.ask import vqa
from contrast_kit.data.scenes.compose import gqa
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, SPLITS, image_ids, scene
from contrast_kit.data.scenes.statements import nlvr2
from contrast_kit.data.scenes.tell import captions

Row = dict[str, Any]


def _statements(split):
    """No sentence stands in two splits: the smaller ones choose first."""
    later = list(SPLITS)[list(SPLITS).index(split) + 1 :]
    return nlvr2(
        split, {row["sentence"] for other in later for row in _made("nlvr2", other)}
    )


CODE = ("shelf.py", "draw.py", "detector.py", "scenes.toml")
"""What decides how the pictures look, and what is seen in them."""
MAKERS = {"captions": captions, "vqa": vqa, "gqa": gqa, "nlvr2": _statements}


def tasks() -> list[str]:
    """The names of the tasks.

    >>> tasks()
    ['captions', 'vqa', 'gqa', 'nlvr2']
    """
    return list(MAKERS)


@cache
def _made(task, split):
    return MAKERS[task](split)


def rows(task: str, split: str) -> list[Row]:
    """All rows of one split, the same on every machine. `image_id` (or `left` and `right`) names their pictures.

    | task | columns beside those |
    |---|---|
    | captions | `text`; `facts`, what it claims, for `facts_of` and `truth` |
    | vqa | `question`, `answers` (ten customers'), `answer`, `answer_type`, `question_type`, `question_id`; … |
    | gqa | `question`, `answer`, `program`, `group`, `question_id`, `entailed` (ids), `valid`, `plausible` |
    | nlvr2 | `sentence`, `label` (1 true), `identifier`, `statement` |

    In vqa, `answer` is the most frequent of the ten, `true_answer` what a perfect eye would say, and `complement` the
    `question_id` of the same question on another picture, where the true answer is another.

    Raises ValueError, naming what exists, for an unknown task or split.

    >>> sorted(rows("captions", "test")[0])
    ['facts', 'image_id', 'text']
    """
    choose(MAKERS, task, "task of scenes")
    choose(SPLITS, split, "split of scenes")
    return [dict(row) for row in _made(task, split)]


def sample(task: str, n: int = 40) -> list[dict[str, str]]:
    """The first `n` test rows of a task with every value as text, to be looked at."""
    return [
        {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in row.items()
        }
        for row in rows(task, "test")[:n]
    ]


def sha256() -> str:
    """One line for each task and split with the sha256 of its rows: they are the same on every machine."""
    lines = []
    for task in MAKERS:
        for split in SPLITS:
            text = "\n".join(json.dumps(row, sort_keys=True) for row in rows(task, split))
            lines.append(f"{hashlib.sha256(text.encode()).hexdigest()}  {task}/{split}\n")
    return "".join(lines)


def load(task: str):
    """The splits of a task as a `DatasetDict`: what `data.load("scenes/vqa")` gives."""
    from datasets import ClassLabel, Dataset, DatasetDict

    splits = {split: Dataset.from_list(rows(task, split)) for split in SPLITS}
    if task == "nlvr2":
        names = ClassLabel(names=["false", "true"])
        splits = {
            split: dataset.cast_column("label", names)
            for split, dataset in splits.items()
        }
    return DatasetDict(splits)


def pictures(*, standardised: bool = True, progress: bool = True) -> Pictures:
    """The regions of all 5,000 scenes, seen by the detector; `Regions(rows, tokenizer, scenes.pictures())`.

    The first call trains the detector on scenes of its own and looks at all shelves (about twenty seconds of one core);
    the result lies in the user's cache folder, or the one that `CONTRAST_KIT_CACHE` names. `standardised`: features
    have mean 0 and deviation 1 over the regions of the *training* scenes.
    """
    made = cached(f"scenes-{_version()}.pt", lambda: _seen(progress), _read, _write)
    return made.standardised(image_ids("train")) if standardised else made


def _seen(progress):
    from contrast_kit.data.scenes.detector import detect, train_detector

    scenes = [scene(number) for numbers in SPLITS.values() for number in numbers]
    return detect(train_detector(), scenes, progress=progress)


def _read(path):
    tensors = torch.load(path, weights_only=True)
    return Pictures(**tensors, object_names=GOODS, attribute_names=COLOURS)


def _write(made, path):
    tensors = {key: getattr(made, key) for key in ("ids", *REGION_KEYS)}
    with path.open("wb") as file:  # torch's own errors for a path do not say why
        torch.save(tensors, file)


def _version():
    """Eight bytes that differ where the code that draws and looks does, or a library that computes it."""
    import numpy
    import PIL
    import sklearn

    parts = [library.__version__ for library in (torch, numpy, PIL, sklearn)]
    parts += [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in CODE]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()
