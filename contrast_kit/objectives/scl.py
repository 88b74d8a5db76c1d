"""SCL: fine-tune with cross-entropy plus a supervised contrast between classes. And plain fine-tuning, its baseline.

"Supervised Contrastive Learning for Pre-trained Language Model Fine-tuning". All four papers fine-tune this way.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from contrast_kit import losses
from contrast_kit.checks import (
    Between,
    Count,
    Probability,
    Settings,
    Temperature,
    floats,
    reads,
)
from contrast_kit.data.rows import count_classes
from contrast_kit.encoder.encoder import Encoder, View
from contrast_kit.objectives.base import Objective, others, texts_of

Dropout = Annotated[float, Between("a probability", 0, 0.999)]


@dataclass(frozen=True)
class FineTuneConfig(Settings):
    """What fine-tuning has to choose. All four papers fine-tune this way."""

    classes: Count = 2
    """How many classes there are; 1 means that the label is a score (STS-B), as in transformers."""
    head: Literal["linear", "tanh"] = "linear"
    """"linear": dropout and one linear map. "tanh": dropout, dense, tanh, dropout, linear: RoBERTa's head, and so
    CAPT's "extra multi-layer perceptrons" on [CLS] (3.2)."""
    dropout: Dropout = 0.1
    """Dropout of the head. SCL, CMLM, COCO-LM and CAPT: 0.1."""


class FineTune(Objective):
    """Plain fine-tuning (FT in CMLM's tables, CE in SCL's): cross-entropy on the label of each text or pair.

    SCL, eq. 2 in its general form: -1/N Σ_i log softmax(logits_i)[y_i], with all classes in the denominator. The paper
    prints two classes, y log ŷ + (1 - y) log(1 - ŷ), the same number. With `classes=1` the label is a score and the
    loss the mean squared error. One view, `"text"`: the batch as it is. No contrast, so chunks are free.

    Relation to its neighbours: `SCL` with λ = 0 is this objective.

    `classes` is a number, or the labelled rows (a `Dataset`, `Texts`, row dicts) in which to count the classes; the
    other arguments are those of every `Objective`.

    Raises ValueError for a batch without labels, with an unlabelled row (-1), or with a label beyond `classes`.

    Example:
        >>> import contrast_kit as ck
        >>> rows = [{"sentence": "a fine kite", "label": 1}, {"sentence": "a dull drum", "label": 0}]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer([row["sentence"] for row in rows], vocab_size=60))
        >>> objective = ck.objectives.FineTune(encoder, classes=rows)
        >>> objective.config.classes
        2
        >>> sorted(objective(ck.data.Texts(rows, encoder.tokenizer).batch([0, 1])))
        ['accuracy', 'ce', 'loss']
    """

    Config = FineTuneConfig
    in_tables = "FT"
    contrastive = False

    def __init__(
        self,
        encoder: Encoder,
        config: Any = None,
        *,
        classes: Any = None,
        seed: int = 0,
        **changes,
    ):
        if classes is not None:
            changes["classes"] = (
                int(classes) if isinstance(classes, Integral) else count_classes(classes)
            )
        super().__init__(encoder, config, seed=seed, **changes)

    def build(self):
        self.head = Head(
            self.encoder.width,
            self.config.classes,
            self.config.dropout,
            self.config.head == "tanh",
        )

    @property
    def regression(self) -> bool:
        """Whether the label is a score."""
        return self.config.classes == 1

    @property
    def weights(self):
        return {"mse": 1.0} if self.regression else {"ce": 1.0}

    def check_data(self, labels):
        check_labels(labels, self.config.classes)

    def views(self, batch, generator=None):
        if reads(batch["input_ids"]):
            check_labels(batch.get("label"), self.config.classes)
        return {"text": dict(batch)}

    def term_counts(self, name, view):
        return dict.fromkeys(
            ("mse",) if self.regression else ("ce", "accuracy"), texts_of(view)
        )

    def local_sums(self, name, hidden, view):
        """The summed loss of the logits [B, C]; with a cross-entropy also the number of right answers, not trained."""
        logits, label = floats(self.scores(hidden, view), "logits"), view["label"]
        if self.regression:
            score = logits.squeeze(1)  # [B, 1] -> [B]
            return {
                "mse": nn.functional.mse_loss(
                    score, label.to(score.dtype), reduction="sum"
                )
            }
        label = label.long()
        loss = nn.functional.cross_entropy(logits, label, reduction="sum")
        return {"ce": loss, "accuracy": (logits.argmax(1) == label).sum()}

    def scores(self, hidden, view):
        """The logits, from the `states` of a view."""
        return self.head(self.encoder.pool(hidden, view))  # [B, T, D] -> [B, D] -> [B, C]

    def logits(self, view: View) -> Tensor:
        """Class scores of a view, [B, C], before the softmax; for a regression the score, [B, 1]."""
        return self.scores(self.states("text", view), view)

    def predicted_logits(self, view, generator=None):
        """The logits that a prediction reads, [B, C]: here those of one pass, without noise."""
        return self.logits(view)


