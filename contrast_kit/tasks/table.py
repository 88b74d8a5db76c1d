"""The table of tasks: their text columns, their labels, and their metrics.

The GLUE rows are those of `data.glue`, with the metrics that the papers print beside them. Amazon-2 and Yelp-2 (SCL,
section 5.4) follow. The same rows serve toyshop, the hub and local folders, since all share one schema.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contrast_kit import arguments, checks
from contrast_kit._names import meant
from contrast_kit.data import glue, labels, text_columns
from contrast_kit.data.rows import column, column_names, unlabelled
from contrast_kit.tasks.metrics import METRICS, as_numbers

OF_CLASSES = ("accuracy", "mcc", "f1", "macro_f1")
"""The metrics that scores do not have."""


@dataclass(frozen=True)
class Task:
    """One task: a row of the table.

    >>> Task("mine", ("review",), ("bad", "good", "meh"), ("accuracy", "macro_f1")).classes
    3

    Raises a ValueError for a metric that is not in `METRICS` (to which yours can be added), or that these labels do not
    have: F1 is of two classes, and of scores the kit has correlations alone.
    """

    name: str
    """What it is called in a table of results."""
    columns: tuple[str, ...]
    """Text columns: one, or two for a pair."""
    label_names: tuple[str, ...] | None
    """Names of the classes in integer order; None where the label is a score."""
    metrics: tuple[str, ...]
    """The metrics that are reported. The first one selects, and is the one in the papers' tables."""

    def __post_init__(self):
        arguments.string("name", self.name, "what the task is called")
        for field in ("columns", "metrics", *([] if self.label_names is None else ["label_names"])):
            object.__setattr__(self, field, tuple(arguments.strings(field, getattr(self, field), "names")))
        if not 1 <= len(self.columns) <= 2 or not self.metrics:
            raise ValueError("A task has one text column or two, and at least one metric.")
        if self.label_names is not None and len(self.label_names) < 2:
            raise ValueError("A task has at least two classes; where the label is a score, label_names is None.")
        for metric in self.metrics:
            arguments.known(metric, METRICS, "metric", "(tasks.METRICS['name'] = function adds one)")
        if self.regression and (of_classes := [name for name in self.metrics if name in OF_CLASSES]):
            raise ValueError(f"{of_classes[0]} is of classes, and {self.name} has scores: take spearman or pearson.")
        if "f1" in self.metrics and self.classes > 2:
            raise ValueError(f"f1 is that of class 1 among two, and {self.name} has {self.classes}: take macro_f1.")

    @property
    def kind(self) -> str:
        """`"single"` or `"pair"`."""
        return "pair" if len(self.columns) == 2 else "single"

    @property
    def regression(self) -> bool:
        """Whether a score is predicted, not a class."""
        return self.label_names is None

    @property
    def classes(self) -> int:
        """How many classes; 1 for a score, as `FineTune` counts them."""
        return 1 if self.label_names is None else len(self.label_names)

    def reporting(self, metric: str | None) -> "Task":
        """The task with another of its metrics first: CAPT reports Pearson for STS-B. None leaves it as it is.

        Raises:
            ValueError: for a metric that the task does not have; the message names those it has.

        >>> TASKS["stsb"].reporting("pearson").metrics
        ('pearson', 'spearman')
        """
        if metric is None:
            return self
        if metric not in self.metrics:
            raise ValueError(f"{self.name} has the metrics {', '.join(self.metrics)}, not {checks.shown(metric)}.")
        return replace(self, metrics=(metric, *(name for name in self.metrics if name != metric)))

    def columns_in(self, names: list[str]) -> tuple[str, ...]:
        """The text columns among `names`: the task's, or those that the data set has instead."""
        return self.columns if set(self.columns) <= set(names) else text_columns(names)


# CMLM prints accuracy for MRPC and QQP, SCL for MRPC; GLUE's own site gives F1 beside it. STS-B: COCO-LM prints
# Spearman, CAPT Pearson.
_METRICS = {
    "cola": ("mcc", "accuracy"),
    "mrpc": ("accuracy", "f1"),
    "qqp": ("accuracy", "f1"),
    "stsb": ("spearman", "pearson"),
}

TASKS: dict[str, Task] = {
    task.name: Task(task.name, task.columns, task.label_names, _METRICS.get(task.name, ("accuracy",)))
    for task in glue.TASKS.values()
}
"""All tasks by name."""
TASKS["amazon"] = Task("amazon", ("content",), ("negative", "positive"), ("accuracy",))
TASKS["yelp"] = Task("yelp", ("text",), ("negative", "positive"), ("accuracy",))


def get_task(name: str | Path | Task) -> Task:
    """The row of the table for `"sst2"`, `"toyshop/sst2"`, `"glue/sst2"` or a GLUE folder such as `…/SST-2`.

    Raises:
        ValueError: for a name that is not in the table; the message names those that are.

    >>> from contrast_kit.tasks import get_task
    >>> get_task("toyshop/stsb").metrics, get_task("SST-2").classes, get_task("glue/mnli").kind
    (('spearman', 'pearson'), 2, 'pair')
    """
    if isinstance(name, Task):
        return name
    last = Path(str(name)).name.lower().partition("_")[0]  # amazon_kitchen is one of the Amazon sets
    by_folder = {task.folder.lower(): task.name for task in glue.TASKS.values()}
    last = by_folder.get(last, last)
    if last not in TASKS:
        raise ValueError(
            f"There is no task {checks.shown(name)} in the table; there are {', '.join(TASKS)}. "
            "Another data set needs a task of its own: tasks.Task(name, columns, label_names, metrics)."
        )
    return TASKS[last]


