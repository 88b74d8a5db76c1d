"""COCO-LM: correct the tokens of a corrupted text, and contrast it with a crop of the original.

"COCO-LM: Correcting and Contrasting Text Sequences for Language Model Pretraining" (Meng et al. 2021).
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from contrast_kit import checks, masking
from contrast_kit._renamed import renamed_fields
from contrast_kit.checks import normalise
from contrast_kit.encoder.encoder import Encoder, View
from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.losses.contrast import nt_xent
from contrast_kit.masking.order import check_keep
from contrast_kit.objectives.base import ExampleInfo, Vectors, duplicates, others
from contrast_kit.objectives.coco_lm.auxiliary import Corrupting, CorruptionConfig
from contrast_kit.objectives.coco_lm.correct import Correction as Correction
from contrast_kit.objectives.coco_lm.correct import corrections
from contrast_kit.objectives.coco_lm.token_losses import LOSSES, CopyHead, Task
from contrast_kit.papers.settings import coco_lm_model


@dataclass(frozen=True)
class COCOLMReleasedCode(CorruptionConfig):
    """What the paper's text lacks, but the released code has (`ReleasedCode`, continued)."""

    lm_variant: Literal["paper", "authors_code"] = "paper"
    """L_LM as printed, the log of the copy mixture; or as the authors posted it, the cross-entropy weighted by the
    stopped p_copy(0): another loss (`losses.corrective_lm`)."""
    scl_head: bool = False
    """False: s is h_[CLS], as printed. True: the released code's head before the cosine: dense, gelu, LayerNorm."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text out of its negatives. The paper does not."""
    lm_projection: bool = False
    """True gives the main model's word scores the projection of BERT's head. Paper: without, for "the training
    stability" (appendix D); the auxiliary model always has it."""
    head_biases: bool = False
    """Biases in w_copy^T h and in the word scores. The paper prints none; the released code has both."""


@renamed_fields(contrast="contrast_weight")
@dataclass(frozen=True)
class COCOLMConfig(COCOLMReleasedCode):
    """Everything that COCO-LM varies; the defaults are the paper's *base* setting, but for `reduction`: means."""

    task: Task = "clm"
    """What the main model learns at tokens. "clm": L_copy and L_LM (eq. 2). Table 3: "rtd" in "RTD Only" and "SCL +
    RTD"; "all_token" in "All-Token LM Only"; "plain_lm", a softmax at M alone, in "CLM w/o. Copy"."""
    lambda_copy: float = 50.0
    """Weight of L_copy, or of L_RTD. Paper: 50, as a yes-or-no loss is small beside one over 30,000 words."""
    stop_gradient: bool = True
    """p_copy in L_LM is a constant. False is table 3 "CLM w/o. Stop-grad"; the paper warns of divergence."""
    contrast_weight: float | None = 1.0
    """Weight of L_SCL. Paper: 1. 0: the crop is encoded and its cosines logged, untrained (figure 7, "w/o. SCL"). None:
    no contrast (table 3 "CLM Only", "RTD Only")."""
    keep: float = 0.9
    """Share of X^orig that X^crop keeps, contiguous. Paper: 0.9; figure 4 tries 1, the whole text, down to 0.7."""
    tau: float = 1.0
    """Temperature of eq. 3. Paper: 1."""

    def __post_init__(self):
        super().__post_init__()
        checks.choice("task", self.task, tuple(LOSSES))
        checks.choice("lm_variant", self.lm_variant, ("paper", "authors_code"))
        checks.weight("lambda_copy", self.lambda_copy)
        if self.contrast_weight is not None:
            checks.weight("contrast_weight", self.contrast_weight)
        checks.temperature(self.tau)
        check_keep(self.keep)


