"""Run methods through a protocol: post-train, fine-tune, test; one row per run, stopped and continued at will."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from contrast_kit.data import Paraphrased
from contrast_kit.data.paraphrase import augmented, reworded
from contrast_kit.data.rows import column_names
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import FineTune
from contrast_kit.tasks import prompting
from contrast_kit.tasks.fine_tuning import FineTuned, encoder_of, fine_tune, tokenized
from contrast_kit.tasks.priors import count_words
from contrast_kit.tasks.probes import encoder_hash, fit_probe, weights_hash
from contrast_kit.tasks.protocol import PIPELINES, Pipeline, Protocol
from contrast_kit.tasks.results import KEY, MISMATCHED, Results, collect, digest
from contrast_kit.tasks.splits import HeldOut, draw, hold_out, shots, split_hash
from contrast_kit.tasks.table import (
    Task,
    TaskData,
    labels_of,
    score,
    select_rows,
    texts_of,
)
from contrast_kit.training import fit


@dataclass(frozen=True)
class PlannedRun:
    """One run of a protocol, before it starts."""

    protocol: Protocol
    name: str
    pipeline: Pipeline
    data: TaskData
    held: HeldOut
    source: str
    """The `split_hash` of all rows that the run's are drawn from."""
    size: int | None
    draw: int
    seed: int
    chosen: list[int]
    """The numbers of its training rows."""

    @property
    def key(self) -> tuple:
        """What identifies the run: the columns `results.KEY`."""
        return (self.name, self.data.name, len(self.chosen), self.draw, self.seed)

    @property
    def task(self) -> Task:
        """The task, with the metric that the protocol selects and reports by moved to the front."""
        return self.data.task.reporting(self.protocol.metrics.get(self.data.task.name))


def plan_runs(
    protocol: Protocol, data: Iterable[TaskData], pipelines: Mapping[str, Pipeline]
) -> Iterator[PlannedRun]:
    """All runs, with the methods innermost, so that after a stop all methods have done the same draws."""
    draws = range(protocol.first_draw, protocol.first_draw + protocol.draws)
    for each in data:
        held, labels = hold_out(each, protocol), labels_of(each.train)
        source = split_hash(each.train, *held.parts)
        for size, number, seed in product(protocol.sizes, draws, protocol.seeds):
            same_rows = size is None or protocol.fraction or protocol.shots
            if (
                same_rows
                and protocol.temperature is None
                and number > protocol.first_draw
            ):
                continue  # the same run again would pass for an independent one
            if protocol.shots is not None:
                chosen, kept = shots(labels, protocol.shots, seed)
                held = replace(held, validation=select_rows(each.train, kept))
            elif protocol.fraction is not None:
                count = max(1, round(protocol.fraction * len(labels)))
                chosen = draw(labels, count, [protocol.split_seed, 2])
            else:
                how = dict(stratified=protocol.stratified, per_class=protocol.per_class)
                chosen = draw(
                    labels, size, [protocol.split_seed, number, size or 0], **how
                )
            facts = (each, held, source, size, number, seed, chosen)
            for name, pipeline in pipelines.items():
                yield PlannedRun(protocol, name, pipeline, *facts)


def rows_of(planned: PlannedRun, paraphraser: Callable | None = None) -> tuple[Any, Any]:
    """The training rows of a draw, with noisy copies where the protocol adds some, and the rows for post-training."""
    rows, chosen, protocol = planned.data.train, planned.chosen, planned.protocol
    train = texts = select_rows(rows, chosen)
    if protocol.temperature is not None:
        columns = planned.task.columns_in(column_names(train))
        noise = dict(
            copies=protocol.copies, temperature=protocol.temperature, seed=planned.draw
        )
        train = texts = augmented(train, paraphraser, columns, **noise)
    others = sorted(set(range(len(rows))) - set(chosen))
    further = min(planned.pipeline.unlabeled, len(others))
    if further:
        seed = [protocol.split_seed, planned.draw, planned.size or 0, 1]
        more = draw(labels_of(rows), further, seed, among=others)
        texts = select_rows(rows, [*chosen, *more])
    return train, texts


