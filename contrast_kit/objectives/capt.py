"""CAPT: pull a text and its corrupted self together, push both away from all other texts, even of earlier steps.

Contrastive Pre-Training of "CAPT: Contrastive Pre-Training for Learning Denoised Sequence Representations".
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from contrast_kit import losses
from contrast_kit._util import choose, warn
from contrast_kit.checks import Between, Count, Settings, Temperature, Weight, normalise
from contrast_kit.encoder.encoder import View
from contrast_kit.masking.noise import Noise, named
from contrast_kit.objectives import schedules
from contrast_kit.objectives.base import Objective, mlm_count, mlm_sum, others

UNKNOWN = -1
"""The id of a vector whose text is not known."""
MANY_STEPS = 16
"""Steps in the queue above which a warning is due."""


@dataclass(frozen=True)
class CAPTConfig(Settings):
    """Everything that CAPT varies; the defaults are the paper's, where it prints them, but for `reduction`."""

    noise: str | Noise = "mask"
    """What turns x into x̂. Paper: "mask" (15 % of tokens, 80/10/10 "as BERT"); section 5.2: "shuffle" (window 3), a
    little worse. Or "mask+shuffle", "spans", "replace", `noise.Mask(0.3)`, any function (batch, generator, vocabulary)
    → view."""
    tau: Temperature | Literal["adaptive"] = "adaptive"
    """Temperature of eq. 2 and 3. "adaptive" (paper): eq. 6, 0.55 → 0.05 → 0.55 over the run's optimizer steps. A
    number: constant, what figure 3 (left) compares it with; the paper does not print which."""
    queue: Annotated[int, Between("a number of vectors", whole=True)] = 8192
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
    contrast_weight: Weight = 1.0
    """Weight of the contrast beside MLM. Paper: 1, "the final training loss is the sum of the above two"."""
    mlm: bool = True
    """MLM on x̂ where the noise fell (x has nothing to recover). False: the contrast alone."""
    aggregation: Literal["mlp", "none"] = "mlp"
    """A of eq. 1. Paper: "mlp", a projection with one hidden layer. "none": the encoder's own sequence vectors."""
    inner: Count | None = None
    """Width of A's hidden layer. Paper: the encoder's FFN width, which None takes (4·D if it has none)."""
    ignore_duplicates: bool = False
    """True: no other vector of the anchor's own text, in batch or queue, is a negative. Paper: nothing is left
    out, which can do little harm on a large corpus; a small one comes round while its old vectors are still queued."""


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
        `paper_training(setting)` and with `Encoder.build(setting, tokenizer)`."""
        inner = choose({"small": 1024, "large": 4096}, setting, "setting of CAPT")
        return CAPTConfig(
            noise="mask", tau="adaptive", queue=8192, reduction="sum", inner=inner
        )

    def build(self):
        config, width = self.config, self.encoder.width
        self.noise = named(config.noise)
        inner = config.inner or self.encoder.model.config.intermediate_size
        self.aggregate = (
            Aggregation(width, inner) if config.aggregation == "mlp" else nn.Identity()
        )
        self.queue = MemoryQueue(config.queue, width)
        self.set_progress(0, 1)

    def set_progress(self, step, total):
        """τ of this optimizer step, t = 0, 1, … of T (eq. 6): the same for every chunk and both directions."""
        if self.config.tau == "adaptive":
            self.tau = schedules.inverted_triangle(step, total)
        else:
            self.tau = float(self.config.tau)
        if step == 0:
            # Another run's numbers of texts are not this one's.
            self.queue.row_ids.fill_(UNKNOWN)

    @property
    def weights(self):
        contrast = {"contrast": self.config.contrast_weight}
        return {"mlm": 1.0} | contrast if self.config.mlm else contrast

    def negatives(self, facts):
        """2n - 2 of the batch, and the vectors of the queue once it is full."""
        return 2 * others(facts, self.config.ignore_duplicates) + self.config.queue

    def views(self, batch, generator=None):
        """x and x̂, which the config's noise has corrupted."""
        noisy = self.noise(batch, generator, self.encoder.vocabulary)
        return {"clean": dict(batch), "noisy": noisy}

    def local_sums(self, name, hidden, view):
        """MLM of x̂, where the noise fell."""
        if not self._has_local_losses(name, view):
            return {}
        return {"mlm": mlm_sum(self.encoder, hidden, view)}

    def term_counts(self, name, view):
        return {"mlm": mlm_count(view)} if self._has_local_losses(name, view) else {}

    def _has_local_losses(self, name: str, view: View) -> bool:
        """On x̂ alone, and not where the noise left nothing to recover."""
        return name == "noisy" and self.config.mlm and "targets" in view

    def vectors(self, name, hidden, view):
        """s = A ∘ h (eq. 1), [B, D]; its ℓ2 norm is in the loss."""
        return {"s": self.aggregate(self.encoder.pool(hidden, view))}

    def contrast(self, vectors, facts):
        """Eq. 2 to 4, both directions, with the queue, at the current τ, which is logged beside it."""
        clean, noisy = vectors["clean"]["s"], vectors["noisy"]["s"]  # [B, D] each
        # [Q, D]
        options = dict(queue=self.queue.vectors, reduction=self.config.reduction)
        if self.config.ignore_duplicates:
            options |= dict(ids=facts["text_id"], queue_ids=self.queue.ids)  # [B], [Q]
        loss = losses.nt_xent(clean, noisy, self.tau, **options)
        # tau has no weight: it is logged, not trained.
        return {"contrast": loss, "tau": loss.new_full((), self.tau)}

    def after_step(self, vectors, facts):
        """Only now do this step's vectors enter the queue: s and ŝ of every process, with their texts' ids."""
        both = torch.cat([vectors["clean"]["s"], vectors["noisy"]["s"]])  # [2B, D]
        ids = facts.get("text_id")  # [B]
        steps = self.queue.capacity // len(both)
        if steps > MANY_STEPS and not len(self.queue):  # said once, before the first push
            warn(
                f"The queue will hold the last {steps} steps ({self.queue.capacity} vectors, {len(both)} a step); "
                "CAPT's held two of its batches. Vectors of a model so long ago can make the present ones collapse: "
                f"take a smaller queue (queue={4 * len(both)}) and lr, begin with an encoder that MLM has trained, and "
                "watch the contrast."
            )
        self.queue.push(both, None if ids is None else ids.repeat(2))


