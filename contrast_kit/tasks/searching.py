"""Search a grid in order of promise: the paper's point first, then the neighbours of the best so far, within a budget.

`search` does so for a protocol, `explore` for anything that gives a point a score.
"""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit import arguments, checks
from contrast_kit._warn import warn
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import FineTune
from contrast_kit.tasks.fine_tuning import check_start
from contrast_kit.tasks.grid import run
from contrast_kit.tasks.pipelines import PIPELINES, Pipeline, pipeline_of
from contrast_kit.tasks.planned import facts, held_rows, refuse_overridden
from contrast_kit.tasks.points import Point, checked_grid, describe_point, distance, points
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.results import Results, inside, validation_score, write
from contrast_kit.tasks.splits import split_hash
from contrast_kit.tasks.table import TaskData
from contrast_kit.tasks.vectors import encoder_hash

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Found:
    """What a search found: `table` has one row per point, in the order in which they ran; `ranked` sorts it by score.

    `score` is what points were compared by, NaN for a point whose training diverged: it counts as the worst. `complete`
    is False after an interruption, or where the budget ran out before the grid did.
    """

    table: "pd.DataFrame"
    grid: Mapping[str, tuple]
    complete: bool

    @property
    def best(self) -> Point:
        """The point with the highest score; of equals the earlier one."""
        if self.table.empty:
            raise ValueError("No point ran to its end, so none is the best: give the search more time.")
        return self.point(int(self.table["score"].idxmax()))

    @property
    def ranked(self) -> "pd.DataFrame":
        """The table by score, the best first."""
        return self.table.sort_values("score", ascending=False, kind="stable", ignore_index=True)

    def point(self, row: int) -> Point:
        """The point of a row of the table."""
        return {name: self.table[name][row] for name in self.grid}


def search(
    protocol: Protocol,
    data: TaskData,
    start: Encoder | FineTune,
    method: Pipeline | str = "FT",
    *,
    grid: Mapping[str, tuple] | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
    **settings: Any,
) -> Found:
    """Run the grid that a paper searched, one point after another, each with all runs of the protocol.

    The first point is the protocol's own (or the nearest on the grid); each next one is the point nearest to the best
    so far, counted in steps along the grid, so that a budget is spent where it is promising. Without a budget all
    points run, and the order does not matter. Points are compared by the mean validation score of their runs (SCL's
    few-shot protocol: of the top three of each size); several sizes count equally. A protocol without validation rows,
    such as COCO-LM's and CAPT's, compares by the number that it reports, as those papers do: then the best one is
    flattered, the more so the larger the grid.

    Args:
        protocol: one of `protocols`. To leave its draws to the runs that follow, search on others:
            `replace(protocol, first_draw=protocol.draws)`. Another `split_seed` would divide the held-out rows anew,
            so that rows that test those runs would have helped to choose their settings.
        data: one task, from `tasks.load`: the papers search for each task.
        start: the encoder that every run starts from.
        method: a name in `PIPELINES`, or a `Pipeline`.
        grid: what to search: fields of the protocol (`epochs` is then one number for all sizes), or of the config of
            the pipeline's post-training or else its fine-tuning objective. By default the paper's grid for this task.
        budget: the largest number of points to run, including those already in the folder.
        seconds: no point starts after this many seconds.
        folder: keeps `search.csv` and the runs of each point; the same call continues from there, even in the middle of
            a point. It refuses what was made otherwise, and names what differs.
        progress, settings: as `run`.

    Raises:
        ValueError: for a protocol without a grid for this task, a name that is no setting, a setting that would
            override what is searched, or what `run` refuses.
        FloatingPointError: where the training of every point diverged.

    Example:
        >>> from dataclasses import replace
        >>> import contrast_kit as ck
        >>> data = ck.tasks.load("toyshop/sst2")
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(data.train["sentence"], vocab_size=300))
        >>> few = dict(sizes=(20,), draws=1, seeds=(0,), epochs={20: 1}, validation=20, most_test={"sst2": 20})
        >>> quick = replace(ck.tasks.protocols.CMLM, **few)
        >>> found = ck.tasks.search(quick, data, encoder, grid={"lr": (1e-5, 1e-3, 1e-2)}, budget=2, progress=False)
        >>> found.table["lr"].tolist(), found.complete
        ([1e-05, 0.001], False)
    """
    if not isinstance(data, TaskData):
        raise TypeError("A search is for one task: search(protocol, tasks.load('toyshop/rte'), encoder).")
    arguments.of_kind("protocol", protocol, Protocol, "one of tasks.protocols")
    check_start(start)
    grid = checked_grid(grid if grid is not None else protocol.grid_for(data.task.name))
    if not grid:
        raise ValueError(f"{protocol.name} prints no grid for {data.task.name}: give one, grid={{'lr': (1e-5, 2e-5)}}.")
    pipeline = pipeline_of(method)
    refuse_overridden(protocol, settings, grid)
    for point in points(grid):  # an unknown name, or a value it cannot take, is refused before anything runs
        with_point(protocol, pipeline, point)

    def measure(point: Point) -> tuple[float, bool]:
        changed, changed_pipeline = with_point(protocol, pipeline, point)
        own = inside(folder, describe_point(point))
        results = run(changed, data, start, {"searched": changed_pipeline}, folder=own, progress=progress, **settings)
        return (_score(results) if results.complete else float("nan")), results.complete

    rows = split_hash(data.train) + held_rows(protocol, data).hash
    about = dict(method=pipeline.description, task=data.task, start=encoder_hash(start), rows=rows)
    setting = facts(protocol, settings, grid, **about)
    known = {name: _own_value(protocol, pipeline, name) for name in grid}
    return explore(grid, measure, first=known, budget=budget, seconds=seconds, folder=folder, setting=setting)


