"""CMLM: masked LM on one masked copy of a text, contrast between complementary masked copies. And CSSL, its baseline.

Contrastive Masked Language Modeling of "Bi-Granularity Contrastive Learning for Post-Training in Few-Shot Scene". CSSL
is Contrastive Self-Supervised Learning as its section 3.4 writes it, after "CERT: Contrastive Self-supervised Learning
for Language Understanding" (Fang & Xie 2020).
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from contrast_kit import losses, masking
from contrast_kit.checks import Count, Probability, Settings, Temperature, Weight
from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.base import (
    Objective,
    duplicates,
    mlm_count,
    mlm_sum,
    others,
    random_mask,
)
from contrast_kit.objectives.mlm import MLMConfig


@dataclass(frozen=True)
class CMLMConfig(MLMConfig):
    """Everything that CMLM varies; the defaults are the paper's (section 4.3), where it prints them."""

    K: Count = 1
    """Complementary copies per text (eq. 4). Paper: 1 "for a fair comparison"; figure 4 tries more."""
    p_c: Probability = 0.7
    """Probability that a token *not selected in T^0* is selected in T^k (eq. 2), so 0.7 · 0.85 of all tokens. Paper:
    0.7, best of {0.1, 0.3, 0.5, 0.7, 0.9} on the development set."""
    contrast_weight: Weight = 0.5
    """α, the weight of the contrast (eq. 12). Paper: 0.5, best of {0.01, 0.1, 0.3, 0.5, 0.7, 1}. 0 is MLM (TAPT)."""
    contrast: Literal["simsiam", "info_nce", "nt_xent"] | None = "simsiam"
    """Eq. 9 ("simsiam", the paper's choice: cheaper), eq. 7 ("info_nce", its "SimCLR"), the symmetric form with 2B-2
    negatives ("nt_xent", not the paper's), or None ("w/o CL"). On new weights eq. 9 may make all vectors alike."""
    tau: Temperature = 0.1
    """Temperature of eq. 7. The paper does not print one; this value is ours."""
    mlm: bool = True
    """False is the ablation "w/o MLM" of table 3: the contrast alone."""
    complement: bool = True
    """False is the ablation "w/o CRM": T^k is a second, independent random mask, at the rate p_m, as eq. 1 would."""
    crm_replace: Literal["split", "mask"] = "split"
    """What the selected tokens of T^k become: the same 80/10/10 as T^0, or [MASK] always. The paper does not say."""
    stop_gradient: bool = True
    """False removes eq. 11's stop-gradient, to watch what it prevents. Of no other use."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text, common in small task sets, out of its negatives. Paper: no."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.mlm and self.contrast is None:
            raise ValueError(
                "Without MLM and without a contrast nothing is left to train: keep one of them."
            )


class CMLM(Objective):
    """Contrastive masked language modelling: L = L_MLM + α L_CL (CMLM, eq. 12).

    Views: `"T0"`, a random mask at rate p_m (eq. 3), and `"T1"` … `"TK"`, masks of the *original* text that never touch
    what T0 selected (eq. 4). Local loss: MLM on T0 only (eq. 6). Contrast: each T^k against T^0 on h as the encoder
    pools it, the first token's last state in the paper (eq. 8), without a projector; SimSiam adds a predictor (eq. 10).
    In the denominator: nothing for SimSiam (eq. 9), which has no negatives; the B candidates of T^k for eq. 7.

    Relation to its neighbours: α = 0 is `MLM`; back-translation in place of the masks and no MLM is `CSSL`. For other
    masks override `views`: any T0 with `selected` and `targets`, with any T1.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> sorted(ck.objectives.CMLM(encoder, K=2)(ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])))
        ['contrast', 'loss', 'mlm']
    """

    Config = CMLMConfig
    in_tables = "CMLM"

    @classmethod
    def paper(cls) -> CMLMConfig:
        """Section 4.3: SimSiam, K = 1, p_m = 0.15, p_c = 0.7, α = 0.5. `paper_training(n)` is its other half, for
        post-training RoBERTa-base on n = 20, 100 or 1,000 texts. Eq. 6 may be read as a mean within each text first:
        `mlm_mean="sequences"`."""
        return CMLMConfig(K=1, p_m=0.15, p_c=0.7, contrast_weight=0.5, contrast="simsiam")

    def build(self):
        self.predictor = (
            Predictor(self.encoder.width) if self.config.contrast == "simsiam" else None
        )

    @property
    def contrastive(self):
        return self.config.contrast is not None

    @property
    def weights(self):
        """1 for the masked LM, α for the contrast (eq. 12); a part that the config leaves out has no weight."""
        weights = {"mlm": 1.0, "contrast": self.config.contrast_weight}
        if not self.config.mlm:
            del weights["mlm"]
        if not self.contrastive:
            del weights["contrast"]
        return weights

    def negatives(self, facts):
        """B - 1 for eq. 7, twice as many for the symmetric form; SimSiam has none."""
        other = others(facts, self.config.ignore_duplicates)
        return {"info_nce": other, "nt_xent": 2 * other}.get(self.config.contrast)

    def views(self, batch, generator=None):
        """T^0 (eq. 3) and T^1 … T^K (eq. 4): the batch with masked `input_ids` and `selected`, [B, T] each."""
        views = {"T0": random_mask(self, batch, generator)}
        if self.contrastive:
            for k in range(1, self.config.K + 1):
                views[f"T{k}"] = self._partner(batch, views["T0"]["selected"], generator)
        return views

    def _partner(
        self, batch: View, selected: Tensor, generator: torch.Generator | None
    ) -> View:
        """T^k of eq. 4: masked from the original text, barred from what T^0 *selected* (not only from its [MASK]s)."""
        config, ids, maskable = self.config, batch["input_ids"], masking.allowed(batch)
        split = config.split if config.crm_replace == "split" else (1.0, 0.0, 0.0)
        options = dict(split=split, generator=generator, words=batch.get("words"))
        options |= self.encoder.vocabulary
        if config.complement:
            masked = masking.complementary_random_mask(
                ids, maskable, selected, config.p_c, **options
            )
        else:
            masked = masking.dynamic_random_mask(ids, maskable, config.p_m, **options)
        return {**batch, "input_ids": masked.input_ids, "selected": masked.selected}

    def local_sums(self, name, hidden, view):
        """Eq. 6, on T^0 alone."""
        if name != "T0" or not self.config.mlm:
            return {}
        return {"mlm": mlm_sum(self.encoder, hidden, view, self.config.mlm_mean)}

    def term_counts(self, name, view):
        if name != "T0" or not self.config.mlm:
            return {}
        return {"mlm": mlm_count(view, self.config.mlm_mean)}

    def vectors(self, name, hidden, view):
        """`"h"` (eq. 5 and 8) and, for SimSiam, the prediction `"z"` (eq. 10), [B, D] each."""
        h = self.encoder.pool(hidden, view)  # [B, T, D] -> [B, D]
        if self.predictor is None:
            return {"h": h}
        return {"h": h, "z": self.predictor(h)}

    def contrast(self, vectors, facts):
        """1/K Σ_k of eq. 9, of eq. 7, or of the symmetric form, each T^k against T^0."""
        first = vectors["T0"]
        partners = [heads for name, heads in vectors.items() if name != "T0"]
        ids = duplicates(facts, self.config.ignore_duplicates)
        terms = [contrast_term(self.config, first, partner, ids) for partner in partners]
        return {"contrast": torch.stack(terms).mean()}  # 1/K Σ_k


def contrast_term(
    config: Any, first: dict[str, Tensor], partner: dict[str, Tensor], ids: Tensor | None
) -> Tensor:
    """One k of L_CL: eq. 9, eq. 7 or the symmetric form, as `config` says (CMLM's, or CSSL's)."""
    if config.contrast == "simsiam":
        z_a, h_a, z_b, h_b = first["z"], first["h"], partner["z"], partner["h"]
        return losses.simsiam(z_a, h_a, z_b, h_b, stop_gradient=config.stop_gradient)
    if config.contrast == "info_nce":
        return losses.info_nce(first["h"], partner["h"], config.tau, ids=ids)
    return losses.nt_xent(first["h"], partner["h"], config.tau, ids=ids)


class Predictor(nn.Module):
    """z = W2 gelu(W1 h): two square matrices, no bias, no normalisation (CMLM, eq. 10). [B, D] → [B, D]."""

    def __init__(self, width: int):
        super().__init__()
        self.w1 = nn.Linear(width, width, bias=False)
        self.w2 = nn.Linear(width, width, bias=False)

    def forward(self, h):
        return self.w2(nn.functional.gelu(self.w1(h)))


@dataclass(frozen=True)
class CSSLConfig(Settings):
    """What CSSL varies. The paper says "other equations stay the same" and prints no setting of its own."""

    contrast: Literal["info_nce", "simsiam", "nt_xent"] = "info_nce"
    """L_CL of eq. 14: eq. 7 ("info_nce"), as in the authors' script for this baseline; eq. 9 ("simsiam"), as in CMLM;
    or the symmetric form with 2B-2 negatives ("nt_xent", not the paper's)."""
    tau: Temperature = 0.1
    """Temperature of eq. 7. The paper does not print one; this value is ours."""
    stop_gradient: bool = True
    """The stop-gradient of eq. 11, with "simsiam". False shows what it prevents."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text out of its negatives. The paper does not."""


class CSSL(Objective):
    """Contrast of two back-translations: L_CSSL = L_CL (CMLM, eq. 14), and no local loss.

    Views: `"T0"` and `"T1"`, T_b^k = back(T_b) (eq. 13), two paraphrases of each text, not the text itself. They are
    in the batch, made before training: give `fit` a `data.Paraphrased` (rows: `data.paraphrase.reworded`). A batch
    without them is a ValueError. In the denominator of eq. 7: the B candidates of T^1, the positive among them; the
    anchor is T^0.

    Relation to its neighbours: `CMLM` has complementary masks instead, and the masked LM; `SimCSE` has dropout instead.

    Example:
        >>> import contrast_kit as ck
        >>> from contrast_kit.data.paraphrase import Toyshop, reworded
        >>> rows = reworded(["The big kite is very charming.", "Clara bought a small drum."], Toyshop())
        >>> tokenizer = ck.data.train_tokenizer([text for row in rows for text in row.values()], vocab_size=80)
        >>> texts = ck.data.Paraphrased(rows, tokenizer)
        >>> sorted(ck.objectives.CSSL(ck.Encoder.tiny(tokenizer), tau=0.05)(texts.batch([0, 1])))
        ['contrast', 'loss']
    """

    Config = CSSLConfig
    in_tables = "CSSL"
    weights = {"contrast": 1.0}
    # With the predictor of SimSiam.
    build, vectors, negatives = CMLM.build, CMLM.vectors, CMLM.negatives

    @classmethod
    def paper(cls) -> CSSLConfig:
        """Eq. 14 with eq. 7, as the authors' script has it; τ is ours. Epochs, batch and rate are those of `CMLM`."""
        return CSSLConfig(contrast="info_nce")

    def views(self, batch, generator=None):
        """The two paraphrases that the batch holds. Nothing is drawn here."""
        views: dict[str, View] = {"T0": {}, "T1": {}}
        for key, value in batch.items():
            name, slash, rest = key.partition("/")
            if slash and name in views:
                views[name][rest] = value
        if not views["T0"] or not views["T1"]:
            raise ValueError(
                "CSSL contrasts two paraphrases of each text, and this batch holds none: give "
                "data.Paraphrased(data.paraphrase.reworded(rows, paraphraser), encoder.tokenizer)."
            )
        return views

    def contrast(self, vectors, facts):
        """Eq. 7 or 9 between the two paraphrases, or the symmetric form, as the config says."""
        ids = duplicates(facts, self.config.ignore_duplicates)
        return {"contrast": contrast_term(self.config, vectors["T0"], vectors["T1"], ids)}
