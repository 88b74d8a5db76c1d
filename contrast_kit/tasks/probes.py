"""Probes: what the vectors of an encoder hold, without changing its weights."""

from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Literal

import numpy as np
import torch

from contrast_kit import arguments, checks
from contrast_kit.checks import shown
from contrast_kit.data.rows import column, column_names, given_columns, label_tensor, unlabelled
from contrast_kit.encoder import Encoder
from contrast_kit.geometry import pair_cosines
from contrast_kit.tasks.table import Task, TaskData, get_task, score
from contrast_kit.tasks.vectors import vectors_of

STRENGTHS = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
"""What cross-validation chooses among: C of the logistic regression, 1 / α of the ridge regression."""
MOST_ROWS = 2_000
"""Training rows that cross-validation looks at, drawn at random: to rank five strengths it need not see them all."""


@dataclass(frozen=True)
class Probe:
    """A linear model on the frozen vectors of an encoder: `fit_probe` makes one, `evaluate` scores rows."""

    encoder: Encoder
    task: Task
    model: Any
    strength: float

    def evaluate(self, rows: Any) -> dict[str, float]:
        """The task's metrics on rows."""
        return score(self.task, self.model.predict(features(self.encoder, rows, self.task)), labels_of(rows))


def linear_probe(
    encoder: Encoder,
    train: Any,
    test: Any,
    *,
    task: Task | str,
    strength: float | Literal["cv"] = "cv",
    seed: int = 0,
) -> dict[str, float]:
    """Logistic regression (for a score: ridge regression) on frozen vectors: is the label linear in them?

    A pair (u, v) becomes [u, v, |u - v|, u · v], as in SentEval; each text is encoded on its own. Each of these numbers
    is standardised with its mean and deviation over the training rows.

    Args:
        encoder: the encoder whose vectors are read, [D] per text; not changed.
        train, test: rows with the task's columns and `label`.
        task: a `Task`, or its name in the table `TASKS`.
        strength: C of the logistic regression, 1 / α of the ridge regression: smaller means simpler. "cv" takes the one
            of `STRENGTHS` that is best in three-fold cross-validation on (at most 2,000 of) the training rows, or 1.0
            where a class has one row there. A fixed number is faster, but 1.0 learns a few thousand pairs by heart.
        seed: of the solver, and of the folds.

    Returns:
        the task's metrics on `test`.

    Raises:
        ValueError: if the training rows hold one class only, or test labels are secret.

    See also:
        `knn_probe` learns nothing at all; `fine_tune` changes the encoder.
    """
    return fit_probe(encoder, train, task=task, strength=strength, seed=seed).evaluate(test)


def fit_probe(
    encoder: Encoder, train: Any, *, task: Task | str, strength: float | Literal["cv"] = "cv", seed: int = 0
) -> Probe:
    """The model of `linear_probe`, to be evaluated on several sets of rows. Arguments and errors as there."""
    task = get_task(task)
    checks.count("seed", seed, "a number to draw by", least=0, most=2**32 - 1)  # the largest that scikit-learn takes
    y = _training_labels(task, train)
    if not task.regression and len(np.unique(y)) < 2:
        raise ValueError("The training rows hold one class only, so there is nothing to tell apart.")
    if strength != "cv" and not (isinstance(strength, Real) and not isinstance(strength, bool) and strength > 0):
        raise ValueError(f"strength is a number above 0, or 'cv' for cross-validation, not {shown(strength)}.")
    x = features(encoder, train, task)
    if strength == "cv":
        strength = _cross_validated(x, y, task, seed)
    return Probe(encoder, task, _model(task, strength, seed).fit(x, y), strength)


def _model(task: Task, strength: float, seed: int, **options: Any) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classes = partial(LogisticRegression, C=strength, random_state=seed, max_iter=2000)
    return make_pipeline(StandardScaler(), Ridge(alpha=1 / strength) if task.regression else classes(**options))


