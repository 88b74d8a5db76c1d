"""CSSL: pull two back-translations of a text together. CMLM's baseline.

Contrastive Self-Supervised Learning as section 3.4 of "Bi-Granularity Contrastive Learning for Post-Training in
Few-Shot Scene" writes it, after "CERT: Contrastive Self-supervised Learning for Language Understanding" (Fang & Xie
2020).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.base import ExampleInfo, Objective, Vectors, duplicates
from contrast_kit.objectives.cmlm import CMLM, contrast_term


@dataclass(frozen=True)
class CSSLConfig:
    """What CSSL varies. The paper says "other equations stay the same" and prints no setting of its own."""

    contrast: Literal["info_nce", "simsiam", "nt_xent"] = "info_nce"
    """L_CL of eq. 14: eq. 7 ("info_nce"), as in the authors' script for this baseline; eq. 9 ("simsiam"), as in CMLM;
    or the symmetric form with 2B-2 negatives ("nt_xent", not the paper's)."""
    tau: float = 0.1
    """Temperature of eq. 7. The paper does not print one; this value is ours."""
    stop_gradient: bool = True
    """The stop-gradient of eq. 11, with "simsiam". False shows what it prevents."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text out of its negatives. The paper does not."""

    def __post_init__(self):
        checks.choice("contrast", self.contrast, ("info_nce", "simsiam", "nt_xent"))
        checks.temperature(self.tau)


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
    build, vectors, negatives = CMLM.build, CMLM.vectors, CMLM.negatives  # with the predictor of SimSiam

    @classmethod
    def paper(cls) -> CSSLConfig:
        """Eq. 14 with eq. 7, as the authors' script has it; τ is ours. Epochs, batch and rate are those of `CMLM`."""
        return CSSLConfig(contrast="info_nce")

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        """The two paraphrases that the batch holds. Nothing is drawn here."""
        names = ("T0", "T1")
        views = {name: {key[3:]: x for key, x in batch.items() if key.startswith(f"{name}/")} for name in names}
        if not all(views.values()):
            raise ValueError(
                "CSSL contrasts two paraphrases of each text, and this batch holds none: give "
                "data.Paraphrased(data.paraphrase.reworded(rows, paraphraser), encoder.tokenizer)."
            )
        return views

    def contrast(self, vectors: Vectors, facts: ExampleInfo) -> dict[str, Tensor]:
        """Eq. 7 or 9 between the two paraphrases, or the symmetric form, as the config says."""
        ids = duplicates(facts, self.config.ignore_duplicates)
        return {"contrast": contrast_term(self.config, vectors["T0"], vectors["T1"], ids)}
