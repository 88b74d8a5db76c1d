"""A table with one row per run, and its statistics: means, deviations, intervals, paired differences."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit._util import choose, progress_bar
from contrast_kit.data.drafts import draft_of
from contrast_kit.tasks.protocol import Protocol

if TYPE_CHECKING:
    import pandas as pd

KEY = ("method", "task", "n", "draw", "seed")
"""The columns that identify a run."""
TEXT = (
    "method",
    "task",
    "metric",
    "split",
    "start",
    "post",
    "setting",
    "chosen",
)
KIND = ["task", "n", "method"]
"""The columns that runs share which one row of statistics describes."""
MISMATCHED = "test_mismatched"
"""The column with the score on MNLI's mismatched rows, where the protocol tests on them."""
RULES = {
    "mean": "mean of all runs",
    "median": "median of all runs",
    "best": "best run by validation",
    "top": "mean of the top {} by validation",
}


@dataclass
class Results:
    """All runs of a protocol so far.

    `table` is tidy: one row per run, with `method`, `task`, `n`, `draw`, `seed`, the `metric`, its value on
    `validation` (at the best step), on `test`, and on `test_mismatched` where the protocol asks for it; `split` (the
    `split_hash` of the rows), `start` (the `encoder_hash` of the encoder that the run started from), `post` (the
    `weights_hash` of what fine-tuning started from), `best_step`, `steps`, `seconds`, and `chosen` (the point of a
    protocol's grid within a run). `complete` is False after an interruption.

    Runs from several starts can share one table: give the methods of each start names of their own and concatenate the
    rows. With one protocol and one data set, the runs pair up row by row.

    >>> import pandas as pd
    >>> from contrast_kit.tasks import Results, protocols
    >>> def runs(scores):  # as the table of tasks.run(protocol, data, start, ["FT"])
    ...     return pd.DataFrame({"method": "FT", "task": "mine", "n": 20, "draw": range(2), "seed": 0, "test": scores})
    >>> ours = runs([0.7, 0.9]).assign(method="FT from ours")
    >>> both = Results(pd.concat([runs([0.6, 0.7]), ours]), protocols.CMLM)
    >>> both.differences("FT")[["method", "difference", "pairs"]]
             method  difference  pairs
    0  FT from ours        0.15      2
    """

    table: "pd.DataFrame"
    protocol: Protocol | None
    """What is reported; None takes the mean of all runs."""
    complete: bool = True

    def __post_init__(self):
        twice = self.table[self.table.duplicated(list(KEY))]
        if len(twice):
            run = ", ".join(f"{name} {twice[name].iloc[0]}" for name in KEY)
            raise ValueError(
                f"Two runs have {run}, and would count as one method: where they are from two starts, rename the "
                "method of one table, table.assign(method='…')."
            )
        self.protocol = self.protocol or Protocol("no protocol")

    def summary(self) -> "pd.DataFrame":
        """One row for each task, size and method, with the number that the protocol reports.

        Columns: `reported`, by the protocol's rule (`rule`), and `reported_sd`, the deviation of the runs behind it,
        with the protocol's `ddof`; `mean`, `sd` (n - 1 in its denominator), `lowest`, `highest` and number of *all*
        `runs`; `low` and `high`, the 95 % confidence interval of the mean by Student's t. Runs on one draw share
        their training rows, so where there are several draws it is their means that count as independent: 5 draws × 3
        seeds are 5 observations, not 15. With one observation there is no interval: the cell is empty. MNLI has a
        second row, "…-mm", where the protocol also tests on the mismatched rows.
        """
        import pandas as pd

        rows, rule = [], self.protocol.report
        for kind, runs in self._runs().groupby(KIND, sort=False):
            test, reported = runs["test"], selected_runs(runs, self.protocol)["test"]
            row = {
                "metric": runs["metric"].iloc[0],
                "reported": reported.agg("median" if rule == "median" else "mean"),
                "reported_sd": reported.std(ddof=self.protocol.ddof),
                "rule": RULES[rule].format(self.protocol.top),
                "mean": test.mean(),
                "lowest": test.min(),
                "highest": test.max(),
                "runs": len(runs),
            }
            rows.append(row | _about(kind, runs, "test"))
        return pd.DataFrame(rows)

    def differences(self, baseline: str) -> "pd.DataFrame":
        """Each method against `baseline`, run by run: same task, rows, and seed on both sides.

        Pairing removes the luck of a draw, which both share. Columns: the mean `difference` on the test rows, `sd`,
        `pairs`, `low` and `high` (over draws, as in `summary`), and `wins`, the share of pairs in which the method is
        better (ties count half).

        Raises:
            ValueError: if there is no run of `baseline`, or it had other rows (`split`) at the same draw.
        """
        import pandas as pd

        runs = self._runs()
        choose(dict.fromkeys(runs["method"]), baseline, "run of")
        base = runs["method"] == baseline
        same = ["task", "n", "draw", "seed"]
        pairs = runs[~base].merge(runs[base], on=same, suffixes=("", "_base"))
        if "split" in pairs:
            other = pairs[pairs["split"] != pairs["split_base"]]
            if len(other):
                raise ValueError(
                    f"{other['method'].iloc[0]} and {baseline} had other rows at the same draw (split): they are no "
                    "pairs."
                )
        pairs["difference"] = pairs["test"] - pairs["test_base"]
        rows = []
        for kind, of in pairs.groupby(KIND, sort=False):
            d = of["difference"]
            row = {"baseline": baseline, "difference": d.mean(), "pairs": len(d)}
            row["wins"] = (np.sign(d).mean() + 1) / 2
            rows.append(row | _about(kind, of, "difference"))
        return pd.DataFrame(rows)

    def intervals(self, baseline: str) -> dict[str, tuple[float, float, float]]:
        """The `differences` of one task and size as `plots.intervals` takes them, by method."""
        rows = self.differences(baseline)
        if rows["method"].duplicated().any():
            raise ValueError(
                "These are runs of several tasks or sizes: choose the rows of one."
            )
        values = rows[["difference", "low", "high"]].itertuples(index=False, name=None)
        return dict(zip(rows["method"], values, strict=True))

    def _runs(self) -> "pd.DataFrame":
        """All runs; MNLI's scores on the mismatched rows follow as those of a task "…-mm"."""
        import pandas as pd

        if MISMATCHED not in self.table:
            return self.table
        other = self.table.dropna(subset=[MISMATCHED])
        other = other.assign(task=other["task"] + "-mm", test=other[MISMATCHED])
        return pd.concat([self.table, other])


