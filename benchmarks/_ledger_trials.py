"""Claims asked again of the tables recorded here: `ledger.toml` says which differences, this file judges them."""

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from _ledger_rows import Row, entry, tasks_of

import contrast_kit as ck
from contrast_kit.tasks import interval

CLAIMS = tomllib.loads(Path(__file__).with_name("ledger.toml").read_text(encoding="utf-8"))["claim"]
WEAK = 0.01
"""A lead whose p is larger is held weakly."""


def trials() -> list[Row]:
    """All claims of `ledger.toml` with their tests, judged together: a lead must survive the number of trials."""
    rows = [row for claim in CLAIMS for row in of_claim(claim)]
    asked = [row for row in rows if row["verdict"] is None]
    for row, survives in zip(asked, surviving([row["p"] for row in asked]), strict=True):
        row["verdict"] = judged(row, survives)
        if row["verdict"] == "inconclusive":
            row["needed"] = draws_needed(row)
    return rows


def of_claim(claim: dict) -> Iterator[Row]:
    about = (claim["paper"], claim["place"], claim["says"])
    if "untried" in claim:
        yield entry(*about, "not tried", tested=claim["untried"], scale="–", source="–", verdict="not tried")
    for test in claim.get("test", []):
        for one, other, n in itertools.product(test["one"], test["other"], test.get("n", [None])):
            yield entry(*about, "trial", **measured(claim, test, one, other, n))


def measured(claim: dict, test: dict, one: str, other: str, n: int | None) -> dict:
    """What one test found."""
    from scipy.stats import ttest_1samp

    gaps = differences(test, one, other, n)
    low, high = interval(gaps)
    lead = printed_lead(claim, test, n)
    labels = f", {n:,} labels" if n else ""
    names = [name.removesuffix(" → FT") for name in (one, other)]
    return {
        "tested": f"{names[0]} − {names[1]}, {test['on']}{labels}",
        "scale": f"{test['scale']}, {len(gaps)} {test.get('pair', ['draw'])[0]}s",
        "effect": gaps.mean(),
        "low": low,
        "high": high,
        "p": ttest_1samp(gaps, 0).pvalue,
        "unit": test.get("unit", "points"),
        "printed": lead,
        "draws": len(gaps),
        "void": test.get("void"),
        "verdict": "void" if "void" in test else None,
        "source": " + ".join(test["table"]),
    }


def differences(test: dict, one: str, other: str, n: int | None) -> np.ndarray:
    """`one` − `other`, times 100: one for each draw (or seed), the mean over what else differs."""
    table = pd.concat([ck.data.recorded(name) for name in test["table"]])
    wanted = test.get("rows", {}) | ({} if n is None else {"n": n})
    for column, value in wanted.items():
        table = table[table[column].isin(np.atleast_1d(value))]
    each = table.groupby([test.get("key", "method"), *test.get("pair", ["draw"])])[test.get("value", "test")].mean()
    return test.get("points", 100) * (each[one] - each[other]).dropna().to_numpy()


def printed_lead(claim: dict, test: dict, n: int | None) -> float | None:
    """What the paper's table prints of the same difference, in points: of one task, or the median of its tasks."""
    if (lead := claim.get("lead")) is None:
        return None
    table = ck.papers.table(claim["paper"], lead["table"])
    if "setting" in lead:
        table = table[table["setting"] == lead["setting"]]
    if "n" in table:
        table = table[table["n"] == n]
    if table.empty:
        return None  # it has no such number of labels
    table = table.set_index("method")[tasks_of(table, "setting")]
    gaps = (table.loc[lead["one"]] - table.loc[lead["other"]]).astype(float)
    gaps *= 100 if claim["paper"] == "cmlm" else 1
    task = test.get("task", lead.get("task"))
    return gaps[task] if task else gaps.median()


def draws_needed(row: Row) -> int | None:
    """How many draws would make half of the interval as short as the printed lead, where it is over twice as long."""
    half, lead = (row["high"] - row["low"]) / 2, row["printed"]
    if lead is None or lead <= 0 or half <= 2 * lead:
        return None
    return int(np.ceil(row["draws"] * (half / lead) ** 2))


def surviving(p: list[float]) -> np.ndarray:
    """Which trials are left if one in twenty of those left may be false (Benjamini and Hochberg)."""
    from scipy.stats import false_discovery_control

    return false_discovery_control(p) <= 0.05


def judged(row: Row, survives: bool) -> str:
    """The verdict on a trial that is not void, by its interval of 95 %."""
    if row["low"] > 0:
        return "held" if survives and row["p"] <= WEAK else "weakly held"
    if row["high"] <= 0:
        return "not held"
    if row["printed"] is not None and row["high"] < row["printed"]:
        return "smaller than printed"
    return "inconclusive"