def _cross_validated(x: np.ndarray, y: np.ndarray, task: Task, seed: int) -> float:
    """The strength with the least log loss (for scores: squared error) over three folds; of equals, the simplest.

    Where a class has fewer than two of these rows, none can be left out, and the strength is 1.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    chosen, classes = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS], np.unique(y)
    x, y = x[chosen], y[chosen]
    counts = [len(y)] if task.regression else [int((y == label).sum()) for label in classes]
    folds = min(3, *counts)
    if folds < 2:
        return 1.0
    split = (KFold if task.regression else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    measure = "neg_mean_squared_error" if task.regression else "neg_log_loss"
    rough = {} if task.regression else dict(max_iter=200, tol=1e-3)  # enough to rank five strengths
    scores: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for strength in STRENGTHS:
            model = _model(task, strength, seed, **rough)
            scores.append(cross_val_score(model, x, y, cv=split, scoring=measure).mean())
            if scores[-1] < max(scores):  # stronger ones learn the rows by heart, and take longer each time
                break
    return STRENGTHS[int(np.argmax(scores))]


def knn_probe(encoder: Encoder, train: Any, test: Any, *, task: Task | str, k: int = 5) -> dict[str, float]:
    """Each test text gets the majority label (for a score: the mean) of its `k` nearest training texts by cosine.

    It shows what the neighbourhoods of the space hold, without learning. Pairs are treated as in `linear_probe`. In a
    tie the label of the nearer texts wins.

    Returns:
        the task's metrics on `test`.

    Raises:
        ValueError: if `k` is not between 1 and the number of training rows.
    """
    task = get_task(task)
    y = torch.as_tensor(_training_labels(task, train))
    checks.count("k", k, "a number of training rows", most=len(y))
    parts = (torch.from_numpy(features(encoder, rows, task)).double() for rows in (train, test))
    x, z = (torch.nn.functional.normalize(part, dim=1) for part in parts)  # [N, D], [M, D]
    cosine, nearest = (z @ x.T).topk(k, dim=1)  # [M, N] -> [M, k]
    if task.regression:
        return score(task, y[nearest].double().mean(1).numpy(), labels_of(test))
    votes = cosine.new_zeros(len(z), task.classes)  # [M, C]
    votes.scatter_add_(1, y[nearest], 1 + 1e-4 * cosine)  # cosines break ties only, in float64 in a narrow cone too
    return score(task, votes.argmax(1).numpy(), labels_of(test))


def zero_shot_sts(encoder: Encoder, rows: Any, *, columns: tuple[str, str] | None = None) -> dict[str, float]:
    """Graded similarity without any training: the cosine of the two texts' vectors against the human score.

    Args:
        rows: pairs with a score as `label` (STS-B: 0 to 5).
        columns: the two text columns, where they are not STS-B's.

    Returns:
        Spearman (the usual one; only ranks matter) and Pearson. `geometry.pair_cosines` gives the cosines themselves.
    """
    task = get_task("stsb")
    columns = given_columns(columns) or task.columns_in(column_names(rows))
    if len(columns) != 2:
        raise ValueError(f"Similarity needs pairs, and these rows hold one text each ({columns[0]!r}).")
    first, second = (vectors_of(encoder, column(rows, name)) for name in columns)  # [N, D] each
    cosines = pair_cosines(first, second).numpy()  # [N]
    return score(task, cosines, labels_of(rows))


def probe(
    encoder: Encoder, data: TaskData, kind: str = "linear", *, limit: int | None = None, **options: Any
) -> dict[str, float]:
    """A probe from the task's training rows to its validation rows, in one call.

    Args:
        data: from `tasks.load`.
        kind: `"linear"` or `"knn"`.
        limit: use at most this many rows of each split, from the beginning.
        options: further arguments of that probe: `strength`, `seed`; `k`.

    >>> import contrast_kit as ck
    >>> data = ck.tasks.load("toyshop/sst2")
    >>> tokenizer = ck.data.train_tokenizer(data.train["sentence"], vocab_size=300)
    >>> list(ck.tasks.probe(ck.Encoder.tiny(tokenizer, pooling="mean"), data, limit=100))
    ['accuracy']
    """
    probes = {"linear": linear_probe, "knn": knn_probe}
    arguments.of_kind("data", data, TaskData, "what tasks.load gives")
    arguments.known(kind, probes, "kind of probe")
    train, test = first_rows(data.train, limit), first_rows(data.validation, limit)
    return probes[kind](encoder, train, test, task=data.task, **options)


def features(encoder: Encoder, rows: Any, task: Task) -> np.ndarray:
    """The input of a probe: vectors [N, D] of single texts, [N, 4D] of pairs; asked again, nothing is encoded."""
    columns = task.columns_in(column_names(rows))
    parts = [vectors_of(encoder, column(rows, name)) for name in columns]  # [N, D] each
    if len(parts) == 2:
        u, v = parts
        parts = [u, v, (u - v).abs(), u * v]
    return torch.cat(parts, dim=1).double().numpy()  # [N, D] or [N, 4D]


def labels_of(rows: Any) -> np.ndarray:
    """The labels as an array of numbers, [N]; None, like -1, means no label."""
    labels = column(rows, "label")
    label_tensor(labels)  # raises for what is no number, naming its row
    found = np.asarray([-1 if label is None else label for label in labels])
    return found.astype(np.int64) if found.dtype == bool else found  # as `Texts` reads True and False


def first_rows(rows: Any, limit: int | None) -> Any:
    """At most the first `limit` rows."""
    if limit is not None:
        checks.count("limit", limit, "a number of rows")
    if limit is None or limit >= len(rows):
        return rows
    return rows.select(range(limit)) if hasattr(rows, "select") else rows[:limit]


def _training_labels(task: Task, rows: Any) -> np.ndarray:
    """The labels of training rows, [N]; refuses missing ones and classes that the task does not have."""
    y = labels_of(rows)
    if unlabelled(y).any():
        raise ValueError(
            "A training row has the label -1, which means unlabelled: leave such rows out; if -1 is a class, number "
            "the classes from 0."
        )
    if not task.regression and not (np.issubdtype(y.dtype, np.integer) and 0 <= y.min() <= y.max() < task.classes):
        raise ValueError(f"{task.name} has the classes 0 to {task.classes - 1}, but not all training labels are.")
    return y
