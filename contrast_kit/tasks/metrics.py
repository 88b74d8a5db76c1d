"""Metrics of predictions, by scikit-learn and scipy; and the GLUE average of each paper.

Every metric takes predictions and true labels, [N] each, and gives a number where larger is better. A
correlation with a constant is 0/0; here it is 0. So predicting one class for all rows has an MCC of 0, and one score
for all rows a Pearson and Spearman of 0.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from contrast_kit.tasks.table import Task


def accuracy(predicted: Any, labels: Any) -> float:
    """Share of right answers.

    >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
    0.75
    """
    predicted, labels = _pair(predicted, labels)
    return float(np.mean(predicted == labels))


def mcc(predicted: Any, labels: Any) -> float:
    """Matthews correlation, CoLA's metric: -1 to 1; 0 for guessing, and where all predictions are one class.

    >>> mcc([0, 1, 1, 0], [0, 1, 0, 0]), mcc([1, 1, 1, 1], [0, 1, 0, 0])
    (0.577..., 0.0)
    """
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(*_pair(predicted, labels)[::-1]))


def f1(predicted: Any, labels: Any) -> float:
    """F1 of class 1, "equivalent" in MRPC and "duplicate" in QQP; 0 where nothing was found.

    >>> f1([0, 1, 1, 0], [0, 1, 0, 0])
    0.666...
    """
    from sklearn.metrics import f1_score

    predicted, labels = _pair(predicted, labels)
    if others := set(np.unique(np.concatenate([predicted, labels])).tolist()) - {0, 1}:
        raise ValueError(f"F1 asks for class 1 among two classes, 0 and 1; here is also {sorted(others)[0]}.")
    return float(f1_score(labels, predicted, pos_label=1, average="binary", zero_division=0.0))


def pearson(predicted: Any, labels: Any) -> float:
    """Linear correlation of scores (CAPT's STS-B).

    >>> pearson([1.0, 2.0, 3.0], [1.0, 2.0, 9.0])
    0.917...
    """
    from scipy.stats import pearsonr

    predicted, labels = _pair(predicted, labels, least=2)
    return 0.0 if _constant(predicted) or _constant(labels) else float(pearsonr(predicted, labels).statistic)


def spearman(predicted: Any, labels: Any) -> float:
    """Correlation of ranks (COCO-LM's STS-B); equal scores share the mean of their ranks.

    >>> spearman([1.0, 2.0, 3.0], [1.0, 2.0, 9.0])
    1.0
    """
    from scipy.stats import spearmanr

    predicted, labels = _pair(predicted, labels, least=2)
    return 0.0 if _constant(predicted) or _constant(labels) else float(spearmanr(predicted, labels).statistic)


METRICS: dict[str, Callable[[Any, Any], float]] = {
    function.__name__: function for function in (accuracy, mcc, f1, pearson, spearman)
}
"""All metrics by name."""


def score(task: Task, predicted: Any, labels: Any) -> dict[str, float]:
    """Every metric of a task; the first one selects.

    Raises:
        ValueError: for labels that are secret (-1), or of another length than the predictions.

    >>> from contrast_kit import tasks
    >>> tasks.score(tasks.get_task("mrpc"), [0, 1, 1, 0], [0, 1, 0, 0])
    {'accuracy': 0.75, 'f1': 0.666...}
    """
    if np.any(np.asarray(labels) == -1):
        raise ValueError(f"Some labels of {task.name} are -1, which means secret: they cannot be scored.")
    return {name: METRICS[name](predicted, labels) for name in task.metrics}


AVERAGED: dict[str, tuple[str, ...]] = {
    "coco_lm": ("mnli", "qqp", "qnli", "sst2", "cola", "rte", "mrpc", "stsb"),
    "capt": ("mnli", "qqp", "qnli", "sst2", "cola", "rte", "mrpc", "stsb"),
    "scl": ("sst2", "cola", "mrpc", "rte", "qnli", "mnli"),
}
"""Which tasks each paper's average is over. CMLM prints none."""


def glue_average(scores: Mapping[str, float], paper: Literal["coco_lm", "capt", "scl"] = "coco_lm") -> float:
    """The plain mean over a paper's tasks; MNLI counts once, as the mean of matched and mismatched if both are given.

    Args:
        scores: the printed metric by task; MNLI as `"mnli"`, or as `"mnli_matched"` and `"mnli_mismatched"`.
        paper: `"coco_lm"` and `"capt"` average eight tasks, `"scl"` six; see `AVERAGED`.

    Raises:
        ValueError: if a task is lacking: a mean over fewer tasks must not be called the GLUE average.

    >>> scores = dict(sst2=95.9, cola=87.3, mrpc=87.8, rte=85.6, qnli=95.4, mnli=89.9)  # SCL, table 2
    >>> round(glue_average(scores, "scl"), 1)
    90.3
    """
    if paper not in AVERAGED:
        raise ValueError(f"paper must be one of {', '.join(AVERAGED)}, not {paper!r}.")
    scores = dict(scores)
    halves = [scores[name] for name in ("mnli_matched", "mnli_mismatched") if name in scores]
    if halves and "mnli" not in scores:
        scores["mnli"] = float(np.mean(halves))
    lacking = [name for name in AVERAGED[paper] if name not in scores]
    if lacking:
        raise ValueError(f"The average of {paper} also needs {', '.join(lacking)}.")
    counted = {name: scores[name] for name in AVERAGED[paper]}
    if unknown := [name for name, value in counted.items() if not np.isfinite(value)]:
        raise ValueError(f"The score of {unknown[0]} is {counted[unknown[0]]}: an average needs a number each.")
    return float(np.mean(list(counted.values())))


def _pair(predicted: Any, labels: Any, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Both as flat arrays of one length, free of NaN."""
    predicted, labels = _numbers(predicted, "Predictions"), _numbers(labels, "Labels")
    if predicted.shape != labels.shape or predicted.ndim != 1:
        raise ValueError(
            f"Predictions and labels must be two lists of one length, not {predicted.shape} and {labels.shape}."
        )
    if len(labels) < least:
        raise ValueError(f"This metric needs at least {least} examples, not {len(labels)}.")
    if not (np.isfinite(predicted).all() and np.isfinite(labels).all()):
        raise ValueError("A prediction or label is not finite: the model that made it has diverged.")
    return predicted, labels


def _numbers(values: Any, name: str) -> np.ndarray:
    """A list, array or tensor of numbers, from whatever device, as an array."""
    values = values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} are numbers, class numbers or scores, not {values.dtype}: {values.tolist()[:2]!r} …")
    return values


def _constant(values: np.ndarray) -> bool:
    """Whether all values are one, as far as float32 can tell."""
    return bool(np.ptp(values) <= 1e-7 * max(1.0, float(np.abs(values).max())))
