"""How to train: the settings of a run, and what follows from them: optimizer, learning rate, precision."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

import torch
from torch import nn

from contrast_kit._util import warn
from contrast_kit.checks import Between, Count, Settings, known_fields

NEW_LR, PRETRAINED_LR = 5e-4, 2e-5
"""The learning rates where none is given: for a new encoder, and for one opened from a checkpoint."""

Positive = Annotated[float, Between("a number", 1e-12)]
Share = Annotated[float, Between("a share of the steps", 0, 1)]


@dataclass(frozen=True)
class Training(Settings):
    """How to train, whatever the objective. The defaults suit the tiny and small encoders; papers name their own.

    Raises a ValueError for a value of another kind or outside its range, and names the setting.

    Example:
        >>> import contrast_kit as ck
        >>> ck.Training(epochs=50, batch_size=8, lr=1e-5, warmup=0)  # CMLM on 100 texts (section 4.3)
        Training(steps=None, epochs=50, batch_size=8, ...)
        >>> ck.Training(steps=100, precision="fp16")
        Traceback (most recent call last):
        ValueError: precision must be one of 'float32', 'bf16', not 'fp16'.
    """

    steps: Count | None = None
    """Optimizer steps; or give `epochs`."""
    epochs: Positive | None = None
    """Passes over the data, as papers count them: every row once per pass, so the last batch of a pass may be short:
    20 rows in batches of 16 are two updates per pass. With `steps`, or with neither, all batches are full, and rows
    that do not fill one wait for another pass; with neither, the run is one pass."""
    batch_size: Count = 32
    """Examples in one contrast: each anchor meets the vectors of all of them. Shared among processes. Data with fewer
    examples make one batch."""
    chunk_size: Count | None = None
    """Examples encoded at once: as small as memory requires; loss and gradient stay those of the whole batch."""
    accumulate: Count = 1
    """Batches per optimizer step; the last of a run takes those that are left. Their gradients are averaged; it adds
    **no** negatives to any contrast."""
    lr: Positive | None = None
    """Peak learning rate. None: 5e-4 for a new encoder, as COCO-LM base and CAPT small; 2e-5 for one that was opened
    from a checkpoint, whose weights a larger rate destroys. CMLM, which starts from RoBERTa: 1e-5."""
    warmup: Share = 0.06
    """Share of the steps in which the rate rises from 0. CAPT: 0.05–0.06; COCO-LM: 0.08; CMLM's script: 0."""
    warm_heads: Share = 0.0
    """Share of the steps in which only heads are trained and the body of the encoder stays as it is: new heads on a
    pre-trained body give gradients that mean nothing yet. 0.1 is enough; 0 for a new encoder, or without a head."""
    decay: Literal["linear", "none"] = "linear"
    """After the warm-up: linearly to 0, as CAPT and COCO-LM's fine-tuning (the others print none), or not at all."""
    weight_decay: Annotated[float, Between("AdamW's weight decay")] = 0.01
    """On matrices only, never on biases or LayerNorm."""
    betas: tuple[float, float] = (0.9, 0.98)
    """AdamW's betas: RoBERTa's, COCO-LM's and CAPT's; the long memory of 0.999 is too slow for large batches."""
    eps: Annotated[float, Between("AdamW's epsilon")] = 1e-6
    """AdamW's epsilon, from the same papers."""
    clip: Positive | None = 2.0
    """Largest norm of the whole gradient (COCO-LM: 2.0); None leaves it as it is."""
    precision: Literal["float32", "bf16"] = "float32"
    """bf16 encodes under autocast; weights, similarities and the optimizer stay in float32. Some processors are much
    slower with it: `python -m contrast_kit check` measures this."""
    compiled: bool = True
    """On a GPU, where it pays: nothing is computed on padding, long runs are compiled, steps of small models are
    recorded once and then replayed (`fast.on_gpu`). False for who debugs, and for a callback that changes the
    objective; where `ck.faster` chose, it stays. A CPU computes as written."""
    max_length: Count = 128
    """Tokens at which a text is cut; an encoder that takes fewer cuts it there. Ready `Texts` stay as they are."""
    group_by_length: bool = True
    """Rows of like length make a batch, so that little of it is padding. False: any rows, as in the papers. Take False
    for a contrast among fewer rows than fill 50 batches, where nearly the same ones would meet in each epoch (as
    `tasks.protocols` does); and where texts are short *and* long: masked LM on docstrings was at 5.87 nats after 1,200
    steps, and at 4.89 with any rows (one seed)."""
    seed: Annotated[int, Between("a whole number", whole=True)] = 0
    """The seed of the order of the data, of the noise in views, and of dropout."""
    log_every: Count = 1
    """Steps between rows of the history; the last step has one, too. For each the run waits for the device once."""
    save_every: Count = 100
    """Steps between checkpoints, where a folder is given; there is one at the end, too."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps is not None and self.epochs is not None:
            raise ValueError(
                "Give steps or epochs, not both: one follows from the other."
            )

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Training":
        """The `Training` with these settings; a TypeError for an unknown name suggests the one that was meant."""
        known_fields(cls, settings, "Training")
        return cls(**settings)

    def for_encoder(self, pretrained: bool) -> "Training":
        """The same settings, with a learning rate if none was given. Warns of one that destroys pre-trained weights."""
        usual = PRETRAINED_LR if pretrained else NEW_LR
        if self.lr is None:
            return replace(self, lr=usual)
        if pretrained and self.lr >= 10 * usual:
            warn(
                f"lr={self.lr:g} is high for an encoder opened from a checkpoint, which may forget what it knew. "
                f"Without lr= it is {usual:g}."
            )
        return self

    def total_batches(self, batches: int) -> int:
        """Batches of a run over data with so many per epoch."""
        if self.steps is not None:
            return self.steps * self.accumulate
        return math.ceil(round((self.epochs or 1) * batches, 6))

    def total_steps(self, batches: int) -> int:
        """Optimizer steps of a run over data with so many batches per epoch."""
        return math.ceil(self.total_batches(batches) / self.accumulate)


def adamw(objective: nn.Module, training: Training) -> torch.optim.AdamW:
    """AdamW over all parameters, weight decay on matrices only. It skips a parameter without gradient."""
    matrices, others = [], []
    for parameter in objective.parameters():
        # The fused kernel would update other numbers of a slice.
        parameter.data = parameter.data.contiguous()
        (matrices if parameter.ndim >= 2 else others).append(parameter)
    groups = [
        {"params": matrices, "weight_decay": training.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=training.lr or NEW_LR,
        betas=training.betas,
        eps=training.eps,
        fused=True,
    )


def learning_rate(step: int, total: int, training: Training) -> float:
    """The rate of optimizer step `step` = 0, 1, … of `total`: up in a straight line, then down in one, or level.

    BERT's and RoBERTa's schedule, printed by CAPT, and by COCO-LM for fine-tuning. `step` counts the updates *already
    made*, never chunks: with a warm-up the first update has rate 0, and the last one still moves the weights, as in
    transformers' `get_linear_schedule_with_warmup`.

    >>> from contrast_kit.training.settings import Training, learning_rate
    >>> [learning_rate(t, 10, Training(lr=1.0, warmup=0.2)) for t in (0, 1, 2, 6, 9)]
    [0.0, 0.5, 1.0, 0.5, 0.125]
    """
    alone = round(training.warm_heads * total)
    decay = training.decay
    # The heads alone, with a warm-up of their own; afterwards all begins anew.
    if step < alone:
        total, decay = alone, "none"
    else:
        step, total = step - alone, total - alone
    warmup = round(training.warmup * total)
    if step < warmup:
        return training.lr * (step / warmup)
    if decay == "none":
        return training.lr
    return training.lr * ((total - step) / (total - warmup))


def autocast(precision: str, device: torch.device) -> Callable[[], Any]:
    """Makes the context for encoding in `precision`."""
    if precision == "float32":
        return nullcontext
    return partial(torch.autocast, device.type, dtype=torch.bfloat16)
