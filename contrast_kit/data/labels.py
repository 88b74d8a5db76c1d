"""Class names to the integers that their task gives them, not to their places in the alphabet.

GLUE says which integer a name is: MNLI's entailment, neutral, contradiction are 0, 1, 2, though not in alphabetical
order; RTE's entailment is 0, and WNLI's is 1. Names of a data set that GLUE does not know have no such order; they
are numbered alphabetically, as everywhere, and `features["label"].names` shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contrast_kit.data.glue import TASKS
from contrast_kit.data.rows import as_rows, column

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none"}
"""What programs write where there is no value."""
UNLABELLED = MISSING | {"hidden", "_1"}
"""What a test row has in place of a label: MultiNLI's word, the hub's "-1", or nothing."""
# Other tasks use them as well, in their own order.
_COMMON = {
    "positive",
    "negative",
    "neutral",
}


def order(names: Iterable[str], hint: str = "", option: str = "labels") -> list[str]:
    """All class names, in the order of their integers, of the task to which the given names belong.

    Args:
        names: the names that occur. Case, blanks and hyphens make no difference.
        hint: where they occur, such as "data/WNLI/train.csv": decides where several tasks have these names.
        option: the caller's own argument for all names, which an error advises.

    Raises:
        ValueError: no names; several tasks have these and number them otherwise; or some are a task's, others not.

    >>> from contrast_kit.data import labels
    >>> labels.order({"neutral", "contradiction", "entailment"})
    ['entailment', 'neutral', 'contradiction']
    >>> labels.order({"entailment", "not_entailment"}, hint="WNLI/train.csv")
    ['not_entailment', 'entailment']
    >>> labels.order({"ham", "spam"})
    ['ham', 'spam']
    """
    # "Spam" and "spam " are one class
    by_plain = {_plain(name): name for name in sorted(names, reverse=True)}
    if not by_plain:
        raise ValueError("No row has a label, so there is nothing to number.")
    known = {task.name: task.label_names for task in TASKS.values() if task.label_names}
    fitting = {
        task: classes
        for task, classes in known.items()
        if by_plain.keys() <= set(classes)
    }
    places = hint.lower().split("/")
    for part in reversed(places):  # what stands nearest to the rows decides
        words = re.findall(r"[a-z0-9]+", part)
        fitting = {task: fitting[task] for task in fitting if task in words} or fitting
    if len(set(fitting.values())) > 1:
        raise ValueError(
            f"These labels are those of {' and '.join(fitting)}, which number them differently: give their names in "
            f"the order of their integers, {option}={next(iter(fitting.values()))!r} or another order."
        )
    if fitting:
        return list(next(iter(fitting.values())))
    if by_plain.keys() & (set().union(*known.values()) - _COMMON):
        raise ValueError(
            f"The labels {', '.join(sorted(by_plain.values()))} are a GLUE task's only in part, so their order is not "
            f"known: give all names in the order of their integers, {option}=('…', '…')."
        )
    return sorted(by_plain.values())


def number_labels(
    rows: Any, names: Sequence[str] | None = None, label: str = "label"
) -> Any:
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

    >>> from contrast_kit.data import number_labels
    >>> number_labels([{"text": "a", "label": "positive"}, {"text": "b", "label": "negative"}])
    [{'text': 'a', 'label': 1}, {'text': 'b', 'label': 0}]
    >>> number_labels({"train": [{"label": "ham"}, {"label": "spam"}], "test": [{"label": "spam"}]})["test"]
    [{'label': 1}]
    """
    if not isinstance(rows, Mapping):
        return number_labels({"train": rows}, names, label)["train"]
    splits = {split: as_rows(part) for split, part in rows.items()}
    columns = {split: column(part, label) for split, part in splits.items()}
    names = list(names or order(_names(columns), option="names"))
    numbers = _numbers(_names(columns, names, "names"), names, "names")
    for split, part in splits.items():
        if hasattr(part, "column_names"):
            splits[split] = _replaced(part, label, numbers, names)
        else:
            splits[split] = [{**row, label: numbers[row.get(label)]} for row in part]
    return type(rows)(splits)


