"""Class names to the integers that their task gives them, not to their places in the alphabet.

GLUE says which integer a name is: MNLI's entailment, neutral, contradiction are 0, 1, 2, though not in alphabetical
order; RTE's entailment is 0, and WNLI's is 1. Names of a data set that GLUE does not know have no such order; they
are numbered alphabetically, as everywhere, and `features["label"].names` shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contrast_kit import arguments, checks
from contrast_kit.data.glue import TASKS
from contrast_kit.data.rows import as_rows, column, column_names, no_column

if TYPE_CHECKING:
    from datasets import Dataset

NOT_AGREED = "-"
"""The label of a pair on which MultiNLI's and SNLI's annotators did not agree. Such rows are left out."""
SECRET = "hidden"
"""The label of MultiNLI's unlabelled test rows; it becomes -1."""
UNLABELLED = "-1"
"""The hub's mark for a row without a label, written as a string; beside two or more other whole numbers it is no
class."""
_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"}  # what programs write where there is no value
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_COMMON = {"positive", "negative", "neutral"}  # names that other tasks use as well, in their own order


def order(names: Iterable[str], hint: str = "", option: str = "labels") -> list[str]:
    """All class names, in the order of their integers, of the task to which the given names belong.

    Args:
        names: the names that were found. Case, blanks and hyphens make no difference.
        hint: where they were found, such as "data/WNLI/train.csv": decides where several tasks have these names.
        option: the caller's own argument for all names, which an error advises.

    Raises:
        ValueError: no names; several tasks have these and number them otherwise; or some are a task's, others not.
        TypeError: names that are numbers.

    >>> from contrast_kit.data import labels
    >>> labels.order({"neutral", "contradiction", "entailment"})
    ['entailment', 'neutral', 'contradiction']
    >>> labels.order({"entailment", "not_entailment"}, hint="WNLI/train.csv")
    ['not_entailment', 'entailment']
    >>> labels.order({"10", "9"}), labels.order({"ham", "spam"})
    (['9', '10'], ['ham', 'spam'])
    """
    if not (names := set(names)):
        raise ValueError("No row has a label, so there is nothing to number.")
    _check_names(names)
    alike = {_plain(name): name for name in sorted(names, key=str, reverse=True)}  # "Spam" and "spam " are one class
    plain, names = set(alike), set(alike.values())
    named = {task.name: task.label_names for task in TASKS.values() if task.label_names}
    fitting = {task: order for task, order in named.items() if plain <= set(order)}
    for part in reversed(hint.lower().split("/")):  # what stands nearest to the rows decides
        words = set(re.findall(r"[a-z0-9]+", part))
        if any(task in words for task in fitting):
            fitting = {task: order for task, order in fitting.items() if task in words}
    if len(set(fitting.values())) > 1:
        raise ValueError(
            f"The labels {_listed(names)} are those of {' and '.join(fitting)}, which number them differently: give "
            f"their names in the order of their integers, {option}={next(iter(fitting.values()))!r} or another order."
        )
    if fitting:
        return list(next(iter(fitting.values())))
    known = {name for order in named.values() for name in order} - _COMMON
    if plain & known:
        raise ValueError(
            f"The labels {_listed(names)} are a GLUE task's only in part, so their order is not known: give all names "
            f"in the order of their integers, {option}=('…', '…')."
        )
    if not _whole(names):
        return sorted(names)
    numbers = sorted(names, key=int)
    return numbers[1:] if len(numbers) > 2 and numbers[0] == UNLABELLED else numbers


