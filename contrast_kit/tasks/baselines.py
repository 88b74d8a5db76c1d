"""A baseline without an encoder, on exactly the rows that a protocol's runs get."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contrast_kit import arguments
from contrast_kit.data.paraphrase import Paraphraser
from contrast_kit.data.rows import column, column_names
from contrast_kit.tasks.metrics import as_labels
from contrast_kit.tasks.pipelines import Pipeline
from contrast_kit.tasks.planned import check_paraphraser, plan, rows_of, task_of
from contrast_kit.tasks.probes import labels_of
from contrast_kit.tasks.protocol import Protocol
from contrast_kit.tasks.results import KEY, Results
from contrast_kit.tasks.splits import split_hash
from contrast_kit.tasks.table import TaskData, score

Predict = Callable[[Sequence[str], np.ndarray, Sequence[str]], np.ndarray]
"""(training texts, their labels, test texts) -> predictions."""


def count_words(texts: Sequence[str], labels: np.ndarray, unseen: Sequence[str]) -> np.ndarray:
    """Classes of unseen texts from word counts: TF-IDF and a logistic regression, which has no seed.

    >>> count_words(["a red kite", "a blue kite", "a red drum"], np.array([0, 0, 1]), ["my old kite", "the drum"])
    array([0, 1])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, unseen = arguments.strings("texts", texts, "texts"), arguments.strings("unseen", unseen, "texts")
    labels = as_labels(labels, scores=False)
    if len(texts) != len(labels) or len(set(labels.tolist())) < 2 or not unseen:
        raise ValueError("Give texts with a label each, of at least two classes, and at least one unseen text.")
    if not any(re.search(r"\w\w", text) for text in texts):
        raise ValueError("No text has a word of two letters or more to count.")
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=500))
    return model.fit(texts, labels).predict(unseen)


def baseline(
    protocol: Protocol,
    data: TaskData,
    predict: Predict = count_words,
    name: str = "counting words",
    *,
    paraphraser: Paraphraser | None = None,
) -> Results:
    """`predict` on every draw of a protocol, with the training, validation and test rows that `run` gives its methods.

    So it can stand in one table with them and be compared in pairs. A baseline without randomness gets the same score
    for all seeds of a draw.

    Args:
        protocol: as for `run`. Its settings of training do not matter here.
        data: a task with classes. A pair of texts is joined into one.
        predict: (training texts, their labels, unseen texts) -> classes.
        name: what the method is called in the table.
        paraphraser: as for `run`; for the protocols of `SCL_NOISE`.

    Raises:
        ValueError: for a task whose labels are scores.

    Example:
        >>> from dataclasses import replace
        >>> from contrast_kit import tasks
        >>> small = replace(tasks.protocols.CMLM, sizes=(20,), draws=2)
        >>> found = tasks.baseline(small, tasks.load("toyshop/sst2"))
        >>> found.table.groupby("draw")["test"].nunique().tolist()
        [1, 1]
    """
    import pandas as pd

    arguments.of_kind("protocol", protocol, Protocol, "one of tasks.protocols")
    arguments.of_kind("data", data, TaskData, "what tasks.load gives")
    arguments.of_kind("predict", predict, Callable, "a function of texts, their labels and unseen texts")
    arguments.string("name", name, "what the method is called in the table")
    if data.task.regression:
        raise ValueError(f"The labels of {data.task.name} are scores, and a baseline here predicts classes.")
    check_paraphraser(protocol, paraphraser, "baseline")
    task, rows = task_of(protocol, data), []
    for planned in plan(protocol, [data], {name: Pipeline()}, paraphraser):
        (train, _), held = rows_of(planned, protocol), planned.held
        row = dict(zip(KEY, planned.key, strict=True)) | {"metric": task.metrics[0]}
        for part in ("validation", "test"):
            unseen = getattr(held, part) or []
            said = predict(_texts(data, train), np.asarray(labels_of(train)), _texts(data, unseen)) if unseen else []
            row[part] = score(task, said, labels_of(unseen))[task.metrics[0]] if unseen else None
        rows.append(row | {"split": split_hash(train, *held.parts)})
    return Results(pd.DataFrame(rows), protocol)


def _texts(data: TaskData, rows: Any) -> list[str]:
    columns = data.task.columns_in(column_names(rows))
    return [" ".join(parts) for parts in zip(*(column(rows, name) for name in columns), strict=True)]
