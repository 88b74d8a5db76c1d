"""Tables in files: which character separates their fields, whether quotes enclose them, and what the columns are.

Many data sets are published without a line of column names. Read as if they had one, their first row is lost; so the
first line is looked at. Known files get the names and label integers that they have on the hub:

| file | fields |
|---|---|
| CoLA, `in_domain_train.tsv` | source, 0 or 1, "" or "*", sentence |
| the STS benchmark, `sts-test.csv` | genre, file, year, number, score, sentence 1, sentence 2, in some rows sources |
| Zhang et al. 2015, Amazon's and Yelp's `train.csv` | class from 1, (title,) text |
| TextFooler, `mr`, `snli` | class, blank, text; or the class's name, premise, hypothesis |
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit import checks
from contrast_kit.data.fields import fields_in_quotes, fields_of, rows_of, separator_of
from contrast_kit.data.glue import TASKS
from contrast_kit.data.rows import TEXT_COLUMNS
from contrast_kit.data.utf8 import in_utf8, undo_printed_bytes

if TYPE_CHECKING:
    from datasets import Dataset
    from pandas import DataFrame

_HEADINGS = {name for names in TEXT_COLUMNS for name in names} | {
    *("label", "labels", "gold_label", "score", "quality", "is_duplicate", "index", "idx", "id", "title", "content"),
    *("sentence_a", "sentence_b", "target", "class", "category", "review", "similarity"),
}
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
_CLASS_AND_TEXT = re.compile(r"(\d{1,2}) (\S.*)")
_STS_FIELDS = ("genre", "filename", "year", "index", "label", "sentence1", "sentence2")


def read_table(file: Path, columns: Sequence[str] | None, quoted: bool | None) -> Dataset:
    """Read a file of separated fields; `columns` and `quoted` as for `data.load`.

    Raises `ValueError` for a file that cannot be read as a table, one that names no columns and is not a known one, and
    `columns` of another number than the fields.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "train.csv").write_text('"2","Fine","Buy it."\\n"1","Bad","Do not."\\n')
    ...     read_table(pathlib.Path(folder, "train.csv"), None, None)[0]
    {'label': 2, 'title': 'Fine', 'content': 'Buy it.'}
    """
    from datasets import Dataset

    with in_utf8(file):
        separator = separator_of(file)
        if quoted is None:
            quoted = separator != "\t" or fields_in_quotes(file, separator)
    rows, wrong = rows_of(file, separator, quoted)
    if not rows:
        raise ValueError(f"{file} is empty: give a file with a row of column names and rows below it.")
    first = [field.strip() for field in rows[0]]
    if columns is None and separator == "\t" and _is_sts(first):
        return sts_rows(file)
    names = tuple(columns) if columns else None if names_columns(first) else layout(first)
    if names is None and not names_columns(first):
        raise ValueError(
            f"The first line of {file} names no columns: give the names of its {len(first)} columns, "
            f"columns=({', '.join(repr(f'column{i + 1}') for i in range(len(first)))}), "
            "for example 'text', 'label', 'sentence1' and 'sentence2'."
        )
    if names and len(names) != len(first):
        raise ValueError(f"{file} has {len(first)} columns, but columns= names {len(names)}: {', '.join(names)}.")
    if names and tuple(first) == names:  # the file names them too
        names = None
    elif columns and (known := _known_headings(first)):
        raise ValueError(
            f"The first line of {file} names its columns ({', '.join(known)} among them), so columns= would read it as "
            "a row: leave columns= out, and rename the columns of what is loaded, dataset.rename_columns({…})."
        )
    if wrong:
        works = not rows_of(file, separator, not quoted)[1]
        remedy = f"try quoted={not quoted}" if works else "give each row as many fields as the first"
        raise ValueError(f"{file} is not an even table ({wrong}): {remedy}.")
    frame = _frame(rows if names else [first, *rows[1:]], names)
    for name in frame.columns:
        if frame[name].dtype == object or str(frame[name].dtype).startswith("str"):
            values = undo_printed_bytes(frame[name].tolist())
            decimals = separator == ";" and values and all(map(_DECIMAL_COMMA.fullmatch, values))
            frame[name] = [float(value.replace(",", ".")) for value in values] if decimals else list(values)
    return Dataset.from_pandas(frame, preserve_index=False)


def names_columns(fields: Sequence[str]) -> bool:
    """Whether the fields of a first line are names of columns: one is well known, or all are short and no numbers.

    >>> from contrast_kit.data.tables import names_columns
    >>> names_columns(["id", "Quality", "#1 String"]), names_columns(["gj04", "1", "", "They left."])
    (True, False)
    """
    if _known_headings(fields):
        return True
    plain = [field.strip() for field in fields]
    return not any(
        _NUMBER.fullmatch(field) or len(field.split()) > 3 or field.endswith((".", "?", "!")) for field in plain
    )


def _known_headings(fields: Sequence[str]) -> list[str]:
    return [field for field in fields if field.strip().lower() in _HEADINGS]


def layout(fields: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of a row of a published file without column names; None where it is none of the known ones.

    >>> from contrast_kit.data.tables import layout
    >>> layout(["gj04", "0", "*", "Left they the."]), layout(["neutral", "It rains.", "It is wet."])
    (('source', 'label', 'star', 'sentence'), ('label', 'premise', 'hypothesis'))
    """
    number = [bool(re.fullmatch(r"-?\d{1,2}", field.strip())) for field in fields]
    if len(fields) == 4 and fields[1] in ("0", "1") and fields[2] in ("", "*"):
        return "source", "label", "star", "sentence"
    if len(fields) == 3 and fields[0].strip().lower() in TASKS["mnli"].label_names:
        return "label", "premise", "hypothesis"
    if number == [True, False, False]:
        return "label", "title", "content"
    if sorted(number) == [False, True]:
        return ("label", "text") if number[0] else ("text", "label")
    return None


