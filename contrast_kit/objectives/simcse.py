"""SimCSE: the same text twice through the same encoder; dropout is the only noise.

Unsupervised SimCSE of "SimCSE: Simple Contrastive Learning of Sentence Embeddings" (Gao, Yao & Chen 2021): not one of
the four papers here, but the baseline that everybody knows.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from contrast_kit import checks
from contrast_kit._warn import warn
from contrast_kit.encoder.encoder import View
from contrast_kit.losses.contrast import info_nce, nt_xent
from contrast_kit.masking.noise import Mask
from contrast_kit.objectives.base import ExampleInfo, Objective, Vectors, duplicates, mlm_count, mlm_sum, others


@dataclass(frozen=True)
class SimCSEConfig:
    """What SimCSE varies; the defaults are its paper's."""

    tau: float = 0.05
    """Temperature of eq. 4. Paper: 0.05."""
    contrast: Literal["info_nce", "nt_xent"] = "info_nce"
    """Paper: "info_nce", N candidates, one direction (eq. 4). "nt_xent": both directions, and negatives of the anchors'
    own pass too, as in COCO-LM and CAPT."""
    projector: bool = True
    """A dense layer with tanh on the sequence vector, while training only. Paper: yes, on the first token's vector."""
    mlm_weight: float = 0.0
    """λ of a masked-LM loss on a third, masked pass. Paper: 0; 0.1 helps transfer tasks, harms sentence similarity."""
    p_m: float = 0.15
    """Rate of that mask."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text out of its negatives. The paper does not."""

    def __post_init__(self):
        checks.temperature(self.tau)
        checks.choice("contrast", self.contrast, ("info_nce", "nt_xent"))
        checks.weight("mlm_weight", self.mlm_weight)
        checks.probability("p_m", self.p_m)


class SimCSE(Objective):
    """Tell the other pass of a text from other texts: the two passes differ in their dropout masks alone.

    SimCSE, eq. 4: -log( e^{sim(h_i^{z_i}, h_i^{z'_i})/τ} / Σ_{j=1..N} e^{sim(h_i^{z_i}, h_j^{z'_j})/τ} ), where z and
    z' are two dropout masks. In the denominator: N terms, the second passes of all texts of the batch.

    Views: `"first"` and `"second"`, the same clean batch; `encode` draws a dropout mask for each. With `mlm_weight`
    also `"masked"`, for the masked LM alone. The result is the encoder's vectors, without the projector.

    Relation to its neighbours: it is `CAPT` with another noise, one direction and no queue. Without dropout, the
    positive's cosine is 1 whatever the encoder does; only spreading is left to learn (the paper's "p = 0" and "fixed
    0.1" do badly).

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), dropout=0.1)
        >>> sorted(ck.objectives.SimCSE(encoder, mlm_weight=0.1)(ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])))
        ['contrast', 'loss', 'mlm']
    """

    Config = SimCSEConfig
    in_tables = "SimCSE"

    @classmethod
    def paper(cls) -> SimCSEConfig:
        """The unsupervised setting: eq. 4, τ = 0.05, projector while training, no masked LM."""
        return SimCSEConfig(tau=0.05, contrast="info_nce", projector=True, mlm_weight=0.0)

    def build(self) -> None:
        width = self.encoder.width
        self.projector = nn.Sequential(nn.Linear(width, width), nn.Tanh()) if self.config.projector else None
        if not any(module.p for module in self.encoder.modules() if isinstance(module, nn.Dropout)):
            warn(
                "SimCSE's only noise is dropout and this encoder has no dropout, so both passes of a text are equal: "
                "build it with dropout=0.1.",
            )

    @property
    def weights(self) -> dict[str, float]:
        return {"contrast": 1.0} | ({"mlm": self.config.mlm_weight} if self.config.mlm_weight else {})

    def negatives(self, facts: ExampleInfo) -> float:
        """N - 1 in eq. 4; in the symmetric form also those of the anchors' own pass."""
        return (1 if self.config.contrast == "info_nce" else 2) * others(facts, self.config.ignore_duplicates)

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        views = {"first": dict(batch), "second": dict(batch)}
        if self.config.mlm_weight:
            views["masked"] = Mask(self.config.p_m)(batch, generator, self.encoder.vocabulary)
        return views

    def local_sums(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """Masked LM on the masked copy, where there is one."""
        return {"mlm": mlm_sum(self.encoder, hidden, view)} if name == "masked" else {}

    def vectors(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """`"h"`, [B, D], of either pass."""
        h = self.encoder.pool(hidden, view)  # [B, T, D] -> [B, D]
        return {"h": h if self.projector is None else self.projector(h)}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        return {"mlm": mlm_count(view)} if name == "masked" else {}

    def contrasted(self, name: str) -> bool:
        return name != "masked"

    def contrast(self, vectors: Vectors, facts: ExampleInfo) -> dict[str, Tensor]:
        loss = info_nce if self.config.contrast == "info_nce" else nt_xent
        ids = duplicates(facts, self.config.ignore_duplicates)
        return {"contrast": loss(vectors["first"]["h"], vectors["second"]["h"], self.config.tau, ids=ids)}
