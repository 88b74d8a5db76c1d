"""Fine-tuning: a classification (or regression) head on the sequence vector, trained with cross-entropy."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import torch
from torch import Tensor, nn

from contrast_kit import checks
from contrast_kit.data.rows import count_classes
from contrast_kit.encoder.encoder import Encoder, View
from contrast_kit.objectives.base import Objective


@dataclass(frozen=True)
class FineTuneConfig:
    """What fine-tuning has to choose. All four papers fine-tune this way."""

    classes: int = 2
    """How many classes there are; 1 means that the label is a score (STS-B), as in transformers."""
    head: Literal["linear", "tanh"] = "linear"
    """"linear": dropout and one linear map. "tanh": dropout, dense, tanh, dropout, linear: RoBERTa's head, and so
    CAPT's "extra multi-layer perceptrons" on [CLS] (3.2)."""
    dropout: float = 0.1
    """Dropout of the head. SCL, CMLM, COCO-LM and CAPT: 0.1."""

    def __post_init__(self):
        checks.count("classes", self.classes, "how many classes there are, or 1 for a score")
        checks.choice("head", self.head, ("linear", "tanh"))
        checks.number("dropout", self.dropout, "a probability below 1", 0, 1 - 1e-6)


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
    below = False  # whether some score of the data lies below -1, the mark of an unlabelled text

    def __init__(self, encoder: Encoder, config: Any = None, *, classes: Any = None, seed: int = 0, **changes):
        if classes is not None:
            changes["classes"] = int(classes) if isinstance(classes, Integral) else count_classes(classes)
        super().__init__(encoder, config, seed=seed, **changes)

    def build(self) -> None:
        self.head = Head(self.encoder.width, self.config.classes, self.config.dropout, self.config.head == "tanh")

    @property
    def regression(self) -> bool:
        """Whether the label is a score."""
        return self.config.classes == 1

    @property
    def weights(self) -> dict[str, float]:
        return {"mse": 1.0} if self.regression else {"ce": 1.0}

    def check_data(self, labels: Tensor | None) -> None:
        if labels is not None:
            check_labels(labels, self.config.classes)
            self.below = bool(self.regression and labels.min() < -1)

    def views(self, batch: View, generator: torch.Generator | None = None) -> dict[str, View]:
        label = batch.get("label")
        check_labels(label, self.config.classes, self.below)
        return {"text": dict(batch) | ({} if self.regression else {"label": label.long()})}

    def term_counts(self, name: str, view: View) -> dict[str, Tensor]:
        count = torch.full((), len(view["label"]), device=view["label"].device)
        return {"mse": count} if self.regression else {"ce": count, "accuracy": count}

    def local_sums(self, name: str, hidden: Any, view: View) -> dict[str, Tensor]:
        return self.label_sums(self.scores(hidden, view), view["label"])

    def scores(self, hidden: Any, view: View) -> Tensor:
        """The logits, from the `states` of a view."""
        return self.head(self.encoder.pool(hidden, view))  # [B, T, D] -> [B, D] -> [B, C]

    def logits(self, view: View) -> Tensor:
        """Class scores of a view, [B, C], before the softmax; for a regression the score, [B, 1]."""
        return self.scores(self.states("text", view), view)

    def predicted_logits(self, view: View, generator: torch.Generator | None = None) -> Tensor:
        """The logits that a prediction reads, [B, C]: here those of one pass, without noise."""
        return self.logits(view)

    def label_sums(self, logits: Tensor, label: Tensor) -> dict[str, Tensor]:
        """The summed loss of `logits` [B, C]; with a cross-entropy also the number of right answers, not trained."""
        logits = checks.floats(logits, "logits")
        if self.regression:
            score = logits.squeeze(1)  # [B, 1] -> [B]
            return {"mse": nn.functional.mse_loss(score, label.to(score.dtype), reduction="sum")}
        right = (logits.argmax(1) == label).sum()
        return {"ce": nn.functional.cross_entropy(logits, label, reduction="sum"), "accuracy": right}


class Head(nn.Module):
    """From the sequence vector to class scores: [B, D] -> [B, C]. `feature` is what the last linear map reads."""

    def __init__(self, width: int, classes: int, dropout: float, tanh: bool):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(width, width) if tanh else None
        self.out = nn.Linear(width, classes)
        for linear in filter(None, (self.dense, self.out)):  # initialised as in BERT and RoBERTa
            nn.init.normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)

    def feature(self, pooled: Tensor) -> Tensor:
        """The vector before the softmax projection, [B, D]: `pooled` itself, or tanh of a dense map of it."""
        return pooled if self.dense is None else torch.tanh(self.dense(self.dropout(pooled)))

    def forward(self, pooled: Tensor) -> Tensor:
        return self.scores(self.feature(pooled))

    def scores(self, feature: Tensor) -> Tensor:
        """The softmax projection, [B, D] -> [B, C]."""
        return self.out(self.dropout(feature))


def check_labels(label: Tensor | None, classes: int, below: bool = False) -> None:
    """Refuse labels that cannot be trained on, in words: on a GPU a label too large would end the process, so there
    `Objective.check_data` has checked all of them before. `below`: their scale goes below -1, so -1 is a score."""
    if label is None:
        raise ValueError("Fine-tuning needs each example's label: rows with a column 'label', never -1 (unlabelled).")
    if classes > 1 and label.is_floating_point():
        raise ValueError("These labels are scores, not classes: make them integers, or a regression (classes=1).")
    if not checks.reads(label):
        return
    lowest, highest = label.aminmax()
    if lowest == -1 and not below:
        meant = "score, shift the scale above it" if label.is_floating_point() else "class, number them from 0"
        told = "A row has the label -1, which means unlabelled: leave such rows (GLUE's test splits) out"
        raise ValueError(f"{told}; if -1 is a {meant}.")
    if classes > 1 and not 0 <= lowest <= highest < classes:
        raise ValueError(
            f"Labels go from {int(lowest)} to {int(highest)} but the head has classes={classes}: "
            "number them 0, 1, … (classes=rows counts them; a Task has one of its label_names for each)."
        )
