"""What can be answered without looking: answers from the question alone, or from the picture alone, by scikit-learn.

A model of words and pictures has learnt to look by as much as it is better than the better of these two.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


def question_only(
    questions: Sequence[str], answers: Sequence[str], asked: Sequence[str], *, most: int = 1_000
) -> list[str]:
    """Answers to the questions `asked` by their words alone, learnt from `questions` and their `answers`.

    A bag of words, and a logistic regression over the `most` frequent answers; questions with a rarer answer are left
    out of the training. Raises ValueError where questions and answers do not pair up, or all answers are one.

    >>> question_only(["what colour", "what colour", "is it red", "is it big"], ["red", "red", "yes", "yes"],
    ...               ["what colour is it", "is it old"])
    ['red', 'yes']
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import SGDClassifier

    _check(questions, answers)
    frequent = {answer for answer, _ in Counter(answers).most_common(most)}
    kept = [(q, a) for q, a in zip(questions, answers, strict=True) if a in frequent]
    bag = CountVectorizer(binary=True, token_pattern=r"[^\W_]+(?:'[^\W_]+)?")
    seen = bag.fit_transform(question for question, _ in kept)  # [N, words]
    model = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=6, tol=None, random_state=0)
    return model.fit(seen, [answer for _, answer in kept]).predict(bag.transform(asked)).tolist()


def picture_only(features: Any, answers: Sequence[str], shown: Any) -> list[str]:
    """Answers by the picture alone, learnt from `features` [N, D], one vector a picture, and shown pictures [M, D].

    Raises ValueError where features and answers do not pair up, or all answers are one.

    >>> import numpy as np
    >>> seen = np.array([[0.0, 1.0], [1.0, 0.0]] * 9)
    >>> picture_only(seen, ["no", "yes"] * 9, np.array([[0.9, 0.1]]))
    ['yes']
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    _check(features, answers)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
    return model.fit(np.asarray(features), list(answers)).predict(np.asarray(shown)).tolist()


def picture_vectors(pictures: Any, ids: Sequence[int]) -> np.ndarray:
    """One vector a picture, [len(ids), 2·F + 1]: mean and maximum of its regions, and how many there are.

    `pictures` are `data.Pictures`; it is a fair look for a linear model, which has no question to look with.
    """
    rows = pictures.rows(ids)  # [N], a picture as often as it is asked about
    mask, regions = pictures.region_mask[rows, :, None], pictures.regions[rows]  # [N, R, 1], [N, R, F]
    counts = mask.sum(1)  # [N, 1]
    mean = regions.masked_fill(~mask, 0).sum(1) / counts  # [N, F]
    most = regions.masked_fill(~mask, -float("inf")).amax(1)  # [N, F]
    return np.concatenate([mean.numpy(), most.numpy(), counts.float().numpy()], 1)


def _check(given: Sequence, answers: Sequence[str]) -> None:
    if len(given) != len(answers) or len(set(answers)) < 2:
        raise ValueError(
            f"A prior is learnt from pairs with at least two different answers, not from {len(given)} and "
            f"{len(answers)} with {len(set(answers))}."
        )
