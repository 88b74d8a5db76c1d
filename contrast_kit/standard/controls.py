"""What a number is compared with: an encoder that has learnt nothing, and words that are only counted."""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from contrast_kit.encoder import Encoder


def random_twin(encoder: Encoder, seed: int = 10_007) -> Encoder:
    """An encoder of the same build, tokenizer, pooling and head, with freshly drawn weights.

    The default `seed` is one that no user is likely to have built the encoder with, or the two would be identical.

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite"], vocab_size=60), seed=5)
    >>> twin = random_twin(encoder)
    >>> twin.encode("a kite").shape, torch.equal(twin.encode("a kite"), encoder.encode("a kite"))
    (torch.Size([1, 128]), False)
    """
    with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU: no other stream is touched
        torch.default_generator.manual_seed(int(seed))
        model = type(encoder.model)(copy.deepcopy(encoder.model.config))
    twin = Encoder(model, encoder.tokenizer, encoder.pooling)
    twin.normalizes = encoder.normalizes
    if not encoder.projection:
        bias = encoder.model.get_output_embeddings().bias
        twin.use_plain_head(bias=bias is not None and bias.requires_grad)
    return twin.to(encoder.device).eval()


class TfIdf:
    """Word counts, with rare words weighing more: vectors by scikit-learn's `TfidfVectorizer` on the same texts.

    It knows only how often a word occurs in what it is tested on; what does not beat it has only found words.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        counts = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
        self.counts = counts.fit(texts) if any(map(counts.build_analyzer(), texts)) else None  # None: not one word

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Tensor:
        """The cosine of each pair, [N]; 0 where a text has no word."""
        if self.counts is None:
            return torch.zeros(len(first), dtype=torch.float64)
        a, b = (self.counts.transform(texts) for texts in (first, second))  # [N, V] sparse, rows of length 1
        return torch.from_numpy(np.asarray(a.multiply(b).sum(1)).ravel())  # [N, V] → [N]
