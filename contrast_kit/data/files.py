"""Local files to datasets: running text, tables (CSV, TSV), Parquet and JSON; one file or a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit.data.prose import Unit, units

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

PROSE = frozenset({".txt", ".raw", ".tokens"})
TABLES = frozenset({".csv", ".tsv"})
OTHERS = frozenset({".parquet", ".json", ".jsonl"})
ENDINGS = PROSE | TABLES | OTHERS

_SPLIT_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def read(
    path: Path,
    *,
    unit: Unit = "sentence",
    headings: bool = False,
    columns: Sequence[str] | None = None,
    quoted: bool | None = None,
) -> DatasetDict:
    """Read a file, or all files of one kind in a folder; the options are those of `data.load`.

    A file with `train`, `valid`, `dev` or `test` in its name becomes that split, any other is `train`. Where
    several files of running text make a split, the column `topic` names the file each text comes from.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "dev.csv").write_text('sentence,label\\n"Fine, sir.",good\\nNo.,bad\\n')
    ...     dataset = files.read(pathlib.Path(folder))["validation"]
    >>> dataset[0], dataset.features["label"].names
    ({'sentence': 'Fine, sir.', 'label': 1}, ['bad', 'good'])
    """
    from datasets import DatasetDict

    splits: dict[str, list[Path]] = {}
    for file in _files(path):
        splits.setdefault(_split(file), []).append(file)
    if columns is None and path_kind(next(iter(splits.values()))[0]) is PROSE:
        return DatasetDict({split: _prose(files, unit, headings) for split, files in splits.items()})
    tables = {
        split: _joined(files, [_table(file, columns, quoted) for file in files]) for split, files in splits.items()
    }
    return DatasetDict(_numbered_labels(tables))


@contextmanager
def in_utf8(file: Path) -> Iterator[None]:
    """Around the reading of a file: a ValueError in one sentence where it is not UTF-8."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is not UTF-8 text (byte {error.start}): write it anew, for example with "
            "path.write_text(path.read_text('latin-1'), 'utf-8')."
        ) from error


def path_kind(path: Path) -> frozenset[str]:
    """Give the group of endings (`PROSE`, `TABLES`, `OTHERS`) of `path`; `ValueError` if it has none."""
    for kind in (PROSE, TABLES, OTHERS):
        if path.suffix.lower() in kind:
            return kind
    raise ValueError(f"{path} is no file that can be read here; known endings are {' '.join(sorted(ENDINGS))}.")


def _files(path: Path) -> list[Path]:
    """List the files to read: the one named, or those of the kind of which the folder holds most."""
    if path.is_file():
        path_kind(path)
        return [path]
    found = [file for file in sorted(path.iterdir()) if file.is_file() and file.suffix.lower() in ENDINGS]
    found = [file for file in found if not file.stem.lower().startswith(("readme", "license"))]
    if not found:
        raise FileNotFoundError(f"{path} holds no file ending in {' '.join(sorted(ENDINGS))}.")
    kinds = [path_kind(file) for file in found]
    kind = max((OTHERS, TABLES, PROSE), key=kinds.count)  # where two are level, the one that has columns
    return [file for file in found if path_kind(file) is kind]


def _split(file: Path) -> str:
    words = file.stem.lower().replace("-", ".").replace("_", ".").split(".")
    split = next((_SPLIT_NAMES[word] for word in words if word in _SPLIT_NAMES), "train")
    kind = next((word for word in words if word in ("matched", "mismatched")), None)  # as in MultiNLI
    return f"{split}_{kind}" if kind else split


def _prose(files: Sequence[Path], unit: Unit, headings: bool) -> Dataset:
    from datasets import ClassLabel, Dataset, Features, Value

    texts, topics = [], []
    for number, file in enumerate(files):
        # universal newlines: CRLF, LF and CR are one and the same
        with in_utf8(file):
            found = list(units(file.read_text("utf-8-sig"), unit, headings))
        texts += found
        topics += [number] * len(found)
    if not texts:
        raise ValueError(f"{files[0]} holds no text.")
    if len(files) == 1:
        return Dataset.from_dict({"text": texts})
    features = Features({"text": Value("string"), "topic": ClassLabel(names=[file.stem for file in files])})
    return Dataset.from_dict({"text": texts, "topic": topics}, features=features)


