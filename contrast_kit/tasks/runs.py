"""Run methods through a protocol: post-train, fine-tune, test; one row per run, stopped and continued at will."""

import copy
import hashlib
import time
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
from contrast_kit.tasks.probes import encoder_hash, fit_probe, weights_hash
from contrast_kit.tasks.protocol import PIPELINES, Pipeline, Protocol
from contrast_kit.tasks.results import KEY, MISMATCHED, Results, read, table_of, write
from contrast_kit.tasks.splits import HeldOut, draw, hold_out, shots, split_hash
from contrast_kit.tasks.table import Task, TaskData, labels_of, score, select_rows, texts_of
from contrast_kit.training import fit


@dataclass(frozen=True)
class PlannedRun:
    """One run of a protocol, before it starts."""

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


def plan_runs(
    protocol: Protocol, data: Iterable[TaskData], pipelines: Mapping[str, Pipeline]
) -> Iterator[PlannedRun]:
    """All runs, with the methods innermost, so that after a stop all methods have done the same draws."""
    draws = range(protocol.first_draw, protocol.first_draw + protocol.draws)
    for each in data:
        held, labels = held_rows(protocol, each), labels_of(each.train)
        source = split_hash(each.train, *held.parts)
        for size, number, seed in product(protocol.sizes, draws, protocol.seeds):
            same_rows = size is None or protocol.fraction is not None
            if same_rows and protocol.temperature is None and number > protocol.first_draw:
                continue  # the same run again would pass for an independent one
            if protocol.shots is not None:
                chosen, kept = shots(labels, protocol.shots, seed)
                held = replace(held, validation=select_rows(each.train, kept))
            elif protocol.fraction is not None:
                count = max(1, round(protocol.fraction * len(labels)))
                chosen = draw(labels, count, [protocol.split_seed, 2])
            else:
                how = dict(stratified=protocol.stratified, per_class=protocol.per_class)
                chosen = draw(labels, size, [protocol.split_seed, number, size or 0], **how)
            for name, pipeline in pipelines.items():
                yield PlannedRun(name, pipeline, each, held, source, size, number, seed, chosen)


def held_rows(protocol: Protocol, data: TaskData) -> HeldOut:
    """The rows that a protocol holds out of a task."""
    return hold_out(
        data,
        validation=0 if protocol.shots else protocol.validation,
        test=protocol.test,
        most_test=protocol.most_test.get(data.task.name),
        stratified=protocol.stratified and not data.task.regression,
        seed=protocol.split_seed,
        mismatched=protocol.mismatched,
    )


def rows_of(
    planned: PlannedRun, protocol: Protocol, paraphraser: Callable | None = None
) -> tuple[Any, Any]:
    """The training rows of a draw, with noisy copies where the protocol adds some, and the rows for post-training."""
    rows, chosen, pipeline = planned.data.train, planned.chosen, planned.pipeline
    train = texts = select_rows(rows, chosen)
    if protocol.temperature is not None:
        columns = planned.data.task.columns_in(column_names(train))
        noise = dict(copies=protocol.copies, temperature=protocol.temperature, seed=planned.draw)
        train = texts = augmented(train, paraphraser, columns, **noise)
    others = sorted(set(range(len(rows))) - set(chosen))
    if pipeline.unlabeled and others:
        seed = [protocol.split_seed, planned.draw, planned.size or 0, 1]
        more = draw(labels_of(rows), min(pipeline.unlabeled, len(others)), seed, among=others)
        texts = select_rows(rows, [*chosen, *more])
    return train, texts


def task_of(protocol: Protocol, data: TaskData) -> Task:
    """The task, with the metric that the protocol selects and reports by moved to the front."""
    return data.task.reporting(protocol.metrics.get(data.task.name))


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
    from tqdm.auto import tqdm

    refuse_overridden(protocol.choose, settings)
    before = encoder_hash(start)
    path = None if folder is None else Path(folder).expanduser() / "results.csv"
    done = {}
    if path is not None and path.exists():
        done = {tuple(row[name] for name in KEY): row for row in read(path)}
    plan = list(plan_runs(protocol, listed(data), pipelines_by_name(methods)))
    picks = protocol.choose or protocol.report in ("top", "best")
    if picks and any(planned.held.validation is None for planned in plan):
        raise ValueError(
            f"{protocol.name} picks runs by validation rows, but holds none out: take dataclasses.replace(protocol, "
            "report='mean', choose={}); for GLUE's secret rows there is examples/glue_submission.py."
        )
    hashes = {}
    for planned in plan:
        if planned.key in hashes:
            raise ValueError(
                "Two of these runs would have one row of the table: give each data set a name of its own."
            )
        hashes[planned.key] = setting_hash(planned, protocol, before, paraphraser, settings)
        if done.get(planned.key, {}).get("setting", hashes[planned.key]) != hashes[planned.key]:
            raise ValueError(
                f"{path} holds a run of {planned.name} on {planned.data.name} that was made with other settings, "
                "another start or other rows: choose another folder for these."
            )
    left = [planned for planned in plan if planned.key not in done]
    complete = True
    try:
        for planned in tqdm(left, unit="run", disable=not progress):
            marks = {"start": before, "setting": hashes[planned.key]}
            done[planned.key] = _run_one(planned, protocol, start, paraphraser, settings, marks)
            if path is not None:
                write(table_of(done.values()), path)
    except KeyboardInterrupt:
        complete = False
    return Results(table_of(done[key] for key in hashes if key in done), protocol, complete)