def number_splits(
    splits: DatasetDict, label: str, names: Sequence[str] | None, hint: str
) -> DatasetDict:
    """The splits that `data.load` read, with the integers of their labels in a column `label`.

    A test split that nobody has labelled gets -1. ValueError where `names` cannot apply, or splits number otherwise.
    """
    splits = type(splits)(
        {split: _renamed(split, rows, label) for split, rows in splits.items()}
    )
    if names is not None and not len(names):
        return splits
    numbered, named, secret = set(), {}, []
    for split, rows in splits.items():
        feature = rows.features.get("label")
        if hasattr(feature, "names"):
            numbered.add(tuple(feature.names))
        elif getattr(feature, "dtype", "") in ("string", "large_string", "null"):
            if split.startswith("test") and UNLABELLED.issuperset(
                map(_plain, rows.unique("label"))
            ):
                secret.append(split)
            else:
                named[split] = rows["label"][:]
    if len(numbered) > 1 or (names and numbered - {tuple(names)}):
        raise ValueError(
            f"The classes of {hint} are numbered as {' and as '.join(map(str, numbered))}, not as {names}."
        )
    values = _names(named, names)
    if names and not values and not numbered:
        raise ValueError(
            f"labels= names classes, but the labels of {hint} are no names: leave it out."
        )
    if names or all(re.fullmatch(r"-?\d+", value) for value in values):
        ordered = list(names or ())
    else:
        ordered = order(values, hint)
    if ordered:
        numbers = _numbers(values, ordered, "labels")
    else:
        numbers = {name: int(name) for name in values} | {None: None}
    for split in named if values else ():
        splits[split] = _replaced(splits[split], "label", numbers, ordered)
    for split in secret:
        unknown = dict.fromkeys(splits[split].unique("label"), -1)
        splits[split] = _replaced(splits[split], "label", unknown, ordered)
    return splits


def in_order(splits: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    """The splits with their classes numbered in the order of `names`; labels without names stay as they are.

    Raises `ValueError` where a class of the data is none of `names`.
    """
    changed = {}
    for split, rows in splits.items():
        features = getattr(rows, "features", None) or {}
        classes = getattr(features.get("label"), "names", None)
        if classes and list(map(_plain, classes)) != list(map(_plain, names)):
            places = _numbers(set(classes), list(names), "label_names")
            numbers = {number: places[name] for number, name in enumerate(classes)}
            changed[split] = _replaced(
                rows, "label", numbers | {-1: -1, None: None}, list(names)
            )
    return type(splits)({**splits, **changed})


def _renamed(split: str, rows: Dataset, label: str) -> Dataset:
    """The rows with their labels in a column `label`; test rows may have none.

    MultiNLI's and SNLI's own `gold_label` is one, with `sentence1` and `sentence2` for GLUE's `premise` and
    `hypothesis`; rows on whose label the annotators did not agree ("-") are left out.
    """
    names = rows.column_names
    if label == "label" and "gold_label" in names and "label" not in names:
        renamed = {
            "gold_label": "label",
            "sentence1": "premise",
            "sentence2": "hypothesis",
        }
        rows = rows.select(
            [row for row, gold in enumerate(rows["gold_label"][:]) if gold != "-"]
        )
        return rows.rename_columns(
            {old: new for old, new in renamed.items() if old in names}
        )
    if label == "label" or (label not in names and split.startswith("test")):
        return rows
    return rows.rename_column(label, "label")


def _names(
    columns: Mapping[str, list],
    given: Sequence[str] | None = None,
    option: str = "labels",
) -> set[Any]:
    """The different names in the splits; none may be empty or say "NA": that would be a class, and move the others."""
    names = set()
    for split, values in columns.items():
        for name in {*values} - {None, *(given or ())}:
            if _plain(name) in MISSING:
                raise ValueError(
                    f"Row {values.index(name)} of {split!r} has the label {name!r}, which often says that there is "
                    f"none: fill it in or leave the row out; if it is a class, give all names, {option}=('…', '…')."
                )
        names |= {*values} - {None}
    return names


def _numbers(
    names: set[str], ordered: list[str], option: str
) -> dict[str | None, int | None]:
    """The integer of each name."""
    places = {_plain(name): place for place, name in enumerate(ordered)}
    strange = sorted(name for name in names if _plain(name) not in places)
    if strange:
        raise ValueError(
            f"The label {strange[0]!r} is none of {', '.join(ordered)}: give all names, {option}=(…)."
        )
    return {name: places[_plain(name)] for name in names} | {None: None}


def _replaced(
    rows: Dataset, label: str, numbers: dict[Any, Any], names: list[str] | None = None
) -> Dataset:
    """The rows with other labels in the same column."""
    from datasets import ClassLabel, Dataset, Value

    table = rows.to_dict() | {label: [numbers[value] for value in rows[label]]}
    features = rows.features.copy()
    features[label] = ClassLabel(names=names) if names else Value("int64")
    return Dataset.from_dict(table, features=features)


def _plain(name: Any) -> str:
    return re.sub(r"[\s-]+", "_", str(name or "").strip().lower())
