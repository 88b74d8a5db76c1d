"""The training loop, for every objective: batches in order, one gradient, one optimizer step, history, checkpoints."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import nn

from contrast_kit import checks, fast
from contrast_kit._util import progress_bar
from contrast_kit.checks import NotFiniteError
from contrast_kit.data.batches import make_batches
from contrast_kit.data.stream import prepare_texts
from contrast_kit.objectives.base import Objective
from contrast_kit.training import checkpoint, distributed
from contrast_kit.training.gradient import gradient
from contrast_kit.training.run import Run, stop_on_signal
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
        progress: show a progress bar.

    Returns:
        the `Run`. Ctrl-C (in a notebook: the stop button) ends it after the current step and returns it so far.

    Raises:
        FloatingPointError: when the loss or gradient is no longer finite; names the step, the parts and the last good
            checkpoint, and carries the run so far as `.run`.
        ConnectionError: when one of several processes ended; the others then end too, with a message.
        ValueError: for settings that contradict each other, rows whose text is in no known column, a checkpoint of
            another run, or a `folder` that has checkpoints, without `resume=True`: two runs never mix in one folder.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> run = ck.fit(ck.objectives.CMLM(encoder), texts, steps=2, batch_size=4, progress=False)
        >>> list(run.history.columns)
        ['step', 'loss', 'mlm', 'contrast', 'lr', 'grad_norm', 'seconds']
    """
    training = training_settings(objective, training, settings)
    if folder is not None:
        folder = Path(folder).expanduser()
        checkpoint.check_folder(folder, resume)
    elif resume:
        raise ValueError(
            "resume=True needs the folder in which the checkpoints are: fit(…, folder='runs/cmlm')."
        )
    # With gradients, even inside a reader's torch.no_grad().
    with torch.inference_mode(False):
        loop = _Loop(objective, dataset, training, folder)
        first = distributed.rank() == 0
        with checkpoint.one_writer(folder) if folder and first else nullcontext():
            return loop.run(resume, callback, progress and first)


