"""CMLM: masked LM on one masked copy of a text, contrast between complementary masked copies.

Contrastive Masked Language Modeling of "Bi-Granularity Contrastive Learning for Post-Training in Few-Shot Scene".
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from contrast_kit import checks, masking
from contrast_kit._renamed import renamed_fields
from contrast_kit.encoder.encoder import View
from contrast_kit.losses.contrast import info_nce, nt_xent, simsiam
from contrast_kit.objectives.base import ExampleInfo, Objective, Vectors, duplicates, mlm_count, mlm_sum, others
from contrast_kit.objectives.mlm import MLMConfig, random_mask


@renamed_fields(alpha="contrast_weight")
@dataclass(frozen=True)
class CMLMConfig(MLMConfig):
    """Everything that CMLM varies; the defaults are the paper's (section 4.3), where it prints them."""

    K: int = 1
    """Complementary copies per text (eq. 4). Paper: 1 "for a fair comparison"; figure 4 tries more."""
    p_c: float = 0.7
    """Probability that a token *not selected in T^0* is selected in T^k (eq. 2), so 0.7 · 0.85 of all tokens. Paper:
    0.7, best of {0.1, 0.3, 0.5, 0.7, 0.9} on the development set."""
    contrast_weight: float = 0.5
    """α, the weight of the contrast (eq. 12). Paper: 0.5, best of {0.01, 0.1, 0.3, 0.5, 0.7, 1}. 0 is MLM (TAPT)."""
    contrast: Literal["simsiam", "info_nce", "nt_xent"] | None = "simsiam"
    """Eq. 9 ("simsiam", the paper's choice: cheaper), eq. 7 ("info_nce", its "SimCLR"), the symmetric form with 2B-2
    negatives ("nt_xent", not the paper's), or None ("w/o CL"). On new weights eq. 9 may make all vectors alike."""
    tau: float = 0.1
    """Temperature of eq. 7. The paper does not print one; this value is ours."""
    mlm: bool = True
    """False is the ablation "w/o MLM" of table 3: the contrast alone."""
    complement: bool = True
    """False is the ablation "w/o CRM": T^k is a second, independent random mask."""
    p_drm: float | None = None
    """The rate of that second random mask. The paper does not print it; None takes p_m, as eq. 1 would."""
    crm_replace: Literal["split", "mask"] = "split"
    """What the selected tokens of T^k become: the same 80/10/10 as T^0, or [MASK] always. The paper does not say."""
    stop_gradient: bool = True
    """False removes eq. 11's stop-gradient, to watch what it prevents. Of no other use."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text, common in small task sets, out of its negatives. Paper: no."""

    def __post_init__(self):
        super().__post_init__()
        checks.choice("contrast", self.contrast, ("simsiam", "info_nce", "nt_xent", None))
        checks.choice("crm_replace", self.crm_replace, ("split", "mask"))
        checks.probability("p_c", self.p_c)
        if self.p_drm is not None:
            checks.probability("p_drm", self.p_drm)
        checks.weight("contrast_weight", self.contrast_weight)
        checks.temperature(self.tau)
        checks.count("K", self.K, "the number of complementary copies")
        if not self.mlm and self.contrast is None:
            raise ValueError("Without MLM and without a contrast nothing is left to train: keep one of them.")


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

    def build(self) -> None:
        self.predictor = Predictor(self.encoder.width) if self.config.contrast == "simsiam" else None

    @property
    def contrastive(self) -> bool:
        return self.config.contrast is not None

    @property
    def weights(self) -> dict[str, float]:
        """1 for the masked LM, α for the contrast (eq. 12); a part that the config leaves out has no weight."""
        weights = {"mlm": 1.0} if self.config.mlm else {}
        return weights | ({"contrast": self.config.contrast_weight} if self.contrastive else {})

    def negatives(self, facts: ExampleInfo) -> float | None:
        """B - 1 for eq. 7, twice as many for the symmetric form; SimSiam has none."""
        other = others(facts, self.config.ignore_duplicates)
        return {"info_nce": other, "nt_xent": 2 * other}.get(self.config.contrast)

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        """T^0 (eq. 3) and T^1 … T^K (eq. 4): the batch with masked `input_ids` and `selected`, [B, T] each."""
        views = {"T0": random_mask(self, batch, generator)}
        if self.contrastive:
            for k in range(1, self.config.K + 1):
                views[f"T{k}"] = self._partner(batch, views["T0"]["selected"], generator)
        return views

    def _partner(self, batch: View, selected: Tensor, generator: torch.Generator | None) -> View:
        """T^k of eq. 4: masked from the original text, barred from what T^0 *selected* (not only from its [MASK]s)."""
        config, ids, maskable = self.config, batch["input_ids"], masking.allowed(batch)
        split = config.split if config.crm_replace == "split" else (1.0, 0.0, 0.0)
        options = dict(split=split, generator=generator, **self.encoder.vocabulary)
        if config.complement:
            masked = masking.complementary_random_mask(ids, maskable, selected, config.p_c, **options)
        else:
            rate = config.p_m if config.p_drm is None else config.p_drm
            masked = masking.dynamic_random_mask(ids, maskable, rate, **options)
        return {**batch, "input_ids": masked.input_ids, "selected": masked.selected}

    def local_sums(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """Eq. 6, on T^0 alone."""
        names_words = name == "T0" and self.config.mlm
        return {"mlm": mlm_sum(self.encoder, hidden, view, self.config.mlm_mean)} if names_words else {}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        return {"mlm": mlm_count(view, self.config.mlm_mean)} if name == "T0" and self.config.mlm else {}

    def vectors(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """`"h"` (eq. 5 and 8) and, for SimSiam, the prediction `"z"` (eq. 10), [B, D] each."""
        h = self.encoder.pool(hidden, view)  # [B, T, D] -> [B, D]
        return {"h": h} if self.predictor is None else {"h": h, "z": self.predictor(h)}

    def contrast(self, vectors: Vectors, facts: ExampleInfo) -> dict[str, Tensor]:
        """1/K Σ_k of eq. 9, of eq. 7, or of the symmetric form, each T^k against T^0."""
        first, partners = vectors["T0"], [of for name, of in vectors.items() if name != "T0"]
        ids = duplicates(facts, self.config.ignore_duplicates)
        terms = [contrast_term(self.config, first, partner, ids) for partner in partners]
        return {"contrast": torch.stack(terms).mean()}  # 1/K Σ_k


def contrast_term(config: Any, first: dict[str, Tensor], partner: dict[str, Tensor], ids: Tensor | None) -> Tensor:
    """One k of L_CL: eq. 9, eq. 7 or the symmetric form, as `config` says (CMLM's, or CSSL's)."""
    if config.contrast == "simsiam":
        return simsiam(first["z"], first["h"], partner["z"], partner["h"], stop_gradient=config.stop_gradient)
    loss = info_nce if config.contrast == "info_nce" else nt_xent
    return loss(first["h"], partner["h"], config.tau, ids=ids)


class Predictor(nn.Module):
    """z = W2 gelu(W1 h): two square matrices, no bias, no normalisation (CMLM, eq. 10). [B, D] → [B, D]."""

    def __init__(self, width: int):
        super().__init__()
        self.w1, self.w2 = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, h: Tensor) -> Tensor:
        return self.w2(nn.functional.gelu(self.w1(h)))