def number_labels(rows: Any, names: Sequence[str] | None = None, label: str = "label") -> Any:
    """The rows with their labels' names as integers: in the order of `names`, or of the GLUE task that has them.

    Args:
        rows: a `datasets.Dataset` or a list of dicts; or all splits by name, which get one numbering. If numbered
            alone, a split that lacks a class would have other integers: then give `names`.
        names: all names in the order of their integers; by default `labels.order` of those that occur.
        label: the column of the names.

    Returns:
        rows of the same kind; a `Dataset` has the column as a `ClassLabel`. None stays None.

    Raises:
        ValueError: no such column, no label, a name that is not in `names`, or names whose order is not known.
        TypeError: labels that are numbers already.

    >>> from contrast_kit.data import number_labels
    >>> number_labels([{"text": "a", "label": "positive"}, {"text": "b", "label": "negative"}])
    [{'text': 'a', 'label': 1}, {'text': 'b', 'label': 0}]
    >>> number_labels({"train": [{"label": "ham"}, {"label": "spam"}], "test": [{"label": "spam"}]})["test"]
    [{'label': 1}]
    """
    names = None if names is None else arguments.listed("names", names, "names of classes")
    if isinstance(rows, Mapping) and rows:
        names = names or order(set().union(*(_found(split, label, names) for split in rows.values())), option="names")
        splits = {name: number_labels(split, names, label) for name, split in rows.items()}
        return type(rows)(splits) if hasattr(rows, "column_names") else splits  # a DatasetDict, or a dict
    rows = as_rows(rows)
    found = _found(rows, label, names)
    names = names or order(found, option="names")
    numbers = _numbers(found, names, "names")
    if hasattr(rows, "column_names"):
        return _replaced(rows, label, names, numbers)
    return [{**row, label: None if row[label] is None else numbers[row[label]]} for row in rows]


def _found(rows: Any, label: str, names: Sequence[str] | None) -> set:
    """The names that occur in a column of rows."""
    if label not in column_names(rows):
        raise no_column(label, column_names(rows))
    return _names_of(column(rows, label), label, names)


def _names_of(values: list, label: str, names: Sequence[str] | None, option: str = "names", split: str = "") -> set:
    """The names in a column; none may be empty or say "NA": that would be a class, and move the others."""
    try:
        found = set(values) - {None}
    except TypeError:
        raise TypeError(f"The column {label!r} must hold a name in each row, not a list or a dict.") from None
    missing = {name for name in found if _is_missing(name, names)}
    if not missing:
        return found
    at = values.index("") if "" in missing else next(at for at, value in enumerate(values) if value in missing)
    row = f"Row {at} of {split!r}" if split else f"Row {at}"
    if values[at] == "":
        raise ValueError(f"{row} has an empty {label}: fill it in, or leave such rows out.")
    row = f"{row} has the {label} {values[at]!r}"
    if (others := found - missing) and all(_NUMBER.fullmatch(str(name)) for name in others):
        raise ValueError(f"{row} where others are numbers: fill it in, or leave such rows out.")
    raise ValueError(
        f"{row}, which often says that there is none: write the class's name or leave the row out; if it is a class, "
        f"give all names in the order of their integers, {option}=('…', '…')."
    )


def _is_missing(name: Any, names: Sequence[str] | None) -> bool:
    return _plain(name) in _MISSING and _plain(name) not in map(_plain, names or ())


def numbered(tables: dict[str, Dataset], names: Sequence[str] | None = None, hint: str = "") -> dict[str, Dataset]:
    """The splits of a data set with label names as integers, the same in every split; integers stay as they are.

    MultiNLI's and SNLI's own `gold_label` becomes `label`, `sentence1` and `sentence2` GLUE's `premise` and
    `hypothesis`, and rows without a gold label are left out.
    """
    from datasets import Value

    tables = {split: _as_glue_names(_blank_as_secret(split, table, names)) for split, table in tables.items()}
    labelled = {split: table for split, table in tables.items() if not _only(table, -1)}
    found: set[str] = set()
    for split, table in labelled.items():
        kind = table.features["label"]
        if not isinstance(kind, Value) or kind.dtype not in ("string", "large_string"):
            if names:
                raise ValueError(f"labels= names classes, but the labels of {split!r} are no names: leave it out.")
            return tables
        found |= _names_of(table["label"][:], "label", names, "labels", split)
    if not labelled:
        return tables
    nli = {_plain(name) for name in found} & set(TASKS["mnli"].label_names) - _COMMON
    odd = found & {NOT_AGREED, SECRET} if nli or found <= {NOT_AGREED, SECRET} else set()
    named = found - odd
    ordered = list(names) if names else order(named, hint) if named else list(TASKS["mnli"].label_names)
    numbers = _numbers(named, ordered, "labels") | {SECRET: -1}
    if NOT_AGREED in odd:
        labelled = {split: table.filter(_agreed, input_columns="label") for split, table in labelled.items()}
    return tables | {split: _replaced(table, "label", ordered, numbers) for split, table in labelled.items()}