def listed(data: TaskData | Iterable[TaskData]) -> list[TaskData]:
    """The data of one task or of several, as a list."""
    return [data] if isinstance(data, TaskData) else list(data)


def pipelines_by_name(methods: Mapping[str, Pipeline] | Sequence[str]) -> dict[str, Pipeline]:
    """A mapping as it is, or names looked up in `PIPELINES`."""
    if isinstance(methods, Mapping):
        return dict(methods)
    return {name: PIPELINES[name] for name in methods}


def refuse_overridden(varied: Iterable[str], settings: Mapping[str, Any]) -> None:
    """Raise for a setting that would make all points of a grid the same."""
    for name in varied:
        if name in settings:
            raise ValueError(
                f"The grid varies {name}, and {name}= would override it: leave it out."
            )


def setting_hash(
    planned: PlannedRun,
    protocol: Protocol,
    start: str,
    paraphraser: Any,
    settings: Mapping[str, Any],
) -> str:
    """A hash of everything that decides a run's result, apart from its key."""
    pipeline = planned.pipeline
    decisive = [
        pipeline.description,
        planned.data.task,
        planned.source,
        start,
        sorted(settings.items()),
    ]
    decisive += [protocol.training(planned.size), protocol.choose, protocol.head]
    if pipeline.post:
        decisive.append(protocol.post_training(planned.size))
    decisive += [
        protocol.stratified,
        protocol.per_class,
        protocol.fraction,
        protocol.shots,
        protocol.split_seed,
    ]
    decisive += [
        protocol.metrics.get(planned.data.task.name),
        protocol.validation,
        protocol.mismatched,
    ]
    if protocol.temperature is not None:
        decisive += [protocol.temperature, protocol.copies, paraphraser]
    return hashlib.sha256(repr(decisive).encode()).hexdigest()[:12]


def _run_one(
    planned: PlannedRun,
    protocol: Protocol,
    start: Encoder | FineTune,
    paraphraser: Callable | None,
    settings: Mapping[str, Any],
    marks: Mapping[str, str],
) -> dict[str, Any]:
    """One run, from the start encoder to a row of the table."""
    began = time.monotonic()
    pipeline, held, task = planned.pipeline, planned.held, task_of(protocol, planned.data)
    metric = task.metrics[0]
    train, texts = rows_of(planned, protocol, paraphraser)
    begin, post = start, ""
    if pipeline.post is not None:
        options = protocol.post_training(planned.size) | settings
        begin = post_train(start, pipeline, texts, task=task, seed=planned.seed, **options)
        post = weights_hash(begin)
    if pipeline.frozen:
        model = fit_probe(encoder_of(begin), train, task=task, seed=planned.seed)
        facts = {"best_step": 0, "steps": 0}
        best = {} if held.validation is None else model.evaluate(held.validation)
    else:
        options = dict(task=task, size=planned.size, seed=planned.seed, **settings)
        model, point = tune_by_grid(begin, train, held.validation, pipeline, protocol, **options)
        facts = {"best_step": model.best_step, "steps": model.run.steps}
        best = model.best
        if point:
            facts["chosen"] = describe_point(point)
    scores = model.evaluate(held.test)
    row = dict(zip(KEY, planned.key, strict=True))
    row |= {"metric": metric, "validation": best.get(metric), "test": scores.pop(metric)}
    row |= {f"test_{name}": value for name, value in scores.items()}
    if held.mismatched is not None:
        row[MISMATCHED] = model.evaluate(held.mismatched)[metric]
    row |= {"split": split_hash(train, *held.parts), **marks, "post": post, **facts}
    return row | {"seconds": round(time.monotonic() - began, 3)}


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
    done = fit(pipeline.post(encoder, seed=seed), texts, seed=seed, progress=False, **settings)
    if done.interrupted:
        raise KeyboardInterrupt
    return encoder


