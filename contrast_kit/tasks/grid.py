"""Run methods through a protocol: post-train, fine-tune, test; one row per run, stopped and continued at will."""

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from contrast_kit import arguments, checks
from contrast_kit.data import Paraphrased
from contrast_kit.data.paraphrase import Paraphraser, reworded
from contrast_kit.data.rows import column_names
from contrast_kit.encoder import Encoder
from contrast_kit.objectives import FineTune
from contrast_kit.plots.progress import Progress
from contrast_kit.tasks import prompting
from contrast_kit.tasks.fine_tuning import FineTuned, check_start, encoder_of, fine_tune, tokenized
from contrast_kit.tasks.pipelines import Pipeline, pipelines_by_name
from contrast_kit.tasks.planned import (
    PlannedRun,
    check_paraphraser,
    drawn_rows,
    refuse_overridden,
    rows_of,
    setting_hash,
    task_of,
    tune_of,
)
from contrast_kit.tasks.planned import plan as make_plan
from contrast_kit.tasks.points import describe_point, points
from contrast_kit.tasks.probes import fit_probe
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.results import KEY, MISMATCHED, Results, inside, read, table_of, write
from contrast_kit.tasks.splits import HeldOut, split_hash
from contrast_kit.tasks.table import Task, TaskData, list_of_tasks
from contrast_kit.tasks.vectors import encoder_hash, weights_hash
from contrast_kit.training import fit


def post_train(
    start: Encoder | FineTune, pipeline: Pipeline, rows: Any, *, task: Task, seed: int, **settings: Any
) -> Encoder:
    """A copy of `start`, post-trained on the texts of `rows` where the pipeline has a post-training objective."""
    encoder = copy.deepcopy(encoder_of(start))
    if pipeline.post is None:
        return encoder
    length = settings.get("max_length", 128)
    arguments.length(length)
    length = min(length, encoder.max_length)
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
    data: TaskData | Iterable[TaskData],
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
    it refuses a folder with runs of other settings. Ctrl-C (the stop button) stops after the current update, and the
    next call repeats the unfinished run. A class of your own counts as another setting once its code, its bases' code
    or the defaults of its `Config` are edited (and under another version of Python). Functions defined elsewhere that
    it calls do not count, and a named function in its place is known by its name alone.

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
        TypeError: for data that is not from `tasks.load`, or a start that is not an encoder.
        ValueError: for a size that the protocol has no epochs for, an unknown method, a folder with runs of other
            settings, or a protocol with a temperature and no paraphraser.
    """
    arguments.of_kind("protocol", protocol, Protocol, "one of tasks.protocols")
    checks.switch("progress", progress)
    check_paraphraser(protocol, paraphraser, "run")
    refuse_overridden(protocol, settings)
    pipelines, data = pipelines_by_name(methods), list_of_tasks(data)
    check_start(start)
    before, path = encoder_hash(start), inside(folder, "results.csv")
    done = {tuple(row[name] for name in KEY): row for row in kept_runs(path)}
    plan = list(make_plan(protocol, data, pipelines, paraphraser))
    if len({planned.key for planned in plan}) < len(plan):
        raise ValueError(
            "Two of these runs would have one row of the table: give each data set a name of its own, "
            "TaskData(task, splits, name), and name each size, draw and seed once."
        )
    chosen = [f"reports the {protocol.report} runs"] if protocol.report in ("top", "best") else []
    chosen += [f"chooses {', '.join(protocol.choose)}"] if protocol.choose else []
    if chosen and any(planned.held.validation is None for planned in plan):
        raise ValueError(
            f"{protocol.name} {' and '.join(chosen)} by validation rows, but holds none out: take "
            "dataclasses.replace(protocol, report='mean', choose={}); for GLUE's secret rows there is tasks.submission."
        )
    _refuse_other_settings(plan, done, protocol, before, settings, path)
    left = [planned for planned in plan if planned.key not in done]
    bar = Progress(len(plan), len(plan) - len(left), show=progress, unit="run")
    complete = True
    try:
        for planned in left:
            row = _run_one(planned, protocol, start, before, settings)
            done[planned.key] = row
            if path is not None:
                write(table_of(done.values()), path)
            bar.update({row["metric"]: row["test"]}, [])
    except (Stopped, KeyboardInterrupt):
        complete = False
    finally:
        bar.close()
    wanted = [planned.key for planned in plan]
    return Results(table_of(done[key] for key in wanted if key in done), protocol, complete)


def _run_one(planned: PlannedRun, protocol: Protocol, start: Any, before: str, settings: Mapping[str, Any]) -> dict:
    """One run, from the start encoder to a row of the table."""
    began = time.monotonic()
    train, texts = rows_of(planned, protocol)
    begin, post, pipeline, held = start, "", planned.pipeline, planned.held
    if pipeline.post is not None:
        options = protocol.post_training(planned.size) | settings
        begin = post_train(start, pipeline, texts, task=planned.data.task, seed=planned.seed, **options)
        post = weights_hash(begin)
    task = task_of(protocol, planned.data)
    metric = task.metrics[0]
    if pipeline.frozen:
        last = _probed(begin, train, held, task, planned.seed)
    else:
        last = _tuned(begin, train, planned, protocol, task, settings)
    test = last.pop("model").evaluate
    scores = test(held.test)
    row = dict(zip(KEY, planned.key, strict=True))
    row |= {"metric": metric, "validation": last.pop("validation").get(metric), "test": scores[metric]}
    row |= {f"test_{name}": value for name, value in scores.items() if name != metric}
    if held.mismatched is not None:
        row |= {MISMATCHED: test(held.mismatched)[metric]}
    row |= {"split": split_hash(train, *held.parts), "start": before, "post": post}
    row |= {"setting": setting_hash(planned, protocol, before, settings), **last}
    return row | {"seconds": round(time.monotonic() - began, 3)}


def _tuned(
    begin: Any, train: Any, planned: PlannedRun, protocol: Protocol, task: Task, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The model fine-tuned on the rows; where the protocol chooses within a run, the best of its grid by validation."""
    validation, pipeline, best, at = planned.held.validation, planned.pipeline, None, {}
    options = dict(task=task, method=tune_of(protocol, pipeline), seed=planned.seed) | protocol.training(planned.size)
    tune = fine_tune
    if pipeline.prompt is not None:
        del options["method"]
        tune = partial(prompting.fine_tune, template=pipeline.prompt)
    for point in points(protocol.choose):
        tuned: FineTuned = tune(begin, train, validation, **(options | point | settings))
        if tuned.run.interrupted:
            raise Stopped
        if best is None or tuned.best[task.metrics[0]] > best.best[task.metrics[0]]:
            best, at = tuned, point
    chosen = {"chosen": describe_point(at)} if at else {}
    return dict(model=best, validation=best.best, best_step=best.best_step, steps=best.run.steps) | chosen


