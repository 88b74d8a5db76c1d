"""Texts that mean the same, against random ones: the first question to ask of any sentence encoder."""

import math
import re
from typing import Any, NamedTuple

from torch import Tensor

from contrast_kit import geometry
from contrast_kit.tasks.probes import vectors_of

Pairs = list[tuple[str, str]]


class PairCosines(NamedTuple):
    """The cosines of pairs that mean the same, and of random pairs: what `plots.cosine_histograms` draws."""

    similar: Tensor  # [P]
    random: Tensor  # [n]

    @property
    def gap(self) -> float:
        """The mean cosine of similar pairs minus that of random pairs. It grows when a space is stretched."""
        return (self.similar.mean() - self.random.mean()).item()

    @property
    def auc(self) -> float:
        """The chance that a similar pair has a higher cosine than a random one (`geometry.separation`): 0.5 is
        guessing. Only the order counts, so stretching does not help."""
        return geometry.separation(self.similar, self.random).item()


def similar_against_random(encoder: Any, pairs: Pairs) -> PairCosines:
    """The cosines of `pairs`, and of 20,000 random pairs of their first texts (all pairs, if there are fewer).

    Args:
        encoder: anything with `encode(texts)`: an `Encoder`, `scoreboard.WordCounts`, `scoreboard.Centred`.
        pairs: texts that mean the same, all first texts different.

    Example:
        >>> import contrast_kit as ck
        >>> pairs = ck.data.toyshop.probe_pairs(100)
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(sum(pairs, ()), vocab_size=500), pooling="mean")
        >>> cosines = ck.tasks.similar_against_random(encoder, pairs)
        >>> 0 < cosines.gap < 0.2, cosines.auc > 0.9  # never trained: all is alike, and yet in order
        (True, True)
    """
    # [P, D]
    first, second = (vectors_of(encoder, texts) for texts in zip(*pairs, strict=True))
    random = geometry.random_pair_cosines(first, n=min(20_000, math.comb(len(first), 2)))
    return PairCosines(geometry.pair_cosines(first, second), random)


def hard_pairs(count: int, seed: int = 1) -> Pairs:
    """Toyshop pairs that mean the same but share at most a third of their words: hard for word counting.

    `count` pairs of the first 20 · `count` that `seed` draws, or fewer if there are not that many.

    >>> from contrast_kit.tasks import hard_pairs
    >>> hard_pairs(2)[0]
    ('I must say that the kite made of wood is none too bad.', 'In my view, this wooden kite seems rather likeable.')
    """
    from contrast_kit.data import toyshop

    drawn = toyshop.probe_pairs(20 * count, seed=seed)
    return [pair for pair in drawn if overlap(*pair) <= 1 / 3][:count]


def overlap(a: str, b: str) -> float:
    """The share of two texts' words that both have: |A ∩ B| / |A ∪ B|; 0 where neither has a word.

    >>> overlap("The red kite.", "the red drum")
    0.5
    """
    first, second = (set(re.findall(r"\w+", text.lower())) for text in (a, b))
    return len(first & second) / max(len(first | second), 1)
