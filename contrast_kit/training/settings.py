"""How to train: the settings of a run, and what follows from them: optimizer, learning rate, precision."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

import torch
from torch import nn

from contrast_kit import arguments, checks, schedules, trainer_checks
from contrast_kit._names import meant
from contrast_kit._warn import warn
from contrast_kit.fast import kernels

NEW_LR, PRETRAINED_LR = 5e-4, 2e-5
"""The learning rates where none is given: for a new encoder, and for one opened from a checkpoint."""


@dataclass(frozen=True)
class Training:
    """How to train, whatever the objective. The defaults suit the tiny and small encoders; papers name their own.

    Raises TypeError or ValueError for a value of another kind or outside its range, and names the setting.

    Example:
        >>> import contrast_kit as ck
        >>> ck.Training(epochs=50, batch_size=8, lr=1e-5, warmup=0)  # CMLM on 100 texts (section 4.3)
        Training(steps=None, epochs=50, batch_size=8, ...)
        >>> ck.Training(steps=100, precision="fp16")
        Traceback (most recent call last):
        ValueError: precision must be one of 'float32', 'bf16', not 'fp16'.
    """

    steps: int | None = None
    """Optimizer steps; or give `epochs`."""
    epochs: float | None = None
    """Passes over the data, as papers count them: every row once per pass, so the last batch of a pass may be short:
    20 rows in batches of 16 are two updates per pass. With `steps`, or with neither, all batches are full, and rows
    that do not fill one wait for another pass; with neither, the run is one pass."""
    batch_size: int = 32
    """Examples in one contrast: each anchor meets the vectors of all of them. Shared among processes. Data with fewer
    examples make one batch."""
    chunk_size: int | None = None
    """Examples encoded at once: as small as memory requires; loss and gradient stay those of the whole batch."""
    accumulate: int = 1
    """Batches per optimizer step; the last of a run takes those that are left. Their gradients are averaged; it adds
    **no** negatives to any contrast."""
    lr: float | None = None
    """Peak learning rate. None: 5e-4 for a new encoder, as COCO-LM base and CAPT small; 2e-5 for one that was opened
    from a checkpoint, whose weights a larger rate destroys. CMLM, which starts from RoBERTa: 1e-5."""
    warmup: float = 0.06
    """Share of the steps in which the rate rises from 0. CAPT: 0.05–0.06; COCO-LM: 0.08; CMLM's script: 0."""
    warm_heads: float = 0.0
    """Share of the steps in which only heads are trained and the body of the encoder rests: new heads on a pre-trained
    body give gradients that mean nothing yet. 0.1 is enough; 0 for a new encoder, or without a head."""
    decay: Literal["linear", "none"] = "linear"
    """After the warm-up: linearly to 0, as CAPT and COCO-LM's fine-tuning (the others print none), or not at all."""
    weight_decay: float = 0.01
    """On matrices only, never on biases or LayerNorm."""
    betas: tuple[float, float] = (0.9, 0.98)
    """AdamW's betas: RoBERTa's, COCO-LM's and CAPT's; the long memory of 0.999 is too slow for large batches."""
    eps: float = 1e-6
    """AdamW's epsilon, from the same papers."""
    clip: float | None = 2.0
    """Largest norm of the whole gradient (COCO-LM: 2.0); None leaves it as it is."""
    precision: Literal["float32", "bf16"] = "float32"
    """bf16 encodes under autocast; weights, similarities and the optimizer stay in float32. Some processors are much
    slower with it: `fit` measures this and warns (`fast.kernels.bfloat16_speed`)."""
    max_length: int = 128
    """Tokens at which a text is cut; an encoder that takes fewer cuts it there. Ready `Texts` stay as they are."""
    group_by_length: bool = True
    """Rows of like length make a batch, so that little of it is padding. False: any rows, as in the papers. Take False
    for a contrast among fewer rows than fill 50 batches, where nearly the same ones would meet in each epoch (as
    `tasks.protocols` does); and where texts are short *and* long: masked LM on docstrings was at 5.87 nats after 1,200
    steps, and at 4.89 with any rows (one seed)."""
    packing: bool | None = None
    """Compute nothing on padding within the steps (`faster`). None: for a plain masked LM on a CPU, unless something of
    your own in it, such as a hook, would notice. False: as the encoders are. It changes which dropout is drawn."""
    seed: int = 0
    """The seed of the order of the data, of the noise in views, and of dropout."""
    log_every: int = 1
    """Steps between rows of the history; the last step has one, too. For each the run waits for the device once."""
    save_every: int = 100
    """Steps between checkpoints, where a folder is given; there is one at the end, too."""

    def __post_init__(self):
        if self.steps is not None and self.epochs is not None:
            raise ValueError("Give steps or epochs, not both: one follows from the other.")
        given = {name: value for name, value in vars(self).items() if value is not None or name not in OPTIONAL}
        for name, value in given.items():
            if name in COUNTS:
                checks.count(name, value, COUNTS[name])
            elif name in NUMBERS:
                checks.number(name, value, *NUMBERS[name])
        checks.seed(self.seed)
        arguments.length(self.max_length)
        checks.choice("decay", self.decay, ("linear", "none"))
        checks.choice("precision", self.precision, ("float32", "bf16"))
        checks.switch("group_by_length", self.group_by_length)
        checks.choice("packing", self.packing, (None, True, False))
        arguments.betas(self.betas)
        if self.clip == 0:
            raise ValueError("clip is the largest norm of a gradient, above 0; clip=None leaves gradients as they are.")
        if self.epochs == 0 or self.lr == 0:
            raise ValueError(f"{'lr' if self.lr == 0 else 'epochs'} must be above 0, or nothing is learnt.")

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Training":
        """The `Training` with these settings; an unknown name raises a `TypeError` with the nearest known one."""
        names = [field.name for field in fields(cls)]
        for name in settings:
            if name not in names:
                raise TypeError(f"There is no training setting {name!r}; {meant(name, names, 0.5)}")
        return cls(**settings)

    def for_encoder(self, pretrained: bool) -> "Training":
        """The same settings, with a learning rate if none was given. Warns of one that destroys pre-trained weights."""
        if self.lr is None:
            return replace(self, lr=PRETRAINED_LR if pretrained else NEW_LR)
        trainer_checks.warn_high_rate(self.lr, PRETRAINED_LR if pretrained else math.inf)
        return self

    def total_batches(self, batches: int) -> int:
        """Batches of a run over data with so many per epoch."""
        return (self.steps or 0) * self.accumulate or math.ceil(round((self.epochs or 1) * batches, 6))

    def total_steps(self, batches: int) -> int:
        """Optimizer steps of a run over data with so many batches per epoch."""
        return math.ceil(self.total_batches(batches) / self.accumulate)


