"""What rows of data may be: a dataset, dicts or strings; their columns, and their labels as numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from contrast_kit import arguments, checks
from contrast_kit._warn import warn

TEXT_COLUMNS: tuple[tuple[str, ...], ...] = (
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("sentence",),
    ("text",),
    ("question",),
)
"""Columns that hold text in the GLUE tasks, in unlabeled corpora and in questions on pictures; the first set found is
used."""

_CHUNK = 10_000  # rows tokenized at a time: enough to keep every core busy, little enough to stay in cache


def check_read(name: Any, options: Mapping[str, Any]) -> None:
    """Refuse options of `data.load` that differ from their defaults where nothing reads them; no `labels` ask for
    nothing."""
    for option, value in options.items():
        if value != [] and value != {"unit": "sentence", "headings": False}.get(option):
            raise ValueError(f"{str(name)!r} is read without {option}=, which would change nothing: leave it out.")


def text_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Find which of the columns `names` hold the text: one name, or two for a task on pairs.

    Raises `ValueError` where none of `TEXT_COLUMNS` is there; then pass `columns=` yourself.

    >>> from contrast_kit.data import text_columns
    >>> text_columns(["premise", "hypothesis", "label", "idx"])
    ('premise', 'hypothesis')
    """
    names = arguments.listed("names", names, "columns")
    for wanted in TEXT_COLUMNS:
        if all(name in names for name in wanted):
            return wanted
    raise ValueError(
        f"Cannot tell which column holds the text among {checks.shown(names)}; "
        "pass it as columns='name', or columns=('first', 'second') for pairs (on the command line --columns name, or "
        "--columns first,second)."
    )


def as_rows(rows: Any) -> Any:
    """Bring every accepted kind of rows to a dataset or a list of dicts; strings get the column `text`."""
    if isinstance(rows, Mapping) and not rows:
        raise ValueError("There are no rows: this is an empty dict.")
    if isinstance(rows, Mapping):
        raise TypeError(
            f"These are several splits ({', '.join(rows)}); pass one, such as dataset['{next(iter(rows))}']."
        )
    kind = type(rows)
    if kind.__module__.startswith("pandas"):
        raise TypeError(f"Rows cannot be a pandas {kind.__name__}: give frame.to_dict('records') or series.tolist().")
    if isinstance(rows, str):
        found = os.path.exists(rows)
        there = "data.load reads that file or folder" if found else f"there is no file or folder {rows[:80]!r}"
        raise TypeError(
            f"Rows are a Dataset, a list of dicts or a list of strings, not str: {there}; a text is [text]."
        )
    numbered = hasattr(rows, "__len__") and hasattr(rows, "__getitem__") and getattr(rows, "shape", None) != ()
    if not numbered:
        more = "; data.Stream walks through a generator, a file or a folder"
        raise TypeError(f"Rows are a Dataset, a list of dicts or a list of strings, not {kind.__name__}{more}.")
    if len(rows) == 0:
        raise ValueError("There are no rows: the dataset is empty.")
    if not hasattr(rows, "column_names") and not isinstance(rows, list | tuple):
        # by number: a data set that never raises IndexError would be walked through for ever
        rows = [rows[at] for at in range(len(rows))]
    if hasattr(rows, "with_format") and hasattr(rows, "column_names"):
        return rows.with_format(None)
    if hasattr(rows, "column_names") or isinstance(rows[0], Mapping):
        return rows
    if isinstance(rows[0], str):
        return [{"text": row} for row in rows]
    raise TypeError(f"A row must be a string or a dict of columns, not {type(rows[0]).__name__}.")