def selected_runs(runs: "pd.DataFrame", protocol: Protocol) -> "pd.DataFrame":
    """The runs that the protocol reports, by validation and never by test: the top ones, the best one, or all.

    Of equals, the earlier draw.
    """
    count = {"top": protocol.top, "best": 1}.get(protocol.report)
    if count is None:
        return runs
    if runs["validation"].isna().any():
        raise ValueError(
            "These runs had no validation rows, so none of them can be selected."
        )
    return runs.sort_values(["draw", "seed"]).nlargest(
        count,
        "validation",
        keep="first",
    )


def _about(kind: tuple, runs: "pd.DataFrame", column: str) -> dict[str, Any]:
    """What runs share, the deviation of a column, and the interval of its mean.

    The observations that count as independent are the means of draws, where there are several, else single runs.
    """
    values = runs[column]
    means = values.groupby(runs["draw"]).mean() if runs["draw"].nunique() > 1 else values
    low, high = interval(means)
    shared = dict(zip(KIND, kind, strict=True))
    return shared | {"sd": values.std(ddof=1), "low": low, "high": high}


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The 95 % confidence interval of a mean by Student's t; (None, None) for fewer than two values.

    >>> low, high = interval(np.array([0.5, 0.6, 0.7]))
    >>> round(low, 3), round(high, 3)
    (0.352, 0.848)
    """
    from scipy.stats import t

    values = np.asarray(values)
    if len(values) < 2:
        return None, None
    mean, error = values.mean(), values.std(ddof=1) / len(values) ** 0.5
    half = t.ppf(0.975, len(values) - 1) * error
    return float(mean - half), float(mean + half)


def collect(
    plan: Mapping[tuple, str],
    make: Callable[[tuple], dict[str, Any]],
    folder: str | Path | None,
    progress: bool = False,
) -> tuple["pd.DataFrame", bool]:
    """The table of all planned runs, and whether it is complete; `make` makes the rest of a row from its key.

    With a folder, `results.csv` in it is rewritten after each run, and the runs that it holds are not made again.
    KeyboardInterrupt in `make` ends the table before that run.

    Args:
        plan: a hash of everything that decides a run, its `setting`, by the run's `KEY`.
        make: gives the other columns of a row.

    Raises:
        ValueError: for a folder with a run of another `setting`.
    """
    import pandas as pd

    file, done = None, {}
    if folder is not None:
        file = Path(folder, "results.csv").expanduser()
        rows = read(file) if file.exists() else []
        done = {tuple(row[name] for name in KEY): row for row in rows}
    for key in plan.keys() & done.keys():
        if done[key]["setting"] != plan[key]:
            raise ValueError(
                f"{file} holds a run of {key[0]} on {key[1]} that was made with other settings, another start or "
                "other rows: choose another folder for these."
            )
    try:
        left = [key for key in plan if key not in done]
        for key in progress_bar(left, unit="run", show=progress):
            began = time.monotonic()
            row = dict(zip(KEY, key, strict=True)) | make(key)
            done[key] = row | {"setting": plan[key], "seconds": time.monotonic() - began}
            if file is not None:
                write(pd.DataFrame(list(done.values())), file)
    except KeyboardInterrupt:
        pass
    rows = [done[key] for key in plan if key in done]
    empty = None if rows else [*KEY, "metric", "validation", "test"]
    return pd.DataFrame(rows, columns=empty), len(rows) == len(plan)


def digest(*decisive: Any) -> str:
    """Twelve hexadecimal digits that change with anything that decides a run."""
    return hashlib.sha256(repr(decisive).encode()).hexdigest()[:12]


def write(table: "pd.DataFrame", path: str | Path) -> Path:
    """Write a table as `.csv`, renamed into place: a process killed at any moment leaves a whole file."""
    path = Path(path).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(path) as draft:
        table.to_csv(draft, index=False)
    return path


def read(path: Path) -> list[dict[str, Any]]:
    """The rows that `write` wrote. Hashes stay text, even those that look like numbers."""
    import pandas as pd

    table = pd.read_csv(
        path,
        dtype=dict.fromkeys(TEXT, str),
        keep_default_na=False,
        na_values=[""],
    )
    table = table.fillna({name: "" for name in TEXT if name in table})
    return table.astype(object).where(table.notna(), None).to_dict("records")