# What each number is, its least value and its largest. OPTIONAL ones may be None.
COUNTS = {
    "steps": "a number of updates", "batch_size": "a number of examples", "chunk_size": "a number of examples",
    "accumulate": "a number of batches", "log_every": "a number of steps", "save_every": "a number of steps",
}  # fmt: skip
NUMBERS = {
    "epochs": ("a number of passes", 0), "lr": ("the peak learning rate", 0), "eps": ("AdamW's epsilon", 0),
    "warmup": ("a share of the steps", 0, 1), "warm_heads": ("a share of the steps", 0, 1),
    "weight_decay": ("AdamW's weight decay", 0), "clip": ("the largest norm of a gradient, or None", 0),
}  # fmt: skip
OPTIONAL = ("steps", "epochs", "chunk_size", "clip", "lr")


def adamw(objective: nn.Module, training: Training) -> torch.optim.AdamW:
    """AdamW; weight decay on matrices only. It passes over a weight at rest, which a callback may yet set free."""
    every = [p for p in objective.parameters() if p.is_floating_point() or p.is_complex()]
    for weight in every:  # the fused kernel takes them for contiguous, and would update other numbers of a slice
        weight.data = weight.data.contiguous()
    matrices, others = ([p for p in every if (p.ndim >= 2) is wide] for wide in (True, False))
    groups = [{"params": matrices, "weight_decay": training.weight_decay}, {"params": others, "weight_decay": 0.0}]
    fused = all(p.is_floating_point() for p in every)  # one kernel: a quarter of the time, on a CPU too
    return torch.optim.AdamW(groups, lr=training.lr or NEW_LR, betas=training.betas, eps=training.eps, fused=fused)


def learning_rate(step: int, total: int, training: Training) -> float:
    """The rate of optimizer step `step` = 0, 1, …: the schedule steps once per optimizer step, never per chunk."""
    alone = round(training.warm_heads * total)  # the heads, with a warm-up of their own; then all begins anew
    step, total, decay = (step, alone, "none") if step < alone else (step - alone, total - alone, training.decay)
    warmup = round(training.warmup * total)
    if decay == "linear":
        return training.lr * schedules.linear_warmup_linear_decay(step, total, warmup)
    return training.lr * (min(1.0, step / warmup) if warmup else 1.0)


def autocast(precision: str, device: torch.device) -> Callable[[], Any]:
    """Makes the context for encoding in `precision`. Warns of a processor that is clearly slower in bf16."""
    if precision == "float32":
        return nullcontext
    if device.type == "cpu" and (speed := kernels.bfloat16_speed()) < 0.7:
        warn(f"Here a product in bfloat16 takes {1 / speed:.1f} times as long as in float32: take precision='float32'.")
    return partial(torch.autocast, device.type, dtype=torch.bfloat16)
