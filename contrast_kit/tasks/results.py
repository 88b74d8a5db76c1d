"""A table with one row per run, and its statistics: means, deviations, intervals, paired differences."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit.data.drafts import draft_of
from contrast_kit.tasks.protocol import Protocol

if TYPE_CHECKING:
    import pandas as pd

KEY = ("method", "task", "n", "draw", "seed")
"""The columns that identify a run."""
TEXT = ("method", "task", "metric", "split", "start", "post", "setting", "chosen")
MISMATCHED = "test_mismatched"
"""The column with the score on MNLI's mismatched rows, where the protocol tests on them."""


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

    def summary(self, level: float = 0.95) -> "pd.DataFrame":
        """One row for each task, size and method, with the number that the protocol reports.

        Columns: `reported`, by the protocol's rule (`rule`), and `reported_sd`, the deviation of the runs behind it,
        with the protocol's `ddof`; `mean`, `sd` (n - 1 in its denominator), `lowest`, `highest` and number of *all*
        `runs`; `low` and `high`, the `level` confidence interval of the mean by Student's t. Runs on one draw share
        their training rows, so where there are several draws it is their means that count as independent: 5 draws × 3
        seeds are 5 observations, not 15. With one observation there is no interval: the cell is empty. MNLI has a
        second row, "…-mm", where the protocol also tests on the mismatched rows.
        """
        import pandas as pd

        rows = []
        for (task, n, method), runs in _groups(self.table):
            low, high = interval(independent_observations(runs, "test"), level)
            test, reported = runs["test"], selected_runs(runs, self.protocol)["test"]
            row = {"task": task, "n": n, "method": method, "metric": runs["metric"].iloc[0]}
            row |= {
                "reported": self.report(runs),
                "reported_sd": reported.std(ddof=self.protocol.ddof),
            }
            row |= {"rule": self._rule(), "mean": test.mean(), "sd": test.std(ddof=1)}
            row |= {
                "lowest": test.min(),
                "highest": test.max(),
                "runs": len(runs),
                "low": low,
                "high": high,
            }
            rows.append(row)
        return pd.DataFrame(rows)

    def report(self, runs: "pd.DataFrame") -> float:
        """The protocol's one number for some runs. Runs are selected by *validation*; of equals, the earlier draw."""
        scores = selected_runs(runs, self.protocol)["test"]
        return float(scores.median() if self.protocol.report == "median" else scores.mean())

    def differences(self, baseline: str, level: float = 0.95) -> "pd.DataFrame":
        """Each method against `baseline`, run by run: same task, rows, and seed on both sides.

        Pairing removes the luck of a draw, which both share. Columns: the mean `difference` on the test rows, `sd`,
        `pairs`, `low` and `high` (over draws, as in `summary`), and `wins`, the share of pairs in which the method is
        better (ties count half).

        Raises:
            ValueError: if there is no run of `baseline`, or it had other rows (`split`) at the same draw.
        """
        import pandas as pd

        self._check_methods([baseline])
        same = ["task", "n", "draw", "seed"]
        columns = [name for name in ("test", "split") if name in self.table]
        groups = list(_groups(self.table))
        base = pd.concat(
            [runs.set_index(same)[columns] for (_, _, method), runs in groups if method == baseline]
        )
        rows = []
        for (task, n, method), runs in groups:
            pairs = runs.join(base.add_suffix("_base"), on=same, how="inner")
            if method == baseline or pairs.empty:
                continue
            if (
                "split" in pairs
                and (pairs["split"].fillna("") != pairs["split_base"].fillna("")).any()
            ):
                raise ValueError(
                    f"{method} and {baseline} had other rows at the same draw (split): they are no pairs."
                )
            d = pairs["test"] - pairs["test_base"]
            low, high = interval(
                independent_observations(pairs.assign(difference=d), "difference"), level
            )
            row = {
                "task": task,
                "n": n,
                "method": method,
                "baseline": baseline,
                "difference": d.mean(),
            }
            row |= {"sd": d.std(ddof=1), "pairs": len(d), "low": low, "high": high}
            rows.append(row | {"wins": float((d > 0).mean() + 0.5 * (d == 0).mean())})
        return pd.DataFrame(rows)

    def intervals(
        self, baseline: str, methods: Sequence[str] | None = None
    ) -> dict[str, tuple[float, float, float]]:
        """The `differences` of one task and size as `plots.intervals` takes them: by method, for all or for these."""
        self._check_one_kind("intervals")
        rows = self.differences(baseline)
        if methods is not None:
            self._check_methods(methods)
            rows = rows[rows["method"].isin(methods)]
        return {row.method: (row.difference, row.low, row.high) for row in rows.itertuples()}

    def spread(self) -> "pd.DataFrame":
        """How much depends on the draw, and how much on the seed: deviations of the test score, one row per method.

        Columns: `between_draws`, between the draws' means, and `between_seeds`, within a draw. What the seeds alone
        contribute to the means is subtracted from the former. For one task and size with several seeds on each draw.
        """
        import pandas as pd

        self._check_one_kind("spread")
        rows = {}
        for method, runs in self.table.groupby("method", sort=False):
            by_draw = runs.groupby("draw")["test"]
            within = by_draw.var(ddof=1).mean()
            between = by_draw.mean().var(ddof=1) - within / by_draw.size().mean()
            rows[method] = {"between_draws": max(between, 0.0) ** 0.5, "between_seeds": within**0.5}
        return pd.DataFrame(rows).T.rename_axis("method")

    def save(self, path: str | Path) -> Path:
        """Write the table, whole or not at all, as `.csv`. Returns the path."""
        return write(self.table, path)

    def _check_methods(self, methods: Sequence[str]) -> None:
        """Raise for a method without runs: a table of nothing would look like no difference."""
        known = self.table["method"].unique()
        for name in methods:
            if name not in known:
                raise ValueError(f"There are no runs of {name!r}; there are {', '.join(known)}.")

    def _check_one_kind(self, name: str) -> None:
        """Raise for runs of several tasks or sizes, which would be mixed."""
        kinds = {(task, n) for (task, n, _), _ in _groups(self.table)}
        if len(kinds) > 1:
            raise ValueError(
                f"{name} is of one task and size, and these runs are of {len(kinds)}: choose the rows of one, "
                "Results(table[table['n'] == 20], protocol)."
            )

    def _rule(self) -> str:
        rules = {
            "mean": "mean of all runs",
            "median": "median of all runs",
            "best": "best run by validation",
            "top": f"mean of the top {self.protocol.top} by validation",
        }
        return rules[self.protocol.report]

    def __repr__(self) -> str:
        state = (
            ""
            if self.complete
            else " (stopped before the end: run again with the same folder to go on)"
        )
        return f"{self.protocol.name}: {len(self.table)} runs{state}"