class COCOLM(Corrupting):
    """Correcting and contrasting: L = L_MLM^Aux + λ L_copy + L_LM + L_SCL (COCO-LM, eq. 4).

    Views: `"masked"`, for the auxiliary model; `"corrupted"`, X^MLM, its samples in the masked places (eq. 1);
    `"crop"`, a contiguous 90 % of the original. Local losses: the auxiliary's `"aux_mlm"`; on X^MLM `"copy"` over all
    real tokens (eq. 2) and `"lm"` at masked positions, with p_copy a constant. Contrast: h_[CLS] of X^MLM against that
    of X^crop, both ways, 2B − 2 negatives (eq. 3). Logged, without a weight: the accuracies of figure 8
    (`token_losses.token_counts`), and `cos_positive` and `cos_negative`, figure 7.

    The main model's word scores are h · x, without projection: the encoder gives up its projection and its word bias,
    for good, when the objective is made. `run.encoder.save_pretrained(folder)` still writes an ordinary folder whose
    fill-mask gives these scores (`mlm_head`): p_LM ranks words although the main model never saw a [MASK]. Build the
    encoder with `relative_positions=True` for the paper's architecture.

    Arguments as for `Corrupting`. `COCOLM(encoder, **papers.settings.COCO_LM_TABLE_3["CLM Only"])`: a row of table 3.

    Relation to its neighbours: `ELECTRA` is the detection alone; `MLM` never corrupts with a model; `CAPT` contrasts a
    masked text with the original.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), relative_positions=True)
        >>> batch = ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])
        >>> sorted(ck.objectives.COCOLM(encoder, diagnostics=False)(batch))
        ['aux_mlm', 'contrast', 'copy', 'lm', 'loss']
    """

    Config = COCOLMConfig
    in_tables = "COCO-LM"

    @classmethod
    def paper(cls, setting: str = "base") -> COCOLMConfig:
        """The config of section 4's "base", "base++" or "large++"; `paper_encoder` and `paper_training` go with it."""
        return COCOLMConfig(auxiliary_layers=coco_lm_model(setting)["auxiliary_layers"])

    @staticmethod
    def paper_encoder(setting: str, tokenizer: Any, **options: Any) -> Encoder:
        """The main model of a setting: BERT's base or large shape with T5's relative positions (table 6)."""
        model = coco_lm_model(setting)
        positions = RelativePositions(model["buckets"], model["max_distance"])
        return Encoder.build(model["shape"], tokenizer, relative_positions=positions, **options)

    def build(self) -> None:
        config, width = self.config, self.encoder.width
        self.copy_head = CopyHead(width, config.head_biases) if config.task != "plain_lm" else None
        self.scl_head = SCLHead(width) if config.scl_head and self.contrastive else None

    @property
    def contrastive(self) -> bool:
        return self.config.contrast_weight is not None

    @property
    def task(self) -> Task:
        return self.config.task

    @property
    def weights(self) -> dict[str, float]:
        """Eq. 4: 1 for the auxiliary, λ for L_copy, 1 for L_LM, and the contrast's own."""
        lam, contrast = self.config.lambda_copy, self.config.contrast_weight
        of_tokens = {name: lam if name in ("copy", "rtd") else 1.0 for name in LOSSES[self.task]}
        return self.auxiliary_weight | of_tokens | ({"contrast": contrast} if self.contrastive else {})

    def negatives(self, facts: ExampleInfo) -> float | None:
        """2B - 2 (eq. 3); None without a contrast."""
        return 2 * others(facts, self.config.ignore_duplicates) if self.contrastive else None

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        """X^MLM and what the auxiliary learns from, as `Corrupting`; with a contrast also `"crop"`, of X^orig."""
        views = super().views(batch, generator)
        return views | {"crop": self._crop(batch, generator)} if self.contrastive else views

    def _crop(self, batch: View, generator: torch.Generator | None) -> View:
        """X^crop: content tokens cropped, [CLS] and [SEP] put back; as narrow as the longest crop can be."""
        keep, ids, pad, frame = self.config.keep, batch["input_ids"], self.encoder.tokenizer.pad_token_id, self.frame
        cropped = masking.crop(ids, batch["attention_mask"], keep, pad_id=pad, specials=frame, generator=generator)
        # Of the longest, without asking the device; twice the small term of `crop`, which rounds in float32.
        width = sum(frame) + max(1, int((ids.shape[1] - sum(frame)) * keep + 2e-4))
        view = {"input_ids": cropped.input_ids[:, :width], "attention_mask": cropped.attention_mask[:, :width]}
        if "token_type_ids" in batch:
            view["token_type_ids"] = batch["token_type_ids"].gather(1, cropped.positions)[:, :width]
        return view

    @property
    def token_options(self) -> dict[str, Any]:
        """How L_LM is computed."""
        return {"variant": self.config.lm_variant, "stop_gradient": self.config.stop_gradient}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        return {} if name == "crop" else super().term_counts(name, view)

    def contrasted(self, name: str) -> bool:
        return self.contrastive and name != "masked"

    def vectors(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """s = h_[CLS] of X^MLM, or of the crop, [B, D]."""
        s = self.encoder.pool(hidden, view)  # [B, T, D] → [B, D]
        return {"s": s if self.scl_head is None else self.scl_head(s)}

    def contrast(self, vectors: Vectors, facts: ExampleInfo) -> dict[str, Tensor]:
        """Eq. 3, both ways, and with `diagnostics` the mean cosines of figure 7."""
        corrupted, cropped = vectors["corrupted"]["s"], vectors["crop"]["s"]  # [B, D] each
        ids = duplicates(facts, self.config.ignore_duplicates)
        parts = {"contrast": nt_xent(corrupted, cropped, self.config.tau, ids=ids)}  # eq. 3
        return parts | (mean_cosines(corrupted, cropped) if self.config.diagnostics else {})

    @torch.no_grad()
    def correct(self, texts: list[str]) -> list[list[Correction]]:
        """Read strings as the trained main model does: for each token, is it original, and which word belongs there?

        Returns each text's tokens as `Correction(token, p_copy, word, p_word)`. ValueError: a task that learns less.
        """
        if self.task not in ("clm", "all_token"):
            raise ValueError(f"Only task='clm' or 'all_token' learns to correct words; this is task={self.task!r}.")
        return corrections(self, texts)


class SCLHead(nn.Module):
    """The released code's head before the cosine: dense, gelu, LayerNorm; [B, D] → [B, D]. The paper prints none."""

    def __init__(self, width: int):
        super().__init__()
        self.dense, self.norm = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, s: Tensor) -> Tensor:
        return self.norm(nn.functional.gelu(self.dense(s)))


@torch.no_grad()
def mean_cosines(a: Tensor, b: Tensor) -> dict[str, Tensor]:
    """The mean cosine of positive pairs and of negative pairs of a contrastive batch (COCO-LM, figure 7a, b).

    `a`, `b` [B, D]. Negatives: all ordered pairs of the 2B vectors except a vector with itself or its partner. Their
    mean is 0 for B = 1, which has none.
    """
    a, b = normalise(a, "a"), normalise(b, "b")
    n = 2 * len(a)
    positive = (a * b).sum()  # [B, D] → []
    everything = (a.sum(0) + b.sum(0)).square().sum()  # [D] → []: the sum of all n² cosines
    negative = (everything - n - 2 * positive) / max(1, n * (n - 2))
    return {"cos_positive": positive / len(a), "cos_negative": negative}
