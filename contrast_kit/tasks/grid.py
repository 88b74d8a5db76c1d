"""Run methods through a protocol: post-train, fine-tune, test; one row a run, stopped and continued at will."""

import copy
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contrast_kit.data import Paraphrased
from contrast_kit.data.rows import column_names
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import FineTune
from contrast_kit.paraphrase import Paraphraser, augmented, reworded
from contrast_kit.plots.progress import Progress
from contrast_kit.tasks.fine_tuning import FineTuned, fine_tune, tokenized, weights_hash
from contrast_kit.tasks.pipelines import Pipeline, pipelines_by_name
from contrast_kit.tasks.probes import labels_of
from contrast_kit.tasks.protocols import Protocol
from contrast_kit.tasks.results import KEY, Results, read, write
from contrast_kit.tasks.splits import HeldOut, draw, hold_out, select_rows, split_hash
from contrast_kit.tasks.table import Task, TaskData
from contrast_kit.training import fit

if TYPE_CHECKING:
    import pandas as pd


def post_train(start: Encoder, pipeline: Pipeline, rows: Any, *, task: Task, seed: int, **settings: Any) -> Encoder:
    """A copy of `start`, post-trained on the texts of `rows` where the pipeline has a post-training objective."""
    encoder = copy.deepcopy(start)
    if pipeline.post is None:
        return encoder
    length = min(settings.get("max_length", 128), encoder.max_length)
    if pipeline.paraphraser is None:
        texts = tokenized(rows, encoder, task, length)
    else:
        columns = task.columns_in(column_names(rows))
        pairs = reworded(rows, pipeline.paraphraser, columns, seed=seed)
        texts = Paraphrased(pairs, encoder.tokenizer, columns, length)
    run = fit(pipeline.post(encoder, seed=seed), texts, seed=seed, progress=False, **settings)
    if run.interrupted:
        raise Stopped
    return encoder


class Stopped(Exception):
    """The user stopped a run."""


def run(
    protocol: Protocol,
    data: TaskData | Sequence[TaskData],
    start: Encoder | FineTune,
    methods: Mapping[str, Pipeline] | Sequence[str] = ("FT", "SCL", "TAPT", "CMLM"),
    *,
    folder: str | Path | None = None,
    paraphraser: Paraphraser | None = None,
    progress: bool = True,
    **settings: Any,
) -> Results:
    """Every method on every task, size, draw and seed of a protocol.

    All methods see the same draws and held-out rows. Each run selects its step by the validation rows and is then
    tested once. With a `folder`, `results.csv` in it is rewritten after each run. The same call continues from there;
    it refuses a folder with runs of other settings. Ctrl-C (the stop button) stops after the present update, and the
    next call repeats the unfinished run.

    Args:
        protocol: one of `protocols`, or another made with `dataclasses.replace`.
        data: from `tasks.load`, one or several.
        start: the encoder that every run starts from; not changed. A fine-tuned objective also gives its head.
        methods: names in `PIPELINES`, or `{"name": Pipeline(…)}`.
        folder: where the table is kept.
        paraphraser: makes the noisy copies of training rows, where the protocol has a temperature.
        progress: show a line with the runs and the time left.
        settings: for both stages, as `Training` takes them: precision, chunk_size, max_length, …

    Returns:
        the `Results`: its `table`, `summary()`, `differences("FT")`.

    Raises:
        TypeError: for data that is not from `tasks.load`, or a start that is no encoder.
        ValueError: for a size that the protocol has no epochs for, an unknown method, a folder with runs of other
            settings, or a protocol with a temperature and no paraphraser.
    """
    if protocol.temperature is not None and paraphraser is None:
        raise ValueError(
            "This protocol adds paraphrases to the training rows: give a paraphraser, run(…, paraphraser="
            "paraphrase.BackTranslation()) or paraphrase.Toyshop()."
        )
    pipelines = pipelines_by_name(methods)
    data = [data] if isinstance(data, TaskData) else list(data)
    if not all(isinstance(one, TaskData) for one in data):
        raise TypeError("data is what tasks.load gives, one or several: run(protocol, tasks.load('toyshop/sst2'), …).")
    if not isinstance(start, Encoder | FineTune):
        raise TypeError(f"start is an Encoder, or a fine-tuned objective, not {type(start).__name__}.")
    before = weights_hash(start)
    path = Path(folder, "results.csv") if folder is not None else None
    done = {} if path is None or not path.exists() else _by_key(read(path))
    plan = list(_plan(protocol, data, pipelines, paraphraser))
    _refuse_other_settings(plan, done, protocol, before, settings, path)
    left = [planned for planned in plan if planned.key not in done]
    bar = Progress(len(plan), len(plan) - len(left), show=progress, unit="run")
    complete = True
    try:
        for planned in left:
            row = _run_one(planned, protocol, start, before, settings)
            done[planned.key] = row
            if path is not None:
                write(_table(done), path)
            bar.update({row["metric"]: row["test"]}, [])
    except (Stopped, KeyboardInterrupt):
        complete = False
    finally:
        bar.close()
    wanted = [planned.key for planned in plan]
    return Results(_table({key: done[key] for key in wanted if key in done}), protocol, complete)


