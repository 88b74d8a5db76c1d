"""Answering by a span of the text: where the answer starts, where it ends, or that there is none.

COCO-LM, tables 1 and 8 (SQuAD 2.0); the head is BERT's (Devlin et al. 2019, section 4.2 and 4.3).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from contrast_kit.checks import Settings, floats, reads
from contrast_kit.encoder.encoder import View
from contrast_kit.objectives.base import Objective, texts_of
from contrast_kit.objectives.scl import Dropout


@dataclass(frozen=True)
class SpanConfig(Settings):
    """What span prediction has to choose."""

    dropout: Dropout = 0.1
    """Dropout of the head. COCO-LM, table 8: 0.1."""


class Span(Objective):
    """Find the answer to a question in a paragraph: L = ½ (L_start + L_end).

    Each token i has two scores, S · h_i and E · h_i; L_start is the cross-entropy of the softmax of the first over the
    tokens at the right start, L_end that of the second at the right end. In the denominator: the paragraph's tokens and
    [CLS], where both right places are if the window holds no answer. The question, [SEP] and padding take no part.

    Batches are those of `data.squad.Windows`: `start` and `end`, [B], and `answerable`, [B, T], the tokens at which an
    answer may start or end. One view, `"text"`; no contrast. Parts: `start`, `end` and, not trained, `exact`, the share
    of windows with both places right.

    Relation to its neighbours: `FineTune` classifies the sequence vector; this classifies positions. `tasks.squad`
    trains it and turns its scores into answers.

    Raises ValueError for a place where no answer may be.

    Example:
        >>> import contrast_kit as ck
        >>> row = {"id": "1", "question": "who bought it", "context": "clara bought a kite"}
        >>> row["answers"] = {"text": ["clara"], "answer_start": [0]}
        >>> tokenizer = ck.data.train_tokenizer([row["question"], row["context"]], vocab_size=60)
        >>> windows = ck.data.squad.Windows([row], tokenizer)
        >>> sorted(ck.tasks.Span(ck.Encoder.tiny(tokenizer))(windows.batch([0])))
        ['end', 'exact', 'loss', 'start']
    """

    Config = SpanConfig
    contrastive = False
    weights = {"start": 0.5, "end": 0.5}

    def build(self):
        self.dropout = nn.Dropout(self.config.dropout)
        self.out = nn.Linear(self.encoder.width, 2)
        nn.init.normal_(self.out.weight, std=0.02)
        nn.init.zeros_(self.out.bias)

    def views(self, batch, generator=None):
        for place in ("start", "end"):
            allowed = batch["answerable"].gather(1, batch[place].unsqueeze(1))
            if reads(allowed) and not allowed.all():
                raise ValueError(
                    f"The {place} of an answer lies outside the paragraph and [CLS]."
                )
        return {"text": dict(batch)}

    def term_counts(self, name, view):
        return dict.fromkeys(("start", "end", "exact"), texts_of(view))

    def local_sums(self, name, hidden, view):
        logits = self.scores(hidden, view)  # [B, T, 2]
        places = torch.stack([view["start"], view["end"]], dim=1)  # [B, 2]
        # [B, 2] -> [2]
        start, end = nn.functional.cross_entropy(logits, places, reduction="none").sum(0)
        right = (logits.argmax(1) == places).all(1)  # [B, 2] -> [B]
        return {"start": start, "end": end, "exact": right.sum().to(logits)}

    def logits(self, view: View) -> Tensor:
        """Scores of each token as the start and as the end, [B, T, 2]; minus infinity where no answer may be."""
        return self.scores(self.states("text", view), view)

    def scores(self, hidden, view):
        """The logits, from the last states."""
        # [B, T, D] -> [B, T, 2]
        scores = floats(self.out(self.dropout(hidden)), "scores")
        return scores.masked_fill(~view["answerable"].unsqueeze(2), -torch.inf)
