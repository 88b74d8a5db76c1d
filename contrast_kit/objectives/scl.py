"""SCL: fine-tune with cross-entropy plus a supervised contrast between classes.

"Supervised Contrastive Learning for Pre-trained Language Model Fine-tuning".
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.encoder.encoder import View
from contrast_kit.losses.contrast import sup_con
from contrast_kit.objectives.base import ExampleInfo, Vectors, others
from contrast_kit.objectives.fine_tune import FineTune, FineTuneConfig


@dataclass(frozen=True)
class SCLConfig(FineTuneConfig):
    """What SCL varies. The paper (v1) tunes λ for each task, calls τ adjustable, and prints neither."""

    lam: float = 0.5
    """λ of eq. 1: the weight of the contrast; the cross-entropy has 1 - λ. Ours, for the *mean*, not tuned: choose it
    by validation. 0 is `FineTune`; at 1 the head, which only the cross-entropy reaches, learns nothing. In an encoder
    without pre-training first tokens nearly coincide, and above about 0.5 the contrast tends to stay there, at log(N -
    1)."""
    tau: float = 0.3
    """Temperature of eq. 3. Not printed; both public scripts take 0.3."""
    reduction: Literal["mean", "sum", "mean_valid"] = "mean"
    """Eq. 3 prints a "sum" over the anchors beside the mean of eq. 2: at batch size N the contrast weighs N times what
    λ says. "mean" puts both on one scale at any N; "mean_valid" is over the anchors with a positive."""
    phi: Literal["hidden", "feature"] = "hidden"
    """What is contrasted: "hidden", the last hidden state of the first token ("embedding of [CLS]"), or "feature", what
    the softmax projection reads (under a dropout mask of its own). They differ with head="tanh" only."""

    def __post_init__(self):
        super().__post_init__()
        checks.probability("lam", self.lam)
        checks.temperature(self.tau)
        checks.choice("reduction", self.reduction, ("mean", "sum", "mean_valid"))
        checks.choice("phi", self.phi, ("hidden", "feature"))
        if self.classes == 1 and self.lam > 0:
            raise ValueError(
                "A score has no classes, so nothing says which texts are positives: use lam=0, or FineTune."
            )


class SCL(FineTune):
    """Supervised contrastive fine-tuning: L = (1 - λ) L_CE + λ L_SCL (SCL, eq. 1).

    One view, `"text"`. Local loss: the cross-entropy, through the head. Contrast: `losses.sup_con` (eq. 3) on the
    l2-normalised vectors of the whole batch; an anchor's positives are the texts with its label. In the denominator:
    all other texts of the batch, N - 1 terms. Parts: `ce`, `scl` and two diagnostics: `accuracy` on the training batch,
    and `without_positive`, the anchors without another text of their class; their term is 0 (many classes and a small
    batch make many, the paper's guess about MNLI). Raises ValueError as `FineTune` does, and for a score (classes=1)
    with λ > 0.

    Relation to its neighbours: λ = 0 is `FineTune`. If each text had a label of its own and came twice, the contrast
    would be `losses.nt_xent`, as in CAPT. A batch must hold some texts of each class: `chunk_size` makes large ones
    possible, gradient accumulation does not.

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"sentence": f"kite {i}", "label": i % 2} for i in range(8)]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer([row["sentence"] for row in rows], vocab_size=60))
        >>> parts = ck.objectives.SCL(encoder, lam=0.5)(ck.data.Texts(rows, encoder.tokenizer).batch(range(8)))
        >>> sorted(parts), int(parts["without_positive"])
        (['accuracy', 'ce', 'loss', 'scl', 'without_positive'], 0)
    """

    Config = SCLConfig
    in_tables = "SCL"

    @classmethod
    def paper(cls) -> SCLConfig:
        """Eq. 1 to 3 as printed (the sum). Its first edition prints neither λ = 0.9 nor τ = 0.3: both are the public
        scripts' values, whose contrast has no gradient. (A later edition was not read.)"""
        return SCLConfig(lam=0.9, tau=0.3, reduction="sum", head="linear", phi="hidden", dropout=0.1)

    @property
    def contrastive(self) -> bool:
        return self.config.lam > 0

    @property
    def weights(self) -> dict[str, float]:
        return {"ce": 1 - self.config.lam, "scl": self.config.lam} if self.contrastive else super().weights

    def negatives(self, facts: ExampleInfo) -> float | None:
        """The other texts of the batch with another label; those with the anchor's label are positives."""
        return others(facts, ignore_duplicates=True, by="label") if self.contrastive else None

    def vectors(self, name: str, hidden: Tensor, view: View) -> dict[str, Tensor]:
        """Φ, [B, D]."""
        pooled = self.encoder.pool(hidden, view)  # [B, T, D] -> [B, D]
        return {"h": pooled if self.config.phi == "hidden" else self.head.feature(pooled)}

    def contrast(self, vectors: Vectors, facts: ExampleInfo) -> dict[str, Tensor]:
        """Eq. 3, and how many texts have no positive in the batch."""
        h, label = vectors["text"]["h"], facts["label"].long()
        loss = sup_con(h, label, self.config.tau, reduction=self.config.reduction)
        same = label.new_zeros(self.config.classes).scatter_add(0, label, torch.ones_like(label))[label]  # N_{y_i}, [N]
        return {"scl": loss, "without_positive": (same == 1).sum().to(loss)}
