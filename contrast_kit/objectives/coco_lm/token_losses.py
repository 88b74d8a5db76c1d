"""What a main model learns from a corrupted text: which tokens are original, and what the others should be.

Letters: B examples, T tokens, D width, V vocabulary, M masked positions, N any chosen positions.
A *replaced* token is one that differs from the original. A masked position whose sample happens to be the original
is an original token, everywhere here.
"""

from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn

from contrast_kit import losses
from contrast_kit.encoder.encoder import Encoder
from contrast_kit.fast.blocked_softmax import Words
from contrast_kit.losses.corrective import corrective_terms
from contrast_kit.objectives.base import View
from contrast_kit.objectives.words import Positions, block_sum, in_blocks, mlm_terms, positions

Task = Literal["clm", "rtd", "all_token", "plain_lm"]


class CopyHead(nn.Module):
    """w^T h, [..., D] → [...]: above 0 for "this token is original, copy it". ELECTRA's RTD head is the same.

    COCO-LM prints no bias (`bias=False`); its released code has one.
    """

    def __init__(self, width: int, bias: bool = False):
        super().__init__()
        self.w = nn.Linear(width, 1, bias=bias)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.w(hidden).squeeze(-1)


def p_lm(logits: Tensor, copy_logits: Tensor, corrupted: Tensor) -> Tensor:
    """COCO-LM's language model with its copy mechanism, as probabilities; each row sums to one.

    COCO-LM 3.3: p_LM(x | h) = 1(x = x^MLM) p_copy(1 | h) + p_copy(0 | h) softmax(x).

    Args:
        logits: word scores [N, V]. copy_logits: w^T h, [N]. corrupted: x^MLM, [N].

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
    """The summed token losses of a corrupted view, and, untrained, how many tokens were treated rightly.

    Args:
        encoder: for its word scores.
        copy_head: w_copy; None for "plain_lm".
        hidden: the main model's states [B, T, D] on X^MLM.
        view: with `input_ids` X^MLM, `original` X^orig, `selected` M, `attention_mask`, [B, T] each.
        task: `"clm"`: L_copy over all real tokens (eq. 2), and L_LM at M; `"rtd"`: ELECTRA's detection alone;
            `"all_token"`: p_LM at all real tokens, without L_copy; `"plain_lm"`: a softmax at M, without copying.
        variant, stop_gradient: of L_LM, see `losses.corrective_lm`.
        diagnostics: see `token_sizes`.

    Returns:
        sums by name; `token_sizes` has what to divide each by.
    """
    ids, original, selected = view["input_ids"], view["original"], view["selected"]  # [B, T] each
    real = view["attention_mask"].bool()
    sums: dict[str, Tensor] = {}
    copy_logits = None if copy_head is None else copy_head(hidden)  # [B, T, D] → [B, T]
    if task == "rtd":
        sums["rtd"] = losses.replaced_token_detection(copy_logits, ids == original, real, reduction="sum")
    if task == "clm":
        sums["copy"] = losses.copy(copy_logits, ids, original, real, reduction="sum")
    if diagnostics:
        sums["resampled"] = (selected & (ids == original)).sum()
        if copy_logits is not None:
            said = copy_logits.detach() > 0
            sums["copy_acc_replaced"] = (~said & real & (ids != original)).sum()
            sums["copy_acc_original"] = (said & real & (ids == original)).sum()
    if task == "rtd":
        return sums

    every = task == "all_token"
    at = positions(encoder, real if every else selected, rate=1.0 if every else None)
    rows = [at.rows(hidden), at.rows(ids), at.rows(original)]  # [B, T, …] → [N, …]
    rows += [] if copy_logits is None else [at.rows(copy_logits)]
    if in_blocks(encoder, at, rows[0]):
        return sums | block_word_sums(encoder, task, variant, stop_gradient, diagnostics, at, *rows)
    return sums | word_sums(encoder, task, variant, stop_gradient, diagnostics, *rows)


def word_sums(
    encoder: Encoder,
    task: Task,
    variant: str,
    stop_gradient: bool,
    diagnostics: bool,
    states: Tensor,
    corrupted: Tensor,
    original: Tensor,
    copy_logits: Tensor | None = None,
) -> dict[str, Tensor]:
    """The part of `token_sums` that needs word scores, at N chosen positions: states [N, D], the others [N]."""
    logits = encoder.mlm_logits(states)  # [N, D] → [N, V]
    if task == "plain_lm":
        found = {"lm": losses.mlm(logits, original, reduction="sum")}
    elif task == "all_token":
        found = {"all_token": losses.all_token_lm(logits, copy_logits, corrupted, original, reduction="sum")}
    else:
        options = dict(variant=variant, stop_gradient=stop_gradient, reduction="sum")
        found = {"lm": losses.corrective_lm(logits, copy_logits, corrupted, original, **options)}
    return found | (accuracies(logits, copy_logits, corrupted, original) if diagnostics else {})


def block_word_sums(
    encoder: Encoder,
    task: Task,
    variant: str,
    stop_gradient: bool,
    diagnostics: bool,
    at: Positions,
    states: Tensor,
    corrupted: Tensor,
    original: Tensor,
    copy_logits: Tensor | None = None,
) -> dict[str, Tensor]:
    """The same numbers and gradients as `word_sums`, without ever holding the scores [N, V] (`losses.words`)."""
    same, exact = corrupted == original, torch.promote_types(states.dtype, torch.float32)
    weights = at.weights(exact)  # [N], or None
    if copy_logits is None:
        terms, rows = mlm_terms, []
    else:
        plain_copy = stop_gradient and task == "clm"
        terms = partial(_weighed, variant if task == "clm" else "paper")
        rows = [copy_logits.detach().to(exact) if plain_copy else copy_logits.to(exact), same]
    rows += [] if weights is None else [weights]
    found = block_sum(encoder, terms, states, original, *rows, also=corrupted if diagnostics else None)
    sums = {"all_token" if task == "all_token" else "lm": found.total}
    return sums | (block_accuracies(found, copy_logits, same, original, at.counted) if diagnostics else {})


def _weighed(variant: str, log_q: Tensor, copy_logits: Tensor, same: Tensor, weight: Tensor | None = None) -> Tensor:
    terms = corrective_terms(log_q, copy_logits, same, variant)
    return terms if weight is None else weight * terms


def token_sizes(view: View, task: Task, reduction: str = "mean", diagnostics: bool = True) -> dict[str, Tensor]:
    """What each sum of `token_sums` is divided by, from the view alone.

    Losses: tokens (`"mean"`) or sequences (`"paper_sum"`). Diagnostics, all of them shares (COCO-LM, figure 8):

    * `resampled`: of the masked positions, those whose sample is the original again;
    * `copy_acc_replaced`, `copy_acc_original`: of the real tokens, p_copy on the right side of 1/2;
    * `clm_acc_replaced`, `clm_acc_original`: of the tokens *at which the language model runs*, the original is its
      first choice. For COCO-LM these are the masked positions, so "original" means re-sampled there: nothing here
      computes word scores only to look at them.
    """
    ids, original, selected = view["input_ids"], view["original"], view["selected"]  # [B, T] each
    real, same = view["attention_mask"].bool(), ids == original
    where = real if task == "all_token" else selected
    sequences = torch.full((), len(ids), device=ids.device)
    tokens = {"rtd": real, "copy": real, "all_token": real, "lm": selected}
    names = {"rtd": ("rtd",), "clm": ("copy", "lm"), "all_token": ("all_token",), "plain_lm": ("lm",)}[task]
    sizes = {name: sequences if reduction == "paper_sum" else tokens[name].sum() for name in names}
    if not diagnostics:
        return sizes
    sizes["resampled"] = selected.sum()
    if task != "plain_lm":
        sizes |= {"copy_acc_replaced": (real & ~same).sum(), "copy_acc_original": (real & same).sum()}
    if task != "rtd":
        sizes |= {"clm_acc_replaced": (where & ~same).sum(), "clm_acc_original": (where & same).sum()}
    return sizes


@torch.no_grad()
def accuracies(logits: Tensor, copy_logits: Tensor | None, corrupted: Tensor, original: Tensor) -> dict[str, Tensor]:
    """At how many of N positions the most probable word is the original: the replaced ones, and the others."""
    scores = logits if copy_logits is None else p_lm(logits, copy_logits, corrupted)  # [N, V]
    right, same = scores.argmax(-1) == original, corrupted == original  # [N]
    return {"clm_acc_replaced": (right & ~same).sum(), "clm_acc_original": (right & same).sum()}


@torch.no_grad()
def block_accuracies(
    found: Words, copy_logits: Tensor | None, same: Tensor, original: Tensor, counted: Tensor | None
) -> dict[str, Tensor]:
    """`accuracies` without scores: under p_LM the first choice is the softmax's best word, or the word that was read.

    That word has p_copy(1) + p_copy(0) q, the best other one p_copy(0) q.
    """
    right = found.best == original  # [N]
    if copy_logits is not None:
        p = copy_logits.to(found.log_q.dtype).sigmoid()
        read = p + (1 - p) * found.log_also.exp()  # p_LM of the word that was read
        right = torch.where(read >= (1 - p) * found.log_best.exp(), same, right)
    right = right if counted is None else right & counted
    return {"clm_acc_replaced": (right & ~same).sum(), "clm_acc_original": (right & same).sum()}
