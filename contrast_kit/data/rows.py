"""What rows of data may be: a dataset, dicts or strings; their columns, and their labels as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from contrast_kit._util import shown, warn

TEXT_COLUMNS: tuple[tuple[str, ...], ...] = (
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("sentence",),
    ("text",),
    ("question",),
)
"""Columns that hold text in the GLUE tasks, in unlabeled corpora and in questions on pictures; the first set that a
table has is used."""


def text_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Find which of the columns `names` hold the text: one name, or two for a task on pairs.

    Raises `ValueError` where none of `TEXT_COLUMNS` is there; then pass `columns=` yourself.

    >>> from contrast_kit.data import text_columns
    >>> text_columns(["premise", "hypothesis", "label", "idx"])
    ('premise', 'hypothesis')
    """
    for columns in TEXT_COLUMNS:
        if set(columns) <= set(names):
            return columns
    raise ValueError(
        f"Cannot tell which column holds the text among {shown(list(names))}: name it, Texts(rows, tokenizer, "
        "columns='name'), or columns=('first', 'second') for pairs (on the command line --columns first,second)."
    )


def as_rows(rows: Any) -> Any:
    """Bring every accepted kind of rows to a dataset or a list of dicts; strings get the column `text`."""
    if isinstance(rows, Mapping):
        raise TypeError(
            f"These are several splits ({', '.join(rows)}); pass one, such as dataset['train']."
        )
    if isinstance(rows, str):
        raise TypeError(
            "Rows are a dataset, a list of dicts or of strings: give a text as [text], a file to data.load."
        )
    if len(rows) == 0:
        raise ValueError("There are no rows: the dataset is empty.")
    if hasattr(rows, "with_format"):
        return rows.with_format(None)
    if hasattr(rows, "column_names"):
        return rows
    rows = [rows[place] for place in range(len(rows))]
    if isinstance(rows[0], str):
        return [{"text": row} for row in rows]
    return rows


def given_columns(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of columns that a caller gave, one or several; none where they are to be found by name."""
    if isinstance(columns, str):
        return (columns,)
    return tuple(columns or ())


def column_names(rows: Any) -> list[str]:
    """The columns of rows: of a `Dataset`, or of row dicts, in the order in which they first come; of strings, `text`.

    >>> column_names([{"text": "a"}, {"text": "b", "label": 1}])
    ['text', 'label']
    """
    rows = as_rows(rows)
    if hasattr(rows, "column_names"):
        return list(rows.column_names)
    return list(dict.fromkeys(name for row in rows for name in row))


def column(rows: Any, name: str) -> list:
    """One column as a list; None where a row dict lacks it. Raises `ValueError` for a column that no row has."""
    rows = as_rows(rows)
    names = column_names(rows)
    if name not in names:
        raise ValueError(
            f"There is no column {shown(name)}; the columns are {', '.join(names)}."
        )
    if hasattr(rows, "column_names"):
        # whole: a walk through `datasets`' Column reads row by row, up to 400 times as long
        return list(rows[name][:])
    return [row.get(name) for row in rows]


def label_tensor(values: Sequence[Any]) -> Tensor | None:
    """Make one tensor of the labels; `None` where there is not one real label (all missing or -1).

    >>> label_tensor([1, None]), label_tensor([0.5, 2])
    (tensor([ 1, -1]), tensor([0.5000, 2.0000]))
    """
    for row, value in enumerate(values):
        if isinstance(value, str):
            raise ValueError(
                f"Labels must be numbers, and row {row} has {value!r}: give each name the number of its class, the "
                "same in all splits (data.load does so); where no label is needed, name a column that is not there, "
                "label='none'."
            )
    labels = torch.tensor([-1 if value is None else value for value in values])
    labels = labels.float() if labels.is_floating_point() else labels.long()
    if labels.isnan().any():
        raise ValueError(
            f"The label of row {int(labels.isnan().nonzero()[0])} is NaN; None or -1 means unlabeled."
        )
    if (labels == -1).all():
        return None
    if None in values and not (unlabelled(labels) == (labels == -1)).all():
        raise ValueError(
            "A row has no score, and on a scale below 0 the mark -1 is one: leave it out."
        )
    return labels


def unlabelled(labels: Any) -> Any:
    """Which labels [N], a tensor or an array, are missing: those of -1, except on a scale of scores that goes lower."""
    marked = labels == -1
    if marked.any() and labels.min() < -1:
        return marked & False
    return marked


def count_classes(rows: Any) -> int:
    """How many classes labelled rows have: named classes by their names, else the largest label + 1, or 2; scores: 1.

    `rows` is one split: a `datasets.Dataset`, `Texts`, or a list of row dicts with a column `label`; ValueError if no
    row has one.
    """
    features = getattr(rows, "features", None) or {}
    names = getattr(rows, "label_names", None) or getattr(
        features.get("label"), "names", None
    )
    if names:
        return len(names)
    labels = getattr(rows, "labels", None)
    if not hasattr(rows, "labels") and "label" in column_names(rows):
        labels = label_tensor(column(rows, "label"))
    if labels is None:
        raise ValueError(
            "No row has a label, so there are no classes to count: give one labelled split."
        )
    if not labels.is_floating_point():
        return max(2, int(labels.max()) + 1)
    if len(labels.unique()) > 1 and bool((labels == labels.round()).all()):
        low, high = labels.aminmax()
        warn(
            f"The labels are written as {low:.1f} to {high:.1f}, so they are scores and this is a regression: if they "
            "are classes, make them whole numbers, row['label'] = int(row['label'])."
        )
    return 1