def from_column(tables: dict[str, Dataset], label: str, names: Sequence[str] | None, hint: str) -> dict[str, Dataset]:
    """The splits with another column as their `label`, names in it as integers."""
    renamed = {}
    for split, table in tables.items():
        if "label" in table.column_names:
            raise ValueError(f"The split {split!r} has a column 'label' too: rename or remove it to read {label!r}.")
        if label in table.column_names:
            renamed[split] = table.rename_column(label, "label")
        elif not _is_test(split):
            raise ValueError(f"{no_column(label, table.column_names)} That is the split {split!r}.")
    return numbered({**tables, **renamed}, names, hint)


def in_order(tables: dict[str, Dataset], names: Sequence[str]) -> dict[str, Dataset]:
    """The splits with their classes numbered in the order of `names`; labels without names stay as they are.

    Raises `ValueError` where a class of the data is none of `names`.
    """
    changed = {}
    for split, table in tables.items():
        there = getattr((getattr(table, "features", None) or {}).get("label"), "names", None)
        if not there or _whole(there) or list(map(_plain, there)) == list(map(_plain, names)):
            continue
        places = {_plain(name): place for place, name in enumerate(names)}
        if not places.keys() >= set(map(_plain, there)):
            raise ValueError(
                f"The data's classes are {_listed(there)}, and the task's label_names {_listed(list(names))}: give the "
                "task the names of the data, in the order of the integers that they should have."
            )
        numbers = {number: places[_plain(name)] for number, name in enumerate(there)} | {-1: -1}
        changed[split] = _replaced(table, "label", list(names), numbers)
    return type(tables)({**tables, **changed}) if changed else tables


def _is_test(split: str) -> bool:
    """Whether a split may have no labels."""
    return split.startswith("test")


def _only(table: Dataset, *labels: Any) -> bool:
    """Whether a table has no labels, or these alone."""
    from datasets import Value

    kind = table.features.get("label")
    return kind is None or (isinstance(kind, Value) and set(table.unique("label")) <= {None, *labels})


def _blank_as_secret(split: str, table: Dataset, names: Sequence[str] | None) -> Dataset:
    """A test split that nobody has labelled, with -1 in place of each empty label, "NA" or "-1"."""
    from datasets import Value

    columns = table.column_names
    if not _is_test(split) or not isinstance(table.features.get("label"), Value):
        return table
    if not all(name in (None, UNLABELLED) or _is_missing(name, names) for name in table.unique("label")):
        return table
    table = table.rename_column("label", "label before")  # as in `_replaced`
    return table.add_column("label", [-1] * len(table)).select_columns(columns)


def _agreed(label: str) -> bool:
    return label != NOT_AGREED


def _as_glue_names(table: Dataset) -> Dataset:
    names = table.column_names
    if "gold_label" not in names or "label" in names:
        return table
    new = {"gold_label": "label"}
    if {"sentence1", "sentence2"} <= set(names):
        new |= {"sentence1": "premise", "sentence2": "hypothesis"}
    return table.rename_columns(new)


def _check_names(names: Iterable[Any]) -> None:
    if numbers := [name for name in names if not isinstance(name, str)]:
        number = checks.shown(numbers[0])
        raise TypeError(f"Names of classes are numbered, and {number} is none: leave such labels as they are.")


def _numbers(found: set[str], ordered: list[str], option: str) -> dict[str, int]:
    _check_names(found)
    places = {_plain(name): place for place, name in enumerate(ordered)}
    lacking = sorted(str(name) for name in found if _plain(name) not in places and name != UNLABELLED)
    if lacking:
        raise ValueError(f"The label {lacking[0]!r} is none of {_listed(ordered)}: give all names, {option}=(…).")
    return {name: places.get(_plain(name), -1) for name in found}


def _replaced(table: Dataset, label: str, names: list[str], numbers: dict[str, int]) -> Dataset:
    from datasets import ClassLabel

    columns = table.column_names
    values = [None if value is None else numbers[value] for value in table[label]]
    table = table.rename_column(label, f"{label} before")  # not removed yet: a table without columns has no rows
    return table.add_column(label, values, feature=ClassLabel(names=names)).select_columns(columns)


def _plain(name: Any) -> str:
    return re.sub(r"[\s-]+", "_", str(name).strip().lower())


def _whole(names: Iterable[str]) -> bool:
    """Whether all names are whole numbers, and so are not really names."""
    return all(re.fullmatch(r"-?\d+", name) for name in names)


def _listed(names: Iterable[str]) -> str:
    names = names if isinstance(names, list) else sorted(names)
    return ", ".join(name if isinstance(name, str) else checks.shown(name) for name in names)
