"""The exercises of notebook 06, COCO-LM, and the usual mistakes."""

import torch
from torch.nn.functional import one_hot

import contrast_kit as ck
from contrast_kit.exercises._frame import table
from contrast_kit.exercises._table import draw, shape_of

ORIGINAL = torch.arange(8) % 5
# Every second word is replaced.
CORRUPTED = torch.where(torch.arange(8) % 2 == 0, ORIGINAL, (ORIGINAL + 2) % 5)
SCORES = draw(8, 5)
COPYING = 1.5 * draw(8, seed=1)


@table("06.p_lm", cases=[(SCORES, COPYING, CORRUPTED)])
def p_lm(logits, copying, corrupted):
    """p_LM [N, V] from word scores [N, V], w^T h [N] and the ids of X^MLM [N]."""
    p1 = copying.sigmoid()[:, None]  # [N, 1]
    q = logits.softmax(-1)  # [N, V]
    here = one_hot(corrupted, logits.shape[1])  # [N, V]

    def sums_to_another(value):
        return shape_of(value) == [8, 5] and (value.sum(1) - 1).abs().max() > 1e-4

    return p1 * here + (1 - p1) * q, {
        "That is the softmax alone. Where is copying?": q,
        "The rows sum to more than one: correcting happens with probability p_copy(0) only.": p1
        * here
        + q,
        "The indicator is missing: p_copy(1) goes to the *one* word that stands there.": p1
        + (1 - p1) * q,
        "The polarity: p_copy(1) = sigmoid(w·h) is for copying.": (1 - p1) * here
        + p1 * q,
        "Those are scores; eq. p_LM has their softmax over the vocabulary.": p1 * here
        + (1 - p1) * logits,
        "Only the second term; add p_copy(1) at the word that stands there.": (1 - p1)
        * q,
        "Not all rows sum to 1. Copying and correcting share one unit: who gets which part of it?": sums_to_another,
    }


@table(
    "06.corrective_lm",
    cases=[(SCORES, COPYING, CORRUPTED, ORIGINAL)],
    leaves="logits copying",
)
def corrective_lm(logits, copying, corrupted, original):
    """L_LM, mean over the M positions, with p_copy under stop-gradient."""
    right = ck.losses.corrective_lm(logits, copying, corrupted, original)
    same = corrupted == original
    p1 = copying.sigmoid()
    q = logits.softmax(-1).gather(1, original[:, None])[:, 0]  # [N, V] → [N]
    return right, {
        "That is plain cross-entropy, table 3's 'CLM w/o. Copy'. Add the copy mechanism.": -q.log().mean(),
        "That is the released code's loss. The paper has the log *of* the mixture.": -(
            (1 - p1) * q.log()
        ).mean(),
        "The indicator is missing: copying helps only where the input is right.": -(
            p1 + (1 - p1) * q
        )
        .log()
        .mean(),
        "p_copy(0) is missing before the softmax.": -(same * p1 + q).log().mean(),
        "The polarity: p_copy(1) = sigmoid(w·h) is for copying.": -(
            same * (1 - p1) + p1 * q
        )
        .log()
        .mean(),
        "The sign: a loss is *minus* the log.": -right,
        "A mean over positions here, not a sum.": right * len(logits),
    }
