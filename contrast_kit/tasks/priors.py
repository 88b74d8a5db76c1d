"""What counting can answer: texts by their words, questions without the picture, pictures without the question.

A model of words and pictures has learnt to look only as far as it beats the better of the last two.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

WORD = r"[^\W_]+(?:'[^\W_]+)?"
"""What counts as a word of a question: letters and digits, possibly with an apostrophe among them."""


def count_words(
    texts: Sequence[str],
    labels: np.ndarray,
    unseen: Sequence[str],
) -> np.ndarray:
    """Classes of unseen texts from word counts: TF-IDF and a logistic regression, which has no seed.

    >>> count_words(["a red kite", "a blue kite", "a red drum"], np.array([0, 0, 1]), ["my old kite", "the drum"])
    array([0, 1])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=500))
    return model.fit(texts, labels).predict(unseen)


def question_only(
    questions: Sequence[str],
    answers: Sequence[str],
    asked: Sequence[str],
    *,
    most: int = 1_000,
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
    pairs = zip(questions, answers, strict=True)
    questions, answers = zip(
        *(pair for pair in pairs if pair[1] in frequent), strict=True
    )
    bag = CountVectorizer(binary=True, token_pattern=WORD)
    model = SGDClassifier(
        loss="log_loss",
        alpha=1e-5,
        max_iter=6,
        tol=None,
        random_state=0,
    )
    model.fit(bag.fit_transform(questions), answers)  # [N, words]
    return model.predict(bag.transform(asked)).tolist()


def picture_only(
    features: Any,
    answers: Sequence[str],
    shown: Any,
) -> list[str]:
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
    # [N, R, 1 or F]
    hidden, regions = ~pictures.region_mask[rows, :, None], pictures.regions[rows]
    counts = (~hidden).sum(1)  # [N, 1]
    mean = regions.masked_fill(hidden, 0).sum(1) / counts  # [N, F]
    most = regions.masked_fill(hidden, -float("inf")).amax(1)  # [N, F]
    return np.concatenate(
        [
            mean.numpy(),
            most.numpy(),
            counts.float().numpy(),
        ],
        1,
    )
