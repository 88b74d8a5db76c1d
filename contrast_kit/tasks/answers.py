"""EM and F1 of answers, as SQuAD 2.0's official script defines them, and the threshold of "no answer"."""

import re
import string
from collections import Counter
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.data.rows import as_rows, column
from contrast_kit.data.squad import in_lists
from contrast_kit.tasks.splits import numbered

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(answer: str) -> str:
    """Lower case, without ASCII punctuation, without the articles a, an, the, with single spaces.

    >>> normalized("The  U.S.-born  kite!")
    'usborn kite'
    """
    arguments.string("answer", answer, "what a reader or a row says")
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact(predicted: str, gold: str) -> float:
    """1 if the two are equal once normalised, else 0."""
    return float(normalized(predicted) == normalized(gold))


def f1(predicted: str, gold: str) -> float:
    """The harmonic mean of precision and recall over words, as bags; where either answer is empty, 1 if both are.

    >>> f1("the red kite", "a kite"), f1("", "a kite"), f1("", "")
    (0.666..., 0.0, 1.0)
    """
    found, wanted = normalized(predicted).split(), normalized(gold).split()
    if not found or not wanted:
        return float(found == wanted)
    shared = sum((Counter(found) & Counter(wanted)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(found), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def golds(row: Mapping[str, Any]) -> list[str]:
    """The answers that count as right: those with a word left once normalised; [""] where there is none."""
    return [text for text in row["answers"]["text"] if normalized(text)] or [""]


def score(predictions: Mapping[str, str], rows: Any) -> dict[str, float]:
    """EM and F1 in percent over all questions, and separately over those with and without an answer.

    Each prediction is scored against the gold answer that fits it best. "" says that there is no answer.

    Args:
        predictions: an answer for each question, by `id`.
        rows: the questions, with `id` and `answers`.

    Returns:
        `exact`, `f1`, `total`; `HasAns_exact`, `HasAns_f1`, `HasAns_total`, and `NoAns_…`, where there are such
        questions: the official script's names.

    Raises:
        ValueError: for a question without a prediction, an id that occurs twice, or no questions at all.

    >>> row = {"id": "1", "answers": {"text": ["a red kite", "kite"], "answer_start": [0, 6]}}
    >>> score({"1": "The kite"}, [row])["exact"]
    100.0
    """
    rows = questions(rows, arguments.mapping("predictions", predictions, "of answers by id"))
    if not rows:
        raise ValueError("There are no questions to score.")
    each = np.array([scores_of(predictions[row["id"]], row) for row in rows])  # [N, 2]
    has = np.array([bool(row["answers"]["text"]) for row in rows])  # [N]
    result = _means("", each)
    for name, part in (("HasAns_", each[has]), ("NoAns_", each[~has])):
        if len(part):
            result |= _means(name, part)
    return result


def scores_of(predicted: str, row: Mapping[str, Any]) -> tuple[float, float]:
    """EM and F1 of one answer, each the best over the gold answers."""
    return max(exact(predicted, gold) for gold in golds(row)), max(f1(predicted, gold) for gold in golds(row))


def _means(name: str, each: np.ndarray) -> dict[str, float]:
    em, word = 100 * each.mean(0)
    return {f"{name}exact": float(em), f"{name}f1": float(word), f"{name}total": len(each)}


def best_threshold(answers: Mapping[str, tuple[str, float]], rows: Any, metric: str = "f1") -> float:
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
    checks.choice("metric", metric, ("f1", "exact"))
    which = ("exact", "f1").index(metric)
    rows = questions(rows, with_null_scores(answers))
    null = np.array([answers[row["id"]][1] for row in rows])
    said = np.array([scores_of(answers[row["id"]][0], row)[which] for row in rows])
    silent = np.array([scores_of("", row)[which] for row in rows])
    order = null.argsort(kind="stable")
    gain = np.concatenate([[0.0], (said - silent)[order].cumsum()])  # answering the k with the lowest null scores
    values = np.concatenate([[-np.inf], null[order]])
    last = np.concatenate([null[order][1:] != null[order][:-1], [True]]) if len(null) else np.array([], bool)
    possible = np.concatenate([[True], last])  # equal null scores are answered together
    return float(values[possible][gain[possible].argmax()])


def apply_threshold(answers: Mapping[str, tuple[str, float]], threshold: float) -> dict[str, str]:
    """The answer of each question: "" where its null score is above the threshold."""
    if not checks.is_number(threshold):  # which may be infinite
        raise ValueError(f"threshold is a number that null scores are compared with, not {checks.shown(threshold)}.")
    return {one: "" if null > threshold else text for one, (text, null) in with_null_scores(answers).items()}


def with_null_scores(answers: Any) -> Mapping[str, tuple[str, float]]:
    """The answers by id, each with its null score; raises TypeError for the first that is not such a pair."""
    for one, said in arguments.mapping("answers", answers, "of answers with their null scores, by id").items():
        pair = said if isinstance(said, tuple | list) and len(said) == 2 else (None, None)
        if not isinstance(pair[0], str) or not checks.is_number(pair[1]):
            raise TypeError(f"answers[{one!r}] is a text and its null score, ('kite', -3.0), not {checks.shown(said)}.")
    return answers


def questions(rows: Any, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions as dicts: each with its gold answers and an id of its own, under which `said` has an entry."""
    rows = numbered(rows)
    if isinstance(rows, list) and not rows:
        return []
    ids, golden = column(rows, "id"), [in_lists(answers) for answers in column(rows, "answers")]
    for one, gold in zip(ids, golden, strict=True):
        if not isinstance(one, str | Integral):
            raise TypeError(f"The id of a question is a word or a number, not {checks.shown(one)}.")
        name = f"answers of question {one!r}"
        arguments.strings(name, arguments.mapping(name, gold, "of texts and their starts").get("text"), "texts")
    if len(set(ids)) < len(ids):
        raise ValueError(f"The id {Counter(ids).most_common(1)[0][0]!r} occurs twice: ids tell questions apart.")
    if lacking := [one for one in ids if one not in said]:
        raise ValueError(f"{len(lacking)} questions have no prediction; the first is {lacking[0]!r}.")
    return [dict(row) | {"answers": gold} for row, gold in zip(as_rows(rows), golden, strict=True)]
