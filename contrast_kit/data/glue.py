"""GLUE: one table of its tasks, and a reader of the files as GLUE's zip archives hold them.

Columns and label integers are those of `nyu-mll/glue` on the hub, so that a name or a folder can be exchanged
for the other. Three easily overlooked details: the files are tab-separated *without quoting* (read as
ordinary CSV, MRPC loses 119 training rows); label 0 of RTE and QNLI is *entailment*, of WNLI
*not_entailment*; the labels of the test splits are secret: -1. Blanks at the end of a text are left out: SST-2 has
one in its training and validation rows and none in its test rows, and RoBERTa's tokenizer would make it a token.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit.data.utf8 import in_utf8

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, Features

_FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}
_MNLI_FILES = {
    "train": "train.tsv",
    "validation_matched": "dev_matched.tsv",
    "validation_mismatched": "dev_mismatched.tsv",
    "test_matched": "test_matched.tsv",
    "test_mismatched": "test_mismatched.tsv",
}


@dataclass(frozen=True)
class GlueTask:
    """One GLUE task: what its columns are called, here and in the file, and what its label integers mean."""

    name: str
    folder: str
    columns: tuple[str, ...]  # text columns as on the hub
    label_names: tuple[str, ...] | None  # in integer order; None: the label is a score
    fields: tuple[str, ...] = ()  # text columns as in the file, where they are called otherwise
    label_field: str = "label"
    files: dict[str, str] = field(default_factory=lambda: dict(_FILES))  # split -> file
    headless: tuple[str, ...] = ()  # column names of the labeled files, where these have no header line

    def features(self) -> Features:
        """Give the columns and their types, as the hub has them."""
        from datasets import ClassLabel, Features, Value

        label = ClassLabel(names=list(self.label_names)) if self.label_names else Value("float32")
        texts = {column: Value("string") for column in self.columns}
        return Features({**texts, "label": label, "idx": Value("int32")})


_PAIR = ("sentence1", "sentence2")

TASKS: dict[str, GlueTask] = {
    task.name: task
    for task in (
        GlueTask(
            "cola",
            "CoLA",
            ("sentence",),
            ("unacceptable", "acceptable"),
            headless=("source", "label", "star", "sentence"),
        ),
        GlueTask("sst2", "SST-2", ("sentence",), ("negative", "positive")),
        GlueTask(
            "mrpc",
            "MRPC",
            _PAIR,
            ("not_equivalent", "equivalent"),
            fields=("#1 String", "#2 String"),
            label_field="Quality",
        ),
        GlueTask(
            "qqp",
            "QQP",
            ("question1", "question2"),
            ("not_duplicate", "duplicate"),
            label_field="is_duplicate",
        ),
        GlueTask("stsb", "STS-B", _PAIR, None, label_field="score"),
        GlueTask(
            "mnli",
            "MNLI",
            ("premise", "hypothesis"),
            ("entailment", "neutral", "contradiction"),
            fields=_PAIR,
            label_field="gold_label",
            files=_MNLI_FILES,
        ),
        GlueTask("qnli", "QNLI", ("question", "sentence"), ("entailment", "not_entailment")),
        GlueTask("rte", "RTE", _PAIR, ("entailment", "not_entailment")),
        GlueTask("wnli", "WNLI", _PAIR, ("not_entailment", "entailment")),
    )
}
"""The GLUE tasks by their hub names."""


def task_of_folder(folder: Path) -> GlueTask | None:
    """Find the task whose zip folder this is, by its name (`SST-2`, `sts-b`, …); `None` if it is none."""
    names = {task.folder.lower(): task for task in TASKS.values()}
    return names.get(Path(os.path.abspath(folder)).name.lower())  # from inside, its name is "."


def without_trailing_blanks(dataset: DatasetDict, task: GlueTask) -> DatasetDict:
    """A task from the hub, without the blanks at the end of its texts, as in `read_folder`."""

    def stripped(rows: dict[str, list]) -> dict[str, list]:
        return {name: [text.rstrip() for text in rows[name]] for name in task.columns}

    return dataset.map(stripped, batched=True)


def read_folder(task: GlueTask, folder: str | Path) -> DatasetDict:
    """Read a task from `folder`: its own folder, or the one in which GLUE's folders stand side by side.

    Splits whose file is not there are left out. The row number in the file becomes `idx`; rows that lack a
    field are left out, as on the hub. Raises `FileNotFoundError` where no file of the task is found,
    `ValueError` for a label or a header that does not belong to the task.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data import glue
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = "index\\tsentence1\\tsentence2\\tlabel\\n0\\tIt rains.\\tIt is wet.\\tentailment\\n"
    ...     _ = pathlib.Path(folder, "train.tsv").write_text(lines)
    ...     glue.read_folder(glue.TASKS["rte"], folder)["train"][0]
    {'sentence1': 'It rains.', 'sentence2': 'It is wet.', 'label': 0, 'idx': 0}
    """
    from datasets import DatasetDict

    folder = Path(folder).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    inside = [path for path in folder.iterdir() if task_of_folder(path) == task and path.is_dir()]
    home = inside[0] if inside else folder
    paths = {split: home / file for split, file in task.files.items() if (home / file).is_file()}
    if not paths:
        raise FileNotFoundError(f"{folder} holds neither {task.folder}/ nor {', '.join(task.files.values())}.")
    return DatasetDict({split: _read(task, path, split) for split, path in paths.items()})


def _read(task: GlueTask, path: Path, split: str) -> Dataset:
    from datasets import Dataset

    with in_utf8(path):
        rows = list(_rows(task, path, headless=task.headless if "test" not in split else ()))
    features = task.features()
    return Dataset.from_dict({name: [row[name] for row in rows] for name in features}, features=features)


def _rows(task: GlueTask, path: Path, headless: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    # newline="\n": other line ends that Unicode knows occur inside sentences
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        header = list(headless) or next(file, "").rstrip("\r\n").split("\t")
        # the test files of every task but MNLI and MRPC use the hub's names
        fields = task.fields if task.fields and task.fields[0] in header else task.columns
        lacking = [name for name in fields if name not in header]
        if lacking:
            raise ValueError(f"{path} has no column {lacking[0]!r}, so it is not a {task.name} file.")
        for number, line in enumerate(file):
            row = dict(zip(header, line.rstrip("\r\n").split("\t"), strict=False))
            wanted = (*fields, task.label_field) if task.label_field in header else fields
            if any(name not in row for name in wanted):
                continue
            texts = {column: row[name].rstrip() for column, name in zip(task.columns, fields, strict=True)}
            yield {**texts, "label": _label(task, row.get(task.label_field), path, number), "idx": number}


def _label(task: GlueTask, value: str | None, path: Path, number: int) -> int | float:
    if value is None or value == "-":  # a test split; a pair on which the annotators did not agree
        return -1
    if task.label_names and value in task.label_names:
        return task.label_names.index(value)
    try:
        label = int(value) if task.label_names else float(value)
    except ValueError:
        label = None
    if label is None or (task.label_names and not -1 <= label < len(task.label_names)):
        wanted = f"one of {', '.join(task.label_names)}" if task.label_names else "a number"
        raise ValueError(f"Row {number} of {path} has the label {value!r}; {task.name} wants {wanted}.")
    return label
