"""Fine-tune a copy of an encoder on a task, keep the best step by validation, predict."""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from contrast_kit.data import Texts
from contrast_kit.data.rows import column_names
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.objectives import FineTune, Objective
from contrast_kit.tasks.table import Task, get_task, labels_of, score
from contrast_kit.training import Run, Training, fit
from contrast_kit.training.settings import autocast


@dataclass
class FineTuned:
    """A fine-tuned encoder with its head, at its best step by validation.

    `validation` has one entry for each evaluation on the validation rows: step and metrics.
    """

    task: Task
    objective: FineTune
    run: Run
    best_step: int
    validation: list[dict[str, float]] = field(default_factory=list)
    max_length: int = 128
    ask: Callable | None = None
    """What makes prompts of rows, for a model that answers in words; labels are not read."""

    @property
    def encoder(self) -> Encoder:
        """The encoder after fine-tuning."""
        return self.objective.encoder

    @property
    def best(self) -> dict[str, float]:
        """The validation metrics at the best step; empty where there were no validation rows."""
        return next((row for row in self.validation if row["step"] == self.best_step), {})

    def predict(self, rows: Any) -> np.ndarray:
        """The predicted class, or score, of each row, [N]."""
        how = dict(max_length=self.max_length, precision=self.run.training.precision)
        asked = self.ask(rows) if self.ask else rows
        return predict(self.objective, asked, task=self.task, **how)

    def evaluate(self, rows: Any) -> dict[str, float]:
        """The task's metrics on rows."""
        return score(
            self.task,
            self.predict(rows),
            labels_of(rows),
        )


def fine_tune(
    start: Encoder | FineTune,
    train: Any,
    validation: Any = None,
    *,
    task: Task | str,
    method: Any = FineTune,
    batch_size: int = 16,
    lr: float = 1e-5,
    evaluate_every: int = 100,
    seed: int = 0,
    progress: bool = False,
    **settings: Any,
) -> FineTuned:
    """Fine-tune a *copy* of `start`; `start` itself stays as it is, so that many runs can start from the same point.

    The validation metric (the task's first) is computed every `evaluate_every` updates and at the end. The weights with
    the best value are returned; among equals, the earliest. No argument takes test rows, so selection cannot see them.

    Args:
        start: an encoder, which gets a new head; or a fine-tuned objective (`tuned.objective`), which keeps its head
            where the shape fits (SCL 5.4, SST-2 → Yelp-2).
        train: rows with the task's columns and `label`.
        validation: rows to select by; without them the last step is kept.
        task: a `Task`, or its name in the table `TASKS`.
        method: what makes the objective: `FineTune` (plain), `SCL`, or `partial(SCL, lam=0.9)`.
        batch_size, lr: CMLM, SCL: 16 and 1e-5 (for RoBERTa). Encoders of this kit's tiny kind want 5e-4 or so.
        evaluate_every: updates between two evaluations. CMLM: 100.
        seed: of the head, the order of the rows, and dropout.
        settings: other settings of `Training`: warmup, decay, precision, max_length, chunk_size, …, and `epochs` or
            `steps`: an epoch, which is the default, is every row once, in ⌈N / batch size⌉ updates.

    Example:
        >>> import contrast_kit as ck
        >>> data = ck.tasks.load("toyshop/sst2")
        >>> tokenizer = ck.data.train_tokenizer(data.train["sentence"], vocab_size=300)
        >>> tuned = ck.tasks.fine_tune(
        ...     ck.Encoder.tiny(tokenizer), data.train.select(range(32)), data.validation.select(range(20)),
        ...     task="sst2", steps=4, evaluate_every=2, lr=1e-3,
        ... )
        >>> [row["step"] for row in tuned.validation]
        [2, 4]
        >>> tuned.predict(data.test).shape
        (500,)
    """
    task = get_task(task)
    if not settings.keys() & {"steps", "epochs"}:
        settings["epochs"] = 1
    settings = {"max_length": min(128, encoder_of(start).max_length)} | settings
    training = Training.of(settings | dict(batch_size=batch_size, lr=lr, seed=seed))
    objective = prepare(start, method, task, seed)
    texts = tokenized(train, objective.encoder, task, training.max_length)
    total = training.total_steps(math.ceil(len(texts) / batch_size))
    training = replace(training, log_every=min(evaluate_every, total))
    best = None
    if validation is not None:
        selecting = tokenized(validation, objective.encoder, task, training.max_length)
        best = BestWeights(task, selecting, labels_of(validation))
    run = fit(objective, texts, training, callback=best, progress=progress)
    tuned = FineTuned(task, objective, run, run.steps, max_length=training.max_length)
    # Not stopped before the first evaluation.
    if best is not None and best.weights is not None:
        objective.load_state_dict(best.weights)
        tuned.best_step, tuned.validation = best.step, best.evaluations
    return tuned


