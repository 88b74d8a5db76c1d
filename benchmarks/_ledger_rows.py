"""Rows of the ledger: what a claim, a printed table and a trial have in common."""

from collections.abc import Callable

import pandas as pd

import contrast_kit as ck

PAPERS = {"cmlm": "CMLM", "coco_lm": "COCO-LM", "scl": "SCL", "capt": "CAPT"}
TRIED = ("held", "weakly held", "smaller than printed", "not held", "inconclusive", "void", "not tried")
"""Verdicts on trials and on what nobody has tried."""
SUMS = ("agrees", "misprint")
"""Verdicts on a paper's arithmetic: its sentence beside its own table."""
COLUMNS = (
    *("paper", "place", "claim", "kind", "tested", "scale", "effect", "low", "high", "p", "unit", "printed"),
    *("draws", "needed", "void", "verdict", "source"),
)
Row = dict[str, object]


def entry(paper: str, place: str, claim: str, kind: str, **found: object) -> Row:
    """A row with every column; `found` holds those that are known."""
    about = {"paper": PAPERS[paper], "place": place, "claim": claim, "kind": kind}
    return dict.fromkeys(COLUMNS) | about | found


def tables(paper: str) -> Callable[[int], pd.DataFrame]:
    return lambda number: ck.papers.table(paper, number)


def tasks_of(table: pd.DataFrame, *others: str) -> list[str]:
    """The columns that are scores."""
    return [name for name in table if not name.endswith(" sd") and name not in ("n", "method", "task", *others)]


def printed(paper: str, number: int, section: str, claim: str, tested: str, effect: float, unit: str, holds: bool):
    """A sentence of a paper beside the paper's own table."""
    found = dict(effect=round(effect, 4), unit=unit, verdict="agrees" if holds else "misprint")
    found |= dict(tested=tested, scale=f"the paper's table {number}", source=f"papers.table({paper!r}, {number})")
    return entry(paper, section, claim, "arithmetic", **found)
