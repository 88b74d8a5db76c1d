"""Metrics of predictions, by scikit-learn and scipy; and the GLUE average of each paper.

Every metric takes predictions and true labels, [N] each, and gives a number where larger is better. A
correlation with a constant is 0/0; here it is 0. So predicting one class for all rows gets an MCC of 0, and one score
for all rows a Pearson and Spearman of 0.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from contrast_kit import checks


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
    return float(matthews_corrcoef(labels, predicted))


def f1(predicted: Any, labels: Any) -> float:
    """F1 of class 1, "equivalent" in MRPC and "duplicate" in QQP; 0 where nothing was found.

    >>> f1([0, 1, 1, 0], [0, 1, 0, 0])
    0.666...
    """
    from sklearn.metrics import f1_score

    predicted, labels = _classes(predicted, labels)
    return float(f1_score(labels, predicted, zero_division=0.0))


def pearson(predicted: Any, labels: Any) -> float:
    """Linear correlation of scores (CAPT's STS-B).

    >>> pearson([1.0, 2.0, 3.0], [1.0, 2.0, 9.0])
    0.917...
    """
    from scipy.stats import pearsonr

    return _correlation(pearsonr, predicted, labels)


def spearman(predicted: Any, labels: Any) -> float:
    """Correlation of ranks (COCO-LM's STS-B); equal scores share the mean of their ranks.

    >>> spearman([1.0, 2.0, 3.0], [1.0, 2.0, 9.0])
    1.0
    """
    from scipy.stats import spearmanr

    return _correlation(spearmanr, predicted, labels)


METRICS: dict[str, Callable[[Any, Any], float]] = {
    function.__name__: function
    for function in (
        accuracy,
        mcc,
        f1,
        pearson,
        spearman,
    )
}
"""All metrics by name. One of your own, `METRICS["recall"] = recall`, may then stand in the `metrics` of a `Task`."""


TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))
AVERAGED: dict[str, list[str]] = TABLES["averaged"]
"""The tasks that each paper averages over. CMLM prints no average."""


def glue_average(
    scores: Mapping[str, float], paper: Literal["coco_lm", "capt", "scl"] = "coco_lm"
) -> float:
    """The plain mean over a paper's tasks; MNLI counts once, as the mean of matched and mismatched if both are given.

    Args:
        scores: the printed metric by task; MNLI as `"mnli"`, or as `"mnli_matched"` and `"mnli_mismatched"`.
        paper: `"coco_lm"` and `"capt"` average eight tasks, `"scl"` six; see `AVERAGED`.

    Raises:
        KeyError: if a task is missing: a mean over fewer tasks must not be called the GLUE average.

    >>> scores = dict(sst2=95.9, cola=87.3, mrpc=87.8, rte=85.6, qnli=95.4, mnli=89.9)  # SCL, table 2
    >>> round(glue_average(scores, "scl"), 1)
    90.3
    """
    halves = [
        scores[name] for name in ("mnli_matched", "mnli_mismatched") if name in scores
    ]
    if halves:
        scores = {"mnli": np.mean(halves), **scores}
    return float(np.mean([float(scores[name]) for name in AVERAGED[paper]]))


def _pair(predicted: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and labels as flat arrays of equal length; numpy would spread one label over all rows."""
    predicted, labels = np.asarray(predicted), np.asarray(labels)
    if predicted.shape != labels.shape or predicted.ndim != 1 or not len(labels):
        raise ValueError(
            f"Predictions and labels must be two lists of one length, not {predicted.shape} and {labels.shape}."
        )
    if not np.isfinite(predicted).all():
        raise checks.NotFiniteError(
            "A prediction is not finite: the model that made it has diverged."
        )
    return predicted, labels


def _classes(predicted: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """A pair of class numbers: scores compared for equality would all be wrong."""
    predicted, labels = _pair(predicted, labels)
    if (predicted != np.round(predicted)).any() or (labels != np.round(labels)).any():
        raise ValueError(
            "Classes are compared, and these are scores: round them, or take argmax."
        )
    return predicted, labels


def _correlation(
    function: Callable,
    predicted: Any,
    labels: Any,
) -> float:
    """A correlation in float64: differences of int8 overflow, sums of half floats are coarse, bools have neither."""
    predicted, labels = (values.astype(float) for values in _pair(predicted, labels))
    if _constant(predicted) or _constant(labels):
        return 0.0
    return float(function(predicted, labels).statistic)


def _constant(values: np.ndarray) -> bool:
    """Whether all values are equal, as far as float32 can tell."""
    return bool(np.ptp(values) <= 1e-7 * float(np.abs(values).max()))
