"""What can be answered without looking: answers from the question alone, or from the picture alone, by scikit-learn.

A model of words and pictures has learnt to look only as far as it beats the better of these two.
"""

import re
from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.data.pictures import Pictures
from contrast_kit.tasks.metrics import as_numbers

WORD = r"[^\W_]+(?:'[^\W_]+)?"
"""What counts as a word of a question: letters and digits, possibly with an apostrophe among them."""


def question_only(
    questions: Sequence[str], answers: Sequence[str], asked: Sequence[str], *, most: int = 1_000
) -> list[str]:
    """Answers to the questions `asked` from their words alone, learnt from `questions` and their `answers`.

    A bag of words, and a logistic regression over the `most` frequent answers; questions with a rarer answer are left
    out of the training. Raises ValueError where questions and answers do not pair up, or all answers are the same.

    >>> question_only(["what colour", "what colour", "is it red", "is it big"], ["red", "red", "yes", "yes"],
    ...               ["what colour is it", "is it old"])
    ['red', 'yes']
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import SGDClassifier

    questions = arguments.strings("questions", questions, "questions")
    asked = arguments.strings("asked", asked, "questions")
    checks.count("most", most, "a number of answers", least=2)
    answers = _answers(questions, answers)
    if not asked:
        raise ValueError("asked is empty: give at least one question to answer.")
    frequent = {answer for answer, _ in Counter(answers).most_common(most)}
    kept = [(q, a) for q, a in zip(questions, answers, strict=True) if a in frequent]
    if not any(re.search(WORD, question) for question, _ in kept):
        raise ValueError("No question has a word to learn from.")
    bag = CountVectorizer(binary=True, token_pattern=WORD)
    seen = bag.fit_transform(question for question, _ in kept)  # [N, words]
    model = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=6, tol=None, random_state=0)
    return model.fit(seen, [answer for _, answer in kept]).predict(bag.transform(asked)).tolist()


def picture_only(features: Any, answers: Sequence[str], shown: Any) -> list[str]:
    """Answers for the pictures `shown` [M, D] from their vectors alone, learnt from `features` [N, D] and `answers`.

    One vector per picture. Raises ValueError where features and answers do not pair up, or all answers are the same.

    >>> import numpy as np
    >>> seen = np.array([[0.0, 1.0], [1.0, 0.0]] * 9)
    >>> picture_only(seen, ["no", "yes"] * 9, np.array([[0.9, 0.1]]))
    ['yes']
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features, shown = _vectors(features, "Features"), _vectors(shown, "Pictures shown")
    if features.shape[1] != shown.shape[1]:
        raise ValueError(f"The training pictures have {features.shape[1]} features, the shown ones {shown.shape[1]}.")
    answers = _answers(features, answers)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
    return model.fit(features, answers).predict(shown).tolist()


def picture_vectors(pictures: Any, ids: Sequence[int]) -> np.ndarray:
    """One vector per picture, [len(ids), 2·F + 1]: mean and maximum of its regions, and how many there are.

    `pictures` are `data.Pictures`. It is a fair view for a linear model, which has no question to look by.
    """
    arguments.of_kind("pictures", pictures, Pictures, "what data.stack_pictures gives")
    rows = pictures.rows(ids)  # [N], each picture as often as it is asked about
    if rows.dim() != 1:
        raise ValueError(f"ids must be one number for each row, got shape {list(rows.shape)}.")
    mask, regions = pictures.region_mask[rows, :, None], pictures.regions[rows]  # [N, R, 1], [N, R, F]
    counts = mask.sum(1)  # [N, 1]
    mean = regions.masked_fill(~mask, 0).sum(1) / counts  # [N, F]
    most = regions.masked_fill(~mask, -float("inf")).amax(1)  # [N, F]
    return np.concatenate([mean.numpy(), most.numpy(), counts.float().numpy()], 1)


def _answers(given: Sequence, answers: Any) -> list:
    """The answers that pair up with what is given, at least two different ones."""
    answers = arguments.listed("answers", answers, "answers")
    if not any(all(isinstance(answer, kind) for answer in answers) for kind in (str, Integral)):
        raise TypeError(f"answers must be texts or class numbers, all of one kind, not {checks.shown(answers)}.")
    if len(given) != len(answers) or len(set(answers)) < 2:
        raise ValueError(
            f"A prior is learnt from pairs with at least two different answers, not from {len(given)} and "
            f"{len(answers)} with {len(set(answers))}."
        )
    return answers


def _vectors(values: Any, name: str) -> np.ndarray:
    """Finite numbers, one vector per row, [N, D]."""
    values = as_numbers(values, name)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite numbers [N, D], one vector per row, got shape {list(values.shape)}.")
    return values