@dataclass(frozen=True)
class PlannedRun:
    """One run of a protocol, before it starts."""

    name: str
    pipeline: Pipeline
    data: TaskData
    held: HeldOut
    size: int | None
    draw: int
    seed: int
    paraphraser: Paraphraser | None = None

    @property
    def key(self) -> tuple:
        n = len(self.data.train) if self.size is None else self.size
        return (self.name, self.data.name, n, self.draw, self.seed)


def _plan(
    protocol: Protocol, data: list[TaskData], pipelines: Mapping[str, Pipeline], paraphraser: Paraphraser | None
) -> Iterator[PlannedRun]:
    """All runs, methods innermost: after a stop, all methods have done the same draws."""
    for one in data:
        held = hold_out(
            one,
            validation=protocol.validation,
            test=protocol.test,
            most_test=protocol.most_test.get(one.task.name),
            stratified=protocol.stratified and not one.task.regression,
            seed=protocol.split_seed,
        )
        for size, number, seed in product(protocol.sizes, range(protocol.draws), protocol.seeds):
            for name, pipeline in pipelines.items():
                yield PlannedRun(name, pipeline, one, held, size, number, seed, paraphraser)


def _rows(planned: PlannedRun, protocol: Protocol) -> tuple[Any, Any]:
    """The training rows of a draw, with noisy copies where the protocol adds some, and the rows for post-training."""
    rows, labels = planned.data.train, labels_of(planned.data.train)
    seed = [protocol.split_seed, planned.draw, planned.size or 0]
    chosen = draw(labels, planned.size, seed, stratified=protocol.stratified, per_class=protocol.per_class)
    train = select_rows(rows, chosen)
    if protocol.temperature is not None:
        columns = planned.data.task.columns_in(column_names(train))
        noise = dict(copies=protocol.copies, temperature=protocol.temperature, seed=planned.draw)
        train = augmented(train, planned.paraphraser, columns, **noise)
    if not planned.pipeline.unlabeled:
        return train, train
    others = sorted(set(range(len(rows))) - set(chosen))
    more = draw(labels, min(planned.pipeline.unlabeled, len(others)), [*seed, 1], among=others)
    return train, select_rows(rows, chosen + more)


def _run_one(planned: PlannedRun, protocol: Protocol, start: Any, before: str, settings: Mapping[str, Any]) -> dict:
    """One run, from the start encoder to a row of the table."""
    began = time.monotonic()
    train, texts = _rows(planned, protocol)
    begin, post = start, ""
    if planned.pipeline.post is not None:
        encoder = start.encoder if isinstance(start, FineTune) else start
        options = protocol.post_training(planned.size) | settings
        begin = post_train(encoder, planned.pipeline, texts, task=planned.data.task, seed=planned.seed, **options)
        post = weights_hash(begin)
    tuned: FineTuned = fine_tune(
        begin,
        train,
        planned.held.validation,
        task=planned.data.task,
        method=planned.pipeline.tune,
        seed=planned.seed,
        **(protocol.training(planned.size) | settings),
    )
    if tuned.run.interrupted:
        raise Stopped
    test, metric = tuned.evaluate(planned.held.test), planned.data.task.metrics[0]
    row = dict(zip(KEY, planned.key, strict=True))
    row |= {"metric": metric, "validation": tuned.best.get(metric), "test": test[metric]}
    row |= {f"test_{name}": value for name, value in test.items() if name != metric}
    row |= {"split": split_hash(train, planned.held.validation, planned.held.test), "start": before, "post": post}
    row |= {"setting": setting_hash(planned, protocol, before, settings), "best_step": tuned.best_step}
    return row | {"steps": tuned.run.steps, "seconds": round(time.monotonic() - began, 3)}


def setting_hash(planned: PlannedRun, protocol: Protocol, before: str, settings: Mapping[str, Any]) -> str:
    """A hash of everything beside its key that decides the result of a run."""
    noise = {}
    if protocol.temperature is not None:
        noise = {"noise": [protocol.temperature, protocol.copies, repr(planned.paraphraser)]}
    decisive = noise | {
        "method": planned.pipeline.description,
        "start": before,
        "fine-tuning": protocol.training(planned.size),
        "post-training": protocol.post_training(planned.size) if planned.pipeline.post else None,
        "rows": [len(planned.data.train), planned.held.hash, protocol.stratified, protocol.per_class],
        "split_seed": protocol.split_seed,
        "settings": {name: repr(value) for name, value in sorted(settings.items())},
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]


def _refuse_other_settings(
    plan: list[PlannedRun], done: Mapping, protocol: Protocol, before: str, settings: Mapping, path: Path | None
) -> None:
    """Raise before anything runs: for a run in the folder with other settings, or a size without epochs."""
    for planned in plan:
        wanted = setting_hash(planned, protocol, before, settings)
        if planned.key in done and done[planned.key]["setting"] != wanted:
            raise ValueError(
                f"{path} holds a run of {planned.name} on {planned.data.name} that was made with other settings, "
                "another start or other rows: choose another folder for these."
            )


def _by_key(table: "pd.DataFrame") -> dict[tuple, dict]:
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return {tuple(row[name] for name in KEY): row for row in rows}


def _table(done: Mapping[tuple, dict]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(done.values()))
