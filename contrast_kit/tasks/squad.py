"""SQuAD 2.0: train a reader, find its n best answers, choose when it should say that there is none, score as the
official script does.

    data = ck.data.load("toyshop/squad")
    reader = ck.tasks.squad.fine_tune(encoder, data["train"], epochs=3, lr=5e-4)
    threshold = reader.choose_threshold(data["validation"])
    reader.evaluate(data["test"], threshold)
"""

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from contrast_kit import arguments, checks
from contrast_kit.data.rows import as_rows, column
from contrast_kit.data.squad import Windows
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.objectives import Span
from contrast_kit.tasks.answers import apply_threshold, best_threshold, questions, score, with_null_scores
from contrast_kit.tasks.grid import kept_runs
from contrast_kit.tasks.planned import facts, refuse_overridden, refuse_unheeded
from contrast_kit.tasks.points import Point, checked_grid, describe_point
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.protocols import SQUAD
from contrast_kit.tasks.results import Results, inside, table_of, write
from contrast_kit.tasks.searching import Found, explore
from contrast_kit.tasks.splits import numbered, split_hash
from contrast_kit.tasks.vectors import encoder_hash
from contrast_kit.training import Run, fit


@dataclass(frozen=True)
class Answered:
    """What a reader says to one question."""

    best: list[tuple[str, float]]
    """The n best answers that are not empty, with their scores, the best first; equal texts once."""
    null: float
    """The score of "no answer": the lowest over the windows."""

    @property
    def null_score(self) -> float:
        """How much better "no answer" scores than the best answer."""
        return self.null - self.best[0][1] if self.best else float("inf")


@dataclass
class Reader:
    """A fine-tuned `Span` objective, with the window settings that it was trained with."""

    objective: Span
    run: Run | None = None
    max_length: int = 384
    stride: int = 128

    @torch.no_grad()
    def read(self, rows: Any, *, n: int = 20, max_answer: int = 30, batch_size: int = 32) -> dict[str, Answered]:
        """The n best answers to each question, by `id`.

        An answer's score is that of its start plus that of its end; both lie in one window, the end not before the
        start. Where there are several windows, the best answers of all of them are ranked together.

        Args:
            rows: questions, as `Windows` takes them; their answers are not read.
            n: answers to keep; also how many starts and ends are considered in each window.
            max_answer: the longest answer in tokens. Not printed; 30 is usual.
        """
        for name, value in (("n", n), ("max_answer", max_answer), ("batch_size", batch_size)):
            checks.count(name, value, "a whole number")
        blank = [dict(row) | {"answers": {"text": [], "answer_start": []}} for row in as_rows(numbered(rows))]
        encoder = self.objective.encoder
        windows = Windows(blank, encoder.tokenizer, min(self.max_length, encoder.max_length), stride=self.stride)
        found: list[list[tuple[str, float]]] = [[] for _ in windows.rows]
        nulls = [float("inf")] * len(windows.rows)
        order = windows.lengths.argsort(stable=True, descending=True).tolist()  # little padding
        with evaluating(self.objective):
            for first in range(0, len(order), batch_size):
                chosen = order[first : first + batch_size]
                view = {key: value.to(encoder.device) for key, value in windows.batch(chosen).items()}
                for window, logits in zip(chosen, self.objective.logits(view).cpu().numpy(), strict=True):
                    row = int(windows.row_of[window])
                    nulls[row] = min(nulls[row], float(logits[0].sum()))
                    best = spans(logits, n, max_answer)
                    found[row] += [(windows.answer(window, i, j), value) for i, j, value in best]
        each = zip(windows.rows, found, nulls, strict=True)
        return {row["id"]: Answered(_ranked(best, n), null) for row, best, null in each}

    def answers(self, rows: Any, **options: Any) -> dict[str, tuple[str, float]]:
        """For each question the best non-empty answer, and the null score; `answers.apply_threshold` decides."""
        said = self.read(rows, **options)
        return {one: (each.best[0][0] if each.best else "", each.null_score) for one, each in said.items()}

    def choose_threshold(self, rows: Any, metric: str = "f1") -> float:
        """The threshold of "no answer" that is best on these rows; test on others."""
        return best_threshold(self.answers(rows), rows, metric)

    def evaluate(self, rows: Any, threshold: float = 0.0) -> dict[str, float]:
        """EM and F1, as `answers.score`. The threshold 0 trusts the scores as they are."""
        return score(apply_threshold(self.answers(rows), threshold), rows)


