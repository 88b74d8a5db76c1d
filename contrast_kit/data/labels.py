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


def order(names: Iterable[str], hint: str = "") -> list[str]:
    """All class names, in the order of their integers, of the task to which the given names belong.

    Args:
        names: the names that occur. Case, blanks and hyphens make no difference.
        hint: where they occur, such as "data/WNLI/train.csv": decides where several tasks have these names.

    Raises:
        ValueError: several tasks have these and number them otherwise; or some are a task's, others not.

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
    known = {task.name: task.label_names for task in TASKS.values() if task.label_names}
    fitting = {task: known[task] for task in known if by_plain.keys() <= {*known[task]}}
    places = hint.lower().split("/")
    for part in reversed(places):  # what stands nearest to the rows decides
        words = re.findall(r"[a-z0-9]+", part)
        fitting = {task: fitting[task] for task in fitting if task in words} or fitting
    if len(set(fitting.values())) > 1:
        raise ValueError(
            f"These labels are those of {' and '.join(fitting)}, which number them differently: give their names in "
            f"the order of their integers, labels={next(iter(fitting.values()))!r} or another order."
        )
    if fitting:
        return list(next(iter(fitting.values())))
    if by_plain.keys() & (set().union(*known.values()) - _COMMON):
        raise ValueError(
            f"The labels {', '.join(sorted(by_plain.values()))} are a GLUE task's only in part, so their order is not "
            "known: give all names in the order of their integers, labels=('…', '…')."
        )
    return sorted(by_plain.values())


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
            words = rows["label"][:]
            if split.startswith("test") and UNLABELLED.issuperset(map(_plain, words)):
                secret.append(split)
            else:
                named[split] = words
    if len(numbered) > 1 or (names and numbered - {tuple(names)}):
        raise ValueError(
            f"The classes of {hint} are numbered as {' and as '.join(map(str, numbered))}, not as {names}."
        )
    values = _names(named, names or ())
    if names and not values and not numbered:
        raise ValueError(
            f"labels= names classes, but {hint} has no names of classes in a column 'label': name the column that has "
            "them, label='topic', or leave labels= out."
        )
    ordered = list(names or ())
    if not names and not all(re.fullmatch(r"-?\d+", value) for value in values):
        ordered = order(values, hint)
    if ordered:
        numbers = _numbers(values, ordered)
    else:
        numbers = {name: int(name) for name in values}
    for split, words in named.items():
        splits[split] = _replaced(splits[split], map(numbers.get, words), ordered)
    for split in secret:
        splits[split] = _replaced(splits[split], [-1] * len(splits[split]), ordered)
    return splits


def in_order(splits: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    """The splits with their classes numbered in the order of `names`; labels without names stay as they are.

    Raises `ValueError` where a class of the data is none of `names`.
    """
    changed = dict(splits)
    for split, rows in splits.items():
        features = getattr(rows, "features", None) or {}
        classes = getattr(features.get("label"), "names", None)
        if classes and list(map(_plain, classes)) != list(map(_plain, names)):
            places = _numbers(classes, names)
            numbers = {number: places[name] for number, name in enumerate(classes)}
            labels = map((numbers | {-1: -1}).get, rows["label"][:])
            changed[split] = _replaced(rows, labels, names)
    return type(splits)(changed)


def _renamed(split: str, rows: Dataset, label: str) -> Dataset:
    """The rows with their labels in a column `label`; test rows may have none.

    MultiNLI's and SNLI's own `gold_label` is one, with `sentence1` and `sentence2` for GLUE's `premise` and
    `hypothesis`; rows on whose label the annotators did not agree ("-") are left out.
    """
    names = rows.column_names
    if label == "label" and "gold_label" in names and "label" not in names:
        rows = rows.filter(lambda gold: gold != "-", input_columns="gold_label")
        new = dict(gold_label="label", sentence1="premise", sentence2="hypothesis")
        return rows.rename_columns({old: new[old] for old in new if old in names})
    if label == "label" or (label not in names and split.startswith("test")):
        return rows
    return rows.rename_column(label, "label")


def _names(columns: Mapping[str, list], known: Sequence[str]) -> set[str]:
    """The different names in the splits; none may be empty or say "NA": that would be a class, and move the others."""
    names = set()
    for split, values in columns.items():
        for name in {*values} - {None, *known}:
            if _plain(name) in MISSING:
                raise ValueError(
                    f"Row {values.index(name)} of {split!r} has the label {name!r}, which often says that there is "
                    "none: fill it in or leave the row out; if it is a class, give all names, labels=('…', '…')."
                )
        names |= {*values} - {None}
    return names


def _numbers(names: Iterable[str], ordered: Sequence[str]) -> dict[str, int]:
    """The integer of each name."""
    places = {_plain(name): place for place, name in enumerate(ordered)}
    strange = sorted(name for name in names if _plain(name) not in places)
    if strange:
        raise ValueError(
            f"The label {strange[0]!r} is none of {', '.join(ordered)}: give all names, labels=(…)."
        )
    return {name: places[_plain(name)] for name in names}


def _replaced(
    rows: Dataset, labels: Iterable[int | None], names: Sequence[str]
) -> Dataset:
    """The rows with other labels."""
    from datasets import ClassLabel, Dataset, Value

    kind = ClassLabel(names=list(names)) if names else Value("int64")
    features = rows.features | {"label": kind}
    return Dataset.from_dict(
        rows.to_dict() | {"label": list(labels)}, type(rows.features)(features)
    )


def _plain(name: Any) -> str:
    return re.sub(r"[\s-]+", "_", str(name or "").strip().lower())