def _table(file: Path, columns: Sequence[str] | None, quoted: bool | None) -> Dataset:
    from datasets import Dataset

    if file.suffix.lower() == ".parquet":
        import pyarrow.parquet

        return Dataset(pyarrow.parquet.read_table(file))
    if file.suffix.lower() in (".json", ".jsonl"):
        return Dataset.from_list(_json_rows(file))
    return _separated(file, columns, quoted)


def _separated(file: Path, columns: Sequence[str] | None, quoted: bool | None) -> Dataset:
    import csv

    import pandas
    from datasets import Dataset

    separator = "," if file.suffix.lower() == ".csv" else "\t"
    with in_utf8(file):
        if quoted is None:
            quoted = separator == "," or not _one_row_a_line(file, separator)
    try:
        with in_utf8(file):
            frame = pandas.read_csv(
                file,
                sep=separator,
                names=list(columns) if columns else None,
                header=None if columns else 0,
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
                keep_default_na=False,  # "None" and "NA" are words too
                encoding="utf-8-sig",
            )
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        raise ValueError(f"{file} is no even table ({str(error).strip()}); try quoted={not quoted}.") from error
    return Dataset.from_pandas(frame, preserve_index=False)


def _one_row_a_line(file: Path, separator: str) -> bool:
    """Whether every line has as many fields as the first: then no quoted field holds a line end or a separator."""
    with file.open(encoding="utf-8-sig", newline="\n") as lines:
        widths = {line.count(separator) for line in lines if line.strip()}
    return len(widths) <= 1


def _json_rows(file: Path) -> list[dict[str, Any]]:
    """Read one JSON list, one object a line, or SQuAD's nested form (one row a question)."""
    with in_utf8(file):
        text = file.read_text("utf-8-sig")
    try:
        try:
            content = json.loads(text)
        except json.JSONDecodeError:
            content = [json.loads(line) for line in text.split("\n") if line.strip()]
    except json.JSONDecodeError as error:
        raise ValueError(f"{file} is neither JSON nor JSON lines: {error}.") from error
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        content = content["data"]
        if content and "paragraphs" in content[0]:
            return [row for article in content for row in _squad_rows(article)]
    if isinstance(content, dict):
        content = [content]
    if not content or not all(isinstance(row, dict) for row in content):
        raise ValueError(f"{file} must hold a list of objects, one a row.")
    return content


def _squad_rows(article: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for paragraph in article["paragraphs"]:
        for question in paragraph["qas"]:
            answers = question.get("answers", [])
            rows.append(
                {
                    "id": question["id"],
                    "title": article.get("title", ""),
                    "context": paragraph["context"],
                    "question": question["question"],
                    "answers": {
                        "text": [answer["text"] for answer in answers],
                        "answer_start": [answer["answer_start"] for answer in answers],
                    },
                }
            )
    return rows


def _joined(files: list[Path], tables: list[Dataset]) -> Dataset:
    from datasets import concatenate_datasets

    first = tables[0].column_names
    for file, table in zip(files, tables, strict=True):
        if set(table.column_names) != set(first):
            both = f"{', '.join(first)} and {', '.join(table.column_names)}"
            raise ValueError(f"{files[0]} and {file} have other columns ({both}): load them one by one.")
    return concatenate_datasets(tables) if len(tables) > 1 else tables[0]


def _numbered_labels(tables: dict[str, Dataset]) -> dict[str, Dataset]:
    """Turn label names into class integers, in alphabetical order, the same in every split; no name stays `None`."""
    from datasets import ClassLabel, Value

    names: set[str] = set()
    for table in tables.values():
        kind = table.features.get("label")
        if not isinstance(kind, Value) or kind.dtype not in ("string", "large_string"):
            return tables
        names |= set(table.unique("label")) - {None}
    if "" in names:  # else the empty name would be class 0, and all others move up
        raise ValueError("A row has an empty label: fill it in, or leave such rows out of the file.")
    return {split: table.cast_column("label", ClassLabel(names=sorted(names))) for split, table in tables.items()}
