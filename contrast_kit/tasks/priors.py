"""What can be answered without looking: answers from the question alone, or from the picture alone, by scikit-learn.

A model of words and pictures has learnt to look only as far as it beats the better of these two.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

WORD = r"[^\W_]+(?:'[^\W_]+)?"
"""What counts as a word of a question: letters and digits, possibly with an apostrophe among them."""


def question_only(
    questions: Sequence[str], answers: Sequence[str], asked: Sequence[str], *, most: int = 1_000
) -> list[str]:
    """Answers to the questions `asked` from their words alone, learnt from `questions` and their `answers`.

    A bag of words, and a logistic regression over the `most` frequent answers; questions with a rarer answer are left
    out of the training.

    >>> question_only(["what colour", "what colour", "is it red", "is it big"], ["red", "red", "yes", "yes"],
    ...               ["what colour is it", "is it old"])
    ['red', 'yes']
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import SGDClassifier

    frequent = {answer for answer, _ in Counter(answers).most_common(most)}
    kept = [
        (question, answer)
        for question, answer in zip(questions, answers, strict=True)
        if answer in frequent
    ]
    bag = CountVectorizer(binary=True, token_pattern=WORD)
    counts = bag.fit_transform(question for question, _ in kept)  # [N, words]
    model = SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=6, tol=None, random_state=0)
    return model.fit(counts, [answer for _, answer in kept]).predict(bag.transform(asked)).tolist()


def picture_only(features: Any, answers: Sequence[str], shown: Any) -> list[str]:
    """Answers for the pictures `shown` [M, D] from their vectors alone, learnt from `features` [N, D] and `answers`.

    One vector per picture.

    >>> import numpy as np
    >>> features = np.array([[0.0, 1.0], [1.0, 0.0]] * 9)
    >>> picture_only(features, ["no", "yes"] * 9, np.array([[0.9, 0.1]]))
    ['yes']
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
    return model.fit(np.asarray(features), answers).predict(np.asarray(shown)).tolist()


def picture_vectors(pictures: Any, ids: Sequence[int]) -> np.ndarray:
    """One vector per picture, [len(ids), 2·F + 1]: mean and maximum of its regions, and how many there are.

    `pictures` are `data.Pictures`. It is a fair view for a linear model, which has no question to look by.
    """
    rows = pictures.rows(ids)  # [N], each picture as often as it is asked about
    mask, regions = (
        pictures.region_mask[rows, :, None],
        pictures.regions[rows],
    )  # [N, R, 1], [N, R, F]
    counts = mask.sum(1)  # [N, 1]
    mean = regions.masked_fill(~mask, 0).sum(1) / counts  # [N, F]
    most = regions.masked_fill(~mask, -float("inf")).amax(1)  # [N, F]
    return np.concatenate([mean.numpy(), most.numpy(), counts.float().numpy()], 1)
