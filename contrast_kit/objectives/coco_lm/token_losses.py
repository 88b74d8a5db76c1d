"""What a main model learns from a corrupted text: which tokens are original, and what the others should be.

Letters: B examples, T tokens, D width, V vocabulary, M masked positions, N any chosen positions. A *replaced* token is
one that differs from the original; a masked position whose sample happens to be the original is an original token.
"""

from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from contrast_kit import method_checks
from contrast_kit.encoder.encoder import Encoder, View, Words
from contrast_kit.encoder.mlm_head import remove_bias
from contrast_kit.losses.tokens import authors_terms, copy, corrective_terms, mlm_terms, replaced_token_detection

Task = Literal["clm", "rtd", "all_token", "plain_lm"]

LOSSES = {"clm": ("copy", "lm"), "rtd": ("rtd",), "all_token": ("all_token",), "plain_lm": ("lm",)}
"""The losses of each task."""


class CopyHead(nn.Module):
    """w^T h, [..., D] → [...]: above 0 for "this token is original, copy it", as in ELECTRA's RTD head. COCO-LM prints
    no bias; its released code has one."""

    def __init__(self, width: int, bias: bool = False):
        super().__init__()
        self.w = nn.Linear(width, 1, bias=bias)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.w(hidden).squeeze(-1)


def set_word_scores(encoder: Encoder, projection: bool, biases: bool) -> None:
    """Leave the main model's word scores their projection and their bias, or take them away. ValueError: an earlier
    objective has taken what is to stay."""
    method_checks.word_scores(encoder, projection, biases)
    if not projection:
        encoder.use_plain_head(bias=biases)
    elif not biases:
        method_checks.warn_of_bias(encoder)
        remove_bias(encoder.model)


def p_lm(logits: Tensor, copy_logits: Tensor, corrupted: Tensor) -> Tensor:
    """COCO-LM's language model with its copy mechanism, as probabilities; each row sums to one.

    COCO-LM 3.3: p_LM(x | h) = 1(x = x^MLM) p_copy(1 | h) + p_copy(0 | h) softmax(x), over the V words. `logits` are the
    word scores [N, V], `copy_logits` w^T h, [N], `corrupted` x^MLM, [N].

    Example:
        >>> import torch
        >>> from contrast_kit.objectives.coco_lm.token_losses import p_lm
        >>> p_lm(torch.zeros(1, 4), torch.zeros(1), torch.tensor([2]))  # p_copy = 1/2, softmax = 1/4
        tensor([[0.1250, 0.1250, 0.6250, 0.1250]])
    """
    copied = copy_logits.sigmoid().unsqueeze(1)  # [N] → [N, 1]
    corrected = (1 - copied) * logits.softmax(-1)  # [N, V]
    return corrected.scatter_add(1, corrupted.unsqueeze(1), copied.to(corrected.dtype))


