"""The table of tasks: their text columns, their labels, and their metrics.

The GLUE rows are those of `data.glue`, with the metrics that the papers print beside them. Amazon-2 and Yelp-2 (SCL,
section 5.4) follow. The same rows serve toyshop, the hub and local folders, since all share one schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from contrast_kit._util import choose
from contrast_kit.data import glue, labels, text_columns
from contrast_kit.data.rows import column, column_names, label_tensor, unlabelled
from contrast_kit.tasks.metrics import METRICS, TABLES


@dataclass(frozen=True)
class Task:
    """One task: a row of the table.

    >>> Task("mine", ("review",), ("bad", "good", "meh"), ("accuracy",)).classes
    3

    Raises a ValueError for a metric that is not in `METRICS` (to which yours can be added). `f1` is of two classes; of
    scores the kit has correlations alone.
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
        for metric in self.metrics:
            choose(METRICS, metric, "metric")

    @property
    def regression(self) -> bool:
        """Whether a score is predicted, not a class."""
        return self.label_names is None

    @property
    def classes(self) -> int:
        """How many classes; 1 for a score, as `FineTune` counts them."""
        return len(self.label_names or ("score",))

    def reporting(self, metric: str | None) -> "Task":
        """The task with another of its metrics first: CAPT reports Pearson for STS-B. None leaves it as it is.

        >>> TASKS["stsb"].reporting("pearson").metrics
        ('pearson', 'spearman')
        """
        names = dict.fromkeys((metric or self.metrics[0], *self.metrics))
        return replace(self, metrics=tuple(names))

    def columns_in(self, names: Sequence[str]) -> tuple[str, ...]:
        """The text columns among `names`: the task's, or those that the data set has instead."""
        return self.columns if set(self.columns) <= set(names) else text_columns(names)


TASKS: dict[str, Task] = {
    name: Task(
        name,
        task.columns,
        task.label_names,
        tuple(TABLES["metrics"].get(name, ["accuracy"])),
    )
    for name, task in glue.TASKS.items()
}
"""All tasks by name."""
for _name, _column in TABLES["opinions"].items():
    TASKS[_name] = Task(_name, (_column,), ("negative", "positive"), ("accuracy",))


def get_task(name: str | Path | Task) -> Task:
    """The row of the table for `"sst2"`, `"toyshop/sst2"`, `"glue/sst2"` or a GLUE folder such as `…/SST-2`.

    Raises:
        ValueError: for a name that is not in the table; another data set needs a `Task` of its own.

    >>> from contrast_kit.tasks import get_task
    >>> get_task("toyshop/stsb").metrics, get_task("SST-2").classes, get_task("glue/mnli").classes
    (('spearman', 'pearson'), 2, 3)
    """
    if isinstance(name, Task):
        return name
    # "amazon_kitchen" is one of the Amazon sets.
    last = Path(name).name.lower().partition("_")[0]
    by_folder = {task.folder.lower(): task.name for task in glue.TASKS.values()}
    return choose(
        TASKS, by_folder.get(last, last), "task in the table (tasks.Task makes one)"
    )


def score(
    task: Task | str,
    predicted: Any,
    labels: Any,
) -> dict[str, float]:
    """Every metric of a task, which is a `Task` or its name in the table; runs are selected by the first metric.

    Raises:
        ValueError: for labels that are secret (-1), or not as many as the predictions.

    >>> from contrast_kit import tasks
    >>> tasks.score(tasks.get_task("mrpc"), [0, 1, 1, 0], [0, 1, 0, 0])
    {'accuracy': 0.75, 'f1': 0.666...}
    """
    task, labels = get_task(task), np.asarray(labels)
    if np.any(unlabelled(labels)):
        raise ValueError(
            f"Some labels of {task.name} are -1, which means secret: they cannot be scored."
        )
    return {name: METRICS[name](predicted, labels) for name in task.metrics}