def encoder_of(start: Encoder | FineTune) -> Encoder:
    """The encoder that training starts from: the start itself, or that of a fine-tuned objective."""
    return start.encoder if isinstance(start, FineTune) else start


def prepare(
    start: Encoder | FineTune,
    method: Any,
    task: Task,
    seed: int,
) -> FineTune:
    """A new objective around a copy of `start`, with the head of `start` where it has one that fits."""
    objective = method(
        copy.deepcopy(encoder_of(start)),
        classes=task.classes,
        seed=seed,
    )
    if isinstance(start, FineTune):
        before, now = start.config, objective.config
        if (before.head, before.classes) == (now.head, now.classes):
            objective.head.load_state_dict(start.head.state_dict())
    return objective


@dataclass
class BestWeights:
    """A callback of `fit`: evaluates on the validation rows, and keeps the weights of the best evaluation."""

    task: Task
    texts: Texts
    labels: np.ndarray
    evaluations: list[dict[str, float]] = field(default_factory=list)
    weights: dict[str, Tensor] | None = None
    step: int = 0
    score: float = -math.inf

    def __call__(self, run: Run) -> None:
        how = dict(task=self.task, precision=run.training.precision)
        predicted = predict(run.objective, self.texts, **how)
        metrics = score(self.task, predicted, self.labels)
        self.evaluations.append({"step": run.steps, **metrics})
        value = metrics[self.task.metrics[0]]
        if value > self.score:
            self.step, self.score = run.steps, value
            state = run.objective.state_dict()
            self.weights = {name: value.detach().clone() for name, value in state.items()}


@torch.no_grad()
def predict(
    objective: FineTune,
    rows: Any,
    *,
    task: Task | str,
    batch_size: int = 128,
    max_length: int = 128,
    precision: str = "float32",
) -> np.ndarray:
    """The predictions of a fine-tuned objective, in evaluation mode: classes [N] (integers) or scores [N].

    The rows' labels are not read. `rows` may be `Texts`. `FineTuned` predicts in the precision that it was trained in.
    """
    encoder = objective.encoder
    texts = tokenized(rows, encoder, get_task(task), max_length, labels=False)
    generator = torch.Generator().manual_seed(0)
    logits = torch.empty(len(texts), objective.config.classes)  # [N, C]
    for rows, view in in_batches(texts, objective, batch_size):
        with autocast(precision, encoder.device)():
            logits[rows] = objective.predicted_logits(view, generator).float().cpu()
    if objective.regression:
        return logits.squeeze(1).numpy()
    return logits.argmax(1).numpy()


def in_batches(
    texts: Texts, objective: Objective, size: int
) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
    """The numbers of some rows [B] and these rows as a view, in evaluation mode; the longest first: little padding."""
    order = texts.lengths.argsort(stable=True, descending=True)  # [N]
    with evaluating(objective):
        for rows in order.split(size):
            batch = texts.batch(rows.tolist())
            yield (
                rows,
                {key: value.to(objective.encoder.device) for key, value in batch.items()},
            )


def tokenized(
    rows: Any, encoder: Encoder, task: Task, max_length: int, labels: bool = True
) -> Texts:
    """Rows of a task as `Texts`, with their labels or without; the columns may have other names than the task's."""
    if isinstance(rows, Texts):
        return rows
    columns = task.columns_in(column_names(rows))
    label = "label" if labels else "no label"  # a column that is not there is not read
    return Texts(
        rows,
        encoder.tokenizer,
        columns,
        min(max_length, encoder.max_length),
        label=label,
    )
