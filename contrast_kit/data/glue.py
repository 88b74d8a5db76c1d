"""GLUE: one table of its tasks, and a reader of the files as GLUE's zip archives hold them.

Columns and label integers are those of `nyu-mll/glue` on the hub, so that a name or a folder can be exchanged
for the other. Easily overlooked details: the files are tab-separated *without quoting* (read as ordinary CSV, MRPC
loses 119 training rows), some begin with a byte order mark and have CRLF line ends; CoLA's have no line of names; label
0 of RTE and QNLI is *entailment*, of WNLI *not_entailment*; the labels of the test splits are secret, and MNLI's pairs
on which the annotators did not agree ("-") have none: -1. Blanks at the end of a text are left out: SST-2 has one in
its training and validation rows and none in its test rows, and RoBERTa's tokenizer would make it a token.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from contrast_kit._util import warn

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, Features

FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}
HALVES = {"train": "train.tsv"} | {
    f"{split}_{half}": f"{file}_{half}.tsv"
    for split, file in (("validation", "dev"), ("test", "test"))
    for half in ("matched", "mismatched")
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
    headless: tuple[
        str, ...
    ] = ()  # column names of the labeled files, where these have no header line

    @property
    def files(self) -> dict[str, str]:
        """The file of each split."""
        return HALVES if self.name == "mnli" else FILES

    def features(self) -> Features:
        """Give the columns and their types, as the hub has them."""
        from datasets import ClassLabel, Features, Value

        label = ClassLabel(names=list(self.label_names)) if self.label_names else Value("float32")
        texts = {column: Value("string") for column in self.columns}
        return Features({**texts, "label": label, "idx": Value("int32")})


_PAIR, _QUESTIONS = ("sentence1", "sentence2"), ("question1", "question2")
_COLA, _MRPC = ("source", "label", "star", "sentence"), ("#1 String", "#2 String")
_NLI = ("entailment", "not_entailment")

TASKS: dict[str, GlueTask] = {
    task.name: task
    for task in (
        GlueTask("cola", "CoLA", ("sentence",), ("unacceptable", "acceptable"), headless=_COLA),
        GlueTask("sst2", "SST-2", ("sentence",), ("negative", "positive")),
        GlueTask("mrpc", "MRPC", _PAIR, ("not_equivalent", "equivalent"), _MRPC, "Quality"),
        GlueTask(
            "qqp", "QQP", _QUESTIONS, ("not_duplicate", "duplicate"), label_field="is_duplicate"
        ),
        GlueTask("stsb", "STS-B", _PAIR, None, label_field="score"),
        GlueTask(
            "mnli",
            "MNLI",
            ("premise", "hypothesis"),
            ("entailment", "neutral", "contradiction"),
            _PAIR,
            "gold_label",
        ),
        GlueTask("qnli", "QNLI", ("question", "sentence"), _NLI),
        GlueTask("rte", "RTE", _PAIR, _NLI),
        GlueTask("wnli", "WNLI", _PAIR, _NLI[::-1]),
    )
}
"""The GLUE tasks by their hub names."""


def task_of_folder(folder: Path) -> GlueTask | None:
    """Find the task whose zip folder this is, by its name (`SST-2`, `sts-b`, …); `None` if it is none."""
    names = {task.folder.lower(): task for task in TASKS.values()}
    return names.get(folder.absolute().resolve().name.lower())  # from inside, its name is "."


def without_trailing_blanks(dataset: DatasetDict, task: GlueTask) -> DatasetDict:
    """A task from the hub, without the blanks at the end of its texts, as in `read_folder`."""

    def stripped(rows: dict[str, list]) -> dict[str, list]:
        return {name: [text.rstrip() for text in rows[name]] for name in task.columns}

    return dataset.map(stripped, batched=True)


def read_folder(task: GlueTask, folder: str | Path) -> DatasetDict:
    """Read a task from `folder`: its own folder, or the one in which GLUE's folders stand side by side.

    Splits whose file is not there are left out. The row number in the file becomes `idx`; rows that lack a
    field are left out, as on the hub, with a warning. Raises `FileNotFoundError` where no file of the task is found,
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
    inside = [
        place for place in folder.iterdir() if place.is_dir() and task_of_folder(place) == task
    ]
    home = (inside or [folder])[0]
    paths = {split: home / file for split, file in task.files.items() if (home / file).is_file()}
    if not paths:
        raise FileNotFoundError(
            f"{folder} holds neither {task.folder}/ nor {', '.join(task.files.values())}."
        )
    return DatasetDict({split: _read(task, path, "test" in split) for split, path in paths.items()})


def _read(task: GlueTask, path: Path, is_test: bool) -> Dataset:
    from datasets import Dataset

    rows = lines(path)
    header = list(task.headless)
    if is_test or not header:
        header = next(rows, [""])
    # the test files of every task but MNLI and MRPC use the hub's names
    fields = task.fields if set(task.fields) & set(header) else task.columns
    for name in fields:
        if name not in header:
            raise ValueError(f"{path} has no column {name!r}, so it is not a {task.name} file.")
    places = [header.index(name) for name in fields]
    label = header.index(task.label_field) if task.label_field in header else None
    columns: dict[str, list] = {name: [] for name in task.features()}
    short = []
    for number, row in enumerate(rows):
        if len(row) <= max([*places, label or 0]):
            short.append(number)
            continue
        for name, place in zip(task.columns, places, strict=True):
            columns[name].append(row[place].rstrip())
        columns["label"].append(
            -1 if label is None else _label(task, row[label], f"Row {number} of {path}")
        )
        columns["idx"].append(number)
    if short:
        warn(
            f"{len(short)} rows of {path} lack a field and are left out, as on the hub; the first is row {short[0]}."
        )
    return Dataset.from_dict(columns, features=task.features())


def lines(path: Path) -> Iterator[list[str]]:
    """The fields of each line. Of the line ends that Unicode knows, only "\\n" ends one: others stand in sentences."""
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for line in file:
            yield line.rstrip("\r\n").split("\t")


def _label(task: GlueTask, value: str, where: str) -> int | float:
    if value == "-":
        return -1
    if task.label_names is None:
        return _score(value, where)
    known = {str(number): number for number in range(-1, len(task.label_names))}
    known |= {name: number for number, name in enumerate(task.label_names)}
    if value not in known:
        raise ValueError(
            f"{where} has the label {value!r}; {task.name} wants one of {', '.join(task.label_names)}."
        )
    return known[value]


def _score(value: str, where: str) -> float:
    try:
        score = float(value)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise ValueError(f"{where} has the score {value!r}, which is no number.")
    return score


def sts_rows(file: Path) -> Dataset:
    """The STS benchmark's own files, without a line of names: genre, file, year, number, score and two texts.

    In some rows the sources of the texts follow, which are left out. ValueError, with the line, for another form.
    """
    from datasets import Dataset

    names = ("genre", "filename", "year", "index", "label", "sentence1", "sentence2")
    rows = list(lines(file))
    for number, row in enumerate(rows, 1):
        if len(row) < len(names):
            raise ValueError(
                f"Line {number} of {file} has {len(row)} of {len(names)} fields: {', '.join(names)}."
            )
        row[4] = _score(row[4], f"Line {number} of {file}")
    return Dataset.from_dict(
        {name: [row[place] for row in rows] for place, name in enumerate(names)}
    )
