"""The training loop, for every objective: batches in order, one gradient, one optimizer step, history, checkpoints."""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from contrast_kit import arguments, checks, fast, trainer_checks
from contrast_kit.checks import NotFiniteError
from contrast_kit.data import intact
from contrast_kit.data.batches import make_batches
from contrast_kit.data.stream import prepare_texts
from contrast_kit.objectives.base import Objective
from contrast_kit.plots.progress import Progress
from contrast_kit.training import checkpoint, distributed
from contrast_kit.training.gradient import RandomState, gradient
from contrast_kit.training.run import Run, stop_on_interrupt
from contrast_kit.training.settings import Training, adamw, autocast, learning_rate


def fit(
    objective: Objective,
    dataset: Any,
    training: Training | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    callback: Callable[[Run], None] | None = None,
    progress: bool = True,
    live: bool = False,
    **settings: Any,
) -> Run:
    """Train an objective, and with it its encoder, in place; it stays on the accelerator, in evaluation mode.

    Args:
        objective: from `contrast_kit.objectives`, around the encoder to train.
        dataset: strings, row dicts, a `datasets.Dataset`, or ready `Texts`; a path, a generator or another source that
            can only be walked through becomes a `data.Stream`.
        training: a `Training`; or give its fields as `settings`: `fit(objective, texts, steps=200, lr=1e-3)`.
        folder: where to keep the two newest checkpoints; none are kept without it.
        resume: go on from the newest checkpoint in `folder`, if there is one; on a CPU the weights end up, bit for bit,
            as in a run that never stopped (`training/checkpoint.py` covers other devices).
        callback: called with the run so far after each logged step, for example to measure the space on the way; it
            may end the run with `run.stop()`.
        progress: show a progress line.
        live: in a notebook, also draw the loss curves while they grow.

    Returns:
        the `Run`. Ctrl-C (in a notebook: the stop button) ends it after the current step and returns it so far.

    Raises:
        FloatingPointError: when the loss or gradient is no longer finite; names the step, the parts and the last good
            checkpoint, and carries the run so far as `.run`.
        ConnectionError: when one of several processes ended; the others then end too, with a message.
        ValueError: for settings that contradict each other, rows whose text is in no known column, a checkpoint of
            another run, or a `folder` that has checkpoints, without `resume=True`: two runs never mix in one folder.
        TypeError: for something that is not an objective, or data that are neither texts nor rows with text.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> run = ck.fit(ck.objectives.CMLM(encoder), texts, steps=2, batch_size=4, progress=False)
        >>> list(run.history.columns)
        ['step', 'loss', 'mlm', 'contrast', 'lr', 'grad_norm', 'seconds']
    """
    training = training_settings(objective, training, settings)
    for name, value in {"resume": resume, "progress": progress, "live": live}.items():
        checks.switch(name, value)
    arguments.of_kind("callback", callback, Callable | None, "a function of the run so far")
    if resume and folder is None:
        raise ValueError("resume=True needs the folder in which the checkpoints are: fit(…, folder='runs/cmlm').")
    if folder is not None:
        folder = arguments.path("folder", folder, "where checkpoints are kept")
        checkpoint.check_folder(folder, resume)
    with torch.inference_mode(False):  # with gradients, even inside a reader's torch.no_grad()
        loop = _Loop(objective, dataset, training, folder)
        with intact.one_writer(folder) if folder and distributed.rank() == 0 else nullcontext():
            return loop.run(resume, callback, progress and distributed.rank() == 0, live)