def run(
    protocol: Protocol,
    data: TaskData | Iterable[TaskData],
    start: Encoder | FineTune,
    methods: Mapping[str, Pipeline] | Sequence[str] = ("FT", "SCL", "TAPT", "CMLM"),
    *,
    folder: str | Path | None = None,
    paraphraser: Callable | None = None,
    progress: bool = True,
    **settings: Any,
) -> Results:
    """Every method on every task, size, draw and seed of a protocol.

    All methods see the same draws and held-out rows. Each run selects its step by the validation rows and is then
    tested once. With a `folder`, `results.csv` in it is rewritten after each run. The same call continues from there;
    it refuses a folder with runs of other settings. Ctrl-C (the stop button) stops after the current update, and the
    next call repeats the unfinished run. A class or function of your own is known by its name.

    Args:
        protocol: one of `protocols`, or another made with `dataclasses.replace`.
        data: from `tasks.load`, one or several.
        start: the encoder that every run starts from; not changed. A fine-tuned objective brings its head along.
        methods: names in `PIPELINES`, or `{"name": Pipeline(…)}`.
        folder: where the table is kept.
        paraphraser: makes the noisy copies of training rows, where the protocol has a temperature.
        progress: show a line with the runs and the time left.
        settings: for both stages, as `Training` takes them: precision, chunk_size, max_length, …

    Returns:
        the `Results`: its `table`, `summary()`, `differences("FT")`.

    Raises:
        ValueError: for a folder with runs of other settings; for data sets of one name.
    """
    for name in protocol.choose.keys() & settings.keys():
        raise ValueError(
            f"The grid varies {name}, and {name}= would override it: leave it out."
        )
    if not isinstance(methods, Mapping):
        methods = {name: PIPELINES[name] for name in methods}
    plan = list(
        plan_runs(protocol, [data] if isinstance(data, TaskData) else data, methods)
    )
    picks = protocol.choose or protocol.report in ("top", "best")
    if picks and any(planned.held.validation is None for planned in plan):
        raise ValueError(
            f"{protocol.name} picks runs by validation rows, but holds none out: take dataclasses.replace(protocol, "
            "report='mean', choose={}); for GLUE's secret rows there is examples/glue_submission.py."
        )
    by_key = {planned.key: planned for planned in plan}
    if len(by_key) < len(plan):
        raise ValueError(
            "Two of these runs would have one row of the table: give each data set a name of its own."
        )
    before, hashes = encoder_hash(start), {}
    names = "choose head stratified per_class fraction shots split_seed validation mismatched copies"
    for key, planned in by_key.items():
        pipeline = planned.pipeline
        decisive = [getattr(protocol, name) for name in names.split()]
        decisive += [pipeline.description, planned.task, planned.source, before]
        decisive += [sorted(settings.items()), protocol.training(planned.size)]
        if pipeline.post:
            decisive.append(protocol.post_training(planned.size))
        if protocol.temperature is not None:
            decisive += [protocol.temperature, paraphraser]
        hashes[key] = digest(decisive)

    def make(key: tuple) -> dict[str, Any]:
        return {"start": before, **_run_one(by_key[key], start, paraphraser, settings)}

    table, complete = collect(hashes, make, folder, progress)
    return Results(table, protocol, complete)


