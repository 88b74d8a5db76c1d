"""What a protocol will run: each run with its rows, before anything is trained."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from itertools import product
from typing import Any

from contrast_kit import arguments
from contrast_kit.data.paraphrase import Paraphraser, augmented
from contrast_kit.data.rows import column_names
from contrast_kit.tasks.pipelines import Pipeline
from contrast_kit.tasks.probes import labels_of
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.splits import HeldOut, draw, hold_out, plain, select_rows, shots, split_hash
from contrast_kit.tasks.table import TASKS, Task, TaskData


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
    chosen: tuple[int, ...] | None = None
    """The training rows, where they are not drawn by size and draw."""

    @property
    def key(self) -> tuple:
        """What identifies the run: the columns `results.KEY`."""
        n = self.size if self.chosen is None else len(self.chosen)
        return (self.name, self.data.name, len(self.data.train) if n is None else n, self.draw, self.seed)


def check_paraphraser(protocol: Protocol, paraphraser: Paraphraser | None, call: str) -> None:
    """Refuse a protocol with paraphrases without what makes them."""
    if paraphraser is not None:
        arguments.of_kind("paraphraser", paraphraser, Callable, "a Paraphraser, such as data.paraphrase.Toyshop()")
    elif protocol.temperature is not None:
        raise ValueError(
            f"This protocol adds paraphrases to the training rows: give a paraphraser, {call}(…, paraphraser="
            "data.paraphrase.BackTranslation()) or data.paraphrase.Toyshop()."
        )


def plan(
    protocol: Protocol, data: list[TaskData], pipelines: Mapping[str, Pipeline], paraphraser: Paraphraser | None
) -> Iterator[PlannedRun]:
    """All runs, with the methods innermost, so that after a stop all methods have done the same draws."""
    for one in data:
        held, chosen = held_rows(protocol, one), None
        if protocol.fraction is not None:
            labels = labels_of(one.train)
            chosen = draw(labels, max(1, round(protocol.fraction * len(labels))), [protocol.split_seed, 2])
        draws = range(protocol.first_draw, protocol.first_draw + protocol.draws)
        for size, number, seed in product(protocol.sizes, draws, protocol.seeds):
            if number > protocol.first_draw and _drawn_once(protocol, size):
                continue
            if protocol.shots is not None:
                chosen, kept = shots(labels_of(one.train), protocol.shots, seed)
                held = HeldOut(select_rows(one.train, kept), held.test, held.note, held.mismatched)
            for name, pipeline in pipelines.items():
                rows = None if chosen is None else tuple(chosen)
                yield PlannedRun(name, pipeline, one, held, size, number, seed, paraphraser, rows)


def _drawn_once(protocol: Protocol, size: int | None) -> bool:
    """Whether each draw would train on the same rows: the same runs again, which would pass for independent ones."""
    return (size is None or protocol.fraction is not None) and protocol.temperature is None


def refuse_overridden(
    protocol: Protocol, settings: Mapping[str, Any], varied: Iterable[str] = (), by: str = "search"
) -> None:
    """Refuse a setting that would override what each run gets of its own: its seed, what the protocol chooses, or what
    the search or sweep `by` varies. All runs, or points, would be the same.
    """
    if "seed" in settings:
        raise ValueError("seed= would be that of every run: give the protocol its seeds, replace(protocol, seeds=(…)).")
    if twice := settings.keys() & protocol.choose.keys():
        name = min(twice)
        raise ValueError(f"{protocol.name} chooses {name} itself, by validation: leave out {name}=, or choose={{}}.")
    for name in varied:
        read = name.removeprefix("post_")  # what fit calls it, in both stages
        overrides = LENGTH if read in LENGTH else {read}
        if given := overrides & settings.keys():
            raise ValueError(f"The {by} varies {name}, and {min(given)}= would override it: leave out {min(given)}=.")
        if name == "epochs" and protocol.steps:
            raise ValueError(f"The {by} varies epochs, and the protocol's steps override it: replace(…, steps=None).")
        for field in ("choose", "fine_tuning"):
            if read == name and overrides & getattr(protocol, field).keys():
                raise ValueError(
                    f"The {by} varies {name}, and the protocol's {field} overrides it: take it out there, "
                    f"replace(protocol, {field}={{…}})."
                )


def refuse_unheeded(protocol: Protocol, because: str, *names: str) -> None:
    """Refuse a protocol with one of these fields set, which the caller cannot heed; `because` begins the sentence."""
    plain = Protocol("plain")
    for name in names:
        if getattr(protocol, name) != (without := getattr(plain, name)):
            raise ValueError(
                f"{because}, so it cannot heed the {name} of {protocol.name}: take dataclasses.replace(protocol, "
                f"{name}={without!r})."
            )


LENGTH = {"epochs", "steps"}
"""Settings that say how long to train: one overrides the other."""


def facts(protocol: Protocol, settings: Mapping[str, Any], searched: Iterable[str], **others: Any) -> dict[str, str]:
    """What decides the scores of a search, by name: fields of the protocol that are not the defaults, settings (with a
    "=" after the name), and `others`. What is searched is left out: each point has its own.
    """
    plain, left_out = Protocol("plain"), {"name", "search", "ddof", *searched}
    own = {field.name: getattr(protocol, field.name) for field in fields(Protocol) if field.name not in left_out}
    own = {name: value for name, value in own.items() if value != getattr(plain, name)}
    given = {f"{name}=": value for name, value in settings.items()}
    return {name: repr(value) for name, value in sorted((own | given | others).items())}


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


def task_of(protocol: Protocol, data: TaskData) -> Task:
    """The task, with the metric that the protocol selects and reports by moved to the front."""
    return data.task.reporting(protocol.metrics.get(data.task.name))


def tune_of(protocol: Protocol, pipeline: Pipeline) -> Any:
    """What makes the fine-tuning objective: with the protocol's head, where the pipeline names none."""
    if protocol.head is None or "head" in getattr(pipeline.tune, "keywords", {}):
        return pipeline.tune
    return partial(pipeline.tune, head=protocol.head)