def token_sums(
    encoder: Encoder,
    copy_head: CopyHead | None,
    hidden: Tensor,
    view: View,
    task: Task,
    *,
    variant: str = "paper",
    stop_gradient: bool = True,
    diagnostics: bool = True,
) -> dict[str, Tensor]:
    """The summed token losses of a corrupted view, and, untrained, how many tokens were handled rightly.

    Args:
        encoder: for its word scores. copy_head: w_copy; None for "plain_lm".
        hidden: the main model's states [B, T, D] on X^MLM.
        view: with `input_ids` X^MLM, `original` X^orig, `selected` M, `attention_mask`, [B, T] each.
        task: `"clm"`: L_copy over all real tokens (eq. 2), and L_LM at M; `"rtd"`: ELECTRA's detection alone;
            `"all_token"`: p_LM at all real tokens, without L_copy; `"plain_lm"`: a softmax at M, without copying.
        variant, stop_gradient: of L_LM, see `losses.corrective_lm`.

    Returns sums by name; `token_counts` has what to divide each by, and the diagnostics.
    """
    ids, original, selected = view["input_ids"], view["original"], view["selected"]  # [B, T] each
    real = view["attention_mask"].bool()
    sums: dict[str, Tensor] = {}
    copy_logits = None if copy_head is None else copy_head(hidden)  # [B, T, D] → [B, T]
    if task == "rtd":
        sums["rtd"] = replaced_token_detection(copy_logits, ids == original, real, reduction="sum")
    if task == "clm":
        sums["copy"] = copy(copy_logits, ids, original, real, reduction="sum")
    if diagnostics:
        sums["resampled"] = (selected & (ids == original)).sum()
        if copy_logits is not None:
            copied = copy_logits.detach() > 0
            sums["copy_acc_replaced"] = (~copied & real & (ids != original)).sum()
            sums["copy_acc_original"] = (copied & real & (ids == original)).sum()
    if task == "rtd":
        return sums

    everywhere = task == "all_token"
    at = encoder.strategy.positions(real if everywhere else selected, share=1.0 if everywhere else None)
    states, read, labels = at.rows(hidden), at.rows(ids), at.rows(original)  # [N, D], [N], [N]
    exact = torch.promote_types(states.dtype, torch.float32)
    weight, same = at.weights(hidden.new_ones(len(hidden), dtype=exact)), read == labels  # [N] each
    copying = None if copy_logits is None else at.rows(copy_logits).to(exact)  # [N]
    if copying is None:
        terms, rows = mlm_terms, [weight]
    else:
        constant = stop_gradient and task == "clm"  # p_copy^sg
        terms = partial(weighted_terms, variant if task == "clm" else "paper")
        rows = [copying.detach() if constant else copying, same, weight]
    found = encoder.word_loss(terms, states, labels, *rows, others=read if diagnostics else None)
    sums["all_token" if everywhere else "lm"] = found.total
    return sums | (accuracies(found, copying, same, labels, weight) if diagnostics else {})


def weighted_terms(variant: str, log_q: Tensor, copy_logits: Tensor, same: Tensor, weight: Tensor) -> Tensor:
    """The terms of L_LM (`losses.corrective_lm`), [N], times what each position counts."""
    chosen = authors_terms if variant == "authors_code" else corrective_terms
    return chosen(log_q, copy_logits, same, weight)


def token_counts(view: View, task: Task, reduction: str = "mean", diagnostics: bool = True) -> dict[str, Tensor]:
    """What each sum of `token_sums` is divided by, from the view alone.

    Losses: tokens (`"mean"`) or sequences (`"paper_sum"`). Diagnostics, all of them shares (COCO-LM, figure 8):

    * `resampled`: of the masked positions, those whose sample is the original again;
    * `copy_acc_replaced`, `copy_acc_original`: of the real tokens, p_copy on the right side of 1/2;
    * `clm_acc_replaced`, `clm_acc_original`: of the tokens *at which the language model runs*, those whose first choice
      is the original. For COCO-LM these are the masked ones, so "original" means re-sampled there: no word scores are
      computed only to look at them.
    """
    ids, original, selected = view["input_ids"], view["original"], view["selected"]  # [B, T] each
    real, same = view["attention_mask"].bool(), ids == original
    where = real if task == "all_token" else selected
    sequences = torch.full((), len(ids), device=ids.device)
    tokens = {"rtd": real, "copy": real, "all_token": real, "lm": selected}
    counts = {name: sequences if reduction == "paper_sum" else tokens[name].sum() for name in LOSSES[task]}
    if not diagnostics:
        return counts
    counts["resampled"] = selected.sum()
    if task != "plain_lm":
        counts |= {"copy_acc_replaced": (real & ~same).sum(), "copy_acc_original": (real & same).sum()}
    if task != "rtd":
        counts |= {"clm_acc_replaced": (where & ~same).sum(), "clm_acc_original": (where & same).sum()}
    return counts


@torch.no_grad()
def accuracies(
    found: Words, copy_logits: Tensor | None, same: Tensor, original: Tensor, weight: Tensor
) -> dict[str, Tensor]:
    """At how many of N positions the most probable word is the original: the replaced ones, and the others.

    Under p_LM that is the word that was read, with p_copy(1) + p_copy(0) q, or the softmax's best, with p_copy(0) q.
    """
    right = found.best == original  # [N]
    if copy_logits is not None:
        p = copy_logits.to(found.log_q.dtype).sigmoid()
        read = p + (1 - p) * found.log_other.exp()  # p_LM of the word that was read
        right = torch.where(read >= (1 - p) * found.log_best.exp(), same, right)
    right = right & (weight > 0)
    return {"clm_acc_replaced": (right & ~same).sum(), "clm_acc_original": (right & same).sum()}
