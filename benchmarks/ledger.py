"""The ledger: claims of the four papers as printed, what was tested, and a verdict in one of four words.

    python benchmarks/ledger.py --out data/recorded

It has two kinds of claims. *Printed*: the paper's sentence against the paper's own table (`ck.papers.table`). *Run*:
the same question asked of the tables recorded here, at a scale that anyone can repeat. Rules for the verdict:

* printed: held where the table says what the sentence says, else not held;
* run: an interval of 95 % (Student's t over independent draws or seeds, paired): held where it lies above zero, not
  held where it lies below, unclear where it holds zero (so is a printed difference that has printed deviations);
* a run whose encoders had not learned their own task, or were pre-trained once, decides nothing: set aside, unclear;
* what needs models or data that cannot be had here: untestable here.

Nothing is trained; every number comes from a table, so the ledger is made anew whenever a table is.
"""

import argparse
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _ledger_printed import capt_printed, cmlm_printed, coco_printed, scl_printed
from _ledger_rows import HELD, NOT_HELD, PAPERS, UNCLEAR, UNTESTABLE
from _ledger_trials import (
    books_runs,
    few_label_runs,
    not_decided,
    picture_runs,
    scoreboard_runs,
)
from _origin import write_origin

import contrast_kit as ck


def ledger() -> pd.DataFrame:
    parts = (cmlm_printed, coco_printed, scl_printed, capt_printed, few_label_runs, picture_runs, scoreboard_runs)
    parts += (books_runs, not_decided)
    table = pd.DataFrame([row for part in parts for row in part()])
    order = table["paper"].map(list(PAPERS.values()).index)
    table = table.assign(order=order).sort_values("order", kind="stable").drop(columns="order")
    origins = {source: origin(source) for source in table["source"].unique()}
    for fact in ("command", "commit"):
        table[fact] = [origins[source].get(fact) for source in table["source"]]
    return table.round({"effect": 3, "low": 3, "high": 3, "p": 4, "printed": 2}).reset_index(drop=True)


def origin(source: str) -> dict[str, object]:
    """Which command made a recorded table, at which commit, …; {} for what is not one: a printed table, or nothing."""
    try:
        return ck.data.recorded(source).attrs
    except FileNotFoundError:
        return {}


def luck(table: pd.DataFrame) -> str:
    """What the verdicts are made of, and how many of them luck alone would bring."""
    from scipy.stats import false_discovery_control

    trials = table[table.p.notna()]
    asked = trials[~trials.set_aside.astype(bool)]
    kinds = {word: ((table.verdict == word).sum(), (asked.verdict == word).sum()) for word in (HELD, NOT_HELD)}
    of_text = " and ".join(f"{every - tried} of the {every} *{word}*" for word, (every, tried) in kinds.items())
    p = np.sort(asked.p.to_numpy())
    holm = np.argmin([*(p <= 0.05 / np.arange(len(p), 0, -1)), False])
    fair = (false_discovery_control(p) <= 0.05).sum()
    return (
        f"The verdicts mean two things: {of_text} are sentences against their own paper's table, the others are "
        "trials. A trial is a question asked of runs of ours: *held* where its 95 % interval lies wholly above zero, "
        f"*not held* where wholly below, *unclear* where it holds zero. Of {len(trials)} trials "
        f"{len(trials) - len(asked)} are set aside, and read *unclear* whatever their interval: an encoder had not "
        "learned its own task, or was pre-trained only once (the column “tested” says which). Of the "
        f"{len(asked)} judged by their intervals {sum(tried for _, tried in kinds.values())} are decided, where luck "
        f"alone would decide {0.05 * len(asked):.1f}. Corrected for their number, {holm} are left if not even one may "
        f"be false (Holm's rule at 5 %), and {fair} if one in twenty of those left may be (Benjamini and Hochberg's). "
        "An interval covers draws or seeds, not another start, test set or rate."
    )


SETTINGS = """
*Printed lead* is the same difference in the paper's own table: of the same task, or, for tasks of ours, the median of
the table's tasks with as many labels. It is in points, and empty where no printed number stands beside the trial. An
interval far wider than this lead could not have told it from zero.

*Runs of ours have our settings, not the papers'.* With few labels CMLM reads its texts 20, 6 or 2 times (the paper:
200, 50, 5), takes the mean over tokens in place of the first, and searches its rates. SCL has λ = τ = 0.3 in every task
(the paper tunes λ for each), the mean over anchors in place of eq. 3's sum, and is judged by all draws in place of the
top 3 of 10; its tables are those of its first edition.
"""


def page(table: pd.DataFrame) -> str:
    """The ledger as a page of Markdown."""
    counts = ", ".join(f"{(table.verdict == word).sum()} {word}" for word in (HELD, NOT_HELD, UNCLEAR, UNTESTABLE))
    made = "Made by `python benchmarks/ledger.py --out data/recorded`; the rules stand at the top of that script."
    summary = f"{len(table)} rows: {counts}. {made} A claim may have several rows, one for each test."
    lines = ["# The ledger: what the papers claim, and what becomes of it", ""]
    lines += [*textwrap.wrap(summary, 120), "", *textwrap.wrap(luck(table), 120), *SETTINGS.splitlines(), ""]
    for paper, rows in table.groupby("paper", sort=False):
        lines += [
            f"## {paper}",
            "",
            "| place | claim | tested | scale | effect (95 %) | printed lead | verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in rows.itertuples():
            effect = "–" if pd.isna(row.effect) else f"{row.effect:g} {row.unit}"
            effect += "" if pd.isna(row.low) else f" ({row.low:g} to {row.high:g})"
            own = "" if pd.isna(row.printed) else f"{row.printed:g}"
            cells = (
                row.place,
                row.claim,
                row.tested,
                f"{row.scale}; `{row.source}`",
                effect,
                own,
                f"**{row.verdict}**",
            )
            lines.append(f"| {' | '.join(map(str, cells))} |")
        lines.append("")
    lines += ["## Where the numbers come from", ""]
    lines += ["| recorded table | claims | command | commit |", "|---|---|---|---|"]
    for (source, command, commit), rows in table.groupby(["source", "command", "commit"], sort=False):
        lines.append(f"| `{source}` | {len(rows)} | `{command}` | {commit} |")
    lines += ["", "The others are held against what the papers print (`papers.table`), or were not tested.", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    chosen, began = parser.parse_args(), time.process_time()
    table = ledger()
    chosen.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(chosen.out / "ledger.csv", index=False, lineterminator="\n")
    (chosen.out / "ledger.md").write_text(page(table), encoding="utf-8")
    write_origin(chosen.out / "ledger.csv", "ledger", time.process_time() - began, {"claims": len(table)})
    print(page(table))


if __name__ == "__main__":
    main()
