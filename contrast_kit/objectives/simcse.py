"""SimCSE: the same text twice through the same encoder; dropout is the only noise.

Unsupervised SimCSE of "SimCSE: Simple Contrastive Learning of Sentence Embeddings" (Gao, Yao & Chen 2021): not one of
the four papers here, but the baseline that everybody knows.
"""

from dataclasses import dataclass

from torch import nn

from contrast_kit import losses
from contrast_kit._util import warn
from contrast_kit.checks import Settings, Temperature
from contrast_kit.objectives.base import Objective, duplicates, others


@dataclass(frozen=True)
class SimCSEConfig(Settings):
    """What SimCSE varies; the defaults are its paper's."""

    tau: Temperature = 0.05
    """Temperature of eq. 4. Paper: 0.05."""
    projector: bool = True
    """A dense layer with tanh on the sequence vector, while training only. Paper: yes, on the first token's vector."""
    ignore_duplicates: bool = False
    """True leaves other copies of the anchor's own text out of its negatives. The paper does not."""


class SimCSE(Objective):
    """Tell the other pass of a text from other texts: the two passes differ in their dropout masks alone.

    SimCSE, eq. 4: -log( e^{sim(h_i^{z_i}, h_i^{z'_i})/τ} / Σ_{j=1..N} e^{sim(h_i^{z_i}, h_j^{z'_j})/τ} ), where z and
    z' are two dropout masks. In the denominator: N terms, the second passes of all texts of the batch.

    Views: `"first"` and `"second"`, the same clean batch; `encode` draws a dropout mask for each. The result is the
    encoder's vectors, without the projector.

    Relation to its neighbours: it is `CAPT` with another noise, one direction and no queue. Without dropout, the
    positive's cosine is 1 whatever the encoder does; only spreading is left to learn (the paper's "p = 0" and "fixed
    0.1" do badly).

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), dropout=0.1)
        >>> sorted(ck.objectives.SimCSE(encoder)(ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])))
        ['contrast', 'loss']
    """

    Config = SimCSEConfig
    in_tables = "SimCSE"
    weights = {"contrast": 1.0}

    @classmethod
    def paper(cls) -> SimCSEConfig:
        """The unsupervised setting: eq. 4, τ = 0.05, projector while training."""
        return SimCSEConfig(tau=0.05, projector=True)

    def build(self):
        width = self.encoder.width
        self.projector = None
        if self.config.projector:
            self.projector = nn.Sequential(nn.Linear(width, width), nn.Tanh())
        modules = self.encoder.modules()
        if not any(module.p for module in modules if isinstance(module, nn.Dropout)):
            warn(
                "SimCSE's only noise is dropout and this encoder has no dropout, so both passes of a text are equal: "
                "build it with dropout=0.1."
            )

    def negatives(self, facts):
        """N - 1 (eq. 4)."""
        return others(facts, self.config.ignore_duplicates)

    def views(self, batch, generator=None):
        return {"first": dict(batch), "second": dict(batch)}

    def vectors(self, name, hidden, view):
        """`"h"`, [B, D], of either pass."""
        h = self.encoder.pool(hidden, view)  # [B, T, D] -> [B, D]
        return {"h": h if self.projector is None else self.projector(h)}

    def contrast(self, vectors, facts):
        first, second = vectors["first"]["h"], vectors["second"]["h"]  # [B, D] each
        ids = duplicates(facts, self.config.ignore_duplicates)
        return {"contrast": losses.info_nce(first, second, self.config.tau, ids=ids)}