def rows_of(planned: PlannedRun, protocol: Protocol) -> tuple[Any, Any]:
    """The training rows of a draw, with noisy copies where the protocol adds some, and the rows for post-training."""
    train, texts = drawn_rows(planned, protocol)
    if protocol.temperature is not None:
        columns = planned.data.task.columns_in(column_names(train))
        noise = dict(copies=protocol.copies, temperature=protocol.temperature, seed=planned.draw)
        train = augmented(train, planned.paraphraser, columns, **noise)
    return train, train if texts is None else texts


def drawn_rows(planned: PlannedRun, protocol: Protocol) -> tuple[Any, Any]:
    """The training rows of a draw as the data has them; and these plus further ones, where post-training reads some."""
    rows, labels = planned.data.train, labels_of(planned.data.train)
    seed = [protocol.split_seed, planned.draw, planned.size or 0]
    chosen = planned.chosen
    if chosen is None:
        chosen = draw(labels, planned.size, seed, stratified=protocol.stratified, per_class=protocol.per_class)
    train = select_rows(rows, list(chosen))
    others = sorted(set(range(len(rows))) - set(chosen)) if planned.pipeline.unlabeled else []
    if not others:
        return train, None
    more = draw(labels, min(planned.pipeline.unlabeled, len(others)), [*seed, 1], among=others)
    return train, select_rows(rows, [*chosen, *more])


def setting_hash(planned: PlannedRun, protocol: Protocol, before: str, settings: Mapping[str, Any]) -> str:
    """A hash of everything that decides a run's result, apart from its key and the rows that `split` hashes."""
    noise, drawn = {}, ()
    if protocol.temperature is not None or planned.pipeline.unlabeled:
        drawn = drawn_rows(planned, protocol)  # with noisy copies or further texts, `split` does not tell all
    if protocol.temperature is not None:
        noise = {"noise": [protocol.temperature, protocol.copies, repr(planned.paraphraser)]}
    further = {}  # only where they are set, so that tables from before they existed can be continued
    for name in ("head", "choose", "fraction", "shots"):
        if value := getattr(protocol, name):
            further[name] = value
    if (task := planned.data.task) != TASKS.get(task.name):  # of one's own: its columns and metrics
        further["task"] = repr(task)
    if metric := protocol.metrics.get(task.name):
        further["metric"] = metric
    if drawn:
        further["drawn"] = split_hash(*drawn)
    decisive = (
        noise
        | further
        | {
            "method": planned.pipeline.description,
            "start": before,
            "fine-tuning": protocol.training(planned.size),
            "post-training": protocol.post_training(planned.size) if planned.pipeline.post else None,
            "rows": [len(planned.data.train), planned.held.hash, protocol.stratified, protocol.per_class],
            "split_seed": protocol.split_seed,
            "settings": {name: repr(value) for name, value in sorted(settings.items())},
        }
    )
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=plain).encode()).hexdigest()[:12]