def tune_by_grid(
    start: Encoder | FineTune,
    train: Any,
    validation: Any,
    pipeline: Pipeline,
    protocol: Protocol,
    *,
    task: Task,
    size: int | None,
    seed: int,
    **settings: Any,
) -> tuple[FineTuned, dict[str, Any]]:
    """The model fine-tuned on the rows, best by validation over the protocol's grid `choose`, and its point there."""
    tune = partial(fine_tune, method=tune_of(protocol, pipeline))
    if pipeline.prompt is not None:
        tune = partial(prompting.fine_tune, template=pipeline.prompt)
    best, chosen = None, {}
    for point in points(protocol.choose):
        options = protocol.training(size) | point | settings
        tuned = tune(start, train, validation, task=task, seed=seed, **options)
        if tuned.run.interrupted:
            raise KeyboardInterrupt
        if best is None or tuned.best[task.metrics[0]] > best.best[task.metrics[0]]:
            best, chosen = tuned, point
    return best, chosen


def tune_of(protocol: Protocol, pipeline: Pipeline) -> Any:
    """What makes the fine-tuning objective: with the protocol's head, where the pipeline names none."""
    if protocol.head is None or "head" in getattr(pipeline.tune, "keywords", {}):
        return pipeline.tune
    return partial(pipeline.tune, head=protocol.head)


def points(grid: Mapping[str, Sequence]) -> list[dict[str, Any]]:
    """All points of a grid, the last name changing fastest; one empty point for an empty grid.

    >>> points({"lr": (1e-5, 2e-5), "batch_size": (16,)})
    [{'lr': 1e-05, 'batch_size': 16}, {'lr': 2e-05, 'batch_size': 16}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def describe_point(point: Mapping[str, Any]) -> str:
    """A point written out, so that a folder can be named after it.

    >>> describe_point({"lr": 1e-5, "batch_size": 16})
    'lr=1e-05 batch_size=16'
    """
    return " ".join(f"{name}={value}" for name, value in point.items())


def count_words(texts: Sequence[str], labels: np.ndarray, unseen: Sequence[str]) -> np.ndarray:
    """Classes of unseen texts from word counts: TF-IDF and a logistic regression, which has no seed.

    >>> count_words(["a red kite", "a blue kite", "a red drum"], np.array([0, 0, 1]), ["my old kite", "the drum"])
    array([0, 1])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=500))
    return model.fit(texts, labels).predict(unseen)


def baseline(
    protocol: Protocol,
    data: TaskData,
    predict: Callable[[Sequence[str], np.ndarray, Sequence[str]], np.ndarray] = count_words,
    name: str = "counting words",
    *,
    paraphraser: Callable | None = None,
) -> Results:
    """`predict` on every draw of a protocol, with the training, validation and test rows that `run` gives its methods.

    So it can stand in one table with them and be compared in pairs. A baseline without randomness gets the same score
    for all seeds of a draw.

    Args:
        protocol: as for `run`. Its settings of training do not matter here.
        data: a task with classes. A pair of texts is joined into one.
        predict: (training texts, their labels, unseen texts) -> classes.
        name: what the method is called in the table.
        paraphraser: as for `run`; for the protocols of `SCL_NOISE`.

    Example:
        >>> from dataclasses import replace
        >>> from contrast_kit import tasks
        >>> small = replace(tasks.protocols.CMLM, sizes=(20,), draws=2)
        >>> results = tasks.baseline(small, tasks.load("toyshop/sst2"))
        >>> results.table.groupby("draw")["test"].nunique().tolist()
        [1, 1]
    """
    task, rows = task_of(protocol, data), []
    metric = task.metrics[0]
    for planned in plan_runs(protocol, [data], {name: Pipeline()}):
        train, _ = rows_of(planned, protocol, paraphraser)
        row = dict(zip(KEY, planned.key, strict=True)) | {"metric": metric}
        for part in ("validation", "test"):
            row[part], unseen = None, getattr(planned.held, part)
            if unseen is not None:
                predicted = predict(_joined(data, train), labels_of(train), _joined(data, unseen))
                row[part] = score(task, predicted, labels_of(unseen))[metric]
        rows.append(row | {"split": split_hash(train, *planned.held.parts)})
    return Results(table_of(rows), protocol)


def _joined(data: TaskData, rows: Any) -> list[str]:
    """One string per row: a pair's two texts with a space between."""
    return [" ".join(texts) for texts in zip(*texts_of(rows, data.task), strict=True)]
