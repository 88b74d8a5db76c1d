"""Probes: what an encoder holds, without changing its weights: in its vectors, and in its scores of words."""

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from contrast_kit.data import Texts
from contrast_kit.data.rows import column, column_names, unlabelled
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.encoder.folders import architecture
from contrast_kit.geometry import pair_cosines
from contrast_kit.objectives import Objective
from contrast_kit.tasks.table import (
    Task,
    TaskData,
    first_rows,
    get_task,
    labels_of,
    score,
    texts_of,
)

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
        return score(
            self.task, self.model.predict(features(self.encoder, rows, self.task)), labels_of(rows)
        )


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

    See also:
        `knn_probe` learns nothing at all; `fine_tune` changes the encoder.
    """
    return fit_probe(encoder, train, task=task, strength=strength, seed=seed).evaluate(test)


def fit_probe(
    encoder: Encoder,
    train: Any,
    *,
    task: Task | str,
    strength: float | Literal["cv"] = "cv",
    seed: int = 0,
) -> Probe:
    """The model of `linear_probe`, to be evaluated on several sets of rows. Arguments as there."""
    task = get_task(task)
    x, y = features(encoder, train, task), _training_labels(task, train)
    if strength == "cv":
        strength = _cross_validated(x, y, task, seed)
    return Probe(encoder, task, _model(task, strength, seed).fit(x, y), strength)


def _model(task: Task, strength: float, seed: int, **options: Any) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task.regression:
        model = Ridge(alpha=1 / strength)
    else:
        model = LogisticRegression(
            **{"C": strength, "random_state": seed, "max_iter": 2000} | options
        )
    return make_pipeline(StandardScaler(), model)


def _cross_validated(x: np.ndarray, y: np.ndarray, task: Task, seed: int) -> float:
    """The strength with the least log loss (for scores: squared error) over three folds; of equals, the simplest.

    Where a class has fewer than two of these rows, none can be left out, and the strength is 1.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    chosen = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    classes = np.unique(y)
    x, y = x[chosen], y[chosen]
    if task.regression:
        folds, kind, scoring = min(3, len(y)), KFold, "neg_mean_squared_error"
        options = {}
    else:
        folds, kind, scoring = (
            min(3, *((y == label).sum() for label in classes)),
            StratifiedKFold,
            "neg_log_loss",
        )
        options = dict(max_iter=200, tol=1e-3)  # enough to rank five strengths
    if folds < 2:
        return 1.0
    split = kind(int(folds), shuffle=True, random_state=seed)
    scores: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for strength in STRENGTHS:
            model = _model(task, strength, seed, **options)
            scores.append(cross_val_score(model, x, y, cv=split, scoring=scoring).mean())
            if scores[-1] < max(
                scores
            ):  # stronger ones learn the rows by heart, and take longer each time
                break
    return STRENGTHS[int(np.argmax(scores))]


def knn_probe(
    encoder: Encoder, train: Any, test: Any, *, task: Task | str, k: int = 5
) -> dict[str, float]:
    """Each test text gets the majority label (for a score: the mean) of its `k` nearest training texts by cosine.

    It shows what the neighbourhoods of the space hold, without learning. Pairs are treated as in `linear_probe`. In a
    tie the label of the nearer texts wins.

    Returns:
        the task's metrics on `test`.
    """
    task = get_task(task)
    y = torch.as_tensor(_training_labels(task, train))
    parts = (torch.from_numpy(features(encoder, rows, task)) for rows in (train, test))
    x, z = (nn.functional.normalize(part, dim=1) for part in parts)  # [N, D], [M, D]
    cosine, nearest = (z @ x.T).topk(k, dim=1)  # [M, N] -> [M, k]
    if task.regression:
        return score(task, y[nearest].double().mean(1).numpy(), labels_of(test))
    votes = cosine.new_zeros(len(z), task.classes)  # [M, C]
    votes.scatter_add_(
        1, y[nearest], 1 + 1e-4 * cosine
    )  # cosines break ties only, in float64 in a narrow cone too
    return score(task, votes.argmax(1).numpy(), labels_of(test))


def zero_shot_sts(
    encoder: Encoder, rows: Any, *, columns: tuple[str, str] | None = None
) -> dict[str, float]:
    """Graded similarity without any training: the cosine of the two texts' vectors against the human score.

    Args:
        rows: pairs with a score as `label` (STS-B: 0 to 5).
        columns: the two text columns, where they are not STS-B's.

    Returns:
        Spearman (the usual one; only ranks matter) and Pearson. `geometry.pair_cosines` gives the cosines themselves.
    """
    task = get_task("stsb")
    columns = columns or task.columns_in(column_names(rows))
    first, second = (vectors_of(encoder, column(rows, name)) for name in columns)  # [N, D] each
    return score(task, pair_cosines(first, second).numpy(), labels_of(rows))


