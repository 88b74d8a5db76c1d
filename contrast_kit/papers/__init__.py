"""The papers' published tables of results and, in `settings`, how they trained. Facts, as printed; none measured here.

Our numbers come from small encoders and short runs, theirs from RoBERTa and days of training: show them side by side,
never in one column.
"""

from typing import TYPE_CHECKING

from contrast_kit import arguments, checks
from contrast_kit.papers import capt, cmlm, coco_lm, scl, settings
from contrast_kit.papers.settings import training

if TYPE_CHECKING:
    import pandas as pd

_PAPERS = {"cmlm": cmlm, "scl": scl, "coco_lm": coco_lm, "capt": capt}

__all__ = ["available", "cells", "settings", "table", "training"]


def available() -> dict[str, dict[int, str]]:
    """The tables that `table` knows: by paper, their numbers with their captions.

    >>> from contrast_kit import papers
    >>> papers.available()["cmlm"][2]
    'Full-size training sets: MCC for CoLA, accuracy elsewhere; mean of 3 seeds'
    """
    return {
        paper: {number: caption for number, (caption, _, _) in module.TABLES.items()}
        for paper, module in _PAPERS.items()
    }


def table(paper: str, number: int) -> "pd.DataFrame":
    """A published table, one row per printed row; its caption is in `.attrs["caption"]`.

    Numbers are as printed (CMLM: fractions; the others: percent). Where a deviation is printed, a column `… sd` stands
    beside the mean, in the mean's unit (CMLM prints it in units of 10^-2). Where two numbers are printed in one cell
    (COCO-LM's MNLI), they become two columns. What is not printed is NaN.

    Args:
        paper: `"cmlm"`, `"scl"`, `"coco_lm"` or `"capt"`.
        number: the table's number in the paper. Tables of sentences, of kinds of noise and, but for SCL's, of the sizes
            of GLUE's tasks are not here; those of settings are in `papers.settings`.

    Raises:
        ValueError: for a paper or a table that is not here; the message names those that are.

    >>> from contrast_kit import papers
    >>> papers.table("scl", 4)[["n", "method", "SST-2", "SST-2 sd"]].head(2)
        n    method  SST-2  SST-2 sd
    0  20        CE   85.9       2.1
    1  20  CE + SCL   88.1       3.3
    """
    import pandas as pd

    arguments.known(paper, _PAPERS, "paper")
    module = _PAPERS[paper]
    if not checks.is_number(number) or number not in module.TABLES:
        there = ", ".join(map(str, module.TABLES))
        raise ValueError(f"{paper} has the tables {there}, not {checks.shown(number)}.")
    caption, header, block = module.TABLES[number]
    *keys, columns = (part.strip() for part in header.split("|"))
    rows = [_row(line, keys, columns.split(), module.SD_UNIT) for line in block.strip().splitlines()]
    frame = pd.DataFrame(rows)
    frame.attrs["caption"] = caption
    return frame


def cells(paper: str, number: int) -> "pd.DataFrame":
    """The same table with one row for each printed number: its keys (`method`, often `n`), `column`, `score` and `sd`.

    For counting over columns, such as on how many tasks one method is above another. `sd` is NaN where none is printed.

    >>> from contrast_kit import papers
    >>> papers.cells("scl", 4).query("n == 20 and column == 'SST-2'")[["method", "score", "sd"]]
         method  score   sd
    0        CE   85.9  2.1
    1  CE + SCL   88.1  3.3
    """
    printed = table(paper, number)
    keys = [part.strip() for part in _PAPERS[paper].TABLES[number][1].split("|")[:-1]]
    columns = [name for name in printed if name not in keys and not name.endswith(" sd")]
    tall = printed.melt(keys, columns, "column", "score")
    sds = printed.reindex(columns=keys + [f"{name} sd" for name in columns]).melt(keys, value_name="sd")
    return tall.assign(sd=sds["sd"])


def _row(line: str, keys: list[str], columns: list[str], sd_unit: float) -> dict[str, str | int | float]:
    *names, cells = (part.strip() for part in line.split("|"))
    row = {key: int(name) if name.isdigit() else name for key, name in zip(keys, names, strict=True)}
    for column, cell in zip(columns, cells.split(), strict=True):
        row |= _cell(column, cell, sd_unit)
    return row


def _cell(column: str, cell: str, sd_unit: float) -> dict[str, float]:
    """One printed cell: a number, `mean±sd`, or `matched/mismatched`."""
    if "/" in cell:  # the column is called MNLI-(m/mm)
        name = column.partition("-")[0]
        return {f"{name}-{half}": _number(value) for half, value in zip(("m", "mm"), cell.split("/"), strict=True)}
    if "(m/mm)" in column:
        raise ValueError(f"The cell {cell!r} should hold two numbers.")
    if "±" in cell:
        mean, sd = cell.split("±")
        return {column: _number(mean), f"{column} sd": round(float(sd) * sd_unit, 6)}
    return {column: _number(cell)}


def _number(text: str) -> float:
    return float("nan") if text == "-" else float(text)
