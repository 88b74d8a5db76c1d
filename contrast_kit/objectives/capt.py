"""CAPT: pull a text and its corrupted self together, push both away from all other texts, even of earlier steps.

Contrastive Pre-Training of "CAPT: Contrastive Pre-Training for Learning Denoised Sequence Representations".
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from contrast_kit import checks, schedules
from contrast_kit._renamed import renamed_fields
from contrast_kit._warn import warn
from contrast_kit.encoder.encoder import View
from contrast_kit.losses.contrast import nt_xent
from contrast_kit.masking.noise import Noise, named
from contrast_kit.objectives.base import ExampleInfo, Objective, Vectors, duplicates, mlm_count, mlm_sum, others
from contrast_kit.objectives.queue import UNKNOWN, MemoryQueue


@renamed_fields(weight="contrast_weight")
@dataclass(frozen=True)
class CAPTConfig:
    """Everything that CAPT varies; the defaults are the paper's, where it prints them, but for `reduction`."""

    noise: str | Noise = "mask"
    """What turns x into x̂. Paper: "mask" (15 % of tokens, 80/10/10 "as BERT"); section 5.2: "shuffle" (window 3), a
    little worse. Or "mask+shuffle", "spans", "replace", `noise.Mask(0.3)`, any function (batch, generator, vocabulary)
    → view."""
    tau: float | Literal["adaptive"] = "adaptive"
    """Temperature of eq. 2 and 3. "adaptive" (paper): eq. 6, 0.55 → 0.05 → 0.55 over the run's optimizer steps. A
    number: constant, what figure 3 (left) compares it with; the paper does not print which."""
    queue: int = 8192
    """Capacity of the memory queue in vectors; each text pushes two. Paper: 8192, *two steps* of its small model's
    batch, half a step of its large one's (more if it contrasted a part of a batch, as the "size of 128" without a queue
    in figure 3 may mean); 0, no queue, is worse (figure 3, left). With a batch of 32 it is 128 steps.
    CAPT has no slowly moving encoder as MoCo has: vectors that old come from another model, and a batch can leave them
    behind by moving as one, until all its vectors point the same way. In small runs (`data.recorded("capt_queue")`) 4 ·
    batch_size vectors and a start from MLM ended at a mean cosine of 0.8 to 0.9. Texts stayed apart only with a sixth
    of the rate for six times the steps as well (0.06; with 16 · batch_size 0.99). Without a queue they always did."""
    reduction: Literal["mean", "sum"] = "mean"
    """Over the 2n anchors. Paper (eq. 4): "sum", 2n times as much; over 4096 anchors it would drown an MLM loss that is
    a mean over tokens, and the right learning rate would depend on n. Hence our "mean"."""
    contrast_weight: float = 1.0
    """Weight of the contrast beside MLM. Paper: 1, "the final training loss is the sum of the above two"."""
    mlm: bool = True
    """MLM on x̂ where the noise fell (x has nothing to recover). False: the contrast alone."""
    aggregation: Literal["mlp", "none"] = "mlp"
    """A of eq. 1. Paper: "mlp", a projection with one hidden layer. "none": the encoder's own sequence vectors."""
    inner: int | None = None
    """Width of A's hidden layer. Paper: the encoder's FFN width, which None takes (4·D if it has none)."""
    ignore_duplicates: bool = False
    """True: no other vector of the anchor's own text, in batch or queue, is a negative. Paper: nothing is left
    out, which can do little harm on a large corpus; a small one comes round while its old vectors are still queued."""

    def __post_init__(self):
        named(self.noise)
        if isinstance(self.tau, str) and self.tau != "adaptive":
            raise ValueError(f'tau must be "adaptive" (CAPT eq. 6) or a number above 0, not {self.tau!r}.')
        if self.tau != "adaptive":
            checks.temperature(self.tau)
        checks.count("queue", self.queue, "a number of vectors, 0 for no queue", least=0)
        checks.choice("reduction", self.reduction, ("mean", "sum"))
        checks.weight("contrast_weight", self.contrast_weight)
        checks.choice("aggregation", self.aggregation, ("mlp", "none"))
        if self.inner is not None:
            checks.count("inner", self.inner, "the width of the aggregation's hidden layer")


MANY_STEPS = 16
"""Steps in the queue above which a warning is due."""