def probe(
    encoder: Encoder,
    data: TaskData,
    kind: str = "linear",
    *,
    limit: int | None = None,
    **options: Any,
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
    look = {"linear": linear_probe, "knn": knn_probe}[kind]
    train, test = first_rows(data.train, limit), first_rows(data.validation, limit)
    return look(encoder, train, test, task=data.task, **options)


@torch.no_grad()
def fill_rate(encoder: Encoder, texts: list[str], k: int = 5) -> float:
    """How often a hidden token is among the encoder's `k` best guesses; each token of each text is hidden once.

    Args:
        encoder: with a head that names words; its weights stay as they are.
        texts: a few hundred tokens in all, since each token costs one pass of its text through the encoder.
        k: how many guesses count; 1 is accuracy.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the kite is red", "a small drum"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> 0 <= ck.tasks.fill_rate(encoder, texts, k=1) < 1
        True
        >>> ck.tasks.fill_rate(encoder, texts, k=len(encoder.tokenizer))
        1.0
    """
    batch = Texts(texts, encoder.tokenizer, max_length=min(128, encoder.max_length)).batch(
        range(len(texts))
    )
    hits = []
    with evaluating(encoder):
        for place in range(batch["input_ids"].shape[1]):
            rows = batch["maskable"][:, place]  # the texts that have a word there
            if rows.any():
                view = {key: value[rows].to(encoder.device) for key, value in batch.items()}
                hidden = view["input_ids"][:, place].clone()
                view["input_ids"][:, place] = encoder.tokenizer.mask_token_id
                scores = encoder.mlm_logits(encoder(view)[:, place])  # [rows, D] -> [rows, V]
                best = scores.topk(k).indices  # [rows, k]
                hits.append((best == hidden[:, None]).any(1))
    return torch.cat(hits).float().mean().item()


def vectors_of(encoder: Any, texts: list) -> torch.Tensor:
    """The vectors of texts, [N, D], on the CPU in float32, from anything with `encode(texts)`."""
    return torch.as_tensor(encoder.encode(list(texts))).detach().float().cpu()


def features(encoder: Encoder, rows: Any, task: Task) -> np.ndarray:
    """The input of a probe: vectors [N, D] of single texts, [N, 4D] of pairs."""
    parts = [vectors_of(encoder, texts) for texts in texts_of(rows, task)]  # [N, D] each
    if len(parts) == 2:
        u, v = parts
        parts = [u, v, (u - v).abs(), u * v]
    return torch.cat(parts, dim=1).double().numpy()  # [N, D] or [N, 4D]


def weights_hash(module: nn.Module) -> str:
    """Twelve hexadecimal digits that change with any weight. They show which weights a stage started from."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(
            value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        )
    return digest.hexdigest()[:12]


def encoder_hash(module: nn.Module) -> str:
    """Twelve digits that change with anything that a vector depends on: weights, shape, pooling, tokenizer, length.

    `weights_hash` alone would be the same for new encoders of one seed that differ in heads, positions or tokenizer.

    >>> import contrast_kit as ck
    >>> tokenizer = ck.data.train_tokenizer(["a red kite"], vocab_size=60)
    >>> one, two = ck.Encoder.tiny(tokenizer), ck.Encoder.tiny(tokenizer, num_attention_heads=4)
    >>> weights_hash(one) == weights_hash(two), encoder_hash(one) == encoder_hash(two)
    (True, False)
    """
    encoder = module.encoder if isinstance(module, Objective) else module
    parts = [weights_hash(module), sorted(architecture(encoder.model).items())]
    parts += [encoder.pooling, encoder.projection, encoder.max_length]
    parts += [sorted(encoder.tokenizer.get_vocab().items()), encoder.tokenizer.all_special_tokens]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _training_labels(task: Task, rows: Any) -> np.ndarray:
    """The labels of training rows, [N]; raises for missing ones: -1 would be taken for the last class."""
    y = labels_of(rows)
    if np.any(unlabelled(y)):
        raise ValueError(
            "A training row has the label -1, which means unlabelled: leave such rows out; if -1 is a class, number "
            "the classes from 0."
        )
    if not task.regression and y.max() >= task.classes:
        raise ValueError(
            f"{task.name} has the classes 0 to {task.classes - 1}, but not all training labels are."
        )
    return y