class Aggregation(nn.Module):
    """A of eq. 1: W2 gelu(W1 h + b1) + b2, [B, D] → [B, D], "a nonlinear projection with one hidden layer". The paper
    does not name the nonlinearity; gelu is that of the encoder's own feed-forward layers."""

    def __init__(self, width: int, inner: int):
        super().__init__()
        self.w1, self.w2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, h):
        return self.w2(nn.functional.gelu(self.w1(h)))  # [B, D] -> [B, inner] -> [B, D]


class MemoryQueue(nn.Module):
    """The newest vectors of earlier steps, first in, first out, at most `capacity` of them.

    CAPT 2.2: the representations of "original inputs and its corresponding corrupted inputs are enqueued into Q. Once
    reaching the preset capacity of Q, the oldest redundant representations are dequeued." There is no slowly moving
    encoder as in MoCo: only the replacement of old vectors by new ones keeps the queue close to the current model.

    The capacity counts *vectors* (CAPT: 8,192); a step on n texts pushes 2n, and neither has to divide the other. The
    queue starts empty: an unfilled row is never a negative. Rows have length 1 and no gradient. Contents and position
    are buffers of fixed size, written in place: they go into checkpoints and follow `.to(device)`.

    Example:
        >>> import torch
        >>> from contrast_kit.objectives import MemoryQueue
        >>> queue = MemoryQueue(capacity=3, width=2)
        >>> queue.push(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), ids=torch.tensor([7, 8]))
        >>> len(queue), queue.vectors
        (2, tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]]))
        >>> queue.push(torch.eye(2), ids=torch.tensor([9, 10]))
        >>> queue.ids  # the oldest, 7, had to go
        tensor([ 8,  9, 10])
    """

    def __init__(self, capacity: int, width: int):
        super().__init__()
        self.capacity = capacity
        # [capacity, D], a ring
        self.register_buffer("rows", torch.zeros(capacity, width))
        self.register_buffer("row_ids", torch.full((capacity,), UNKNOWN))  # [capacity]
        # Since the first step.
        self.register_buffer("pushed", torch.zeros((), dtype=torch.long))
        self.count = (
            0  # the same as a number: reading the buffer would be waiting for a GPU
        )
        self.register_load_state_dict_post_hook(MemoryQueue._count_again)

    def _count_again(self, *_: object) -> None:
        self.count = int(self.pushed)

    def __len__(self) -> int:
        """How many vectors are in it now, Q."""
        return min(self.count, self.capacity)

    @property
    def vectors(self):
        """What is in it, oldest first: [Q, D], rows of length 1, without gradient. A copy."""
        return self.rows[self._order()]

    @property
    def ids(self) -> Tensor:
        """The text that each of these vectors came from, [Q]; -1 where it is not known. A copy."""
        return self.row_ids[self._order()]

    def _order(self) -> Tensor:
        """Where the vectors stand in the ring, oldest first, [Q]."""
        ages = torch.arange(len(self), device=self.rows.device)  # [Q]
        return (self.count - len(self) + ages) % self.capacity

    @torch.no_grad()
    def push(self, vectors: Tensor, ids: Tensor | None = None) -> None:
        """Add vectors, and drop the oldest where there is no room. Call it *after* the loss.

        Pushed earlier, each positive would stand in its own denominator a second time, as a negative. `vectors` [N, D]
        are normalised here; if N is above the capacity, the last ones remain. `ids` [N], integers, are the texts they
        came from.
        """
        if not self.capacity:
            return
        rows = normalise(vectors.detach(), "vectors").to(self.rows)  # [N, D]
        if ids is None:
            ids = torch.full((len(rows),), UNKNOWN)
        places = (
            self.count + torch.arange(len(rows), device=rows.device)
        ) % self.capacity  # [N]
        # Of too many only the last: no place is written twice.
        newest = slice(-self.capacity, None)
        self.rows[places[newest]] = rows[newest]
        self.row_ids[places[newest]] = ids[newest].to(self.row_ids)
        self.count += len(rows)
        self.pushed += len(rows)