def score(task: Task | str, predicted: Any, labels: Any) -> dict[str, float]:
    """Every metric of a task, which is a `Task` or its name in the table; runs are selected by the first metric.

    Raises:
        ValueError: for labels that are secret (-1), or not as many as the predictions.
        TypeError: for predictions or labels that are not numbers.

    >>> from contrast_kit import tasks
    >>> tasks.score(tasks.get_task("mrpc"), [0, 1, 1, 0], [0, 1, 0, 0])
    {'accuracy': 0.75, 'f1': 0.666...}
    """
    task, labels = get_task(task), as_numbers(labels, "Labels")
    if unlabelled(labels).any():
        raise ValueError(f"Some labels of {task.name} are -1, which means secret: they cannot be scored.")
    return {name: METRICS[name](predicted, labels) for name in task.metrics}


@dataclass(frozen=True)
class TaskData:
    """A task and its splits, and their name in a table of results: "toyshop/sst2".

    Of pandas frames: `splits` {"train": frame.to_dict("records"), …} with the task's columns and `label`, the integers
    of its `label_names`; `data.number_labels(splits, names=task.label_names)` makes them of names (without `names`, in
    an order of its own). Splits that know the names of their classes (a `ClassLabel`) are numbered in the task's order.

    >>> from contrast_kit.data import number_labels
    >>> mine = Task("mine", ("review",), ("good", "bad"), ("accuracy",))
    >>> named = {"train": [{"review": "fine", "label": "good"}, {"review": "dull", "label": "bad"}]}
    >>> TaskData(mine, number_labels(named, names=mine.label_names)).train[0]
    {'review': 'fine', 'label': 0}
    """

    task: Task
    splits: Mapping[str, Any]
    name: str = ""

    def __post_init__(self):
        object.__setattr__(self, "task", get_task(self.task))
        arguments.mapping("splits", self.splits, "of the rows of each split")
        if self.task.label_names is not None:
            object.__setattr__(self, "splits", labels.in_order(self.splits, self.task.label_names))
        arguments.string("name", self.name, "what the data are called in a table")
        if not self.name:
            object.__setattr__(self, "name", self.task.name)

    def __repr__(self) -> str:
        rows = (f"{name} {len(rows):,}" if hasattr(rows, "__len__") else name for name, rows in self.splits.items())
        return f"{self.name}, as {self.task}: {', '.join(rows)}"

    @property
    def train(self) -> Any:
        """The training rows."""
        return self._split("train")

    @property
    def validation(self) -> Any:
        """The validation rows; for MNLI the matched ones (the mismatched are `splits["validation_mismatched"]`)."""
        return self._split("validation")

    @property
    def test(self) -> Any:
        """The test rows, where they have labels. GLUE's own are secret: split the validation rows instead.

        Raises:
            ValueError: if the test rows have no labels; `tasks.hold_out` makes labelled ones.
        """
        rows = self._split("test")
        if "label" not in column_names(rows) or all(label in (None, -1) for label in column(rows, "label")):
            raise ValueError(
                f"The test labels of {self.task.name} are secret. As the papers do, take a part of the validation "
                "rows as the test set: tasks.hold_out(data).test."
            )
        return rows

    def _split(self, name: str) -> Any:
        for known in (name, f"{name}_matched"):
            if known in self.splits:
                return self.splits[known]
        raise ValueError(f"{self.task.name} has no split {name!r} here; {meant(name, self.splits)}")


def list_of_tasks(data: TaskData | Iterable[TaskData]) -> list[TaskData]:
    """The data of one task or of several, as a list."""
    tasks = [data] if isinstance(data, TaskData | str) else arguments.listed("data", data, "what tasks.load gives")
    if not tasks or not all(isinstance(one, TaskData) for one in tasks):
        raise TypeError(
            "data is what tasks.load gives, one or several: run(protocol, tasks.load('toyshop/sst2'), …), "
            f"not {checks.shown(tasks)}."
        )
    return tasks


def load(name: str | Path, *, task: Task | str | None = None, label: str = "label", **options: Any) -> TaskData:
    """Load the data of a task, with its row of the table. Takes what `data.load` takes, with the same options.

    Classes with names get the integers that the task's `label_names` give them. Names that GLUE's tasks number
    differently, or that are a GLUE task's only in part, also need `labels`, as in `data.load`.

    Args:
        name: `"toyshop/sst2"`, `"glue/rte"`, a folder, `"yelp"`, …
        task: which task this is, where the name does not say it.
        label: the column of the labels; in the returned splits it is called `label`.

    Raises:
        ValueError, FileNotFoundError: as `get_task` and `data.load` do; no such column; a class of the data that the
            task does not name.

    >>> from contrast_kit import tasks
    >>> data = tasks.load("toyshop/rte")
    >>> data.task.metrics, len(data.train)
    (('accuracy',), 2500)

    Data of your own, in CSV, TSV, JSON lines or Parquet:

    >>> import pathlib, tempfile
    >>> mine = tasks.Task("mine", ("review",), ("good", "bad"), ("accuracy", "f1"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "train.csv").write_text("review,mood\\nfine,good\\ndull,bad\\n")
    ...     tasks.load(folder, task=mine, label="mood").train[:]
    {'review': ['fine', 'dull'], 'label': [0, 1]}
    """
    from contrast_kit import data

    row = get_task(task if task is not None else name)
    arguments.string("label", label, "the column of the labels")
    splits = data.load(name, label=label, **options)
    return TaskData(row, splits, Path(name).name if Path(name).exists() else str(name))
