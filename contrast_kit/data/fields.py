"""Files of separated fields, row by row: the separator, quotes, line ends, and rows of uneven length."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from contrast_kit.data.utf8 import in_utf8

_SEPARATOR_LINE = re.compile("sep=(.)")  # Excel's


def separator_of(file: Path) -> str:
    """The ending's; for a `.csv` the one that Excel's line `sep=;` names, or what its first lines hold.

    That is a semicolon where the first line has one and neither comma nor tab; a tab where each of the first twenty
    lines has two or more, and at least a quarter as many as commas; else a comma.
    """
    if file.suffix.lower() != ".csv":
        return "\t"
    with file.open(encoding="utf-8-sig", newline="\n") as lines:
        head = [line for line in islice(lines, 20) if line.strip()] or [""]
    first = head[0].split("\r")[0].rstrip("\n")
    if named := _SEPARATOR_LINE.fullmatch(first):
        return named[1]
    if ";" in first and "," not in first and "\t" not in first:
        return ";"
    tabs = all(line.count("\t") >= max(2, line.count(",") // 4) for line in head)
    return "\t" if tabs and not first.startswith('"') else ","


def rows_of(file: Path, separator: str, quoted: bool) -> tuple[list[list[str]], str]:
    """The fields of each row, and in words what is wrong with them; "" where each row has as many as the first.

    A row may end with one more separator, and lack fields at its end that another row leaves empty, as in MultiNLI's
    files.
    """
    rows: list[list[str]] = []
    short: list[tuple[int, list[str]]] = []
    try:
        for line, fields in fields_of(file, separator, quoted):
            width = len(rows[0]) if rows else len(fields)
            if len(fields) == width + 1 and not fields[-1]:
                fields.pop()
            if len(fields) > width:
                return rows, f"line {line} has {len(fields)} fields, the first row {width}"
            if len(fields) < width:
                short.append((line, fields))
            rows.append(fields)
    except csv.Error as error:
        return rows, str(error)
    empty = {at for row in rows if short and len(row) == width for at, field in enumerate(row) if not field}
    for line, fields in short:
        if not empty.issuperset(range(len(fields), width)):
            return rows, f"line {line} ends after {len(fields)} of {width} fields"
        fields += [""] * (width - len(fields))
    return rows, ""


def fields_of(file: Path, separator: str, quoted: bool) -> Iterator[tuple[int, list[str]]]:
    """The lines with which rows begin, and their fields; `csv.Error` at the end where a quote is left open."""
    with in_utf8(file), file.open(encoding="utf-8-sig", newline="\n") as lines:
        first = next(lines, "")
    skipped = bool(_SEPARATOR_LINE.fullmatch(first.split("\r")[0].rstrip("\n")))
    # without quotes a lone CR ends no row, unless the file has no other line ends
    newline = "\n" if first.endswith("\n") and not quoted else ""
    with in_utf8(file), file.open(encoding="utf-8-sig", newline=newline) as lines, _long_fields():
        start = 1 + skipped
        rest = islice(lines, skipped, None)
        if not quoted:
            for number, line in enumerate(rest, start):
                if line.strip(" \r\n"):
                    yield number, line.rstrip("\r\n").split(separator)
            return
        fields: list[str] = []
        reader = csv.reader(chain(rest, [""]), delimiter=separator)  # the last is a row without fields …
        for fields in reader:
            if fields and not (len(fields) == 1 and fields[0].isspace()):
                yield start, fields
            start, before = 1 + skipped + reader.line_num, start
        if fields:  # … unless it stands in a quote
            raise csv.Error(f"the quote in line {before} is left open")


@contextmanager
def _long_fields() -> Iterator[None]:
    """Lift the 131,072 characters that the standard library allows a field, for the time being."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def fields_in_quotes(file: Path, separator: str) -> bool:
    """Whether quotes enclose fields: lines have other numbers of fields than the first, and every quote has its pair.

    Where each line is a row, no quoted field holds a line end or a separator, and quotes belong to the text.
    """
    with file.open(encoding="utf-8-sig", newline="\n") as lines:
        if len({line.count(separator) for line in lines if line.strip()}) <= 1:
            return False
    with file.open(encoding="utf-8-sig", newline="") as lines, _long_fields():
        try:
            for _ in csv.reader(lines, delimiter=separator, strict=True):
                pass
        except csv.Error:
            return False
    return True
