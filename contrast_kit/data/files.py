"""Local files to datasets: running text, tables (CSV, TSV), Parquet and JSON; one file or a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit import arguments
from contrast_kit._warn import warn
from contrast_kit.data import labels as label_names
from contrast_kit.data import tables
from contrast_kit.data.kinds import joined, rows_of_one_kind
from contrast_kit.data.prose import Unit, units
from contrast_kit.data.rows import check_read
from contrast_kit.data.utf8 import in_utf8, undo_printed_bytes

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

PROSE = frozenset({".txt", ".raw", ".tokens", ".md"})
TABLES = frozenset({".csv", ".tsv"})
OTHERS = frozenset({".parquet", ".json", ".jsonl"})
ENDINGS = PROSE | TABLES | OTHERS

_SPLIT_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "eval"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def read(
    path: Path,
    *,
    unit: Unit = "sentence",
    headings: bool = False,
    columns: Sequence[str] | None = None,
    quoted: bool | None = None,
    labels: Sequence[str] | None = None,
) -> DatasetDict:
    """Read a file, or all files of one kind in a folder; the options are those of `data.load`.

    A file with the word `valid`, `val`, `dev` or `eval` in its name becomes the split `validation`, one with `test`
    (`test (1).csv`) becomes `test`, any other `train`. Where several files of running text make a split, the column
    `topic` names the file each text comes from.

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
        splits.setdefault(split_of(file), []).append(file)
    every = [file for files in splits.values() for file in files]
    if columns is None and _is_prose(every):
        check_read(path, {"quoted": quoted, "labels": labels})
        return DatasetDict({split: _prose(files, unit, headings) for split, files in splits.items()})
    check_read(path, {"unit": unit, "headings": headings})
    if every[0].suffix.lower() in OTHERS:
        check_read(path, {"columns": columns, "quoted": quoted})
    read = {split: joined(files, [_table(file, columns, quoted) for file in files]) for split, files in splits.items()}
    read = tables.from_zero(read, every) if columns is None else read
    named = read if labels == [] else label_names.numbered(read, labels, hint="/".join(every[0].parts[-2:]))
    return DatasetDict(named)


def path_kind(path: Path) -> frozenset[str]:
    """Give the group of endings (`PROSE`, `TABLES`, `OTHERS`) of `path`; `ValueError` if it has none."""
    for kind in (PROSE, TABLES, OTHERS):
        if path.suffix.lower() in kind:
            return kind
    raise ValueError(f"{path} is no file that can be read here; known endings are {' '.join(sorted(ENDINGS))}.")


def _files(path: Path) -> list[Path]:
    """List the files to read: the one named, or those of one kind in the folder, rather tables than running text."""
    if path.is_file():
        if path.suffix or not (tables.is_table(path) or tables.class_and_text(path)):
            path_kind(path)
        return [path]
    found = [file for file in sorted(path.iterdir()) if file.is_file() and file.suffix.lower() in ENDINGS]
    found = [file for file in found if not file.stem.lower().startswith(("readme", "license", "."))]  # ._a.csv of macOS
    warn_of_packed(path.iterdir())
    if not found:
        raise FileNotFoundError(f"{path} holds no file ending in {' '.join(sorted(ENDINGS))}.")
    # notes beside the data are not data
    found = [file for file in found if file.suffix.lower() != ".md"] or found
    of_kind = {kind: [file for file in found if path_kind(file) is kind] for kind in (OTHERS, TABLES, PROSE)}
    splits = {kind: {split_of(file) for file in files if _says_split(file)} for kind, files in of_kind.items()}
    kind = max(of_kind, key=lambda kind: (len(splits[kind]), bool(of_kind[kind]), kind != PROSE, len(of_kind[kind])))
    others = [file for file in found if file not in of_kind[kind]]
    if lost := [file.name for file in others if _says_split(file) and split_of(file) not in splits[kind]]:
        kept = next(file.name for file in of_kind[kind] if _says_split(file))
        raise ValueError(
            f"{path} holds {kept} and {lost[0]}: write all splits as files of one kind, or load each by its name."
        )
    if others:
        named = ", ".join(file.name for file in others)
        warn(f"Of {path} only the {'/'.join(sorted(kind))} files are read, not {named}: load it by name.")
    warn_of_names(of_kind[kind])
    return of_kind[kind]


