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
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit._util import warn

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, Features

TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))
STS = ("genre", "filename", "year", "index", "label", "sentence1", "sentence2")
"""The columns of the STS benchmark's own files."""


@dataclass(frozen=True)
class GlueTask:
    """One GLUE task: what its columns are called, here and in the file, and what its label integers mean."""

    name: str
    folder: str
    label_field: str = "label"
    columns: tuple[str, ...] = ()
    label_names: tuple[str, ...] | None = None
    fields: tuple[str, ...] = ()
    headless: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=lambda: TABLES["files"])
    """The file of each split."""

    def features(self) -> Features:
        """Give the columns and their types, as the hub has them."""
        from datasets import ClassLabel, Features, Value

        label = Value("float32")
        if self.label_names:
            label = ClassLabel(names=list(self.label_names))
        texts = {column: Value("string") for column in self.columns}
        return Features({**texts, "label": label, "idx": Value("int32")})


def _task(name: str, entries: dict[str, Any]) -> GlueTask:
    lists = {
        key: tuple(value) for key, value in entries.items() if isinstance(value, list)
    }
    return GlueTask(name, **entries | lists)


TASKS = {name: _task(name, entries) for name, entries in TABLES["glue"].items()}
"""The GLUE tasks by their hub names."""


def task_of_folder(folder: Path) -> GlueTask | None:
    """Find the task whose zip folder this is, by its name (`SST-2`, `sts-b`, …); `None` if it is none."""
    names = {task.folder.lower(): task for task in TASKS.values()}
    # From inside, its name is ".".
    return names.get(folder.absolute().resolve().name.lower())


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
    inside = [place for place in folder.iterdir() if task_of_folder(place) == task]
    paths = {split: (inside or [folder])[0] / file for split, file in task.files.items()}
    splits = {split: _read(task, path) for split, path in paths.items() if path.is_file()}
    if not splits:
        raise FileNotFoundError(
            f"{folder} holds neither {task.folder}/ nor {', '.join(task.files.values())}."
        )
    return DatasetDict(splits)


def _read(task: GlueTask, path: Path) -> Dataset:
    from datasets import Dataset

    rows = lines(path)
    header = list(task.headless)
    if not header or path.name.startswith("test"):
        header = next(rows, [""])
    # the test files of every task but MNLI and MRPC use the hub's names
    fields = task.fields if set(task.fields) & set(header) else task.columns
    for name in fields:
        if name not in header:
            raise ValueError(
                f"{path} has no column {name!r}, so it is not a {task.name} file."
            )
    places = [header.index(name) for name in fields]
    labelled = task.label_field in header
    if labelled:
        places.append(header.index(task.label_field))
    rows = dict(enumerate(rows))
    short = [number for number, row in rows.items() if len(row) <= max(places)]
    for number in short:
        del rows[number]
    if short:
        warn(
            f"{len(short)} rows of {path} lack a field and are left out, as on the hub; the first is row {short[0]}."
        )
    columns = {"idx": list(rows), "label": [-1] * len(rows)}
    if labelled:
        numbers = [
            _label(task, row[places[-1]], f"Row {number} of {path}")
            for number, row in rows.items()
        ]
        columns["label"] = numbers
    for name, place in zip(task.columns, places, strict=False):
        columns[name] = [row[place].rstrip() for row in rows.values()]
    return Dataset.from_dict(
        {name: columns[name] for name in task.features()}, task.features()
    )


def lines(path: Path) -> Iterator[list[str]]:
    """The fields of each line. Of the line ends that Unicode knows, only "\\n" ends one: others stand in sentences."""
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for line in file:
            yield line.rstrip("\r\n").split("\t")


def _label(task: GlueTask, value: str, where: str) -> int | float:
    """The number of a label; -1 for "-", on which the annotators did not agree."""
    if value == "-":
        return -1
    if task.label_names is None:
        return finite(value, where)
    if value in task.label_names:
        return task.label_names.index(value)
    if value not in map(str, range(-1, len(task.label_names))):
        raise ValueError(
            f"{where} has the label {value!r}; {task.name} wants one of {', '.join(task.label_names)}."
        )
    return int(value)


def finite(value: str, where: str) -> float:
    """A score as a number; ValueError for one that is none: a model would learn it without a word."""
    if not math.isfinite(float(value)):
        raise ValueError(f"{where} has the score {value}, which is no number.")
    return float(value)


def sts_rows(file: Path) -> Dataset:
    """The STS benchmark's own files, without a line of names: genre, file, year, number, score and two texts.

    In some rows the sources of the texts follow, which are left out.
    """
    from datasets import Dataset

    rows = list(lines(file))
    columns = {name: [row[place] for row in rows] for place, name in enumerate(STS)}
    scores = [finite(score, f"A row of {file}") for score in columns["label"]]
    return Dataset.from_dict(columns | {"label": scores})