class CAPT(Objective):
    """Learn representations that do not follow the noise: L = L_MLM + L_capt (CAPT, section 3.1).

    Views: `"clean"`, the text x, and `"noisy"`, its corrupted version x̂. Local loss: MLM on x̂ only. Contrast:
    `losses.nt_xent` in both directions on s = ℓ2 ∘ A ∘ h (eq. 1–4), h being the vector that the encoder pools. In
    the denominator of an anchor: 2n - 1 + Q terms, from both views *and* from earlier steps.

    For inputs other than text pass another noise, and override `local_sums` and `term_counts`: {} for `"clean"`.

    Relation to its neighbours: without queue and head, at a constant τ, on a crop and a text with sampled words it is
    COCO-LM's contrast; `contrast_weight=0` is `MLM`; with dropout as the only noise and no MLM it is near `SimCSE`.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> capt = ck.objectives.CAPT(encoder, noise="shuffle", queue=16)
        >>> run = ck.fit(capt, texts, steps=3, batch_size=2, progress=False)
        >>> len(capt.queue)  # two vectors a text and step
        12
        >>> run.history["tau"].round(3).tolist()  # eq. 6 at t = 0, 1, 2 of T = 3
        [0.55, 0.217, 0.217]
    """

    Config = CAPTConfig
    in_tables = "CAPT"

    @classmethod
    def paper(cls, setting: str = "small") -> CAPTConfig:
        """The objective of the small or large model (3.1, Table 4), with the printed sum of eq. 4. It goes with
        `paper_training(setting)` and with `Encoder.small` or `Encoder.large`."""
        checks.choice("CAPT's setting", setting, ("small", "large"))
        inner = {"small": 1024, "large": 4096}[setting]
        return CAPTConfig(noise="mask", tau="adaptive", queue=8192, reduction="sum", inner=inner)

    def build(self) -> None:
        config, width = self.config, self.encoder.width
        self.noise = named(config.noise)
        inner = config.inner or ffn_width(self.encoder)
        self.aggregate = Aggregation(width, inner) if config.aggregation == "mlp" else nn.Identity()
        self.queue = MemoryQueue(config.queue, width) if config.queue else None
        self.set_progress(0, 1)

    def set_progress(self, step: int, total: int) -> None:
        """τ of this optimizer step, t = 0, 1, … of T (eq. 6): the same for every chunk and both directions."""
        tau = self.config.tau
        self.tau = schedules.inverted_triangle(step, total) if tau == "adaptive" else float(tau)
        if step == 0 and self.queue is not None:
            self.queue.row_ids.fill_(UNKNOWN)  # another run's numbers of texts are not this one's

    @property
    def weights(self) -> dict[str, float]:
        return ({"mlm": 1.0} if self.config.mlm else {}) | {"contrast": self.config.contrast_weight}

    def negatives(self, facts: ExampleInfo) -> float:
        """2n - 2 of the batch, and the vectors of the queue once it is full."""
        return 2 * others(facts, self.config.ignore_duplicates) + self.config.queue

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        """x and x̂, which the config's noise has corrupted."""
        return {"clean": dict(batch), "noisy": self.noise(batch, generator, self.encoder.vocabulary)}

    def local_sums(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """MLM of x̂, where the noise fell."""
        return {"mlm": mlm_sum(self.encoder, hidden, view)} if self._has_local_losses(name, view) else {}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        return {"mlm": mlm_count(view)} if self._has_local_losses(name, view) else {}

    def _has_local_losses(self, name: str, view: View) -> bool:
        """On x̂ alone, and not where the noise left nothing to recover."""
        return name == "noisy" and self.config.mlm and "targets" in view

    def vectors(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """s = A ∘ h (eq. 1), [B, D]; its ℓ2 norm is in the loss."""
        return {"s": self.aggregate(self.encoder.pool(hidden, view))}

    def contrast(self, vectors: Vectors, facts: ExampleInfo) -> dict[str, Tensor]:
        """Eq. 2 to 4, both directions, with the queue, at the current τ, which is logged beside it."""
        clean, noisy = vectors["clean"]["s"], vectors["noisy"]["s"]  # [B, D] each
        options = {} if self.queue is None else {"queue": self.queue.vectors}  # [Q, D], of earlier steps only
        if self.config.ignore_duplicates:
            options |= {"ids": duplicates(facts, True), "queue_ids": None if self.queue is None else self.queue.ids}
        loss = nt_xent(clean, noisy, self.tau, reduction=self.config.reduction, **options)
        return {"contrast": loss, "tau": loss.new_full((), self.tau)}  # tau has no weight: logged, not trained

    def after_step(self, vectors: Vectors, facts: ExampleInfo) -> None:
        """Only now do this step's vectors enter the queue: s and ŝ of every process, with their texts' ids."""
        if self.queue is None:
            return
        both, ids = torch.cat([vectors["clean"]["s"], vectors["noisy"]["s"]]), facts.get("text_id")  # [2B, D], [B]
        pushed, steps = len(both), self.queue.capacity // len(both)
        if steps > MANY_STEPS and not len(self.queue):  # said once, before the first push
            warn(
                f"The queue will hold the last {steps} steps ({self.queue.capacity} vectors, {pushed} a step); CAPT's "
                "held two of its batches. Vectors of a model so long ago can make the present ones collapse: take a "
                f"smaller queue (queue={4 * pushed}) and lr, begin with an encoder that MLM has trained, and watch the "
                "contrast.",
            )
        self.queue.push(both, ids.repeat(2) if ids is not None else None)


class Aggregation(nn.Module):
    """A of eq. 1: W2 gelu(W1 h + b1) + b2, [B, D] → [B, D], "a nonlinear projection with one hidden layer". The paper
    does not name the nonlinearity; gelu is that of the encoder's own feed-forward layers."""

    def __init__(self, width: int, inner: int):
        super().__init__()
        self.w1, self.w2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, h: Tensor) -> Tensor:
        return self.w2(nn.functional.gelu(self.w1(h)))  # [B, D] -> [B, inner] -> [B, D]


def ffn_width(encoder: nn.Module) -> int:
    """The inner width of an encoder's feed-forward layers, or 4 D if it does not say."""
    config = getattr(getattr(encoder, "model", None), "config", None)
    return getattr(config, "intermediate_size", None) or 4 * encoder.width