def spans(logits: np.ndarray, n: int, max_answer: int) -> list[tuple[int, int, float]]:
    """The n best (start, end, score) of a window's logits [T, 2], [CLS] left out, the best first.

    >>> spans(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]]), n=2, max_answer=2)
    [(1, 2, 5.0), (2, 2, 4.0)]
    """
    at = 1 + np.flatnonzero(np.isfinite(logits[1:, 0]))
    starts, ends = (at[np.argsort(-logits[at, i], kind="stable")[:n]] for i in (0, 1))
    i, j = np.meshgrid(starts, ends, indexing="ij")  # [n, n]
    legal = (i <= j) & (j - i < max_answer)
    i, j = i[legal], j[legal]
    values = logits[i, 0] + logits[j, 1]
    order = np.argsort(-values, kind="stable")[:n]
    return [(int(i[k]), int(j[k]), float(values[k])) for k in order]


def _ranked(found: list[tuple[str, float]], n: int) -> list[tuple[str, float]]:
    """The n best texts, each with its best score."""
    best: dict[str, float] = {}
    for text, value in sorted(found, key=lambda one: -one[1]):
        if text.strip():
            best.setdefault(text, value)
    return list(best.items())[:n]


def fine_tune(
    start: Encoder,
    train: Any,
    *,
    epochs: float | None = None,
    batch_size: int = 32,
    lr: float = 3e-5,
    max_length: int = 384,
    stride: int = 128,
    seed: int = 0,
    dropout: float = 0.1,
    progress: bool = False,
    **settings: Any,
) -> Reader:
    """Train a reader around a *copy* of `start`.

    Args:
        start: the encoder; it gets a new head.
        train: questions with their answers, as `Windows` takes them.
        epochs: passes over all windows; by default two. Or give `steps` among the settings.
        batch_size, lr: windows in an update; COCO-LM searches 16 and 32, and 2e-5 to 5e-5 for its base model (table 8).
        max_length, stride: of the windows. COCO-LM: 512 tokens.
        seed: of the head, the order and dropout; `dropout` is that before the new head.
        settings: other settings of `Training`.

    Example:
        >>> import contrast_kit as ck
        >>> rows = ck.data.load("toyshop/squad")["train"].select(range(40))
        >>> tokenizer = ck.data.train_tokenizer(rows["context"], vocab_size=300)
        >>> reader = ck.tasks.squad.fine_tune(ck.Encoder.tiny(tokenizer, max_length=256), rows, steps=1, max_length=256)
        >>> sorted(reader.evaluate(rows))[:3]
        ['HasAns_exact', 'HasAns_f1', 'HasAns_total']
    """
    arguments.of_kind("start", start, Encoder, "an Encoder")
    arguments.length(max_length)
    checks.seed(seed)
    objective = Span(copy.deepcopy(start), seed=seed, dropout=dropout)
    length = min(max_length, start.max_length)
    windows = Windows(train, start.tokenizer, length, stride=stride)
    settings["epochs"] = 2 if epochs is None and settings.get("steps") is None else epochs
    settings |= dict(batch_size=batch_size, lr=lr, seed=seed, max_length=length)
    run = fit(objective, windows, progress=progress, **settings)
    return Reader(objective, run, length, stride)


def evaluate_across(answers: Mapping[str, tuple[str, float]], rows: Any) -> dict[str, float]:
    """EM and F1 on all rows, the threshold of each half chosen on the other half.

    The halves share no paragraph, so the threshold for a question was chosen without it, its answer or its paragraph,
    and yet all rows are tested. `best_f1` and `best_exact` are what the official script also prints: with the threshold
    chosen on the very rows that are tested, which flatters.
    """
    rows = questions(rows, with_null_scores(answers))
    contexts = list(dict.fromkeys(arguments.strings("context", column(rows, "context"), "paragraphs")))
    if len(contexts) < 2:
        raise ValueError("These questions are about one paragraph, so no threshold can be chosen on another.")
    side = {context: place % 2 for place, context in enumerate(contexts)}
    halves = [[row for row in rows if side[row["context"]] == half] for half in (0, 1)]
    predictions: dict[str, str] = {}
    for half, other in (halves, halves[::-1]):
        threshold = best_threshold(answers, other)
        predictions |= apply_threshold({row["id"]: answers[row["id"]] for row in half}, threshold)
    result = score(predictions, rows)
    for metric in ("exact", "f1"):
        result[f"best_{metric}"] = score(apply_threshold(answers, best_threshold(answers, rows, metric)), rows)[metric]
    return result


