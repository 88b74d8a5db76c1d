"""COCO-LM: correct the tokens of a corrupted text, and contrast it with a crop of the original.

"COCO-LM: Correcting and Contrasting Text Sequences for Language Model Pretraining" (Meng et al. 2021).

Letters: B examples, T tokens, D width, V vocabulary, M masked positions, N any chosen positions. A *replaced* token is
one that differs from the original; a masked position whose sample happens to be the original is an original token.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import torch
from torch import Tensor

from contrast_kit import losses, masking
from contrast_kit.checks import Between, Temperature, Weight, normalise
from contrast_kit.data import papers
from contrast_kit.encoder.encoder import Encoder, View, evaluating
from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.objectives.auxiliary import CorruptionConfig
from contrast_kit.objectives.base import duplicates, others, words_at
from contrast_kit.objectives.electra import (
    Corrupting,
    all_token_sums,
    copy_accuracies,
    detection_sums,
    word_accuracies,
)

Share = Annotated[float, Between("a share of a text", 1e-6, 1)]


@dataclass(frozen=True)
class COCOLMConfig(CorruptionConfig):
    """Everything that COCO-LM varies; the defaults are the paper's *base* setting, but for `reduction`: means."""

    task: Literal["clm", "rtd", "all_token", "plain_lm"] = "clm"
    """What the main model learns at tokens. "clm": L_copy and L_LM (eq. 2). Table 3: "rtd" in "RTD Only" and "SCL +
    RTD"; "all_token" in "All-Token LM Only"; "plain_lm", a softmax at M alone, in "CLM w/o. Copy"."""
    lambda_copy: Weight = 50.0
    """Weight of L_copy, or of L_RTD. Paper: 50, as a yes-or-no loss is small beside one over 30,000 words."""
    stop_gradient: bool = True
    """p_copy in L_LM is a constant. False is table 3 "CLM w/o. Stop-grad"; the paper warns of divergence."""
    contrast_weight: Weight | None = 1.0
    """Weight of L_SCL. Paper: 1. 0: the crop is encoded and its cosines logged, untrained (figure 7, "w/o. SCL"). None:
    no contrast (table 3 "CLM Only", "RTD Only")."""
    keep: Share = 0.9
    """Share of X^orig that X^crop keeps, contiguous. Paper: 0.9; figure 4 tries 1, the whole text, down to 0.7."""
    tau: Temperature = 1.0
    """Temperature of eq. 3. Paper: 1."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text out of its negatives. The paper does not."""
    lm_projection: bool = False
    """True gives the main model's word scores the projection of BERT's head. Paper: without, for "the training
    stability" (appendix D); the auxiliary model always has it."""


