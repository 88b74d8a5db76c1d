"""The ledger: claims of the four papers, what was tested, and a verdict on each test.

    python benchmarks/ledger.py --out data/recorded

Two kinds of claims are kept apart. *Trials* (`ledger.toml`) ask the claim again of the tables recorded here, at a scale
that anyone can repeat: a paired difference, and its interval of 95 % (Student's t over independent draws or seeds).

* held: the interval lies above zero, p is at most .01, and the lead survives the number of trials (at most one in
  twenty of those left may be false: Benjamini and Hochberg); weakly held: above zero, but not so
* smaller than printed: the interval holds zero and excludes the lead that the paper prints
* not held: the interval lies at or below zero; inconclusive: it holds zero, and the printed lead, if one is printed
* void: an encoder has not learned its own task, or was pre-trained once; not tried: the reason stands there

*Arithmetic* is a paper's sentence beside the paper's own table (`ck.papers.table`): agrees, or misprint; inconclusive
where the paper prints deviations and they leave it open.

Nothing is trained; every number comes from a table, so the ledger is made anew whenever a table is.
"""

import argparse
import textwrap
import time
from pathlib import Path

import pandas as pd
from _ledger_printed import capt_printed, cmlm_printed, coco_printed, scl_printed
from _ledger_rows import COLUMNS, PAPERS, SUMS, TRIED
from _ledger_trials import trials
from _origin import write_origin

import contrast_kit as ck

ABOUT = """\
A *trial* asks a claim again of runs of ours: a paired difference with its 95 % interval over draws or seeds. *Held*: it
lies above zero, p ≤ .01, and it survives the number of trials (Benjamini and Hochberg, 5 %). *Weakly held*: above zero,
but not so. *Smaller than printed*: it holds zero and excludes the lead that the paper prints (▽ in the plots; of the
same task, or the median of the table's tasks with as many labels). *Not held*: it lies below zero. *Inconclusive*: it
holds zero and the printed lead; where it is over twice as wide as that lead, this size could not have decided, and the
draws stand there that could. *Void*: an encoder had not learned its own task, or was pre-trained once. An interval
covers draws or seeds, not another start, test set or rate.

*Runs of ours have our settings, not the papers'.* With few labels CMLM reads its texts 20, 6 or 2 times (the paper:
200, 50, 5), takes the mean over tokens in place of the first, and searches its rates. SCL has λ = τ = 0.3 in every task
(the paper tunes λ for each), the mean over anchors in place of eq. 3's sum, and is judged by all draws in place of the
top 3 of 10; its tables are those of its first edition.
"""
WIDTH = 33
"""Characters of a forest plot; zero stands in the middle."""


def ledger() -> pd.DataFrame:
    """All tests, one row each, by paper; trials before arithmetic."""
    sums = [row for part in (cmlm_printed, coco_printed, scl_printed, capt_printed) for row in part()]
    table = pd.DataFrame([*trials(), *sums], columns=list(COLUMNS))
    order = table["paper"].map(list(PAPERS.values()).index)
    table = table.assign(order=order).sort_values("order", kind="stable").drop(columns="order")
    origins = {source: origins_of(source) for source in table["source"].unique()}
    for fact in ("command", "commit"):
        known = {source: [origin[fact] for origin in origins[source]] for source in origins}
        table[fact] = [" + ".join(dict.fromkeys(known[source])) or None for source in table["source"]]
    return table.round({"effect": 3, "low": 3, "high": 3, "p": 4, "printed": 2}).reset_index(drop=True)


def origins_of(source: str) -> list[dict]:
    """Which command made each recorded table, at which commit, …; [] for a printed table, or nothing."""
    try:
        return [ck.data.recorded(name).attrs for name in source.split(" + ")]
    except FileNotFoundError:
        return []


def counts(table: pd.DataFrame, kind: str, words: tuple[str, ...]) -> str:
    verdicts = table[table["kind"] == kind]["verdict"]
    return ", ".join(f"{(verdicts == word).sum()} {word}" for word in words if (verdicts == word).any())