def run(
    data: Mapping[str, Any],
    start: Encoder,
    *,
    protocol: Protocol = SQUAD,
    name: str = "SQuAD",
    folder: str | Path | None = None,
    **settings: Any,
) -> Results:
    """COCO-LM's SQuAD runs: one reader for each seed on `data["train"]`, tested on `data["validation"]`.

    Args:
        data: splits, from `data.load("squad_v2")`, `data.load("toyshop/squad")`.
        start: the encoder.
        protocol: its seeds, epochs, rate, batch and what is reported.
        name: what the data are called in the table.
        folder: keeps `results.csv`, rewritten after each run; the same call continues from there.
        settings: further arguments of `fine_tune`.

    Returns:
        the `Results`: `test` is F1 in percent, `test_exact` EM (`evaluate_across`), and so on.

    Raises:
        ValueError: for a folder with other runs, a setting over the protocol's seeds, a protocol that selects anything.
    """
    _check(data, start, protocol)
    refuse_overridden(protocol, settings)
    refuse_unheeded(protocol, "squad.run trains on all rows", "choose", "fraction", "shots", "temperature")
    arguments.string("name", name, "what the data are called in the table")
    options = protocol.training(None)
    if settings.get("steps") is not None:
        options.pop("epochs", None)
    options |= settings
    options.pop("evaluate_every", None)
    before, split = encoder_hash(start), split_hash(data["train"], data["validation"])
    setting = repr(sorted((key, repr(value)) for key, value in options.items() if key not in ("progress", "live")))
    done = kept_runs(path := inside(folder, "results.csv"))
    if any((row["setting"], row["split"], row["start"]) != (setting, split, before) for row in done):
        raise ValueError(f"{path} holds runs with other settings, another start or other rows: take another folder.")
    complete = True
    for seed in protocol.seeds:
        if any(row["seed"] == seed for row in done):
            continue
        began = time.monotonic()
        reader = fine_tune(start, data["train"], seed=seed, **options)
        if reader.run.interrupted:
            complete = False
            break
        scores = evaluate_across(reader.answers(data["validation"]), data["validation"])
        row = {"method": "Span", "task": name, "n": len(data["train"]), "draw": 0, "seed": seed, "metric": "f1"}
        row |= {"validation": None, "test": scores.pop("f1"), **{f"test_{key}": value for key, value in scores.items()}}
        row |= {"split": split, "start": before, "post": "", "setting": setting, "steps": reader.run.steps}
        done.append(row | {"seconds": round(time.monotonic() - began, 3)})
        if path is not None:
            write(table_of(done), path)
    return Results(table_of(row | {"task": name} for row in done if row["seed"] in protocol.seeds), protocol, complete)


def search(
    data: Mapping[str, Any],
    start: Encoder,
    *,
    protocol: Protocol = SQUAD,
    grid: Mapping[str, tuple] | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    folder: str | Path | None = None,
    **settings: Any,
) -> Found:
    """Run COCO-LM's table 8 in order of promise (`tasks.search`): each point with all seeds, compared by median F1.

    As in the paper, the points are compared on the rows that are reported, which flatters the best. Arguments as for
    `run` and `tasks.search`.
    """
    _check(data, start, protocol)
    grid = checked_grid(grid if grid is not None else protocol.grid_for("squad"))
    for name in grid:
        arguments.known(name, vars(protocol), "protocol field")
    refuse_overridden(protocol, settings, grid)

    def measure(point: Point) -> tuple[float, bool]:
        epochs = {"epochs": {None: point["epochs"]}} if "epochs" in point else {}
        own = inside(folder, describe_point(point))
        results = run(data, start, protocol=replace(protocol, **point | epochs), folder=own, **settings)
        return (results.report(results.table) if results.complete else float("nan")), results.complete

    first = {name: getattr(protocol, name) for name in grid} | {"epochs": protocol.epochs.get(None)}
    rows = split_hash(data["train"], data["validation"])
    setting = facts(protocol, settings, grid, start=encoder_hash(start), rows=rows)
    return explore(grid, measure, first=first, budget=budget, seconds=seconds, folder=folder, setting=setting)


def _check(data: Any, start: Any, protocol: Any) -> None:
    """Check the arguments of `run` and `search`."""
    for name in ("train", "validation"):
        arguments.known(name, arguments.mapping("data", data, "of splits, as data.load gives"), "split")
    arguments.of_kind("start", start, Encoder, "an Encoder")
    arguments.of_kind("protocol", protocol, Protocol, "one of tasks.protocols")
    checks.choice("protocol.report", protocol.report, ("mean", "median"))  # none is picked: no rows select
