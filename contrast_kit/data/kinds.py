"""A column has values of one kind: in all rows of a JSON file, and in all files of a split."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit import arguments
from contrast_kit.data.utf8 import is_unicode

if TYPE_CHECKING:
    from datasets import Dataset

_FAULTS = (ValueError, TypeError, OverflowError)  # Arrow's errors are among them
_WORDS = {"int64": "whole numbers", "double": "decimal numbers", "bool": "true or false"} | dict.fromkeys(
    ("string", "large_string"), "text"
)


def rows_of_one_kind(file: Path, rows: list[dict[str, Any]]) -> Dataset:
    """Rows as a data set; a column whose values are of several kinds is refused by name."""
    from datasets import Dataset

    names = dict.fromkeys(name for row in rows for name in row)  # of all rows: the first may lack its label
    for name in names:
        kinds = {type(row[name]) for row in rows if row.get(name) is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            said = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"{file} holds {said} in its column {name!r}: a column has values of one kind.")
    try:
        return Dataset.from_list([names | row for row in rows])
    except _FAULTS as error:
        raise _fault(file, rows, names) or error from error


def _fault(file: Path, rows: list[dict[str, Any]], names: Iterable[str]) -> ValueError | None:
    """Why rows are no data set: the first column that alone is none."""
    from datasets import Dataset

    for name in names:
        try:
            Dataset.from_dict({name: [row.get(name) for row in rows]})
        except UnicodeEncodeError:
            at = next(at for at, row in enumerate(rows) if not is_unicode(json.dumps(row, ensure_ascii=False)))
            return ValueError(
                f"Row {at} of {file} has half a character, such as the first part of an emoji, in its column {name!r}: "
                "write it whole, or leave it out."
            )
        except _FAULTS as error:
            return ValueError(
                f"{file} holds values of several kinds inside its column {name!r} ({arguments.in_a_line(error)}): give "
                "them one form in all rows, or leave that column out of the file."
            )
    return None


def joined(files: Sequence[Path], tables: Sequence[Dataset]) -> Dataset:
    """The tables of several files as one; whole numbers in one and decimal numbers in another are decimal numbers."""
    import pyarrow
    from datasets import Dataset, DatasetInfo, Features, concatenate_datasets

    first = tables[0].features
    for file, table in zip(files, tables, strict=True):
        if set(table.column_names) != set(first):
            both = f"{', '.join(first)} and {', '.join(table.column_names)}"
            raise ValueError(f"{files[0]} and {file} have other columns ({both}): load them one by one.")
    other = [name for name in first if any(table.features[name] != first[name] for table in tables)]
    if not other:
        return concatenate_datasets(tables) if len(tables) > 1 else tables[0]
    for name in other:
        _check_alike(name, files, tables)
    whole = pyarrow.concat_tables([table.with_format("arrow")[:] for table in tables], promote_options="permissive")
    whole = whole.replace_schema_metadata()
    features = {
        **Features.from_arrow_schema(whole.schema),
        **{name: first[name] for name in first if name not in other},
    }
    return Dataset(whole, info=DatasetInfo(features=Features(features)))


def _check_alike(name: str, files: Sequence[Path], tables: Sequence[Dataset]) -> None:
    """Refuse a column for which no one kind is found: numbers and text, or classes of other names."""
    import pyarrow

    kinds = [table.features.arrow_schema.field(name).type for table in tables]
    filled = [at for at, kind in enumerate(kinds) if not pyarrow.types.is_null(kind)]
    for one, two in pairwise(filled):
        features = [tables[at].features[name] for at in (one, two)]
        fit = features[0] == features[1] or not any(hasattr(feature, "names") for feature in features)
        try:
            pyarrow.unify_schemas(
                [pyarrow.schema([(name, kinds[at])]) for at in (one, two)], promote_options="permissive"
            )
        except pyarrow.ArrowException:
            fit = False
        if not fit:
            said = [_said(feature, kinds[at]) for feature, at in zip(features, (one, two), strict=True)]
            raise ValueError(
                f"The column {name!r} holds {said[0]} in {files[one]} and {said[1]} in {files[two]}: give it values of "
                "one kind, or load the files one by one."
            )


def _said(feature: Any, kind: Any) -> str:
    names = getattr(feature, "names", None)
    return f"the classes {', '.join(names)}" if names else _WORDS.get(str(kind), f"values of the kind {kind}")
