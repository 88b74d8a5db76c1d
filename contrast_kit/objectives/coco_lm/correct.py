"""Reading texts with a trained corrective language model: is each token original, and which word belongs there?"""

from typing import NamedTuple

from torch import nn

from contrast_kit.encoder.encoder import evaluating
from contrast_kit.encoder.inputs import list_of_texts
from contrast_kit.objectives.coco_lm.token_losses import p_lm


class Correction(NamedTuple):
    """What the main model thinks of one token of a text."""

    token: str
    p_copy: float  # that the token is original
    word: str  # the most probable word here under p_LM, often the token itself
    p_word: float  # its probability


def corrections(objective: nn.Module, texts: list[str]) -> list[list[Correction]]:
    """What `COCOLM.correct` returns; `objective` has an `encoder` and a `copy_head` that have learned p_LM."""
    tokenizer, texts = objective.encoder.tokenizer, list_of_texts(texts)
    with evaluating(objective):
        view = objective.encoder.view_of(texts)
        where = view["attention_mask"].bool()  # [B, T]
        for special in (tokenizer.cls_token_id, tokenizer.sep_token_id):
            where &= view["input_ids"] != special
        states, ids = objective.states("corrupted", view)[where], view["input_ids"][where]  # [N, D], [N]
        copying = objective.copy_head(states)  # [N, D] → [N]
        best = p_lm(objective.encoder.mlm_logits(states), copying, ids).max(-1)  # [N, V] → [N]
    words, tokens = (tokenizer.convert_ids_to_tokens(row.tolist()) for row in (best.indices, ids))
    rows = map(Correction, tokens, copying.sigmoid().tolist(), words, best.values.tolist())
    return [[next(rows) for _ in range(count)] for count in where.sum(1).tolist()]
