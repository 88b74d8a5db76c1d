"""Masked language modelling, and TAPT: the same objective started from a checkpoint."""

from dataclasses import dataclass
from typing import Literal

from contrast_kit.checks import Probability, Settings
from contrast_kit.objectives.base import Objective, mlm_count, mlm_sum, random_mask


@dataclass(frozen=True)
class MLMConfig(Settings):
    """What masked language modelling leaves to choose; the defaults are BERT's and RoBERTa's."""

    p_m: Probability = 0.15
    """Probability that a token is selected (CMLM eq. 1). BERT, RoBERTa, CMLM, COCO-LM and CAPT: 0.15."""
    split: tuple[float, float, float] = (0.8, 0.1, 0.1)
    """Of the selected: share that becomes [MASK], a random word, or stays. BERT: 80/10/10."""
    mlm_mean: Literal["tokens", "sequences"] = "tokens"
    """Mean over all selected tokens of the batch (every implementation), or first within each sequence, then over
    sequences (as CMLM eq. 6 may be read). They differ when sequences have different lengths."""


class MLM(Objective):
    """Recover selected tokens from what is left of the text. On task text, started from a checkpoint, it is TAPT.

    One view, `"T0"`; one local loss, `"mlm"`, the vocabulary V in its denominator; no contrast, so chunks are free.

    Relation to its neighbours: `CMLM` adds the contrast; with α = 0 it is this objective.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum stands by the door"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> sorted(ck.objectives.MLM(encoder, p_m=0.5)(ck.data.Texts(texts, encoder.tokenizer).batch([0, 1])))
        ['loss', 'mlm']
    """

    Config = MLMConfig
    in_tables = "MLM"
    contrastive = False
    weights = {"mlm": 1.0}

    def views(self, batch, generator=None):
        """`{"T0": …}`: the batch with masked `input_ids`, and `selected` and `targets`, all [B, T]."""
        return {"T0": random_mask(self, batch, generator)}

    def local_sums(self, name, hidden, view):
        """The masked-LM loss, summed. The vocabulary head runs at the M selected positions only."""
        return {"mlm": mlm_sum(self.encoder, hidden, view, self.config.mlm_mean)}

    def term_counts(self, name, view):
        return {"mlm": mlm_count(view, self.config.mlm_mean)}
