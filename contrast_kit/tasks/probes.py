"""Probes: what an encoder holds, without changing its weights: in its vectors, and in its scores of words."""

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from contrast_kit.data.rows import unlabelled
from contrast_kit.data.texts import special_ids
from contrast_kit.encoder import Encoder
from contrast_kit.encoder.encoder import evaluating
from contrast_kit.encoder.folders import architecture
from contrast_kit.objectives import Objective
from contrast_kit.tasks.table import (
    Task,
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
    strength: float | None = None

    def evaluate(self, rows: Any) -> dict[str, float]:
        """The task's metrics on rows."""
        predicted = self.model.predict(
            features(
                self.encoder,
                rows,
                self.task,
            )
        )
        return score(self.task, predicted, labels_of(rows))


def linear_probe(
    encoder: Encoder, train: Any, test: Any, *, task: Task | str, **options: Any
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
    return fit_probe(encoder, train, task=task, **options).evaluate(test)


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


def _model(
    task: Task,
    strength: float,
    seed: int,
    max_iter: int = 2000,
    tol: float = 1e-4,
) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = LogisticRegression(
        C=strength,
        random_state=seed,
        max_iter=max_iter,
        tol=tol,
    )
    if task.regression:
        model = Ridge(alpha=1 / strength)
    return make_pipeline(StandardScaler(), model)


def _cross_validated(
    x: np.ndarray,
    y: np.ndarray,
    task: Task,
    seed: int,
) -> float:
    """The strength with the least log loss (for scores: squared error) over three folds; of equals, the simplest.

    Where a class has fewer than two of these rows, none can be left out, and the strength is 1.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    chosen = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    x, y, classes, rarest = x[chosen], y[chosen], np.unique(y), len(y)
    kind, scoring = KFold, "neg_mean_squared_error"
    if not task.regression:
        kind, scoring = StratifiedKFold, "neg_log_loss"
        rarest = min((y == label).sum() for label in classes)
    if rarest < 2:
        return 1.0
    split = kind(
        int(min(3, rarest)),
        shuffle=True,
        random_state=seed,
    )
    scores: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for strength in STRENGTHS:
            # Enough to rank five strengths.
            model = _model(task, strength, seed, 200, 1e-3)
            scores.append(
                cross_val_score(
                    model,
                    x,
                    y,
                    cv=split,
                    scoring=scoring,
                ).mean()
            )
            if scores[-1] < max(scores):
                break  # stronger ones learn the rows by heart, and take longer each time
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
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    task = get_task(task)
    kind, votes = KNeighborsClassifier, lambda distances: 1 - 1e-4 * distances
    if task.regression:
        kind, votes = KNeighborsRegressor, None
    # distances break ties only, in float64 in a narrow cone too
    model = kind(k, weights=votes, metric="cosine")
    model.fit(features(encoder, train, task), _training_labels(task, train))
    return Probe(encoder, task, model).evaluate(test)


def fill_rate(
    encoder: Encoder,
    texts: list[str],
    k: int = 5,
) -> float:
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
    hits = []
    for text in texts:
        scores, tokens = scores_where_hidden(encoder, text)  # [n, V], [n]
        hits.append((scores.topk(k).indices == tokens.unsqueeze(1)).any(1))  # [n]
    return torch.cat(hits).float().mean().item()


@torch.no_grad()
def scores_where_hidden(
    encoder: Encoder, text: str | tuple[str, str], whole_words: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The encoder's scores of all words at each of a text's n tokens, hidden in a copy of its own, [n, V], and these
    tokens, [n]. Special tokens are not hidden; with `whole_words`, the tokens after it in its word are hidden with it.
    """
    view = encoder.view_of([text])
    ids = view["input_ids"][0]  # [T]
    special = torch.tensor(special_ids(encoder.tokenizer), device=ids.device)
    places = (~torch.isin(ids, special)).nonzero()  # [n, 1]
    every = torch.arange(len(ids), device=ids.device)  # [T]
    hidden = every == places  # [n, T]
    if whole_words:
        # Of each token: the side of a pair, and its word there.
        words = list(zip(view.sequence_ids(0), view.word_ids(0), strict=True))
        words = torch.tensor([words.index(word) for word in words], device=ids.device)
        hidden = (every >= places) & (words == words[places])
    copies = {name: value.expand(len(places), -1) for name, value in view.items()}
    copies["input_ids"] = ids.masked_fill(hidden, encoder.tokenizer.mask_token_id)
    with evaluating(encoder):
        states = encoder(copies)[every == places]  # [n, T, D] -> [n, D]
        return encoder.mlm_logits(states), ids[places.squeeze(1)]


def vectors_of(encoder: Any, texts: list) -> torch.Tensor:
    """The vectors of texts, [N, D], on the CPU in float32, from anything with `encode(texts)`."""
    return torch.as_tensor(encoder.encode(list(texts))).detach().float().cpu()


def features(
    encoder: Encoder,
    rows: Any,
    task: Task,
) -> np.ndarray:
    """The input of a probe: vectors [N, D] of single texts, [N, 4D] of pairs."""
    parts = [vectors_of(encoder, texts) for texts in texts_of(rows, task)]  # [N, D] each
    if len(parts) == 2:
        u, v = parts
        parts = [
            u,
            v,
            (u - v).abs(),
            u * v,
        ]
    return torch.cat(parts, dim=1).double().numpy()  # [N, D] or [N, 4D]


def weights_hash(module: nn.Module) -> str:
    """Twelve hexadecimal digits that change with any weight. They show which weights a stage started from."""
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        digest.update(name.encode())
        flat = value.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().tobytes())
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
    parts += [
        sorted(encoder.tokenizer.get_vocab().items()),
        encoder.tokenizer.all_special_tokens,
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _training_labels(task: Task, rows: Any) -> np.ndarray:
    """The labels of training rows, [N]; raises for missing ones: -1 would be taken for the last class."""
    y = labels_of(rows)
    if np.any(unlabelled(y)):
        raise ValueError(
            "A training row has the label -1, which means unlabelled: leave such rows out; if -1 is a class, number "
            "the classes from 0."
        )
    return y
