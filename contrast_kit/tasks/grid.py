"""Run methods through a protocol: post-train, fine-tune, test; one row a run, stopped and continued at will."""

import copy
import hashlib
import json
import math
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
from contrast_kit.tasks.fine_tuning import Tuned, fine_tune, tokenized, weights_hash
from contrast_kit.tasks.methods import Method, by_name
from contrast_kit.tasks.probes import labels_of
from contrast_kit.tasks.protocols import Protocol
from contrast_kit.tasks.results import KEY, Results, read, write
from contrast_kit.tasks.splits import HeldOut, draw, hold_out, pick, split_hash
from contrast_kit.tasks.table import Task, TaskData
from contrast_kit.training import fit
from contrast_kit.training.progress import Progress

if TYPE_CHECKING:
    import pandas as pd


def post_train(start: Encoder, method: Method, rows: Any, *, task: Task, seed: int, **settings: Any) -> Encoder:
    """A copy of `start` post-trained on the texts of `rows`; without a post-training objective just the copy."""
    encoder = copy.deepcopy(start)
    if method.post is None:
        return encoder
    length = min(settings.get("max_length", 128), encoder.max_length)
    if method.paraphraser is None:
        texts = tokenized(rows, encoder, task, length)
    else:
        columns = task.columns_in(column_names(rows))
        worded = reworded(rows, method.paraphraser, columns, seed=seed)
        texts = Paraphrased(worded, encoder.tokenizer, columns, length)
    epochs = settings.pop("epochs")
    steps = math.ceil(epochs * math.ceil(len(texts) / settings["batch_size"]))
    run = fit(method.post(encoder, seed=seed), texts, steps=steps, seed=seed, progress=False, **settings)
    if run.interrupted:
        raise Stopped
    return encoder


class Stopped(Exception):
    """A run was ended by the reader."""


def run(
    protocol: Protocol,
    data: TaskData | Sequence[TaskData],
    start: Encoder | FineTune,
    methods: Mapping[str, Method] | Sequence[str] = ("FT", "SCL", "TAPT", "CMLM"),
    *,
    folder: str | Path | None = None,
    paraphraser: Paraphraser | None = None,
    progress: bool = True,
    **settings: Any,
) -> Results:
    """Every method on every task, size, draw and seed of a protocol.

    All methods see the same draws and held-out rows. Each run selects its step by the validation rows and is then
    tested once. With a `folder`, `results.csv` in it is rewritten after each run; called again with the same folder it
    goes on where it stood, and a run of other settings in it is refused. Ctrl-C (the stop button) ends it after the
    present update; the run under way is then done again.

    Args:
        protocol: one of `protocols`, or another made with `dataclasses.replace`.
        data: from `tasks.load`, one or several.
        start: the encoder that every run starts from; not changed. A fine-tuned objective lends its head too.
        methods: names in `METHODS`, or `{"name": Method(…)}`.
        folder: where the table is kept.
        paraphraser: makes the noisy copies of training rows, where the protocol has a temperature.
        progress: show a line with the runs and the time that are left.
        settings: for both stages, as `Training` takes them: precision, chunk_size, max_length, …

    Returns:
        the `Results`: its `table`, `summary()`, `differences("FT")`.

    Raises:
        TypeError: for data that is not from `tasks.load`, or a start that is no encoder.
        ValueError: for a size that the protocol has no epochs for, a method that has no name here, a folder with runs
            of other settings, or a protocol with a temperature and no paraphraser.
    """
    if protocol.temperature is not None and paraphraser is None:
        raise ValueError(
            "This protocol adds paraphrases to the training rows: say who makes them, run(…, paraphraser="
            "paraphrase.BackTranslation()) or paraphrase.Toyshop()."
        )
    methods = by_name(methods)
    data = [data] if isinstance(data, TaskData) else list(data)
    if not all(isinstance(of, TaskData) for of in data):
        raise TypeError("data is what tasks.load gives, one or several: run(protocol, tasks.load('toyshop/sst2'), …).")
    if not isinstance(start, Encoder | FineTune):
        raise TypeError(f"start is an Encoder, or a fine-tuned objective, not {type(start).__name__}.")
    before = weights_hash(start)
    path = Path(folder, "results.csv") if folder is not None else None
    done = {} if path is None or not path.exists() else _by_key(read(path))
    plan = list(_plan(protocol, data, methods, paraphraser))
    _refuse_others(plan, done, protocol, before, settings, path)
    left = [item for item in plan if item.key not in done]
    bar = Progress(len(plan), len(plan) - len(left), show=progress, unit="run")
    complete = True
    try:
        for item in left:
            row = _one(item, protocol, start, before, settings)
            done[item.key] = row
            if path is not None:
                write(_table(done), path)
            bar.update({row["metric"]: row["test"]}, [])
    except (Stopped, KeyboardInterrupt):
        complete = False
    finally:
        bar.close()
    wanted = [item.key for item in plan]
    return Results(_table({key: done[key] for key in wanted if key in done}), protocol, complete)