def _probed(begin: Any, train: Any, held: HeldOut, task: Task, seed: int) -> dict[str, Any]:
    """A linear probe of the vectors as they are."""
    model = fit_probe(encoder_of(begin), train, task=task, seed=seed)
    validation = {} if held.validation is None else model.evaluate(held.validation)
    return dict(model=model, validation=validation, best_step=0, steps=0)


def _refuse_other_settings(
    plan: list[PlannedRun], done: Mapping, protocol: Protocol, before: str, settings: Mapping, path: Path | None
) -> None:
    """Raise before anything runs: for a run in the folder with other settings, or a size without epochs."""
    rows_now: dict[tuple, str] = {}  # the same for all methods and seeds of a draw
    for planned in plan:
        wanted = setting_hash(planned, protocol, before, settings)
        if planned.key not in done:
            continue
        row = done[planned.key]
        which = (planned.data.name, planned.size, planned.draw, planned.chosen, id(planned.held))
        if protocol.temperature is not None:  # noisy copies would have to be made again; the setting covers their rows
            rows_now[which] = row["split"]
        elif which not in rows_now:
            rows_now[which] = split_hash(drawn_rows(planned, protocol)[0], *planned.held.parts)
        if (row["setting"], row["split"]) != (wanted, rows_now[which]):
            raise ValueError(
                f"{path} holds a run of {planned.name} on {planned.data.name} that was made with other settings, "
                "other code of a class of your own, another start or other rows: choose another folder for these."
            )


def kept_runs(path: Path | None) -> list[dict]:
    """The rows of a folder's table, none where there is none yet; refuses a file that is no such table, or damaged."""
    if path is None or not path.exists():
        return []
    try:
        table = read(path)
        numbers = table[[*KEY[2:], "validation", "test"]].select_dtypes("number")  # of n, draw and seed too
        whole = {"method", "task", "split", "start", "setting"} <= {*table} and numbers.shape[1] == 5
        whole = table.empty or (whole and table["test"].notna().all())
    except (ValueError, KeyError):  # no table at all, no text, columns that are not there
        whole = False
    if not whole:
        raise ValueError(f"{path} is damaged, or no table of runs: remove it, or choose another folder for these.")
    return table.astype(object).where(table.notna(), None).to_dict("records")
