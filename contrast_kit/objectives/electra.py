"""ELECTRA (replaced token detection) and All-Token MLM: two ways to learn from every token of a corrupted text.

As COCO-LM's paper describes and trains them (section 3.1 and "(Ours)"), in the frame that COCO-LM extends.
"""

from dataclasses import dataclass
from typing import Literal

from contrast_kit import checks
from contrast_kit.objectives.coco_lm.auxiliary import Corrupting, CorruptionConfig
from contrast_kit.objectives.coco_lm.token_losses import CopyHead


@dataclass(frozen=True)
class ELECTRAConfig(CorruptionConfig):
    """ELECTRA as COCO-LM's paper trains it for comparison; samples are drawn without dropout, as COCO-LM draws them."""

    auxiliary: Literal["shallow", "narrow", "random", "given"] = "narrow"
    """ELECTRA's generator has all layers and a third of the width. "shallow" is the paper's row "RTD Only"."""
    lambda_rtd: float = 50.0
    """Weight of detection, a yes-or-no, beside the auxiliary's masked LM, a choice of words. ELECTRA: 50."""
    head_biases: bool = False
    """A bias in w^T h. Neither paper prints one; both codes have it."""

    def __post_init__(self):
        super().__post_init__()
        checks.weight("lambda_rtd", self.lambda_rtd)


class ELECTRA(Corrupting):
    """Replaced token detection: L = L_MLM^Aux + λ L_RTD (COCO-LM 3.1, after Clark et al. 2020).

    Views: `"masked"`, what the auxiliary model learns from, and `"corrupted"`, X^MLM of eq. 1 with its samples in the
    masked places, what the main model learns from. Local losses: `"aux_mlm"`, and `"rtd"` over *all* real tokens. No
    contrast. Arguments: as for `Corrupting`.

    Relation to its neighbours: the main model cannot name words; `AllTokenMLM` and `COCOLM` teach it to.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])
        >>> sorted(ck.objectives.ELECTRA(encoder, diagnostics=False)(batch))
        ['aux_mlm', 'loss', 'rtd']
    """

    Config = ELECTRAConfig
    in_tables = "ELECTRA"
    contrastive, task = False, "rtd"

    def build(self) -> None:
        self.copy_head = CopyHead(self.encoder.width, self.config.head_biases)

    @property
    def weights(self) -> dict[str, float]:
        return self.auxiliary_weight | {"rtd": self.config.lambda_rtd}


@dataclass(frozen=True)
class AllTokenMLMConfig(CorruptionConfig):
    """ELECTRA's All-Token MLM, in the setting in which figure 8 compares it with COCO-LM."""

    lm_projection: bool = False
    """True gives the main model's word scores the projection of BERT's head. Default: none, as in COCO-LM."""
    head_biases: bool = False
    """Biases in w^T h and in the word scores. The paper prints none; the released code has both."""


class AllTokenMLM(Corrupting):
    """Name the original word at *every* token of the corrupted text: L = L_MLM^Aux + L_LM over all tokens.

    p_copy is learned only as a part of the language model: no L_copy, no stop-gradient. COCO-LM's figure 8 shows why
    that is hard, table 3 ("All-Token LM Only") what it costs. In the denominator: V words at every token, in blocks.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])
        >>> sorted(ck.objectives.AllTokenMLM(encoder, diagnostics=False)(batch))
        ['all_token', 'aux_mlm', 'loss']
    """

    Config = AllTokenMLMConfig
    in_tables = "All-Token MLM"
    contrastive, task = False, "all_token"

    def build(self) -> None:
        self.copy_head = CopyHead(self.encoder.width, self.config.head_biases)

    @property
    def weights(self) -> dict[str, float]:
        return self.auxiliary_weight | {"all_token": 1.0}
