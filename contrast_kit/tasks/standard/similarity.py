"""Semantic textual similarity: do cosines rank pairs as people did? Without any training."""

import copy
from typing import Any

import numpy as np

from contrast_kit._util import seeded
from contrast_kit.data import text_columns
from contrast_kit.data.rows import column, column_names, unlabelled
from contrast_kit.encoder import Encoder
from contrast_kit.geometry import pair_cosines
from contrast_kit.tasks.metrics import spearman
from contrast_kit.tasks.probes import vectors_of
from contrast_kit.tasks.table import labels_of


def sts(encoder: Any, rows: Any) -> dict[str, float]:
    """Spearman's correlation × 100 of cosines with people's scores, beside that of two controls that learnt nothing.

    Args:
        encoder: an `Encoder`, not changed; its own pooling counts. Or another model with `encode(texts)`,
            such as a `SentenceTransformer`.
        rows: pairs with a score, `label`: any table of `data.load` with two columns of text, such as GLUE's STS-B.
            Rows without a score are left out.

    Returns:
        the number of the "encoder", of "random weights" (the same build; for an `Encoder` only) and of "TF-IDF".

    >>> import contrast_kit as ck
    >>> texts = ["a red kite", "a small drum", "the kite is red"]
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60), pooling="mean")
    >>> pairs = [(0, 2, 4.0), (0, 1, 1.0), (1, 1, 5.0)]
    >>> rows = [{"sentence1": texts[a], "sentence2": texts[b], "label": score} for a, b, score in pairs]
    >>> ck.tasks.standard.sts(encoder, rows)["TF-IDF"]
    100.0
    """
    first, second, scores = scored_pairs(rows)
    models = {"encoder": encoder}
    if isinstance(encoder, Encoder):
        models["random weights"] = random_twin(encoder)
    sides = {
        name: [vectors_of(each, side) for side in (first, second)]
        for name, each in models.items()
    }
    cosines = {name: pair_cosines(*pair).numpy() for name, pair in sides.items()}
    cosines["TF-IDF"] = tf_idf(first, second)
    return {name: 100 * spearman(each, scores) for name, each in cosines.items()}


def scored_pairs(rows: Any) -> tuple[list[str], list[str], np.ndarray]:
    """The first texts, the second texts and the scores of the rows that have one, [N] each."""
    labels = labels_of(rows)
    scored = ~unlabelled(labels)
    first, second = (column(rows, name) for name in text_columns(column_names(rows)))
    kept = np.flatnonzero(scored)
    return [first[row] for row in kept], [second[row] for row in kept], labels[kept]


def tf_idf(first: list[str], second: list[str]) -> np.ndarray:
    """The cosine of each pair, [N], of word counts in which rare words weigh more.

    Vectors by scikit-learn's `TfidfVectorizer` on the same texts; 0 where a text has no word. They know only how often
    a word occurs in what they are tested on; what does not beat them has only found words.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    counts = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
    counts.fit(dict.fromkeys([*first, *second]))
    # [N, V] sparse, rows of length 1
    a, b = counts.transform(first), counts.transform(second)
    return np.asarray(a.multiply(b).sum(1)).ravel()  # [N, V] → [N]


def random_twin(encoder: Encoder, seed: int = 10_007) -> Encoder:
    """An encoder of the same build, tokenizer, pooling and head, with freshly drawn weights: it has learnt nothing.

    The default `seed` is one that no user is likely to have built the encoder with, or the two would be identical.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite"], vocab_size=60), seed=5)
    >>> twin = random_twin(encoder)
    >>> twin.encode("a kite").shape, bool((twin.encode("a kite") == encoder.encode("a kite")).all())
    (torch.Size([1, 128]), False)
    """
    with seeded(seed):
        model = type(encoder.model)(copy.deepcopy(encoder.model.config))
    twin = Encoder(model, encoder.tokenizer, encoder.pooling)
    twin.normalizes = encoder.normalizes
    if not encoder.projection:
        twin.use_plain_head()
    return twin.to(encoder.device).eval()
