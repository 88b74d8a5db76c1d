"""EM and F1 of answers, as SQuAD 2.0's official script defines them, and the threshold of "no answer"."""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from contrast_kit.data.rows import as_rows

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(answer: str) -> str:
    """Lower case, without ASCII punctuation, without the articles a, an, the, with single spaces.

    >>> normalized("The  U.S.-born  kite!")
    'usborn kite'
    """
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact(predicted: str, gold: str) -> float:
    """1 if the two are equal once normalised, else 0."""
    return float(normalized(predicted) == normalized(gold))


def f1(predicted: str, gold: str) -> float:
    """The harmonic mean of precision and recall over words, as bags; where either answer is empty, 1 if both are.

    >>> f1("the red kite", "a kite"), f1("", "a kite"), f1("", "")
    (0.666..., 0.0, 1.0)
    """
    words, wanted = normalized(predicted).split(), normalized(gold).split()
    if not words or not wanted:
        return float(words == wanted)
    shared = (Counter(words) & Counter(wanted)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(words), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def golds(row: Mapping[str, Any]) -> list[str]:
    """The answers that count as right: those with a word left once normalised; [""] where there is none."""
    return [text for text in row["answers"]["text"] if normalized(text)] or [""]


def scores_of(predicted: str, row: Mapping[str, Any]) -> tuple[float, float]:
    """EM and F1 of one answer, each the best over the gold answers."""
    em, word_f1 = (
        max(metric(predicted, gold) for gold in golds(row)) for metric in (exact, f1)
    )
    return em, word_f1


def score(predictions: Mapping[str, str], rows: Any) -> dict[str, float]:
    """EM and F1 in percent over all questions, and separately over those with and without an answer.

    Each prediction is scored against the gold answer that fits it best. "" says that there is no answer.

    Args:
        predictions: an answer for each question, by `id`.
        rows: the questions, with `id` and `answers`.

    Returns:
        `exact`, `f1`, `total`; `HasAns_exact`, `HasAns_f1`, `HasAns_total`, and `NoAns_…`, where there are such
        questions: the official script's names.

    >>> row = {"id": "1", "answers": {"text": ["a red kite", "kite"], "answer_start": [0, 6]}}
    >>> score({"1": "The kite"}, [row])["exact"]
    100.0
    """
    rows = as_rows(rows)
    if len({row["id"] for row in rows}) < len(rows):
        raise ValueError(
            "An id occurs twice: one prediction would stand for two questions."
        )
    each = np.array([scores_of(predictions[row["id"]], row) for row in rows])  # [N, 2]
    has = np.array([bool(row["answers"]["text"]) for row in rows])  # [N]
    result = {}
    for name, part in {
        "": each,
        "HasAns_": each[has],
        "NoAns_": each[~has],
    }.items():
        if len(part):
            em, word_f1 = (100 * part.mean(0)).tolist()
            result |= {
                f"{name}exact": em,
                f"{name}f1": word_f1,
                f"{name}total": len(part),
            }
    return result


def best_threshold(
    answers: Mapping[str, tuple[str, float]],
    rows: Any,
    metric: Literal["f1", "exact"] = "f1",
) -> float:
    """The threshold on the score of "no answer" with the highest mean EM or F1 on *these* rows.

    Choose it on other rows than those tested: chosen on the test rows themselves it flatters, if only a little.

    Args:
        answers: by `id`, the best answer that is not empty and the null score: how much better "no answer" scores.
        rows: the questions to choose by.
        metric: `"f1"` or `"exact"`.

    Returns:
        t: `""` is answered where the null score is *above* t. Minus infinity never answers, infinity always does.

    >>> rows = [{"id": "1", "answers": {"text": ["kite"], "answer_start": [0]}}]
    >>> rows += [{"id": "2", "answers": {"text": [], "answer_start": []}}]
    >>> best_threshold({"1": ("kite", -3.0), "2": ("drum", 1.0)}, rows)
    -3.0
    """
    which = ("exact", "f1").index(metric)
    # Equal null scores are answered together.
    gains: dict[float, float] = defaultdict(float)
    for row in as_rows(rows):
        text, null = answers[row["id"]]
        gains[null] += scores_of(text, row)[which] - scores_of("", row)[which]
    thresholds = [-np.inf, *sorted(gains)]
    # Answered up to each.
    totals = np.cumsum([0.0, *(gains[null] for null in thresholds[1:])])
    return float(thresholds[int(totals.argmax())])


def apply_threshold(
    answers: Mapping[str, tuple[str, float]], threshold: float
) -> dict[str, str]:
    """The answer of each question: "" where its null score is above the threshold."""
    return {
        key: "" if null > threshold else text for key, (text, null) in answers.items()
    }
