"""ELECTRA (replaced token detection) and All-Token MLM: two ways to learn from every token of a corrupted text.

As COCO-LM's paper describes and trains them (section 3.1 and "(Ours)"), in the frame that COCO-LM extends.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from contrast_kit import checks, masking
from contrast_kit.encoder.encoder import Encoder
from contrast_kit.objectives.base import Encoded, Objective, View
from contrast_kit.objectives.coco_lm.auxiliary import CorruptionConfig, make_auxiliary
from contrast_kit.objectives.coco_lm.token_losses import CopyHead, Task, token_sizes, token_sums


@dataclass(frozen=True)
class ELECTRAConfig(CorruptionConfig):
    """ELECTRA as COCO-LM's paper trains it for comparison."""

    auxiliary: Literal["shallow", "narrow", "random", "given"] = "narrow"
    """ELECTRA's generator has all layers and a third of the width. "shallow" is the paper's row "RTD Only"."""
    lambda_rtd: float = 50.0
    """Weight of detection beside the auxiliary's masked LM, a yes-or-no beside a choice of words. ELECTRA: 50."""
    head_biases: bool = False
    """A bias in w^T h. Neither paper prints one; both codes have it."""

    def __post_init__(self):
        super().__post_init__()
        checks.weight("lambda_rtd", self.lambda_rtd)


class ELECTRA(Objective):
    """Replaced token detection: L = L_MLM^Aux + λ L_RTD (COCO-LM 3.1, after Clark et al. 2020).

    Views: `"masked"`, what the auxiliary model learns from, and `"corrupted"`, X^MLM of eq. 1 with the auxiliary's
    samples in the masked places, what the main model learns from. Local losses: `"aux_mlm"` and `"rtd"`, the latter
    over *all* real tokens. No contrast.

    Relation to its neighbours: the main model cannot name words; `AllTokenMLM` and `COCOLM` teach it to.

    Args:
        encoder: the main model, trained in place.
        config: an `ELECTRAConfig`, or nothing.
        converged: a trained auxiliary model, which is copied and kept as it is (table 3, "w. Converged Auxiliary").
        seed: of the initial weights of heads and auxiliary model.
        changes: single fields of the config.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])
        >>> sorted(ck.objectives.ELECTRA(encoder, diagnostics=False)(batch))
        ['aux_mlm', 'loss', 'rtd']
    """

    Config = ELECTRAConfig
    contrastive = False

    def __init__(
        self,
        encoder: Encoder,
        config: Any = None,
        *,
        converged: Encoder | None = None,
        seed: int = 0,
        **changes: Any,
    ):
        if converged is not None:
            changes["auxiliary"] = "given"
        super().__init__(encoder, config, seed=seed, **changes)
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU: no other stream is touched
            torch.default_generator.manual_seed(seed + 1)  # not the numbers that may have made the main model
            self.auxiliary = make_auxiliary(encoder, self.config, converged)

    def build(self) -> None:
        needs_copy = self.task != "plain_lm"
        self.copy_head = CopyHead(self.encoder.width, self.config.head_biases) if needs_copy else None

    @property
    def task(self) -> Task:
        """What the main model learns at each token (`corrective.token_sums`)."""
        return "rtd"

    @property
    def weights(self) -> dict[str, float]:
        return self.auxiliary_weight | {"rtd": self.config.lambda_rtd}

    @property
    def auxiliary_weight(self) -> dict[str, float]:
        """1 for the auxiliary's own loss (eq. 4), where it is trained."""
        return {} if self.auxiliary.frozen else {"aux_mlm": 1.0}

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        config = self.config
        masked = masking.dynamic_random_mask(
            batch["input_ids"],
            self.may_be_masked(batch),
            config.p_m,
            split=config.split,
            generator=generator,
            **self.encoder.vocabulary,
        )
        view = masking.masked_view(batch, masked)
        sampled = self.auxiliary.sample(view, generator)  # [B, T]
        corrupted = {
            **batch,
            "input_ids": sampled,
            "original": batch["input_ids"],
            "selected": masked.selected,
        }
        views = {} if self.auxiliary.frozen else {"masked": view}
        return views | {"corrupted": corrupted}

    def may_be_masked(self, batch: View) -> Tensor:
        """Where a mask may fall, [B, T]: on words, and as the config says on special tokens and the first one."""
        if not self.config.mask_special:
            return batch["maskable"]
        allowed = batch["attention_mask"].bool()  # [B, T], a new tensor
        if not self.config.mask_cls:
            allowed = allowed & (batch["input_ids"] != self.encoder.tokenizer.cls_token_id)
        return allowed

    def sizes(self, view: View) -> dict[str, Tensor]:
        config = self.config
        if "targets" in view:
            selected = view["selected"].sum()
            sequences = torch.full_like(selected, len(view["selected"]))
            sizes = {"aux_mlm": sequences if config.reduction == "paper_sum" else selected}
            return sizes | ({"aux_acc": selected} if config.diagnostics else {})
        if "original" in view:
            return token_sizes(view, self.task, config.reduction, config.diagnostics)
        return {}

    def encode(self, view: View) -> Encoded:
        if "targets" in view:
            return Encoded({}, self.auxiliary.sums(view, self.config.diagnostics))
        hidden = self.encoder(view)  # [B, T, D]
        return Encoded(self.vectors_of(hidden, view), self.sums_of(hidden, view))

    def vectors_of(self, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """Sequence vectors for a contrast: ELECTRA has none."""
        return {}

    def sums_of(self, hidden: Tensor, view: View, **options: Any) -> dict[str, Tensor]:
        """The main model's token losses, summed; of a view that holds no corrupted text, none."""
        if "original" not in view:
            return {}
        options["diagnostics"] = self.config.diagnostics
        return token_sums(self.encoder, self.copy_head, hidden, view, self.task, **options)


@dataclass(frozen=True)
class AllTokenMLMConfig(CorruptionConfig):
    """ELECTRA's All-Token MLM, in the setting in which figure 8 compares it with COCO-LM."""

    lm_projection: bool = False
    """True gives the main model's word scores the projection of BERT's head. As for COCO-LM: none."""
    head_biases: bool = False
    """Biases in w^T h and in the word scores. The paper prints none; the released code has both."""


class AllTokenMLM(ELECTRA):
    """Name the original word at *every* token of the corrupted text: L = L_MLM^Aux + L_LM over all tokens.

    The copy mechanism p_copy is learned only as a part of the language model: no L_copy, no stop-gradient. COCO-LM's
    figure 8 shows why that is hard, and table 3 ("All-Token LM Only") what it costs. Word scores at every token are the
    most expensive thing in this package; they are computed in blocks.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])
        >>> sorted(ck.objectives.AllTokenMLM(encoder, diagnostics=False)(batch))
        ['all_token', 'aux_mlm', 'loss']
    """

    Config = AllTokenMLMConfig

    def build(self) -> None:
        super().build()
        if not self.config.lm_projection:
            self.encoder.use_plain_head(bias=self.config.head_biases)

    @property
    def task(self) -> Task:
        return "all_token"

    @property
    def weights(self) -> dict[str, float]:
        return self.auxiliary_weight | {"all_token": 1.0}