def split_of(file: Path) -> str:
    """The split that a file is named after: train, validation or test; train where its name says nothing."""
    words = _words(file)
    split = next((_SPLIT_NAMES[word] for word in words if word in _SPLIT_NAMES), "train")
    kind = next((word for word in words if word in ("matched", "mismatched")), None)  # as in MultiNLI
    return f"{split}_{kind}" if kind else split


@contextmanager
def in_parquet(file: Path) -> Iterator[None]:
    """Wrap the reading of a Parquet file: a ValueError in one sentence if it is broken."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{file} is not a complete Parquet file: {arguments.in_a_line(error)}") from error


def warn_of_names(files: Sequence[Path]) -> None:
    """Warn of a file such as `testset.csv` that is read as training data, like others beside it."""
    unclear = [file for file in files if not _says_split(file) and re.search("test|dev|valid", file.stem.lower())]
    beside = [file for file in files if split_of(file) == "train" and file not in unclear]
    # among novels, "The Greatest Gift.txt" is none
    if unclear and any(file.suffix.lower() not in PROSE or "train" in file.stem.lower() for file in beside):
        name = unclear[0].name
        warn(f"{name} is read as training data: if it is not, put the word by itself, as in test.csv or my_test.csv.")


def warn_of_packed(files: Iterable[Path]) -> None:
    """Warn of a file that would be read if it were unpacked, such as `train.jsonl.gz`."""
    packed = [file for file in files if file.suffix.lower() in (".gz", ".bz2", ".xz", ".zst", ".zip")]
    names = sorted(file.name for file in packed if Path(file.stem).suffix.lower() in ENDINGS)
    if names:
        more = f" and {len(names) - 1} more" if names[1:] else ""
        warn(f"{names[0]}{more} in {packed[0].parent} cannot be read while packed: unpack it first.")


def _words(file: Path) -> list[str]:
    """The words in a file's name: what stands between anything that is no letter."""
    return re.findall(r"[^\W\d_]+", file.name.lower())


def _says_split(file: Path) -> bool:
    return not _SPLIT_NAMES.keys().isdisjoint(_words(file))


def _is_prose(files: Sequence[Path]) -> bool:
    """Whether files hold running text: by their ending, unless a first line names columns."""
    if not all(file.suffix.lower() in PROSE for file in files):
        return False
    return not all(tables.is_table(file) or tables.class_and_text(file) is not None for file in files)


def _prose(files: Sequence[Path], unit: Unit, headings: bool) -> Dataset:
    from datasets import ClassLabel, Dataset, Features, Value

    texts, topics = [], []
    for number, file in enumerate(files):
        # universal newlines: CRLF, LF and CR are one and the same
        with in_utf8(file):
            text = "\n".join(undo_printed_bytes(file.read_text("utf-8-sig").split("\n")))
        found = list(units(text, unit, headings, markdown=file.suffix.lower() == ".md"))
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

        with in_parquet(file):
            return Dataset(pyarrow.parquet.read_table(file))
    if file.suffix.lower() in (".json", ".jsonl"):
        rows = _json_rows(file)
        for name in [name for name, value in rows[0].items() if isinstance(value, str) and value[:1] == "b"]:
            there = [row for row in rows if name in row]
            for row, value in zip(there, undo_printed_bytes([row[name] for row in there]), strict=True):
                row[name] = value
        return rows_of_one_kind(file, rows)
    if columns is None and file.suffix.lower() not in TABLES and not tables.is_table(file):
        return tables.class_and_text(file)
    return tables.read_table(file, columns, quoted)


def _json_rows(file: Path) -> list[dict[str, Any]]:
    """Read one JSON list, one object per line, or SQuAD's nested form (one row per question)."""
    with in_utf8(file):
        text = file.read_text("utf-8-sig")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        content = _json_lines(file, text, error)
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        content = content["data"]
        if content and isinstance(content[0], dict) and "paragraphs" in content[0]:
            return [row for article in content for row in _squad_rows(article)]
    if isinstance(content, dict):
        content = [content]
    if not content or not all(isinstance(row, dict) for row in content):
        raise ValueError(f"{file} must hold a list of objects, one per row.")
    return content


def _json_lines(file: Path, text: str, error: json.JSONDecodeError) -> list[Any]:
    """One value per line. Where the first line is none, `error` says what is wrong with the whole."""
    content = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            content += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as slip:
            said = f"{slip.msg}: line {number} column {slip.colno}" if content else error
            raise ValueError(f"{file} is neither JSON nor JSON lines: {said}.") from slip
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