def _run_one(
    planned: PlannedRun,
    start: Encoder | FineTune,
    paraphraser: Callable | None,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """One run, from the start encoder to the numbers of its row."""
    pipeline, begin = planned.pipeline, start
    row = {"post": "", "best_step": 0, "steps": 0}
    train, texts = rows_of(planned, paraphraser)
    how = dict(task=planned.task, seed=planned.seed)
    if pipeline.post is not None:
        options = planned.protocol.post_training(planned.size) | settings
        begin = post_train(start, pipeline, texts, **how, **options)
        row["post"] = weights_hash(begin)
    if pipeline.frozen:
        model = fit_probe(encoder_of(begin), train, **how)
    else:
        model, point = _tuned(planned, begin, train, how | settings)
        row |= {"best_step": model.best_step, "steps": model.run.steps}
        if point:
            row["chosen"] = " ".join(f"{name}={value}" for name, value in point.items())
    return row | _tested(planned, model, train)


def _tested(planned: PlannedRun, model: Any, train: Any) -> dict[str, Any]:
    """The columns of a run that tell how good its model is, and on which rows."""
    held, metric = planned.held, planned.task.metrics[0]
    row = {"metric": metric, "split": split_hash(train, *held.parts), "validation": None}
    if held.validation is not None:
        row["validation"] = model.evaluate(held.validation)[metric]
    for name, value in model.evaluate(held.test).items():
        row["test" if name == metric else f"test_{name}"] = value
    if held.mismatched is not None:
        row[MISMATCHED] = model.evaluate(held.mismatched)[metric]
    return row


def post_train(
    start: Encoder | FineTune,
    pipeline: Pipeline,
    rows: Any,
    *,
    task: Task,
    seed: int,
    **settings: Any,
) -> Encoder:
    """A copy of `start`, post-trained on the texts of `rows`. Raises KeyboardInterrupt where the user stopped it."""
    encoder = copy.deepcopy(encoder_of(start))
    length = min(settings.get("max_length", 128), encoder.max_length)
    if pipeline.paraphraser is None:
        texts = tokenized(rows, encoder, task, length)
    else:
        columns = task.columns_in(column_names(rows))
        pairs = reworded(rows, pipeline.paraphraser, columns, seed=seed)
        texts = Paraphrased(pairs, encoder.tokenizer, columns, length)
    done = fit(
        pipeline.post(encoder, seed=seed), texts, seed=seed, progress=False, **settings
    )
    if done.interrupted:
        raise KeyboardInterrupt
    return encoder


def _tuned(
    planned: PlannedRun,
    start: Encoder | FineTune,
    train: Any,
    settings: Mapping[str, Any],
) -> tuple[FineTuned, dict[str, Any]]:
    """The model fine-tuned on the rows, best by validation over the protocol's grid `choose`, and its point there."""
    protocol, pipeline = planned.protocol, planned.pipeline
    metric, method, best = planned.task.metrics[0], pipeline.tune, None
    if protocol.head is not None and "head" not in getattr(method, "keywords", {}):
        method = partial(method, head=protocol.head)
    tune = partial(fine_tune, method=method)
    if pipeline.prompt is not None:
        tune = partial(prompting.fine_tune, template=pipeline.prompt)
    for values in product(*protocol.choose.values()):  # the last name changes fastest
        point = dict(zip(protocol.choose, values, strict=True))
        options = protocol.training(planned.size) | point | settings
        tuned = tune(start, train, planned.held.validation, **options)
        if tuned.run.interrupted:
            raise KeyboardInterrupt
        if best is None or tuned.best[metric] > best.best[metric]:
            best, chosen = tuned, point
    return best, chosen


def baseline(
    protocol: Protocol,
    data: TaskData,
    predict: Callable[
        [Sequence[str], np.ndarray, Sequence[str]], np.ndarray
    ] = count_words,
    *,
    paraphraser: Callable | None = None,
) -> Results:
    """`predict` on every draw of a protocol, with the training, validation and test rows that `run` gives its methods.

    So it can stand in one table with them, as "counting words", and be compared in pairs. A baseline without randomness
    gets the same score for all seeds of a draw.

    Args:
        protocol: as for `run`. Its settings of training do not matter here.
        data: a task with classes. A pair of texts is joined into one.
        predict: (training texts, their labels, unseen texts) -> classes.
        paraphraser: as for `run`; for the protocols of `SCL_NOISE`.

    Example:
        >>> from dataclasses import replace
        >>> from contrast_kit import tasks
        >>> small = replace(tasks.protocols.CMLM, sizes=(20,), draws=2)
        >>> results = tasks.baseline(small, tasks.load("toyshop/sst2"))
        >>> results.table.groupby("draw")["test"].nunique().tolist()
        [1, 1]
    """
    import pandas as pd

    rows = []
    for planned in plan_runs(protocol, [data], {"counting words": Pipeline()}):
        train, _ = rows_of(planned, paraphraser)
        row = dict(zip(KEY, planned.key, strict=True))
        rows.append(row | _tested(planned, _Counts(planned.task, predict, train), train))
    return Results(pd.DataFrame(rows), protocol)


@dataclass(frozen=True)
class _Counts:
    """A model that reads its training rows whenever it is asked."""

    task: Task
    predict: Callable
    train: Any

    def evaluate(self, rows: Any) -> dict[str, float]:
        known, unseen = (_joined(part, self.task) for part in (self.train, rows))
        predicted = self.predict(known, labels_of(self.train), unseen)
        return score(self.task, predicted, labels_of(rows))


def _joined(rows: Any, task: Task) -> list[str]:
    """One string per row: a pair's two texts with a space between."""
    return [" ".join(texts) for texts in zip(*texts_of(rows, task), strict=True)]