class COCOLM(Corrupting):
    """Correcting and contrasting: L = L_MLM^Aux + λ L_copy + L_LM + L_SCL (COCO-LM, eq. 4).

    Views: `"masked"`, for the auxiliary model; `"corrupted"`, X^MLM, its samples in the masked places (eq. 1);
    `"crop"`, a contiguous 90 % of the original. Local losses: the auxiliary's `"aux_mlm"`; on X^MLM `"copy"` over all
    real tokens (eq. 2) and `"lm"` at masked positions, with p_copy a constant. Contrast: h_[CLS] of X^MLM against that
    of X^crop, both ways, 2B − 2 negatives (eq. 3). Logged, without a weight: the accuracies of figure 8
    (`token_counts`), and `cos_positive` and `cos_negative`, figure 7.

    The main model's word scores are h · x, without projection: the encoder gives up its projection and its word bias,
    for good, when the objective is made. `run.encoder.save_pretrained(folder)` still writes an ordinary folder whose
    fill-mask gives these scores: p_LM ranks words although the main model never saw a [MASK]. Build the
    encoder with `relative_positions=True` for the paper's architecture.

    Arguments as for `Corrupting`. `COCOLM(encoder, **papers.COCO_LM_TABLE_3["CLM Only"])`: a row of table 3.

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
        return COCOLMConfig(
            auxiliary_layers=papers.coco_lm_model(setting)["auxiliary_layers"]
        )

    @staticmethod
    def paper_encoder(setting: str, tokenizer: Any, **options: Any) -> Encoder:
        """The main model of a setting: BERT's base or large shape with T5's relative positions (table 6)."""
        model = papers.coco_lm_model(setting)
        positions = RelativePositions(model["buckets"], model["max_distance"])
        return Encoder.build(
            model["shape"], tokenizer, relative_positions=positions, **options
        )

    def build(self):
        super().build()
        if self.config.task == "plain_lm":
            self.copy_head = None

    def set_word_scores(self):
        if self.config.task == "rtd":
            self.encoder.model.config.taught_without_words = "replaced token detection"
        else:
            super().set_word_scores()

    @property
    def contrastive(self):
        return self.config.contrast_weight is not None

    @property
    def weights(self):
        """Eq. 4: 1 for the auxiliary, λ for L_copy, 1 for L_LM, and the contrast's own."""
        config = self.config
        weights_of_task = {
            "clm": {"copy": config.lambda_copy, "lm": 1.0},
            "rtd": {"rtd": config.lambda_copy},
            "all_token": {"all_token": 1.0},
            "plain_lm": {"lm": 1.0},
        }
        weights = self.auxiliary_weight | weights_of_task[config.task]
        if self.contrastive:
            weights["contrast"] = config.contrast_weight
        return weights

    def negatives(self, facts):
        """2B - 2 (eq. 3); None without a contrast."""
        return (
            2 * others(facts, self.config.ignore_duplicates) if self.contrastive else None
        )

    def views(self, batch, generator=None):
        """X^MLM and what the auxiliary learns from, as `Corrupting`; with a contrast also `"crop"`, of X^orig."""
        views = super().views(batch, generator)
        if self.contrastive:
            views["crop"] = self._crop(batch, generator)
        return views

    def _crop(self, batch: View, generator: torch.Generator | None) -> View:
        """X^crop: content tokens cropped, [CLS] and [SEP] put back; as narrow as the longest crop can be."""
        ids, keep, specials = batch["input_ids"], self.config.keep, sum(self.frame)
        cropped = masking.crop(
            ids,
            batch["attention_mask"],
            keep,
            pad_id=self.encoder.tokenizer.pad_token_id,
            specials=self.frame,
            generator=generator,
        )
        # Of the longest, without asking the device; twice the small term of `crop`, which rounds in float32.
        width = specials + max(1, int((ids.shape[1] - specials) * keep + 2e-4))
        view = {"input_ids": cropped.input_ids, "attention_mask": cropped.attention_mask}
        if "token_type_ids" in batch:
            view["token_type_ids"] = batch["token_type_ids"].gather(1, cropped.positions)
        return {key: value[:, :width] for key, value in view.items()}

    def token_sums(self, hidden, view):
        """Corrective language modelling (eq. 2), or what a row of table 3 puts in its place."""
        if self.config.task == "rtd":
            return detection_sums(self, hidden, view)
        if self.config.task == "all_token":
            return all_token_sums(self, hidden, view)
        return self._corrective_sums(hidden, view)

    def _corrective_sums(self, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """L_copy over all real tokens and L_LM at the masked ones, summed; or a plain softmax there ("plain_lm")."""
        config = self.config
        ids, original = view["input_ids"], view["original"]  # [B, T] each
        scores, positions = words_at(self.encoder, hidden, view["selected"])  # [M, V]
        read, labels = positions.rows(ids), positions.labels(original)  # [M] each
        if config.task == "plain_lm":
            copying = None
            sums = {"lm": losses.mlm(scores, labels, reduction="sum")}
            shown = {"resampled": (view["selected"] & (ids == original)).sum()}
        else:
            copy_logits = self.copy_head(hidden)  # [B, T, D] → [B, T]
            copying = positions.rows(copy_logits)  # [M]
            real, how = view["attention_mask"], dict(reduction="sum")
            sums = {"copy": losses.copy(copy_logits, ids, original, real, **how)}
            how["stop_gradient"] = config.stop_gradient
            sums["lm"] = losses.corrective_lm(scores, copying, read, labels, **how)
            shown = copy_accuracies(copy_logits, view)
        if config.diagnostics:
            sums |= shown | word_accuracies(scores, copying, read, labels)
        return sums

    def contrasted(self, name):
        return self.contrastive and name != "masked"

    def vectors(self, name, hidden, view):
        """s = h_[CLS] of X^MLM, or of the crop, [B, D], as printed; the released code puts a head on it."""
        return {"s": self.encoder.pool(hidden, view)}  # [B, T, D] → [B, D]

    def contrast(self, vectors, facts):
        """Eq. 3, both ways, and with `diagnostics` the mean cosines of figure 7."""
        corrupted, cropped = vectors["corrupted"]["s"], vectors["crop"]["s"]  # [B, D]
        ids = duplicates(facts, self.config.ignore_duplicates)
        loss = losses.nt_xent(corrupted, cropped, self.config.tau, ids=ids)  # eq. 3
        parts = {"contrast": loss}
        if self.config.diagnostics:
            parts |= mean_cosines(corrupted, cropped)
        return parts

    @torch.no_grad()
    def correct(self, texts: list[str]) -> list[list["Correction"]]:
        """Read strings as the trained main model does: for each token, is it original, and which word belongs there?

        Returns each text's tokens as `Correction(token, p_copy, word, p_word)`. ValueError: a task that learns less.
        """
        if self.config.task not in ("clm", "all_token"):
            raise ValueError(
                f"Only task='clm' or 'all_token' learns to correct words, not {self.config.task!r}."
            )
        tokenizer = self.encoder.tokenizer
        with evaluating(self):
            view = self.encoder.view_of(texts)
            words = view["attention_mask"].bool()  # [B, T]
            for special in (tokenizer.cls_token_id, tokenizer.sep_token_id):
                words &= view["input_ids"] != special
            ids = view["input_ids"][words]  # [N]
            states = self.encoder(view)[words]  # [N, D]
            copying = self.copy_head(states)  # [N, D] → [N]
            chances = p_lm(self.encoder.mlm_logits(states), copying, ids)  # [N, V]
        p_word, best = chances.max(-1)  # [N] each
        tokens = tokenizer.convert_ids_to_tokens(ids.tolist())
        proposed = tokenizer.convert_ids_to_tokens(best.tolist())
        p_copy = copying.sigmoid().tolist()
        rows = map(Correction, tokens, p_copy, proposed, p_word.tolist())
        return [[next(rows) for _ in range(count)] for count in words.sum(1).tolist()]


@torch.no_grad()
def mean_cosines(a: Tensor, b: Tensor) -> dict[str, Tensor]:
    """The mean cosine of positive pairs and of negative pairs of a contrastive batch (COCO-LM, figure 7a, b).

    `a`, `b` [B, D]. Negatives: all ordered pairs of the 2B vectors except a vector with itself or its partner. Their
    mean is 0 for B = 1, which has none.
    """
    a, b = normalise(a, "a"), normalise(b, "b")
    n = 2 * len(a)
    positive = (a * b).sum()  # [B, D] → []
    # The sum of all n² cosines: [D] → [].
    everything = (a.sum(0) + b.sum(0)).square().sum()
    negative = (everything - n - 2 * positive) / max(1, n * (n - 2))
    return {"cos_positive": positive / len(a), "cos_negative": negative}


def p_lm(logits: Tensor, copy_logits: Tensor, corrupted: Tensor) -> Tensor:
    """COCO-LM's language model with its copy mechanism, as probabilities; each row sums to one.

    COCO-LM 3.3: p_LM(x | h) = 1(x = x^MLM) p_copy(1 | h) + p_copy(0 | h) softmax(x), over the V words. `logits` are the
    word scores [N, V], `copy_logits` w^T h, [N], `corrupted` x^MLM, [N].

    Example:
        >>> import torch
        >>> from contrast_kit.objectives.coco_lm import p_lm
        >>> p_lm(torch.zeros(1, 4), torch.zeros(1), torch.tensor([2]))  # p_copy = 1/2, softmax = 1/4
        tensor([[0.1250, 0.1250, 0.6250, 0.1250]])
    """
    copied = copy_logits.sigmoid().unsqueeze(1)  # [N] → [N, 1]
    corrected = (1 - copied) * logits.softmax(-1)  # [N, V]
    return corrected.scatter_add(1, corrupted.unsqueeze(1), copied.to(corrected.dtype))


class Correction(NamedTuple):
    """What the main model thinks of one token of a text."""

    token: str
    p_copy: float  # that the token is original
    word: str  # the most probable word here under p_LM, often the token itself
    p_word: float  # its probability