def _groups(table: "pd.DataFrame") -> Iterator[tuple[tuple, "pd.DataFrame"]]:
    """The runs of each task, size and method; MNLI's scores on the mismatched rows as those of a task "…-mm"."""
    for (task, n, method), runs in table.groupby(["task", "n", "method"], sort=False, dropna=False):
        yield (task, n, method), runs
        if MISMATCHED in runs and runs[MISMATCHED].notna().all():
            yield (f"{task}-mm", n, method), runs.assign(task=f"{task}-mm", test=runs[MISMATCHED])


def selected_runs(runs: "pd.DataFrame", protocol: Protocol) -> "pd.DataFrame":
    """The runs that the protocol reports, by validation and never by test: the top ones, the best one, or all."""
    count = {"top": protocol.top, "best": 1}.get(protocol.report)
    if count is None:
        return runs
    if runs["validation"].isna().any():
        raise ValueError("These runs had no validation rows, so none of them can be selected.")
    return runs.sort_values(["draw", "seed"]).nlargest(count, "validation", keep="first")


def independent_observations(runs: "pd.DataFrame", column: str) -> np.ndarray:
    """The observations that count as independent: means of draws where there are several, else single runs."""
    if runs["draw"].nunique() > 1:
        return runs.groupby("draw")[column].mean().to_numpy()
    return runs[column].to_numpy()


def interval(values: Sequence[float], level: float = 0.95) -> tuple[float | None, float | None]:
    """The confidence interval of a mean by Student's t; (None, None) for fewer than two values.

    >>> low, high = interval(np.array([0.5, 0.6, 0.7]))
    >>> round(low, 3), round(high, 3)
    (0.352, 0.848)
    """
    from scipy.stats import t

    values = np.asarray(values)
    if len(values) < 2:
        return None, None
    half = t.ppf((1 + level) / 2, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return float(np.mean(values) - half), float(np.mean(values) + half)


def table_of(runs: Iterable[dict]) -> "pd.DataFrame":
    """One row per run; where there is none yet, an empty table with the columns that every run has."""
    import pandas as pd

    runs = list(runs)
    if not runs:
        return pd.DataFrame(columns=[*KEY, "metric", "validation", "test"])
    return pd.DataFrame(runs)


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

    table = pd.read_csv(path, dtype=dict.fromkeys(TEXT, str), keep_default_na=False, na_values=[""])
    table = table.fillna({name: "" for name in TEXT if name in table})
    return table.astype(object).where(table.notna(), None).to_dict("records")