def explore(
    grid: Mapping[str, tuple],
    measure: Callable[[Point], tuple[float, bool]],
    *,
    first: Mapping[str, Any] | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    folder: str | Path | None = None,
    setting: Mapping[str, str] | None = None,
) -> Found:
    """Measure points of a grid in order of promise, as `search` says; `measure(point)` gives a score and whether it ran
    to the end. `setting` says by name what decides the scores: a search with another one must not go on in the folder.

    >>> grid = {"lr": (1, 2, 3, 4, 5), "epochs": (1, 2)}
    >>> found = explore(grid, lambda point: (-abs(point["lr"] - 4), True), first={"lr": 2}, budget=6)
    >>> found.table["lr"].tolist(), found.best["lr"]
    ([2, 1, 2, 3, 3, 4], 4)
    """
    grid = checked_grid(grid)
    if budget is not None:
        checks.count("budget", budget, "a number of points")
    if seconds is not None and not (checks.is_number(seconds) and seconds > 0):
        raise ValueError(f"seconds must be above 0, not {checks.shown(seconds)}.")
    setting = arguments.mapping("setting", setting or {}, "of what decides the scores, by name")
    path, began = inside(folder, "search.csv"), time.monotonic()
    every = list(points(grid))
    done = [] if path is None or not path.exists() else _read(path, grid, every, setting)
    middle = {name: values[(len(values) - 1) // 2] for name, values in grid.items()}
    first = {name: _nearest(values, (first or {}).get(name), middle[name]) for name, values in grid.items()}
    complete = True
    while len(done) < len(every) and complete:
        if (budget is not None and len(done) >= budget) or (seconds and time.monotonic() - began >= seconds):
            complete = False
            break
        best = max(done, key=_rank)["point"] if done else first
        left = [point for point in every if all(point != row["point"] for row in done)]
        point = min(left, key=lambda other: distance(grid, other, best))  # of equals, the earlier in the grid
        try:
            score, complete = measure(point)
        except (FloatingPointError, checks.NotFiniteError) as error:
            warn(f"{describe_point(point)} diverged and counts as the worst point: {arguments.in_a_line(error)}")
            score, complete = float("nan"), True
        if complete:
            done.append({"point": point, "score": round(score, 12)})  # equal means tie, whatever their last bits
            if path is not None:
                words = {name: [str(row["point"][name]) for row in done] for name in grid}
                write(_table(done, grid).assign(**words, setting=json.dumps(setting)), path)
    table = _table(done, grid)
    if done and table["score"].isna().all():
        raise FloatingPointError(f"All points of the search diverged ({len(done)} ran): search lower learning rates.")
    return Found(table, grid, complete and len(done) == len(every))


def _rank(row: dict[str, Any]) -> float:
    """What a point is compared by: its score; of one that diverged, minus infinity."""
    return -math.inf if math.isnan(row["score"]) else row["score"]


def _table(done: list[dict[str, Any]], grid: Mapping[str, tuple]) -> Any:
    """One row per point; the values stay the grid's own objects, which a column of one type would change (0 to 0.0)."""
    import pandas as pd

    values = {name: pd.Series([row["point"][name] for row in done], dtype=object) for name in grid}
    return pd.DataFrame(values | {"score": [row["score"] for row in done]})


def with_point(protocol: Protocol, pipeline: Pipeline, point: Point) -> tuple[Protocol, Pipeline]:
    """The protocol and the pipeline with the values of a point.

    Raises:
        ValueError: for a name that neither the protocol nor the configs of the pipeline's objectives have or use.
    """
    for name, value in point.items():
        stage = _stage(pipeline, name)
        if pipeline.frozen and name in ("lr", "steps", "epochs", "batch_size", "evaluate_every"):
            raise ValueError(f"A frozen encoder is probed, which takes no {name}: search a grid without it.")
        if name in {field.name for field in fields(Protocol)}:
            value = dict.fromkeys(protocol.sizes, value) if name in ("epochs", "post_epochs") else value
            protocol = replace(protocol, **{name: value})
        elif stage is not None:
            pipeline = replace(pipeline, **{stage: partial(getattr(pipeline, stage), **{name: value})})
        else:
            having = [known for known in PIPELINES if _stage(pipeline_of(known), name)]
            advice = f"choose a method that has it, method={having[0]!r}, or" if having else "choose"
            raise ValueError(
                f"Neither the protocol nor {pipeline.description} has a setting {name!r} to be searched: {advice} a "
                "grid without it."
            )
    return protocol, pipeline


def _stage(pipeline: Pipeline, name: str) -> str | None:
    """Which of the pipeline's objectives has a setting: "post", "tune" (unless that is unused) or none."""
    for stage in ("post",) if pipeline.frozen or pipeline.prompt else ("post", "tune"):
        maker = getattr(getattr(pipeline, stage), "func", getattr(pipeline, stage))
        if hasattr(maker, "Config") and name in {field.name for field in fields(maker.Config)}:
            return stage
    return None


def _own_value(protocol: Protocol, pipeline: Pipeline, name: str) -> Any:
    """The value that a setting has before the search."""
    if hasattr(protocol, name):
        value = getattr(protocol, name)
        return value.get(protocol.sizes[-1]) if isinstance(value, Mapping) else value
    maker = getattr(pipeline, _stage(pipeline, name))
    given = getattr(maker, "keywords", {})
    return given.get(name, getattr(getattr(maker, "func", maker).Config(), name))


def _score(results: Results) -> float:
    """What points are compared by."""
    if results.table["validation"].isna().any():
        found = results.summary()
        return float(found[found["task"].isin(results.table["task"])]["reported"].mean())
    return validation_score(results.table, results.protocol)


def _nearest(values: tuple, wanted: Any, middle: Any) -> Any:
    """The grid's value nearest to `wanted`, which may lie off the grid; `middle` where nearness has no meaning."""
    if wanted in values:
        return wanted
    if not isinstance(wanted, int | float) or not all(isinstance(value, int | float) for value in values):
        return middle
    return min(values, key=lambda value: abs(value - wanted))


def _read(path: Path, grid: Mapping[str, tuple], every: list[Point], setting: Mapping[str, str]) -> list[dict]:
    """The points that a folder holds; refuses those of another grid or other settings."""
    import pandas as pd

    text = dict.fromkeys([*grid, "setting"], str)
    try:
        table = pd.read_csv(path, dtype=text, keep_default_na=False, na_values={"score": [""]})
        list(map(float, table.get("score", ())))
    except ValueError:  # no table at all, no text, a score that is no number
        raise ValueError(f"{path} is damaged, or no table of a search: remove it, or choose another folder.") from None
    if list(table.columns) != [*grid, "score", "setting"]:
        raise ValueError(f"{path} holds a search over {', '.join(table.columns[:-2])}: choose another folder for this.")
    for kept in map(_facts_in, table["setting"].unique()):
        if kept is None:
            raise ValueError(f"{path} holds a search of an earlier version of the kit: choose another folder for this.")
        if differ := [name for name in sorted(kept | setting) if kept.get(name) != setting.get(name)]:
            raise ValueError(f"{path} holds a search with other {', '.join(differ)}: choose another folder for this.")
    found = []
    for row in table.to_dict("records"):
        same = [point for point in every if all(str(point[name]) == row[name] for name in grid)]
        if not same:
            raise ValueError(f"{path} holds a point that is not on this grid: choose another folder for this.")
        found.append({"point": same[0], "score": row["score"]})
    return found


def _facts_in(text: str) -> dict[str, str] | None:
    """The `setting` of a kept row; None where an earlier version wrote it, as a hash."""
    try:
        kept = json.loads(text)
    except ValueError:
        return None
    return kept if isinstance(kept, dict) else None