class _Loop:
    """One run of `fit`: what it holds, and one method per thing it does."""

    def __init__(
        self, objective: Objective, dataset: Any, training: Training, folder: Path | None
    ):
        self.device = distributed.start()
        check_trainable(objective, training, self.device)
        self.objective, self.training = objective.to(self.device), training
        self.texts = prepare_texts(objective.encoder, dataset, training.max_length)
        objective.check_data(getattr(self.texts, "labels", None))
        self.batches = make_batches(self.texts, training)
        self.epoch, self.order = -1, []  # the rows of each batch of an epoch
        self.autocast = autocast(training.precision, self.device)
        self.optimizer = adamw(objective, training)
        self.settings = checkpoint.settings(objective, training, self.texts)
        distributed.same_settings(self.settings)
        if min(map(len, self.batches.epoch(0))) < distributed.count():
            raise ValueError(
                f"The smallest batch gives nothing to do to some of {distributed.count()} processes."
            )
        distributed.same_weights(objective)
        # The order of the data and the noise of the views are the same on all processes; each draws its own dropout.
        # As large as a generator takes.
        self.seed = int(training.seed) * 1_000_003 % 2**63
        generator = torch.Generator(self.device).manual_seed(self.seed)
        self.trained = checkpoint.Trained(objective, self.optimizer, generator)
        self.total = training.total_steps(len(self.batches))
        self.result = Run(objective, training, total=self.total, folder=folder)
        self.saved = 0  # the last step kept

    def run(
        self, resume: bool, callback: Callable[[Run], None] | None, show: bool
    ) -> Run:
        """From the first step, or the checkpoint's, to the last; the caller's random state is left as it was."""
        result = self.result
        quicker = fast.quicker(self, gradient)  # on a GPU; else it is `gradient`
        with self.own_random_state(), stop_on_signal() as stop, quicker as self.gradient:
            torch.manual_seed(self.seed + distributed.rank())
            if resume:
                self.restore()
            self.objective.train()
            bar = progress_bar(
                show=show, total=self.total, initial=result.steps, unit="step"
            )
            start = time.monotonic() - result.seconds
            try:
                while result.steps < self.total:
                    # All processes end after the same step, whichever of them the signal reached.
                    stopped = stop.is_set() or result.stopping
                    result.interrupted = distributed.anywhere(stopped, self.device)
                    if result.interrupted:
                        break
                    parts = self.step(result.steps)
                    result.steps += 1
                    result.seconds = time.monotonic() - start
                    self.log(parts, callback, bar)
                    bar.update()
                    if result.steps % self.training.save_every == 0:
                        self.save()
                self.save()
            finally:
                bar.close()
                self.optimizer.zero_grad(set_to_none=True)
                self.objective.eval()
        return result

    def own_random_state(self) -> AbstractContextManager:
        """Inside, torch's random streams may be drawn from; afterwards they stand where they stood."""
        return torch.random.fork_rng([self.device] if self.device.type == "cuda" else [])

    def step(self, step: int) -> dict[str, Any]:
        """One optimizer step; returns its parts, learning rate and gradient norm."""
        training, objective = self.training, self.objective
        end = min(
            (step + 1) * training.accumulate, training.total_batches(len(self.batches))
        )
        batches = [
            self.batch(number) for number in range(step * training.accumulate, end)
        ]
        objective.set_progress(step, self.total)
        self.optimizer.zero_grad(set_to_none=True)
        try:
            parts, remembered = self.gradient(
                objective,
                batches,
                self.trained.generator,
                chunk_size=training.chunk_size,
                autocast=self.autocast,
            )
        except NotFiniteError as error:
            raise self.not_finite_error(step, str(error)) from error
        # The optimizer skips what has no gradient.
        if step < round(training.warm_heads * self.total):
            objective.encoder.model.base_model.zero_grad(set_to_none=True)
        norm = nn.utils.clip_grad_norm_(objective.parameters(), training.clip or math.inf)
        self.last = step, {**parts, "grad_norm": norm}
        # A GPU, which would have to be waited for, is asked where a step is logged or saved: NaN is seen later, but
        # before it reaches a checkpoint.
        if self.device.type == "cpu" or self.is_logged(step + 1):
            self.check_finite(*self.last)
        rate = learning_rate(step, self.total, training)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        with torch.no_grad(), checks.unchecked(self.device.type != "cpu"):
            for vectors, facts in remembered:
                objective.after_step(vectors, facts)
        return {**parts, "lr": rate, "grad_norm": norm}

    def batch(self, number: int) -> dict[str, torch.Tensor]:
        """The batch with this number, counted over all epochs: a pure function of the seed, so resuming is exact."""
        epoch, position = divmod(number, len(self.batches))
        if self.epoch != epoch:
            self.epoch, self.order = epoch, self.batches.epoch(epoch)
        batch = self.texts.batch(self.order[position])
        return {
            key: value.to(self.device, non_blocking=True) for key, value in batch.items()
        }

    def is_logged(self, steps: int) -> bool:
        """Whether the history has a row after so many steps."""
        return steps % self.training.log_every == 0 or steps == self.total

    def log(
        self, parts: dict[str, Any], callback: Callable[[Run], None] | None, bar: Any
    ) -> None:
        """Add a row to the history where one is due, show it, and hand the run to the callback."""
        result = self.result
        if not self.is_logged(result.steps):
            return
        row = {name: float(value) for name, value in parts.items()}
        result.rows.append({"step": result.steps, **row, "seconds": result.seconds})
        shown = {
            name: f"{row[name]:.3f}" for name in row if name not in ("lr", "grad_norm")
        }
        bar.set_postfix(shown, refresh=False)
        if callback is not None:
            with self.own_random_state():  # it may measure, and draw dropout
                callback(result)
            self.objective.train()

    def check_finite(self, step: int, parts: dict[str, Any]) -> None:
        """Raise before the optimizer's step would carry a NaN into the weights. A part without weight may be NaN."""
        if not (math.isfinite(parts["grad_norm"]) and math.isfinite(parts["loss"])):
            each = (f"{name} {float(value):.4g}" for name, value in parts.items())
            raise self.not_finite_error(step, ", ".join(each))

    def not_finite_error(self, step: int, problem: str) -> FloatingPointError:
        """The error that stops a run at a NaN: what it met, where to go back to, what usually helps."""
        good = checkpoint.describe_newest(self.result.folder)
        error = FloatingPointError(
            f"Step {step + 1} is not finite: {problem.rstrip('.')}; {good}. "
            "A lower lr, a longer warmup or a larger tau usually helps."
        )
        error.run = self.result
        return error

    def save(self) -> None:
        """Write a checkpoint, if the run has a folder and has made steps since the last one."""
        result = self.result
        if result.folder is None or result.steps == self.saved:
            return
        self.check_finite(*self.last)
        state = dict(settings=self.settings, rows=result.rows, seconds=result.seconds)
        checkpoint.save(result.folder, result.steps, self.trained, state)
        self.saved = result.steps

    def restore(self) -> None:
        """Go back to the newest checkpoint, if there is one."""
        result = self.result
        state = checkpoint.load(result.folder, self.trained, self.settings)
        if state is not None:
            self.saved = result.steps = state["step"]
            result.rows, result.seconds = state["rows"], state["seconds"]


def training_settings(
    objective: Any, training: Training | None, settings: dict[str, Any]
) -> Training:
    """The `Training` of a call, given whole or by its fields."""
    if training is not None and settings:
        raise TypeError(
            "Give a Training or single settings, not both: dataclasses.replace changes a Training."
        )
    return (training or Training.of(settings)).for_encoder(objective.encoder.pretrained)


def check_trainable(
    objective: Objective, training: Training, device: torch.device
) -> None:
    """Raise where a run would learn nothing, or something else than it says."""
    if torch.is_autocast_enabled(device.type):
        raise ValueError(
            "Inside torch.autocast fit would go on reading copies of the weights from before the first update: "
            "leave that context and pass precision='bf16' instead."
        )
    if type(objective).total is not Objective.total:
        raise TypeError(
            "The trainer sums the parts piece by piece: give `weights` in place of a `total` of your own."
        )
    trained = [weight for weight in objective.parameters() if weight.requires_grad]
    if not trained:
        raise ValueError(
            "Every weight is frozen, so nothing can be trained: set requires_grad where it should."
        )
    if trained[0].dtype in (torch.float16, torch.bfloat16):
        raise ValueError(
            "Weights in half precision lose most of their small updates: train objective.float() with "
            "precision='bf16', and convert the encoder afterwards."
        )
    in_pieces = training.chunk_size is not None or distributed.count() > 1
    norms = nn.modules.batchnorm._BatchNorm
    if in_pieces and any(isinstance(module, norms) for module in objective.modules()):
        raise ValueError(
            "BatchNorm would see one piece of the batch at a time, not the batch: take a LayerNorm, or train on one "
            "process without chunk_size."
        )
