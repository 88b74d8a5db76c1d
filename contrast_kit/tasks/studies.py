"""Experiments of several protocols: a sweep of one field, transfer between tasks, the search of a paper's grid."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contrast_kit.checks import NotFiniteError
from contrast_kit.data.drafts import draft_of
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import FineTune
from contrast_kit.tasks.fine_tuning import prepare
from contrast_kit.tasks.probes import encoder_hash
from contrast_kit.tasks.protocol import PIPELINES, Pipeline, Protocol, Sweep
from contrast_kit.tasks.protocols import SCL_FULL, SCL_TRANSFER
from contrast_kit.tasks.results import Results, write
from contrast_kit.tasks.runs import (
    describe_point,
    listed,
    pipelines_by_name,
    plan_runs,
    points,
    post_train,
    refuse_overridden,
    run,
    setting_hash,
    task_of,
    tune_by_grid,
    tune_of,
)
from contrast_kit.tasks.table import TaskData

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class SweepResults:
    """The `Results` of each value of a sweep; their tables joined into one, with the swept field as first column.

    A field that has the name of another column, `test` or `steps`, stands there as "protocol's test".
    """

    by: str
    results: dict[Any, Results]

    @property
    def table(self) -> "pd.DataFrame":
        """All runs."""
        return self._joined(lambda result: result.table)

    def summary(self, level: float = 0.95) -> "pd.DataFrame":
        """As `Results.summary`, for each value."""
        return self._joined(lambda result: result.summary(level))

    def differences(self, baseline: str, level: float = 0.95) -> "pd.DataFrame":
        """As `Results.differences`, for each value."""
        return self._joined(lambda result: result.differences(baseline, level))

    @property
    def complete(self) -> bool:
        """False after an interruption."""
        return all(result.complete for result in self.results.values())

    def save(self, path: str | Path) -> Path:
        """Write the table, whole or not at all, as `.csv`. Returns the path."""
        return write(self.table, path)

    def _joined(self, part: Callable[[Results], "pd.DataFrame"]) -> "pd.DataFrame":
        import pandas as pd

        tables = []
        for value, result in self.results.items():
            table = part(result).copy()
            name = f"protocol's {self.by}" if self.by in table else self.by
            table.insert(0, name, "none" if value is None else value)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)


def sweep(
    plan: Sweep,
    data: TaskData | Iterable[TaskData],
    start: Encoder | FineTune,
    methods: Mapping[str, Pipeline] | Sequence[str] = ("FT", "SCL"),
    *,
    folder: str | Path | None = None,
    **options: Any,
) -> SweepResults:
    """Run a protocol once for each value of a sweep: SCL's noise (table 5), its batch sizes (table 3).

    Args:
        plan: `protocols.SCL_NOISE`, `protocols.SCL_BATCH_SIZE`, or another `Sweep`.
        data, start, methods: as `run`.
        folder: each value gets a folder of its own inside it, so that a stopped sweep continues too.
        options: further arguments of `run`; for noise a `paraphraser`. None may override what is swept.

    >>> from dataclasses import replace
    >>> import contrast_kit as ck
    >>> from contrast_kit.tasks import protocols
    >>> data = ck.tasks.load("toyshop/sst2")
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(data.train["sentence"], vocab_size=300))
    >>> quick = dict(sizes=(20,), draws=1, epochs={20: 1}, top=1, validation=20, most_test={"sst2": 20})
    >>> noise = protocols.Sweep(replace(protocols.SCL_NOISE.base, **quick), "temperature", (None, 0.9))
    >>> paraphraser = ck.data.paraphrase.Toyshop()
    >>> ck.tasks.sweep(noise, data, encoder, ["FT"], paraphraser=paraphraser, progress=False).table["steps"].tolist()
    [2, 5]
    """
    refuse_overridden([plan.by], options)
    data, results = listed(data), {}
    for value, protocol in plan.protocols.items():
        results[value] = run(
            protocol, data, start, methods, folder=_inside(folder, f"{plan.by}={value}"), **options
        )
        if not results[value].complete:
            break
    return SweepResults(plan.by, results)


def _inside(folder: str | Path | None, name: str) -> Path | None:
    return None if folder is None else Path(folder).expanduser() / name


def transfer(
    source: TaskData,
    targets: TaskData | Iterable[TaskData],
    start: Encoder,
    methods: Mapping[str, Pipeline] | Sequence[str] = ("FT", "SCL"),
    *,
    source_protocol: Protocol = SCL_FULL,
    target_protocol: Protocol = SCL_TRANSFER,
    folder: str | Path | None = None,
    progress: bool = True,
    **settings: Any,
) -> Results:
    """Fine-tune on all of `source`, then fine-tune that model, with its head, on a few rows of each target.

    SCL, section 5.4 and table 7: "using the SCL term for both source (SST-2) and target domains (Amazon-2, Yelp-2)", so
    each method trains its own source model. A target with other classes gets a new head.

    Args:
        source: SST-2, from `tasks.load`.
        targets: other tasks: Amazon-2, Yelp-2.
        start: the encoder that the source models start from.
        methods: as `run`, each with a head to carry over: neither `frozen` nor with a `prompt`.
        source_protocol: trains the source model: all rows, the first seed, the best step by validation, and the best
            point of its grid `choose`.
        target_protocol: draws a few rows of each target and trains on them.
        folder: keeps the source models and the runs; the same call continues from there.
        progress, settings: as `run`.

    Returns:
        the `Results` of all methods and targets; the column `start` is the hash of the source model.
    """
    import pandas as pd

    targets, tables, complete = listed(targets), [], True
    for name, pipeline in pipelines_by_name(methods).items():
        own = _inside(folder, name)
        model = source_model(source, start, pipeline, source_protocol, own, **settings)
        methods = {name: replace(pipeline, post=None)}
        results = run(
            target_protocol, targets, model, methods, folder=own, progress=progress, **settings
        )
        tables.append(results.table)
        if not results.complete:
            complete = False
            break
    return Results(pd.concat(tables, ignore_index=True), target_protocol, complete)


def source_model(
    source: TaskData,
    start: Encoder,
    pipeline: Pipeline,
    protocol: Protocol,
    folder: Path | None,
    **settings: Any,
) -> FineTune:
    """The model that a pipeline trains on all rows of the source; read from `folder` where it was kept before."""
    planned = next(
        plan_runs(replace(protocol, sizes=protocol.sizes[-1:]), [source], {"source": pipeline})
    )
    seed, task = planned.seed, task_of(protocol, source)
    if folder is not None:
        setting = setting_hash(planned, protocol, encoder_hash(start), None, settings)
        file = folder / f"source-{setting}-{seed}.pt"
        if file.exists():
            objective = prepare(start, tune_of(protocol, pipeline), source.task, seed)
            objective.load_state_dict(torch.load(file, weights_only=True, map_location="cpu"))
            return objective.eval()
    begin = start
    if pipeline.post is not None:
        options = protocol.post_training(planned.size) | settings
        begin = post_train(start, pipeline, source.train, task=task, seed=seed, **options)
    rows = (source.train, planned.held.validation)
    best, _ = tune_by_grid(
        begin, *rows, pipeline, protocol, task=task, size=planned.size, seed=seed, **settings
    )
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with draft_of(file) as draft:
            torch.save(best.objective.state_dict(), draft)
    return best.objective


@dataclass
class SearchResults:
    """What a search measured: `table` has one row per point, in the order in which they ran; `grid` is what varied.

    `score` is what points were compared by, NaN for a point whose training diverged: it counts as the worst.
    """

    table: "pd.DataFrame"
    grid: Mapping[str, Sequence]

    @property
    def best(self) -> dict[str, Any]:
        """The point with the highest score; of equals the earlier one."""
        row = int(self.table["score"].idxmax())
        return {name: self.table[name][row] for name in self.grid}

    @property
    def ranked(self) -> "pd.DataFrame":
        """The table by score, the best first."""
        return self.table.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def search(
    protocol: Protocol,
    data: TaskData,
    start: Encoder | FineTune,
    method: Pipeline | str = "FT",
    *,
    grid: Mapping[str, Sequence] | None = None,
    budget: int | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
    **settings: Any,
) -> SearchResults:
    """Run the grid that a paper searched, one point after another, each with all runs of the protocol.

    Points are compared by the mean validation score of their runs (SCL's few-shot protocol: of the top three of each
    size); several sizes count equally. A protocol without validation rows, such as COCO-LM's and CAPT's, compares by
    the number that it reports, as those papers do: then the best one is flattered, the more so the larger the grid.

    Args:
        protocol: one of `protocols`. To leave its draws to the runs that follow, search on others:
            `replace(protocol, first_draw=protocol.draws)`. Another `split_seed` would divide the held-out rows anew,
            so that rows that test those runs would have helped to choose their settings.
        data: one task, from `tasks.load`: the papers search for each task.
        start: the encoder that every run starts from.
        method: a name in `PIPELINES`, or a `Pipeline`.
        grid: what to search: fields of the protocol (`epochs` is then one number for all sizes), or of the config of
            the pipeline's post-training or else its fine-tuning objective. By default the paper's grid for this task.
        budget: run this many points of the grid, drawn at random (always the same); by default all.
        folder: keeps the runs of each point; the same call continues from there, even in the middle of a point.
        progress, settings: as `run`.

    Raises:
        ValueError: for a name that is no setting, or a setting that would override what is searched.
        FloatingPointError: where the training of every point diverged.

    Example:
        >>> from dataclasses import replace
        >>> import contrast_kit as ck
        >>> data = ck.tasks.load("toyshop/sst2")
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(data.train["sentence"], vocab_size=300))
        >>> few = dict(sizes=(20,), draws=1, seeds=(0,), epochs={20: 1}, validation=20, most_test={"sst2": 20})
        >>> quick = replace(ck.tasks.protocols.CMLM, **few)
        >>> results = ck.tasks.search(quick, data, encoder, grid={"lr": (1e-5, 1e-3)}, progress=False)
        >>> results.table["lr"].tolist()
        [1e-05, 0.001]
    """
    import pandas as pd

    grid = dict(grid or protocol.grid_for(data.task.name))
    refuse_overridden(grid, settings)
    pipeline = PIPELINES[method] if isinstance(method, str) else method
    every = points(grid)
    if budget is not None:
        chosen = np.random.default_rng(0).permutation(len(every))[:budget]
        every = [every[i] for i in sorted(chosen)]
    changed = [
        with_point(protocol, pipeline, point) for point in every
    ]  # raises before anything runs
    scores = []
    for point, (own, contestant) in zip(every, changed, strict=True):
        place = _inside(folder, describe_point(point))
        try:
            results = run(
                own,
                data,
                start,
                {"searched": contestant},
                folder=place,
                progress=progress,
                **settings,
            )
        except (FloatingPointError, NotFiniteError):
            scores.append(float("nan"))
            continue
        if not results.complete:
            raise KeyboardInterrupt
        scores.append(round(_compared_by(results), 12))  # equal means tie, whatever their last bits
    if np.isnan(scores).all():
        raise FloatingPointError(
            f"All {len(scores)} points of the search diverged: search lower learning rates."
        )
    columns = {name: pd.Series([point[name] for point in every], dtype=object) for name in grid}
    return SearchResults(pd.DataFrame(columns | {"score": scores}), grid)


def with_point(
    protocol: Protocol, pipeline: Pipeline, point: Mapping[str, Any]
) -> tuple[Protocol, Pipeline]:
    """The protocol and the pipeline with the values of a point.

    Raises:
        ValueError: for a name that neither the protocol nor the configs of the pipeline's objectives have.
    """
    for name, value in point.items():
        stages = [
            stage for stage in ("post", "tune") if _has_setting(getattr(pipeline, stage), name)
        ]
        if name in ("epochs", "post_epochs"):
            protocol = replace(protocol, **{name: dict.fromkeys(protocol.sizes, value)})
        elif name in [field.name for field in fields(Protocol)]:
            protocol = replace(protocol, **{name: value})
        elif stages:
            maker = getattr(pipeline, stages[0])
            pipeline = replace(pipeline, **{stages[0]: partial(maker, **{name: value})})
        else:
            raise ValueError(
                f"Neither the protocol nor {pipeline.description} has a setting {name!r} to be searched: choose "
                "another method or grid."
            )
    return protocol, pipeline


def _has_setting(maker: Any, name: str) -> bool:
    """Whether what makes an objective, such as `partial(SCL, lam=0.9)`, has this field in its config."""
    cls = getattr(maker, "func", maker)
    return name in getattr(getattr(cls, "Config", None), "__dataclass_fields__", {})


def _compared_by(results: Results) -> float:
    """The score of a point: the mean, over sizes, of the validation score of its runs.

    That score is the mean of the top runs where the protocol reports those, else of all, even where it reports the best
    one. SCL chooses this way: "based on the average validation accuracy of the top 3 models", and with all rows "across
    10 seeds". Without validation rows it is the number that the protocol reports.
    """
    table, protocol = results.table, results.protocol
    if table["validation"].isna().any():
        summary = results.summary()
        return float(summary[summary["task"].isin(table["task"])]["reported"].mean())
    means = []
    for _, scores in table.groupby("n", dropna=False)["validation"]:
        if protocol.report == "top":
            scores = scores.nlargest(protocol.top)
        means.append(scores.mean())
    return float(np.mean(means))