def class_and_text(file: Path) -> Dataset | None:
    """A file whose every line is a class, a blank and a text, as TextFooler's are; None for any other file."""
    from datasets import Dataset

    with in_utf8(file), file.open(encoding="utf-8-sig", newline="\n") as lines:
        found = [_CLASS_AND_TEXT.fullmatch(line.strip()) for line in islice(lines, 100) if line.strip()]
        classes = {int(match[1]) for match in found if match}
        # a numbered list has as many numbers as lines
        if len(found) < 4 or not all(found) or len(classes) > len(found) // 2:
            return None
        lines.seek(0)
        matches = [(line, _CLASS_AND_TEXT.fullmatch(line.strip())) for line in lines if line.strip()]
    wrong = next((line for line, match in matches if match is None), None)
    if wrong is not None:
        raise ValueError(f"{file} begins with a class in each line, but one line has none: {wrong.strip()[:60]!r}.")
    return Dataset.from_dict({"label": [int(m[1]) for _, m in matches], "text": [m[2] for _, m in matches]})


def is_table(file: Path) -> bool:
    """Whether a text file is a table all the same, as MultiNLI's and SNLI's `.txt` are: its first line names columns.

    Files without an ending count, too, where the first line is one of the known rows.
    """
    with in_utf8(file), file.open(encoding="utf-8-sig", newline="\n") as lines:
        fields = next(lines, "").rstrip("\r\n").split("\t")
    if len(fields) < 3:
        return False
    return any(field.lower() in _HEADINGS for field in fields) or layout(fields) is not None


def _is_sts(fields: Sequence[str]) -> bool:
    return len(fields) >= 7 and bool(_NUMBER.fullmatch(fields[4])) and 0 <= float(fields[4]) <= 5 and fields[2] != ""


def sts_rows(file: Path) -> Dataset:
    """The STS benchmark's own files. Some rows name the sources of their sentences in further fields."""
    from datasets import Dataset

    with in_utf8(file), file.open(encoding="utf-8-sig", newline="\n") as lines:
        rows = [_sts_row(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    return Dataset.from_dict({name: [row[at] for row in rows] for at, name in enumerate(_STS_FIELDS)})


def _sts_row(file: Path, number: int, line: str) -> list[Any]:
    fields = line.rstrip("\r\n").split("\t")
    with suppress(ValueError, IndexError):
        score = float(fields[4])
        if len(fields) >= 7 and math.isfinite(score):
            return [*fields[:4], score, *fields[5:7]]
    has = f"{len(fields)} of 7 fields" if len(fields) < 7 else f"the score {checks.shown(fields[4])}"
    raise ValueError(
        f"Line {number} of {file} has {has}: a line is genre, file, year, number, score (from 0 to 5) and two texts, "
        "with a tab between each two."
    )


def _frame(rows: list[list[str]], names: Sequence[str] | None) -> DataFrame:
    import pandas

    plain = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    csv.writer(plain, quoting=csv.QUOTE_ALL).writerows(rows)
    plain.seek(0)
    return pandas.read_csv(
        plain,
        names=list(names) if names else None,
        header=None if names else 0,
        index_col=False,
        keep_default_na=False,  # "None" and "NA" are words too
        low_memory=False,  # one kind of values for the whole column
    )


def from_zero(splits: dict[str, Dataset], files: Sequence[Path]) -> dict[str, Dataset]:
    """Classes that Zhang et al. count from 1, counted from 0 as the hub has them: in all splits alike, or in none.

    Only of files in their form, with commas and without a line of names. One class alone, 1, stays what it is.
    """
    for file in files:
        if file.suffix.lower() != ".csv" or separator_of(file) != ",":
            return splits
        _, first = next(fields_of(file, ",", True))
        if names_columns(first) or "label" not in (layout(first) or ()):
            return splits
    labels = {split: table["label"][:] for split, table in splits.items()}
    found = set().union(*labels.values())
    if not all(isinstance(label, int) for label in found) or min(found) != 1 or max(found) == 1:
        return splits
    return {
        split: table.remove_columns("label")
        .add_column("label", [label - 1 for label in labels[split]])
        .select_columns(table.column_names)
        for split, table in splits.items()
    }