class Head(nn.Module):
    """From the sequence vector to class scores, [B, D] -> [B, C]: dropout, linear; or dropout, dense, tanh before."""

    def __init__(self, width: int, classes: int, dropout: float, tanh: bool):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(width, width) if tanh else None
        self.out = nn.Linear(width, classes)
        # Initialised as in BERT and RoBERTa.
        for linear in filter(None, (self.dense, self.out)):
            nn.init.normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)

    def forward(self, pooled):
        if self.dense is not None:
            pooled = torch.tanh(self.dense(self.dropout(pooled)))
        return self.out(self.dropout(pooled))


def check_labels(label: Tensor | None, classes: int) -> None:
    """Raise for labels that cannot be trained on; on a GPU a label too large would end the process."""
    if label is None:
        raise ValueError(
            "Fine-tuning needs each example's label: rows with a column 'label', never -1 (unlabelled)."
        )
    if classes > 1 and label.is_floating_point():
        raise ValueError(
            "These labels are scores, not classes: make them integers, or a regression (classes=1)."
        )
    lowest, highest = label.aminmax()
    if (label == -1).any():
        raise ValueError(
            "A row has the label -1, which means unlabelled: leave such rows (GLUE's test splits) out; if -1 is a "
            "score, shift the scale above it."
        )
    if classes > 1 and not 0 <= lowest <= highest < classes:
        raise ValueError(
            f"Labels go from {int(lowest)} to {int(highest)} but the head has classes={classes}: "
            "number them 0, 1, … (classes=rows counts them; a Task has one of its label_names for each)."
        )


@dataclass(frozen=True)
class SCLConfig(FineTuneConfig):
    """What SCL varies. The paper (v1) tunes λ for each task, calls τ adjustable, and prints neither."""

    lam: Probability = 0.5
    """λ of eq. 1: the weight of the contrast; the cross-entropy has 1 - λ. Ours, for the *mean*, not tuned: choose it
    by validation. 0 is `FineTune`; at 1 the head, which only the cross-entropy reaches, learns nothing. In an encoder
    without pre-training first tokens nearly coincide, and above about 0.5 the contrast tends to stay there, at log(N -
    1)."""
    tau: Temperature = 0.3
    """Temperature of eq. 3. Not printed; both public scripts take 0.3."""
    reduction: Literal["mean", "sum", "mean_valid"] = "mean"
    """Eq. 3 prints a "sum" over the anchors beside the mean of eq. 2: at batch size N the contrast weighs N times what
    λ says. "mean" puts both on one scale at any N; "mean_valid" is over the anchors with a positive."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes == 1 and self.lam > 0:
            message = "A score has no classes, so nothing says which texts are positives: use lam=0, or FineTune."
            raise ValueError(message)


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
        return SCLConfig(lam=0.9, tau=0.3, reduction="sum", head="linear", dropout=0.1)

    @property
    def contrastive(self):
        return self.config.lam > 0

    @property
    def weights(self):
        lam = self.config.lam
        return {"ce": 1 - lam, "scl": lam} if lam else super().weights

    def negatives(self, facts):
        """The other texts of the batch with another label; those with the anchor's label are positives."""
        return (
            others(facts, ignore_duplicates=True, by="label")
            if self.contrastive
            else None
        )

    def vectors(self, name, hidden, view):
        """Φ, [B, D]: the encoder's own vector ("embedding of [CLS]"), before any head."""
        return {"h": self.encoder.pool(hidden, view)}  # [B, T, D] -> [B, D]

    def contrast(self, vectors, facts):
        """Eq. 3, and how many texts have no positive in the batch."""
        h, label = vectors["text"]["h"], facts["label"].long()
        loss = losses.sup_con(h, label, self.config.tau, reduction=self.config.reduction)
        sizes = (label[:, None] == label).sum(1)  # [N, N] -> [N], of each text's class
        return {"scl": loss, "without_positive": (sizes == 1).sum().to(loss)}