class _Loop:
    """One run of `fit`: what it holds, and one method per thing it does."""

    def __init__(self, objective: Objective, dataset: Any, training: Training, folder: Path | None):
        self.device = distributed.start()
        trainer_checks.trainable(objective, self.device)
        self.objective, self.training = objective.to(self.device), training
        if training.packing:
            fast.faster(objective, packing=True)
        self.texts = prepare_texts(objective.encoder, dataset, training.max_length)
        objective.check_data(getattr(self.texts, "labels", None))
        self.batches = make_batches(self.texts, training)
        self.epoch, self.order = -1, []  # the rows of each batch of an epoch
        self.autocast, self.total = autocast(training.precision, self.device), training.total_steps(len(self.batches))
        self.optimizer = adamw(objective, training)
        data = {"examples": len(self.texts), "fingerprint": self.texts.fingerprint()}
        self.settings = checkpoint.settings(objective, training) | {"data": data}
        distributed.same_settings(self.settings, self.device)  # before a check that only one process may fail
        trainer_checks.something_for_all(min(map(len, self.batches.epoch(0))), distributed.count())
        distributed.same_weights(objective)
        # The order of the data and the noise of the views are the same on all processes; each draws its own dropout.
        self.seed = int(training.seed) * 1_000_003 % 2**63  # as large as a generator takes
        generator = torch.Generator(self.device).manual_seed(self.seed)
        self.trained = checkpoint.Trained(objective, self.optimizer, generator)
        self.result, self.saved = Run(objective, training, total=self.total, folder=folder), 0  # the last step kept

    def run(self, resume: bool, callback: Callable[[Run], None] | None, show: bool, live: bool) -> Run:
        """From the first step, or the checkpoint's, to the last; the caller's random state is left as it was."""
        result, training = self.result, self.training
        with torch.random.fork_rng([self.device] if self.device.type == "cuda" else []), stop_on_interrupt() as stop:
            torch.manual_seed(self.seed + distributed.rank())
            if resume:
                self.restore()
            self.objective.train()
            bar = Progress(self.total, result.steps, show=show, live=live)
            start, stopped = time.monotonic() - result.seconds, False
            try:
                while result.steps < self.total:
                    # All processes end after the same step, whichever of them was told to stop.
                    if stopped := distributed.anywhere(stop.is_set() or result.stopping, self.device):
                        break
                    parts = self.step(result.steps)
                    result.steps += 1
                    result.seconds = time.monotonic() - start
                    last, row = result.steps == self.total, {}
                    if logged := result.steps % training.log_every == 0 or last:
                        row = {name: float(value) for name, value in parts.items()}
                        result.rows.append({"step": result.steps, **row, "seconds": result.seconds})
                    bar.update({k: v for k, v in row.items() if k not in ("lr", "grad_norm")}, result.rows)
                    if logged and callback is not None:
                        random = RandomState.now(self.device)
                        callback(result)  # which may measure, and draw dropout
                        random.restore()
                        self.objective.train()
                    if result.steps % training.save_every == 0 or last:
                        self.save()
                if stopped:
                    result.interrupted = True
                    self.save()
            except distributed.LostError as error:
                raise self.lost_error(error) from error
            finally:
                bar.close()
                self.optimizer.zero_grad(set_to_none=True)
                self.objective.eval()
        return result

    def step(self, step: int) -> dict[str, Any]:
        """One optimizer step; returns its parts, learning rate and gradient norm."""
        training, objective = self.training, self.objective
        end = min((step + 1) * training.accumulate, training.total_batches(len(self.batches)))
        batches = [self.batch(number) for number in range(step * training.accumulate, end)]
        objective.set_progress(step, self.total)
        self.optimizer.zero_grad(set_to_none=True)
        options = dict(chunk_size=training.chunk_size, autocast=self.autocast)
        try:
            parts, seen = gradient(objective, batches, self.trained.generator, **options)
        except NotFiniteError as error:
            raise self.not_finite_error(step, str(error)) from error
        if step == 0:
            trainer_checks.warn_untrained(objective, parts)
        if step < round(training.warm_heads * self.total):
            objective.encoder.model.base_model.zero_grad(set_to_none=True)  # at rest: the optimizer skips it
            trainer_checks.warn_idle(objective, step)
        norm = torch.nn.utils.clip_grad_norm_(objective.parameters(), training.clip or math.inf)
        self.last = step, parts, norm
        if self.reads_losses(step):
            self.check_finite(*self.last)
        rate = learning_rate(step, self.total, training)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        with torch.no_grad(), checks.unchecked(self.device.type != "cpu"):  # NaN is found where losses are read
            for vectors, facts in seen:
                objective.after_step(vectors, facts)
        return {**parts, "lr": rate, "grad_norm": norm}

    def batch(self, number: int) -> dict[str, torch.Tensor]:
        """The batch with this number, counted over all epochs: a pure function of the seed, so resuming is exact."""
        epoch, position = divmod(number, len(self.batches))
        if self.epoch != epoch:
            self.epoch, self.order = epoch, self.batches.epoch(epoch)
        batch = self.texts.batch(self.order[position])
        return {key: value.to(self.device, non_blocking=True) for key, value in batch.items()}

    def reads_losses(self, step: int) -> bool:
        """Whether the host reads this step's losses: always on a CPU. On a GPU, which it would wait for, a NaN is seen
        at the next step that is logged or saved: later, but before it reaches a checkpoint."""
        return self.device.type == "cpu" or (step + 1) % self.training.log_every == 0 or step + 1 == self.total

    def check_finite(self, step: int, parts: dict[str, Any], norm: torch.Tensor) -> None:
        """Raise before the optimizer's step would carry a NaN into the weights."""
        if not (math.isfinite(norm) and math.isfinite(parts["loss"])):  # a part without weight may be NaN
            raise self.not_finite_error(step, describe_parts({**parts, "grad_norm": norm}))

    def not_finite_error(self, step: int, problem: str) -> FloatingPointError:
        """The error that stops a run at a NaN: what was seen, where to go back to, what usually helps."""
        before = describe_parts(self.result.rows[-1] if self.result.rows else {})
        folder = self.result.folder
        good = checkpoint.describe_newest(folder) if folder else "no folder was given, so none is saved"
        error = FloatingPointError(
            f"Step {step + 1} is not finite: {problem.rstrip('.')} (the step logged before: {before}); {good}. "
            "A lower lr, a longer warmup or a larger tau usually helps."
        )
        error.run = self.result
        return error

    def lost_error(self, error: distributed.LostError) -> distributed.LostError:
        """The error that ends this process when another one is gone, with what to do."""
        folder = self.result.folder
        again = f", with resume=True: {checkpoint.describe_newest(folder)}" if folder else ""
        return distributed.LostError(
            error.seen,
            f"Another of the {distributed.count()} processes ended or did not answer in step {self.result.steps + 1}, "
            f"so this one ends too; start all of them again{again} ({error.seen}).",
        )

    def save(self) -> None:
        """Write a checkpoint, if the run has a folder and has made steps since the last one."""
        result = self.result
        if result.folder is None or result.steps == self.saved:
            return
        self.check_finite(*self.last)
        state = {"settings": self.settings, "rows": result.rows, "seconds": result.seconds}
        state |= {"processes": distributed.count(), "at rest": trainer_checks.at_rest(self.objective)}
        checkpoint.save(result.folder, result.steps, self.trained, state)
        self.saved = result.steps

    def restore(self) -> None:
        """Go back to the newest checkpoint, if there is one."""
        result = self.result
        if (state := checkpoint.load(result.folder, self.trained, self.settings)) is not None:
            result.steps, result.rows, result.seconds = state["step"], state["rows"], state["seconds"]
            self.saved = result.steps


def training_settings(objective: Any, training: Training | None, settings: dict[str, Any]) -> Training:
    """The `Training` of a call, given whole or by its fields; refuses both at once, and anything but an objective."""
    if training is not None and settings:
        raise TypeError("Give a Training or single settings, not both: dataclasses.replace changes a Training.")
    trainer_checks.is_method(objective, Objective)
    arguments.of_kind("The third argument", training, Training | None, "a Training (or name its fields, steps=200)")
    return (training or Training.of(settings)).for_encoder(objective.encoder.pretrained)


def describe_parts(parts: dict[str, Any]) -> str:
    """Parts of the loss for a sentence."""
    return ", ".join(f"{name} {float(value):.4g}" for name, value in parts.items()) or "none"
