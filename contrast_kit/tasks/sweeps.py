"""Two experiments that run several protocols: a sweep of one field, and transfer between tasks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from contrast_kit import arguments
from contrast_kit._renamed import renamed
from contrast_kit.data.drafts import draft_of
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import FineTune
from contrast_kit.tasks.fine_tuning import check_start, fine_tune, prepare
from contrast_kit.tasks.grid import Stopped, post_train, run
from contrast_kit.tasks.pipelines import Pipeline, check_head, pipelines_by_name
from contrast_kit.tasks.planned import (
    PlannedRun,
    held_rows,
    refuse_overridden,
    refuse_unheeded,
    setting_hash,
    task_of,
    tune_of,
)
from contrast_kit.tasks.points import points
from contrast_kit.tasks.protocol import Protocol, Sweep
from contrast_kit.tasks.protocols import SCL_FULL, SCL_TRANSFER
from contrast_kit.tasks.results import Results, inside, write
from contrast_kit.tasks.splits import split_hash
from contrast_kit.tasks.table import TaskData, list_of_tasks
from contrast_kit.tasks.vectors import encoder_hash

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
        """Write the table, whole or not at all, as `.csv` or `.parquet`. Returns the path."""
        return write(self.table, path)

    def _joined(self, part: Callable[[Results], "pd.DataFrame"]) -> "pd.DataFrame":
        import pandas as pd

        tables = []
        for value, result in self.results.items():
            table = part(result).copy()
            name = f"protocol's {self.by}" if self.by in table else self.by
            table.insert(0, name, ["none" if value is None else value] * len(table))
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
    >>> say = ck.data.paraphrase.Toyshop()
    >>> ck.tasks.sweep(noise, data, encoder, ["FT"], paraphraser=say, progress=False).table["steps"].tolist()
    [2, 5]
    """
    arguments.of_kind("plan", plan, Sweep, "a Sweep, such as protocols.SCL_NOISE")
    refuse_overridden(plan.base, options, [plan.by], "sweep")
    results, data = {}, list_of_tasks(data)
    for value, protocol in plan.protocols.items():
        own = inside(folder, f"{plan.by}={value}")
        results[value] = run(protocol, data, start, methods, folder=own, **options)
        if not results[value].complete:
            break
    return SweepResults(plan.by, results)


@renamed(first="source_protocol", then="target_protocol")
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

    Raises:
        ValueError: for what `run` refuses, and for a source protocol that adds paraphrases or takes a part of the rows.
    """
    arguments.of_kind("source", source, TaskData, "what tasks.load gives")
    targets = list_of_tasks(targets)
    check_start(start)
    for name, protocol in {"source_protocol": source_protocol, "target_protocol": target_protocol}.items():
        arguments.of_kind(name, protocol, Protocol, "one of tasks.protocols")
        refuse_overridden(protocol, settings)
        refuse_unheeded(protocol, "transfer takes the rows as they are", "temperature")
    refuse_unheeded(source_protocol, "transfer trains the source model on all rows", "fraction", "shots")
    if source_protocol.choose and held_rows(source_protocol, source).validation is None:
        raise ValueError(
            f"{source_protocol.name} chooses {', '.join(source_protocol.choose)} by validation rows, but holds none "
            "out: take dataclasses.replace(source_protocol, choose={})."
        )
    pipelines = pipelines_by_name(methods)
    for pipeline in pipelines.values():
        check_head(pipeline, "transfer")
    tables, complete = [], True
    for name, pipeline in pipelines.items():
        own = inside(folder, name)
        model = source_model(source, start, pipeline, source_protocol, own, **settings)
        runs = run(
            target_protocol,
            targets,
            model,
            {name: replace(pipeline, post=None)},
            folder=own,
            progress=progress,
            **settings,
        )
        tables.append(runs.table)
        complete = complete and runs.complete
        if not complete:
            break
    import pandas as pd

    return Results(pd.concat(tables, ignore_index=True), target_protocol, complete)


def source_model(
    source: TaskData, start: Encoder, pipeline: Pipeline, protocol: Protocol, folder: Path | None, **settings: Any
) -> FineTune:
    """The model that a pipeline trains on all rows of the source; read from `folder` where it was kept before."""
    seed, size = protocol.seeds[0], protocol.sizes[-1]
    held = held_rows(protocol, source)
    file = None
    if folder is not None:
        planned = PlannedRun("source", pipeline, source, held, size, 0, seed)
        setting = setting_hash(planned, protocol, encoder_hash(start), settings)
        file = folder / f"source-{setting}-{split_hash(source.train)}-{seed}.pt"
        if file.exists():
            objective = prepare(start, tune_of(protocol, pipeline), source.task, seed)
            objective.load_state_dict(torch.load(file, weights_only=True, map_location="cpu"))
            return objective.eval()
    begin = start
    if pipeline.post is not None:
        options = protocol.post_training(size) | settings
        try:
            begin = post_train(start, pipeline, source.train, task=source.task, seed=seed, **options)
        except Stopped as stopped:
            raise KeyboardInterrupt from stopped
    task, best = task_of(protocol, source), None
    options = dict(task=task, method=tune_of(protocol, pipeline), seed=seed) | protocol.training(size)
    for point in points(protocol.choose):
        tuned = fine_tune(begin, source.train, held.validation, **(options | point | settings))
        if tuned.run.interrupted:
            raise KeyboardInterrupt
        if best is None or tuned.best[task.metrics[0]] > best.best[task.metrics[0]]:
            best = tuned
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with draft_of(file) as draft:
            torch.save(best.objective.state_dict(), draft)
    return best.objective
