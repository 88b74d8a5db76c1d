"""Rows of the ledger: what a claim, a printed table and a trial have in common."""

from collections.abc import Callable

import numpy as np
import pandas as pd

import contrast_kit as ck
from contrast_kit.tasks import interval

HELD, NOT_HELD, UNCLEAR, UNTESTABLE = "held", "not held", "unclear", "untestable here"
PAPERS = {"cmlm": "CMLM", "coco_lm": "COCO-LM", "scl": "SCL", "capt": "CAPT"}
Row = dict[str, object]


def entry(paper: str, place: str, claim: str, tested: str, scale: str, **found: object) -> Row:
    """A row; `found` holds the others: effect, low, high, p, unit, the paper's own lead, set aside, verdict, source."""
    blank = dict.fromkeys(("effect", "low", "high", "p", "unit", "printed", "set_aside", "verdict", "source"))
    return {"paper": PAPERS[paper], "place": place, "claim": claim, "tested": tested, "scale": scale} | blank | found


def tables(paper: str) -> Callable[[int], pd.DataFrame]:
    return lambda number: ck.papers.table(paper, number)


def tasks_of(table: pd.DataFrame, *others: str) -> list[str]:
    """The columns that are scores."""
    return [name for name in table if not name.endswith(" sd") and name not in ("n", "method", "task", *others)]


def printed(paper: str, number: int, section: str, claim: str, tested: str, effect: float, unit: str, holds: bool):
    verdict = HELD if holds else NOT_HELD
    found = dict(effect=round(effect, 4), unit=unit, verdict=verdict, source=f"papers.table({paper!r}, {number})")
    return entry(paper, section, claim, tested, f"the paper's table {number}", **found)


def judged(low: float, high: float) -> str:
    return HELD if low > 0 else NOT_HELD if high <= 0 else UNCLEAR


def difference(table: pd.DataFrame, one: str, other: str, key: str = "method", unit: tuple = ("draw",)) -> np.ndarray:
    """Paired differences in points of the test score, one for each independent draw (or seed)."""
    each = table.groupby([key, *unit])["test"].mean()
    return 100 * (each[one] - each[other]).dropna().to_numpy()


def run(
    paper: str,
    place: str,
    claim: str,
    tested: str,
    scale: str,
    values: np.ndarray,
    source: str,
    lead: float | None = None,
    doubt: str = "",
) -> Row:
    """A trial: one difference for each draw or seed; `lead` is what the paper prints of it, a `doubt` sets it aside."""
    from scipy.stats import ttest_1samp

    low, high = interval(values)
    found = dict(effect=values.mean(), low=low, high=high, p=ttest_1samp(values, 0).pvalue, unit="points")
    found |= dict(printed=lead, set_aside=bool(doubt), verdict=UNCLEAR if doubt else judged(low, high), source=source)
    return entry(paper, place, claim, "; ".join(filter(None, (tested, doubt))), scale, **found)


def printed_lead(paper: str, number: int, one: str, other: str, task: str | None = None, n: int | None = None) -> float:
    """What the paper's table prints of the same difference, in points: of one task, or the median of its tasks."""
    table = ck.papers.table(paper, number)
    table = (table if n is None else table[table["n"] == n]).set_index("method")[tasks_of(table, "setting")]
    gaps = (table.loc[one] - table.loc[other]).astype(float) * (100 if paper == "cmlm" else 1)
    return gaps[task] if task else gaps.median()
