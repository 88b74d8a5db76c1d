"""The exercises of notebook 06, COCO-LM, and the usual mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from contrast_kit import losses
from contrast_kit.exercises._frame import exercise
from contrast_kit.exercises._numbers import Tried, equals, first_hint, many, near, no_gradient
from contrast_kit.objectives.coco_lm import p_lm as library_p_lm


def _corrupted(rows: int = 8, vocabulary: int = 5) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Word scores [N, V], copy scores [N], the words that stand there and the originals; every second is replaced."""
    noise = torch.Generator().manual_seed(0)
    logits = torch.randn(rows, vocabulary, generator=noise, dtype=torch.float64)
    copying = 1.5 * torch.randn(rows, generator=noise, dtype=torch.float64)
    original = torch.arange(rows) % vocabulary  # [N]
    corrupted = torch.where(torch.arange(rows) % 2 == 0, original, (original + 2) % vocabulary)
    return logits, copying, corrupted, original


@exercise("06.labels", right="A sample that is the original again is original, though it was masked.")
def labels(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str | None:
    """The labels y [B, T] of p_copy, from X^MLM, X^orig and the masked positions."""
    original = torch.tensor([[11, 12, 13, 14, 15, 16]])
    corrupted = torch.tensor([[11, 12, 30, 14, 31, 16]])
    selected = torch.tensor([[False, True, True, False, True, False]])  # position 1 was sampled right
    said = torch.as_tensor(answer(corrupted, original, selected))
    if said.shape != original.shape:
        return f"One label for each token, [B, T] = [1, 6]; yours has shape {list(said.shape)}."
    if not equals(said, said.bool().double()):
        return f"A label is True or False, or 1 or 0; yours are {said.flatten().tolist()}."
    mistakes = [
        (~selected, "That is 'was not masked'. Where the sample *is* the original, y = 1 too (eq. 2)."),
        (selected, "That is 'was masked'. y asks whether the token that stands there is the original."),
        (corrupted != original, "The polarity: y = 1 for *original, copy it* (ELECTRA's code: 1 = replaced)."),
        (selected & (corrupted == original), "L_copy runs over *all* tokens, also those that no mask touched."),
    ]  # fmt: skip
    if hint := first_hint(said.bool(), mistakes, same=torch.equal):
        return hint
    if torch.equal(said.bool(), corrupted == original):
        return None
    return "Compare what the main model reads with the original, token by token."


@exercise("06.p_lm", right="Copying and correcting share one unit of probability, so each row sums to one.")
def p_lm(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> str | None:
    """p_LM [N, V] from word scores [N, V], w^T h [N] and the ids of X^MLM [N]."""
    logits, copying, corrupted, _ = _corrupted()
    said = torch.as_tensor(answer(logits, copying, corrupted))
    if said.shape != logits.shape:
        return f"A probability for every word, [N, V] = {list(logits.shape)}; yours has {list(said.shape)}."
    copied, q = copying.sigmoid()[:, None], logits.softmax(-1)  # [N, 1], [N, V]
    here = torch.nn.functional.one_hot(corrupted, logits.shape[1])  # [N, V]
    mistakes = [
        (q, "That is the softmax alone. Where is copying?"),
        (copied * here + q, "The rows sum to more than one: correcting happens with probability p_copy(0) only."),
        (copied + (1 - copied) * q, "The indicator is missing: p_copy(1) goes to the *one* word that stands there."),
        ((1 - copied) * here + copied * q, "The polarity: p_copy(1) = sigmoid(w·h) is for copying."),
        (copied * here + (1 - copied) * logits, "Those are scores; eq. p_LM has their softmax over the vocabulary."),
        ((1 - copied) * q, "Only the second term; add p_copy(1) at the word that stands there."),
    ]  # fmt: skip
    if hint := first_hint(said, mistakes):
        return hint
    if equals(said, library_p_lm(logits, copying, corrupted)):
        return None
    for i, total in enumerate(said.sum(1).tolist()):
        if not near(total, 1):
            return f"Row {i} sums to {total:.3f}. Copying and correcting share one unit: who gets which part of it?"
    return "Each row sums to 1, as it should. Is each position's p_copy the sigmoid of its own score?"


@exercise("06.corrective_lm", right="Value and gradient: the language model cannot move w_copy.")
def corrective_lm(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> str | None:
    """L_LM, mean over the M positions, with p_copy under stop-gradient."""
    logits, copying, corrupted, original = _corrupted()
    logits.requires_grad_(), copying.requires_grad_()
    said = answer(logits, copying, corrupted, original)
    if hint := many(said, "the mean over positions"):
        return hint
    same, p1 = corrupted == original, copying.detach().sigmoid()
    q = logits.detach().softmax(-1).gather(1, original[:, None])[:, 0]  # [N, V] → [N]
    right = losses.corrective_lm(logits, copying, corrupted, original)
    mistakes = [
        (-q.log().mean(), "That is plain cross-entropy, table 3's 'CLM w/o. Copy'. Add the copy mechanism."),
        (-((1 - p1) * q.log()).mean(), "That is the released code's loss. The paper has the log *of* the mixture."),
        (-(p1 + (1 - p1) * q).log().mean(), "The indicator is missing: copying helps only where the input is right."),
        (-(same * p1 + q).log().mean(), "p_copy(0) is missing before the softmax."),
        (-(same * (1 - p1) + p1 * q).log().mean(), "The polarity: p_copy(1) = sigmoid(w·h) is for copying."),
        (-right.detach(), "The sign: a loss is *minus* the log."),
        (right.detach() * len(logits), "A mean over positions here, not a sum."),
    ]  # fmt: skip
    if hint := first_hint(said, mistakes):
        return hint
    if not equals(torch.as_tensor(said).detach(), right.detach()):
        return "Take p_LM at the original word of each row, then minus the mean of its logarithm."
    if hint := no_gradient(said, " Detach only the copy scores."):
        return hint
    to_words, to_copy = torch.autograd.grad(said, (logits, copying), allow_unused=True)
    if to_copy is not None and to_copy.abs().max() > 0:
        return "The value is right, but a gradient flows into p_copy: detach the copy scores (sg in the paper)."
    if to_words is None or not torch.allclose(to_words, torch.autograd.grad(right, logits)[0]):
        return "The value is right, but not the gradient into the word scores: detach the copy scores, nothing else."
    return None


@exercise("06.negatives", right="Both views of every other text: the loss starts near log(2N − 1).")
def negatives(answer: Callable[[int], int]) -> str | None:
    """How many negatives an anchor has in eq. 3, for N texts."""
    tried = Tried(answer, (4,), (64,))
    mistakes = {
        lambda N: N - 1: "N − 1 counts one view only. B holds the corrupted *and* the cropped sequences.",
        lambda N: 2 * N - 1: "2N − 1 are the terms of the denominator; one of them is the positive.",
        lambda N: 2 * N: "2N is all of B. Take away the anchor itself and its partner.",
        lambda N: N: "N is the number of texts; each gives two sequences.",
    }
    if wrong := tried.wrong(lambda N: 2 * N - 2):
        (N,), said = wrong
        return tried.hint(mistakes) or f"For N = {N} texts you say {said}: B \\ {{(X, X⁺)}} has how many members?"
    return None
