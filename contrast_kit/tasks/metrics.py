"""Metrics of predictions, by scikit-learn and scipy; and the GLUE average of each paper.

Every metric takes predictions and true labels, [N] each, and gives a number where larger is better. A
correlation with a constant is 0/0; here it is 0. So predicting one class for all rows gets an MCC of 0, and one score
for all rows a Pearson and Spearman of 0.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import torch

from contrast_kit import arguments, checks


def accuracy(predicted: Any, labels: Any) -> float:
    """Share of right answers.

    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    predicted, labels = _classes(predicted, labels)
    return float(np.mean(predicted == labels))


def mcc(predicted: Any, labels: Any) -> float:
    """Matthews correlation, CoLA's metric: -1 to 1; 0 for guessing, and where predictions or labels are of one class.

    >>> mcc([0, 1, 1, 0], [0, 1, 0, 0]), mcc([1, 1, 1, 1], [0, 1, 0, 0])
    (0.577..., 0.0)
    """
    from sklearn.metrics import matthews_corrcoef

    predicted, labels = _classes(predicted, labels)
    return float(matthews_corrcoef(labels, predicted)) if len(np.unique(labels)) > 1 else 0.0


def f1(predicted: Any, labels: Any) -> float:
    """F1 of class 1, "equivalent" in MRPC and "duplicate" in QQP; 0 where nothing was found.

    >>> f1([0, 1, 1, 0], [0, 1, 0, 0])
    0.666...
    """
    from sklearn.metrics import f1_score

    predicted, labels = _classes(predicted, labels)
    if others := set(np.unique(np.concatenate([predicted, labels])).tolist()) - {0, 1}:
        raise ValueError(f"F1 scores class 1 of the classes 0 and 1; there is also class {sorted(others)[0]}.")
    return float(f1_score(labels, predicted, pos_label=1, average="binary", zero_division=0.0))


def macro_f1(predicted: Any, labels: Any) -> float:
    """The mean F1 of the classes that occur in the labels: each counts the same, however rare it is.

    >>> macro_f1([0, 1, 1, 0], [0, 1, 0, 0]), macro_f1([0, 0, 0], [0, 0, 2])
    (0.733..., 0.4)
    """
    from sklearn.metrics import f1_score

    predicted, labels = _classes(predicted, labels)
    return float(f1_score(labels, predicted, labels=np.unique(labels), average="macro", zero_division=0.0))


def pearson(predicted: Any, labels: Any) -> float:
    """Linear correlation of scores (CAPT's STS-B).

    >>> pearson([1.0, 2.0, 3.0], [1.0, 2.0, 9.0])
    0.917...
    """
    from scipy.stats import pearsonr

    predicted, labels = _scores(predicted, labels)
    return 0.0 if _constant(predicted) or _constant(labels) else float(pearsonr(predicted, labels).statistic)


def spearman(predicted: Any, labels: Any) -> float:
    """Correlation of ranks (COCO-LM's STS-B); equal scores share the mean of their ranks.

    >>> spearman([1.0, 2.0, 3.0], [1.0, 2.0, 9.0])
    1.0
    """
    from scipy.stats import spearmanr

    predicted, labels = _scores(predicted, labels)
    return 0.0 if _constant(predicted) or _constant(labels) else float(spearmanr(predicted, labels).statistic)


METRICS: dict[str, Callable[[Any, Any], float]] = {
    function.__name__: function for function in (accuracy, mcc, f1, macro_f1, pearson, spearman)
}
"""All metrics by name. One of your own, `METRICS["recall"] = recall`, may then stand in the `metrics` of a `Task`. A
kept table knows it by its name alone: after a change of its code, choose another `folder`."""


AVERAGED: dict[str, tuple[str, ...]] = {
    "coco_lm": ("mnli", "qqp", "qnli", "sst2", "cola", "rte", "mrpc", "stsb"),
    "capt": ("mnli", "qqp", "qnli", "sst2", "cola", "rte", "mrpc", "stsb"),
    "scl": ("sst2", "cola", "mrpc", "rte", "qnli", "mnli"),
}
"""The tasks that each paper averages over. CMLM prints no average."""