@dataclass
class TaskData:
    """A task and its splits, and their name in a table of results: "toyshop/sst2".

    Of pandas frames: `splits` {"train": frame.to_dict("records"), …} with the task's columns and `label`, the integers
    of its `label_names`. Splits that know the names of their classes (a `ClassLabel`) are numbered in the task's order.

    >>> mine = Task("mine", ("review",), ("good", "bad"), ("accuracy",))
    >>> TaskData(mine, {"train": [{"review": "fine", "label": 0}, {"review": "dull", "label": 1}]}).train[0]
    {'review': 'fine', 'label': 0}
    """

    task: Task
    splits: Mapping[str, Any]
    name: str = ""

    def __post_init__(self):
        self.task = get_task(self.task)
        self.name = self.name or self.task.name
        if not self.task.regression:
            self.splits = labels.in_order(self.splits, self.task.label_names)

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
        if not self.labelled("test"):
            raise ValueError(
                f"The test labels of {self.task.name} are secret. As the papers do, take a part of the validation "
                "rows as the test set: tasks.hold_out(data).test."
            )
        return self._split("test")

    def labelled(self, name: str) -> bool:
        """Whether there is a split of this name and it has labels."""
        if not {name, f"{name}_matched"} & self.splits.keys():
            return False
        rows = self._split(name)
        labels = column(rows, "label") if "label" in column_names(rows) else []
        return not set(labels) <= {None, -1}

    def _split(self, name: str) -> Any:
        """The rows of a split; MNLI's has `_matched` at the end of its name."""
        for known in (name, f"{name}_matched"):
            if known in self.splits:
                return self.splits[known]
        raise ValueError(
            f"{self.name} has no split {name!r}, it has {', '.join(self.splits)}: {DIVIDE}"
        )


DIVIDE = (
    "divide its rows, parts = data.train.train_test_split(0.2, seed=0), and give TaskData(data.task, "
    "{'train': parts['train'], 'validation': parts['test']})."
)
"""What to do with a table that has no rows to select or test by."""


def load(
    name: str | Path,
    *,
    task: Task | str | None = None,
    label: str = "label",
    **options: Any,
) -> TaskData:
    """Load the data of a task, with its row of the table. Takes what `data.load` takes, with the same options.

    Classes with names get the integers that the task's `label_names` give them. Names that GLUE's tasks number
    differently, or that are a GLUE task's only in part, also need `labels`, as in `data.load`.

    Args:
        name: `"toyshop/sst2"`, `"glue/rte"`, a folder, `"yelp"`, …
        task: which task this is, where the name does not say it.
        label: the column of the labels; in the returned splits it is called `label`.

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

    task = get_task(name if task is None else task)
    splits = data.load(name, label=label, **options)
    columns = dict.fromkeys(chain(*(rows.column_names for rows in splits.values())))
    if "label" not in columns:
        raise ValueError(
            f"{name} has no column 'label' with what {task.name} predicts: name it, label='…', of "
            f"{', '.join(columns)}."
        )
    shown = Path(name).name if Path(name).exists() else str(name)
    return TaskData(task, splits, shown)


def labels_of(rows: Any) -> np.ndarray:
    """The labels as an array of numbers, [N]; None, like -1, means no label."""
    values = column(rows, "label")
    label_tensor(values)  # raises for what is no number, naming its row
    numbers = np.asarray([-1 if label is None else label for label in values])
    return numbers + 0  # True and False become 1 and 0, as in `Texts`


def texts_of(rows: Any, task: Task) -> list[list[str]]:
    """The texts of each of the task's columns: one list, or two of a pair."""
    return [column(rows, name) for name in task.columns_in(column_names(rows))]


def select_rows(rows: Any, chosen: Sequence[int]) -> Any:
    """The chosen rows, in the order given."""
    if hasattr(rows, "select"):
        return rows.select(chosen)
    return [rows[i] for i in chosen]


def first_rows(rows: Any, limit: int | None) -> Any:
    """At most the first `limit` rows."""
    return select_rows(rows, range(len(rows))[:limit])
