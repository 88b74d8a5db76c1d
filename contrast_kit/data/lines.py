"""A source of text, walked through once without holding it: files, folders, data sets, generators."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from contrast_kit._warn import warn
from contrast_kit.data.files import ENDINGS, PROSE, in_parquet, split_of, warn_of_names, warn_of_packed
from contrast_kit.data.utf8 import in_utf8

READABLE = PROSE | {".jsonl", ".parquet"}
"""Endings of the files that can be read line by line, or row by row."""


class Line(NamedTuple):
    """A row of a source, a string or a dict, and whether a document ends with it."""

    row: Any
    ends: bool


def walk(source: Any) -> Iterator[Line]:
    """The rows of a source, in order; `Stream` says what a source may be.

    Raises `TypeError` for another kind, `FileNotFoundError` or `ValueError` for files that cannot be read that way.

    >>> import pathlib, tempfile
    >>> from contrast_kit.data.lines import walk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("One.\\nTwo.\\n\\nThree.")
    ...     [tuple(line) for line in walk(folder)]
    [('One.', False), ('Two.', True), ('Three.', True)]
    """
    if isinstance(source, Path | str):
        for file in _files(Path(source).expanduser()):
            yield from _lines(file) if file.suffix.lower() in PROSE else (Line(row, True) for row in _rows(file))
        return
    if isinstance(source, Callable) and not isinstance(source, Iterable):
        source = source()
    if not isinstance(source, Iterable) or isinstance(source, Mapping | bytes) or getattr(source, "ndim", 1) == 0:
        raise TypeError(
            f"A stream is made from a Path, an iterable of strings or dicts, or a function that returns one, not from "
            f"{type(source).__name__}."
        )
    for at, row in enumerate(source):
        if not isinstance(row, str | Mapping):
            raise TypeError(f"Row {at} of the source is {type(row).__name__}: a row is a string or a dict of columns.")
        yield Line(row, True)


def is_source(data: Any) -> bool:
    """Whether data can only be walked through: a path, a generator, a data set without a length, a function."""
    if isinstance(data, Path) or (isinstance(data, str) and os.path.exists(os.path.expanduser(data))):
        return True
    return (
        not hasattr(data, "__len__") and (isinstance(data, Iterable) or callable(data)) and not isinstance(data, type)
    )


def _files(path: Path) -> list[Path]:
    if path.is_file():
        found = [path]
    elif path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix.lower() in ENDINGS)
        found = [file for file in found if not file.stem.lower().startswith(("readme", "license"))]
        found = [file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts)]
        found = _without_test(path, found)
        warn_of_packed(path.rglob("*"))
    else:
        raise FileNotFoundError(f"There is no file or folder {path}.")
    other = [file for file in found if file.suffix.lower() not in READABLE]
    if other or not found:
        name = other[0] if other else path
        raise ValueError(
            f"{name} cannot be read line by line ({' '.join(sorted(READABLE))} can): load it with data.load(path) and "
            "give the rows, or write them as .jsonl."
        )
    return found


def _without_test(folder: Path, files: list[Path]) -> list[Path]:
    """The files of a folder but those that they or a folder in it name as validation or test data, unless there are
    no others."""
    kept = [f for f in files if all(split_of(Path(part)) == "train" for part in f.relative_to(folder).parts)]
    if kept and len(kept) < len(files):
        left = [str(file.relative_to(folder)) for file in files if file not in kept]
        named = f"{left[0]} is" if len(left) == 1 else f"{left[0]} and {len(left) - 1} more are"
        warn(f"{named} not read, being named as validation or test data: to train on such a file too, give its path.")
    warn_of_names(kept)
    return kept or files


def _lines(file: Path) -> Iterator[Line]:
    """The lines of running text; an empty one, or the end of the file, ends a document."""
    before = None
    with in_utf8(file), file.open(encoding="utf-8-sig") as lines:
        for line in lines:
            if text := line.strip():
                if before is not None:
                    yield Line(before, False)
                before = text
            elif before is not None:
                yield Line(before, True)
                before = None
    if before is not None:
        yield Line(before, True)


def _rows(file: Path) -> Iterator[Mapping]:
    if file.suffix.lower() == ".parquet":
        import pyarrow.parquet

        with in_parquet(file):
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches(1_000):
                yield from batch.to_pylist()
        return
    with in_utf8(file), file.open(encoding="utf-8-sig", newline="\n") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"Line {number} of {file} is not JSON ({error.msg}, column {error.colno}): a .jsonl has one object "
                    "per line."
                ) from error
            if not isinstance(row, dict | str):
                raise ValueError(f"Line {number} of {file} is {row!r:.60}, no row: a .jsonl has one object per line.")
            yield row