def glue_average(scores: Mapping[str, float], paper: Literal["coco_lm", "capt", "scl"] = "coco_lm") -> float:
    """The plain mean over a paper's tasks; MNLI counts once, as the mean of matched and mismatched if both are given.

    Args:
        scores: the printed metric by task; MNLI as `"mnli"`, or as `"mnli_matched"` and `"mnli_mismatched"`.
        paper: `"coco_lm"` and `"capt"` average eight tasks, `"scl"` six; see `AVERAGED`.

    Raises:
        ValueError: if a task is missing: a mean over fewer tasks must not be called the GLUE average.

    >>> scores = dict(sst2=95.9, cola=87.3, mrpc=87.8, rte=85.6, qnli=95.4, mnli=89.9)  # SCL, table 2
    >>> round(glue_average(scores, "scl"), 1)
    90.3
    """
    arguments.known(paper, AVERAGED, "average of the paper")
    try:
        scores = dict(scores)
    except (TypeError, ValueError):
        raise TypeError(f"scores must be a dict of the score of each task, not {checks.shown(scores)}.") from None
    halves = [name for name in ("mnli_matched", "mnli_mismatched") if name in scores]
    if halves and "mnli" not in scores:
        scores["mnli"] = np.mean([_finite(name, scores[name]) for name in halves])
    if lacking := [name for name in AVERAGED[paper] if name not in scores]:
        raise ValueError(f"The average of {paper} also needs {', '.join(lacking)}.")
    return float(np.mean([_finite(name, scores[name]) for name in AVERAGED[paper]]))


def _finite(name: str, score: Any) -> float:
    """The score of a task as a Python float; a numpy or torch scalar counts as a number."""
    value = score.item() if hasattr(score, "item") and getattr(score, "shape", None) == () else score
    if not (checks.is_number(value) and abs(value) < 1e18):
        raise ValueError(f"The score of {name} is {checks.shown(score)}: an average needs a number each.")
    return float(value)


def as_numbers(values: Any, name: str) -> np.ndarray:
    """A list, array or tensor of numbers, on any device, as an array."""
    try:
        if isinstance(values, torch.Tensor):
            values = values.detach().cpu()
            values = values.float() if values.dtype == torch.bfloat16 else values  # which numpy does not have
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):  # lists of different lengths, or of tensors
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} are numbers, not {checks.shown(values)}.")
    return array


def as_labels(labels: Any, scores: bool = True) -> np.ndarray:
    """A class number, the name of a class or a score for each row, [N]; names and numbers are not mixed."""
    values = arguments.listed("labels", labels, "labels, one for each row")
    names = values and all(isinstance(value, str) for value in values)
    labels = np.array(values) if names else as_numbers(values, "Labels")
    if labels.ndim != 1:
        raise ValueError(f"labels must be one for each row, not {checks.shown(values)}.")
    if labels.dtype.kind == "f" and labels.size and not (scores and np.isfinite(labels).all()):
        wanted = "finite numbers" if scores else "class numbers or names, no scores"
        raise ValueError(f"labels must be {wanted}, not {checks.shown(values)}.")
    return labels


def _pair(predicted: Any, labels: Any, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Both as flat arrays of equal length, all finite."""
    predicted, labels = as_numbers(predicted, "Predictions"), as_numbers(labels, "Labels")
    if predicted.shape != labels.shape or predicted.ndim != 1:
        raise ValueError(
            f"Predictions and labels must be two lists of one length, not {predicted.shape} and {labels.shape}."
        )
    if len(labels) < least:
        raise ValueError(f"This metric needs at least {least} examples, not {len(labels)}.")
    if not np.isfinite(labels).all():
        raise ValueError("A label is not a finite number: leave out the rows without one.")
    if not np.isfinite(predicted).all():
        raise checks.NotFiniteError("A prediction is not finite: the model that made it has diverged.")
    return predicted, labels


def _scores(predicted: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """As `_pair`, in float64: differences of int8 overflow, sums of half floats are coarse, bools have neither."""
    predicted, labels = _pair(predicted, labels, least=2)
    return predicted.astype(float), labels.astype(float)


def _classes(predicted: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """As `_pair`, for class numbers."""
    predicted, labels = _pair(predicted, labels)
    for values in (predicted, labels):
        if (part := values[values != np.round(values)]).size:
            raise ValueError(f"Classes are compared, and {part[0]} is no class number: round a score, or take argmax.")
    return predicted, labels


def _constant(values: np.ndarray) -> bool:
    """Whether all values are equal, as far as float32 can tell."""
    return bool(np.ptp(values) <= 1e-7 * float(np.abs(values).max()))