def bar(row, reach: float) -> str:
    """A forest plot of one test: ├──●──┤ is the interval, │ zero, ▽ the printed lead; one scale for a whole claim."""
    middle = WIDTH // 2

    def at(value: float) -> int:
        return middle + round(middle * max(-1.0, min(1.0, value / reach)))

    cells = [" "] * WIDTH
    cells[at(row.low) : at(row.high) + 1] = "─" * (at(row.high) - at(row.low) + 1)
    cells[middle] = "│"
    cells[at(row.low)], cells[at(row.high)], cells[at(row.effect)] = "├", "┤", "●"
    if pd.notna(row.printed):
        cells[at(row.printed)] = "▽"
    return "".join(cells)


def forest(rows: pd.DataFrame) -> list[str]:
    """The tests of one claim, a line each."""
    reach = rows[["low", "high", "printed"]].abs().max().max()
    lines = []
    for row in rows.itertuples():
        interval = f"{row.effect:.2f} ({row.low:.2f} to {row.high:.2f})"
        why = f": {row.void}" if isinstance(row.void, str) else ""
        if pd.notna(row.needed):
            why = f": undecidable at this size, about {row.needed:,.0f} {row.scale.split()[-1]} would do"
        lines.append(f"{bar(row, reach)} {interval:>24}  {row.verdict}{why}; {row.tested} ({row.scale})")
    return lines


def page(table: pd.DataFrame) -> str:
    """The ledger as a page of Markdown: a claim, a forest plot of its tests, and the sums apart."""
    tried, sums = (table[table["kind"].isin(kinds)] for kinds in (("trial", "not tried"), ("arithmetic",)))
    lines = ["# The ledger: what the papers claim, and what becomes of it", ""]
    head = (
        f"{len(tried.drop_duplicates(['paper', 'place', 'claim']))} claims were to be tried. "
        f"Trials: {counts(table, 'trial', TRIED)}; {(table['kind'] == 'not tried').sum()} claims not tried. "
        f"Arithmetic, a paper's sentence beside its own table: {counts(table, 'arithmetic', (*SUMS, 'inconclusive'))}. "
        "Made by `python benchmarks/ledger.py --out data/recorded`; the rules stand at the top of that script."
    )
    lines += [*textwrap.wrap(head, 120), "", *ABOUT.splitlines(), ""]
    for paper, rows in tried.groupby("paper", sort=False):
        lines += [f"## {paper}", ""]
        for (place, claim), tests in rows.groupby(["place", "claim"], sort=False):
            lines += [f"**{claim}** ({place})", ""]
            if (tests["kind"] == "not tried").all():
                lines += [f"*Not tried*: {tests['tested'].iloc[0]}.", ""]
            else:
                lines += ["```text", *forest(tests), "```", ""]
    lines += ["## Arithmetic", "", "| paper | place | sentence | its table | result | verdict |"]
    lines += ["|---|---|---|---|---|---|"]
    for row in sums.itertuples():
        cells = (row.paper, row.place, row.claim, f"{row.tested}; `{row.source}`", f"{row.effect:g} {row.unit}")
        lines.append(f"| {' | '.join(cells)} | **{row.verdict}** |")
    lines += ["", "## Where the numbers come from", ""]
    lines += ["| recorded table | tests | command | commit |", "|---|---|---|---|"]
    names = tried["source"].str.split(" + ", regex=False).explode()
    for name in names[names != "–"].unique():
        (origin,) = origins_of(name)
        lines.append(f"| `{name}` | {(names == name).sum()} | `{origin['command']}` | {origin['commit']} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    chosen, began = parser.parse_args(), time.process_time()
    table = ledger()
    chosen.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(chosen.out / "ledger.csv", index=False, lineterminator="\n")
    (chosen.out / "ledger.md").write_text(page(table), encoding="utf-8")
    write_origin(chosen.out / "ledger.csv", "ledger", time.process_time() - began, {"tests": len(table)})
    print(page(table))


if __name__ == "__main__":
    main()
