"""A table with one row per run, and its statistics: means, deviations, intervals, paired differences."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit._util import choose
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
    by: tuple[str, ...] = ()
    """Columns besides the task and the size that tell runs apart: what a sweep changes."""

    def __post_init__(self):
        key = [*self.by, *KEY]
        twice = self.table[self.table.duplicated(key)]
        if len(twice):
            run = ", ".join(f"{name} {twice[name].iloc[0]}" for name in key)
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
        for row, runs in self._groups():
            low, high = interval(independent_observations(runs, "test"))
            test, reported = runs["test"], selected_runs(runs, self.protocol)["test"]
            number = reported.median() if rule == "median" else reported.mean()
            row |= dict(metric=runs["metric"].iloc[0], reported=float(number))
            row |= dict(reported_sd=reported.std(ddof=self.protocol.ddof))
            row |= dict(rule=RULES[rule].format(self.protocol.top))
            row |= dict(mean=test.mean(), sd=test.std(ddof=1), lowest=test.min())
            rows.append(
                row | dict(highest=test.max(), runs=len(runs), low=low, high=high)
            )
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

        self._check_methods([baseline])
        groups, rows = list(self._groups()), []
        base = pd.concat([runs for row, runs in groups if row["method"] == baseline])
        same = [*self.by, *KEY[1:]]
        for row, runs in groups:
            pairs = runs.merge(
                base,
                on=same,
                suffixes=("", "_base"),
            )
            if row["method"] == baseline or pairs.empty:
                continue
            if "split" in pairs and list(pairs["split"]) != list(pairs["split_base"]):
                raise ValueError(
                    f"{row['method']} and {baseline} had other rows at the same draw (split): they are no pairs."
                )
            d = pairs["test"] - pairs["test_base"]
            means = independent_observations(pairs.assign(difference=d), "difference")
            low, high = interval(means)
            row |= dict(
                baseline=baseline, difference=d.mean(), sd=d.std(ddof=1), pairs=len(d)
            )
            wins = float((d > 0).mean() + 0.5 * (d == 0).mean())
            rows.append(row | dict(low=low, high=high, wins=wins))
        return pd.DataFrame(rows)

    def intervals(
        self, baseline: str, methods: Sequence[str] | None = None
    ) -> dict[str, tuple[float, float, float]]:
        """The `differences` of one task and size as `plots.intervals` takes them: by method, for all or for these."""
        self._check_one_kind()
        rows = self.differences(baseline)
        if methods is not None:
            self._check_methods(methods)
            rows = rows[rows["method"].isin(methods)]
        return {
            row.method: (
                row.difference,
                row.low,
                row.high,
            )
            for row in rows.itertuples()
        }

    def spread(self) -> "pd.DataFrame":
        """How much depends on the draw, and how much on the seed: deviations of the test score, one row per method.

        Columns: `between_draws`, between the draws' means, and `between_seeds`, within a draw. What the seeds alone
        contribute to the means is subtracted from the former. For one task and size with several seeds on each draw.
        """
        import pandas as pd

        self._check_one_kind()
        rows = {}
        for method, runs in self.table.groupby("method", sort=False):
            by_draw = runs.groupby("draw")["test"]
            within = by_draw.var(ddof=1).mean()
            between = by_draw.mean().var(ddof=1) - within / by_draw.size().mean()
            rows[method] = {
                "between_draws": max(between, 0.0) ** 0.5,
                "between_seeds": within**0.5,
            }
        return pd.DataFrame(rows).T.rename_axis("method")

    def _groups(self) -> Iterator[tuple[dict[str, Any], "pd.DataFrame"]]:
        """What the runs of a group share, task, size and method, and these runs.

        MNLI's scores on the mismatched rows follow as those of a task "…-mm".
        """
        names = [*self.by, "task", "n", "method"]
        for values, runs in self.table.groupby(
            names,
            sort=False,
            dropna=False,
        ):
            row = dict(zip(names, values, strict=True))
            yield row, runs
            if MISMATCHED in runs and runs[MISMATCHED].notna().all():
                task = {"task": f"{row['task']}-mm"}
                yield row | task, runs.assign(**task, test=runs[MISMATCHED])

    def _check_methods(self, methods: Sequence[str]) -> None:
        """Raise for a method without runs: a table of nothing would look like no difference."""
        for name in methods:
            choose(
                dict.fromkeys(self.table["method"]),
                name,
                "run of",
            )

    def _check_one_kind(self) -> None:
        """Raise for runs of several tasks or sizes, which would be mixed."""
        if len({(row["task"], row["n"]) for row, _ in self._groups()}) > 1:
            raise ValueError(
                "These are runs of several tasks or sizes: choose the rows of one."
            )

    def __repr__(self) -> str:
        text = f"{self.protocol.name}: {len(self.table)} runs"
        if not self.complete:
            text += " (stopped before the end: run again with the same folder to go on)"
        return text


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


def independent_observations(runs: "pd.DataFrame", column: str) -> np.ndarray:
    """The observations that count as independent: means of draws where there are several, else single runs."""
    if runs["draw"].nunique() > 1:
        return runs.groupby("draw")[column].mean().to_numpy()
    return runs[column].to_numpy()


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
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return float(np.mean(values) - half), float(np.mean(values) + half)


def collect(
    plan: Mapping[tuple, str],
    make: Callable[[tuple], dict[str, Any]],
    folder: str | Path | None,
    progress: bool = False,
) -> tuple["pd.DataFrame", bool]:
    """The table of all planned runs, and whether it is complete; `make` makes a row from its key.

    With a folder, `results.csv` in it is rewritten after each run, and the runs that it holds are not made again.
    KeyboardInterrupt in `make` ends the table before that run.

    Args:
        plan: a hash of everything that decides a run, by the run's `KEY`.
        make: gives a row of the table, with its `setting`.

    Raises:
        ValueError: for a folder with a run of another `setting`.
    """
    import pandas as pd
    from tqdm.auto import tqdm

    file = Path(folder or "", "results.csv").expanduser()
    done = {}
    if folder is not None and file.exists():
        done = {tuple(row[name] for name in KEY): row for row in read(file)}
    for key, setting in plan.items():
        if done.get(key, {}).get("setting", setting) != setting:
            raise ValueError(
                f"{file} holds a run of {key[0]} on {key[1]} that was made with other settings, another start or "
                "other rows: choose another folder for these."
            )
    try:
        left = [key for key in plan if key not in done]
        for key in tqdm(left, unit="run", disable=not progress):
            began = time.monotonic()
            done[key] = make(key) | {"seconds": round(time.monotonic() - began, 3)}
            if folder is not None:
                write(pd.DataFrame(list(done.values())), file)
    except KeyboardInterrupt:
        pass
    rows = [done[key] for key in plan if key in done]
    empty = None if rows else [*KEY, "metric", "validation", "test"]
    return pd.DataFrame(rows, columns=empty), len(rows) == len(plan)


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