@dataclass(frozen=True)
class Item:
    """One run to be done."""

    name: str
    method: Method
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
    protocol: Protocol, data: list[TaskData], methods: Mapping[str, Method], paraphraser: Paraphraser | None
) -> Iterator[Item]:
    """All runs, methods innermost: after a stop the methods have been through the same draws."""
    for of in data:
        held = hold_out(
            of,
            validation=protocol.validation,
            test=protocol.test,
            most_test=protocol.most_test.get(of.task.name),
            stratified=protocol.stratified and not of.task.regression,
            seed=protocol.split_seed,
        )
        for size, number, seed in product(protocol.sizes, range(protocol.draws), protocol.seeds):
            for name, method in methods.items():
                yield Item(name, method, of, held, size, number, seed, paraphraser)


def _rows(item: Item, protocol: Protocol) -> tuple[Any, Any]:
    """The rows of a draw, with noisy copies if the protocol adds some, and those that post-training may read."""
    rows, labels = item.data.train, labels_of(item.data.train)
    seed = [protocol.split_seed, item.draw, item.size or 0]
    chosen = draw(labels, item.size, seed, stratified=protocol.stratified, per_class=protocol.per_class)
    train = pick(rows, chosen)
    if protocol.temperature is not None:
        columns = item.data.task.columns_in(column_names(train))
        noise = dict(copies=protocol.copies, temperature=protocol.temperature, seed=item.draw)
        train = augmented(train, item.paraphraser, columns, **noise)
    if not item.method.unlabeled:
        return train, train
    others = sorted(set(range(len(rows))) - set(chosen))
    more = draw(labels, min(item.method.unlabeled, len(others)), [*seed, 1], among=others)
    return train, pick(rows, chosen + more)


def _one(item: Item, protocol: Protocol, start: Any, before: str, settings: Mapping[str, Any]) -> dict:
    """One run from the start encoder to a row of the table."""
    began = time.monotonic()
    train, texts = _rows(item, protocol)
    begin, post = start, ""
    if item.method.post is not None:
        encoder = start.encoder if isinstance(start, FineTune) else start
        options = protocol.post_training(item.size) | settings
        begin = post_train(encoder, item.method, texts, task=item.data.task, seed=item.seed, **options)
        post = weights_hash(begin)
    tuned: Tuned = fine_tune(
        begin,
        train,
        item.held.validation,
        task=item.data.task,
        method=item.method.tune,
        seed=item.seed,
        **(protocol.training(item.size) | settings),
    )
    if tuned.run.interrupted:
        raise Stopped
    test, metric = tuned.evaluate(item.held.test), item.data.task.metrics[0]
    row = dict(zip(KEY, item.key, strict=True))
    row |= {"metric": metric, "validation": tuned.best.get(metric), "test": test[metric]}
    row |= {f"test_{name}": value for name, value in test.items() if name != metric}
    row |= {"split": split_hash(train, item.held.validation, item.held.test), "start": before, "post": post}
    row |= {"setting": setting_hash(item, protocol, before, settings), "best_step": tuned.best_step}
    return row | {"steps": tuned.run.steps, "seconds": round(time.monotonic() - began, 3)}


def setting_hash(item: Item, protocol: Protocol, before: str, settings: Mapping[str, Any]) -> str:
    """A hash of all that decides a run's outcome beside its key."""
    noise = {}
    if protocol.temperature is not None:
        noise = {"noise": [protocol.temperature, protocol.copies, repr(item.paraphraser)]}
    said = noise | {
        "method": item.method.words,
        "start": before,
        "fine-tuning": protocol.training(item.size),
        "post-training": protocol.post_training(item.size) if item.method.post else None,
        "rows": [len(item.data.train), item.held.hash, protocol.stratified, protocol.per_class],
        "split_seed": protocol.split_seed,
        "settings": {name: repr(value) for name, value in sorted(settings.items())},
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def _refuse_others(
    plan: list[Item], done: Mapping, protocol: Protocol, before: str, settings: Mapping, path: Path | None
) -> None:
    """Raise before anything runs: for a run in the folder made otherwise, or a size without epochs."""
    for item in plan:
        wanted = setting_hash(item, protocol, before, settings)
        if item.key in done and done[item.key]["setting"] != wanted:
            raise ValueError(
                f"{path} holds a run of {item.name} on {item.data.name} that was made with other settings, "
                "another start or other rows: take another folder for these."
            )


def _by_key(table: "pd.DataFrame") -> dict[tuple, dict]:
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return {tuple(row[name] for name in KEY): row for row in rows}


def _table(done: Mapping[tuple, dict]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(done.values()))