def given_columns(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of columns that were asked for, one or several; none where they are to be found by name."""
    if columns is None or isinstance(columns, str):
        return (columns,) if columns else ()
    return tuple(arguments.strings("columns", columns, "names of columns"))


def column_names(rows: Any) -> list[str]:
    """The columns of rows: of a `Dataset`, or of the first of row dicts; of strings, `text`."""
    rows = as_rows(rows)
    return list(rows.column_names if hasattr(rows, "column_names") else rows[0])


def column(rows: Any, name: str) -> list:
    """One column as a list. Raises `ValueError` where it, or a row's entry in it, is not there."""
    rows = as_rows(rows)
    if name not in column_names(rows):
        raise no_column(name, column_names(rows))
    if hasattr(rows, "column_names"):
        return list(rows[name][:])  # whole: a walk through `datasets`' Column reads row by row, up to 400 times as long
    return [value for _, chunk in chunks(rows, [name]) for value in chunk[name]]


def no_column(name: str, names: Sequence[str]) -> ValueError:
    """The error for a column that is not there."""
    return ValueError(f"There is no column {checks.shown(name)}; the columns are {', '.join(names)}.")


def chunks(rows: Any, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, list]]]:
    """Walk through the rows `_CHUNK` at a time: the first row's number, and a list of values per column."""
    for start in range(0, len(rows), _CHUNK):
        if hasattr(rows, "column_names"):
            yield start, rows.select_columns(list(columns))[start : start + _CHUNK]
            continue
        part = rows[start : start + _CHUNK]
        for at, row in enumerate(part, start):
            lacking = [name for name in columns if name not in row]
            if lacking:
                raise ValueError(f"Row {at} has no column {lacking[0]!r}, which the first row has.")
        yield start, {name: [row[name] for row in part] for name in columns}


def label_tensor(values: Sequence[Any]) -> Tensor | None:
    """Make one tensor of the labels; `None` where there is not one real label (all missing or -1)."""
    missing = next((at for at, value in enumerate(values) if value is None), None)
    values = [-1 if value is None else value.item() if hasattr(value, "item") else value for value in values]
    for at, value in enumerate(values):
        if isinstance(value, str):
            raise ValueError(
                f"Labels must be numbers, and row {at} has {value!r}: number names with data.number_labels(splits), "
                "all splits at once, or in an order of your own, data.number_labels(rows, names=('…', '…')); where no "
                "label is needed, name a column that is not there, label='none'."
            )
        if not isinstance(value, int | float) or value != value:
            raise ValueError(f"The label of row {at} is {value!r}, not a number; None or -1 means unlabeled.")
    if all(value == -1 for value in values):
        return None
    scores = any(isinstance(value, float) for value in values)
    if missing is not None and any(value < 0 and value != -1 for value in values):
        raise ValueError(f"Row {missing} has no score, and on a scale below 0 the mark -1 would be one: leave it out.")
    return torch.tensor(values, dtype=torch.float32 if scores else torch.long)


def unlabelled(labels: Any) -> Any:
    """Which labels [N], a tensor or an array, are missing: those of -1, except on a scale of scores that goes lower."""
    marked = labels == -1
    return marked & (labels.min() >= -1) if marked.any() else marked


def count_classes(rows: Any) -> int:
    """How many classes labelled rows have: named classes by their names, else the largest label + 1, or 2; scores: 1.

    `rows` is one split: a `datasets.Dataset`, `Texts`, or a list of row dicts with a column `label`; ValueError if no
    row has one.
    """
    names = getattr(rows, "label_names", None)
    features = getattr(rows, "features", None)
    if names is None and features is not None:
        names = getattr(features.get("label"), "names", None)
    if names:
        return len(names)
    if hasattr(rows, "labels"):
        labels = rows.labels
    else:
        labels = label_tensor(column(rows, "label")) if "label" in column_names(rows) else None
    if labels is None:
        raise ValueError("No row has a label, so there are no classes to count: give one labelled split.")
    if not labels.is_floating_point():
        return max(2, int(labels.max()) + 1)
    if len(labels.unique()) > 1 and bool((labels == labels.round()).all()):
        low, high = labels.aminmax()
        warn(
            f"The labels are written as {low:.1f} to {high:.1f}, so they are scores and this is a regression: if they "
            "are classes, make them whole numbers, row['label'] = int(row['label'])."
        )
    return 1
