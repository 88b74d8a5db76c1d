"""Token-level losses: what a model should predict at a position of a masked, or of a corrupted, text.

Letters: B examples, T tokens, V vocabulary, M positions (the masked ones, for most). Logits over the vocabulary are
[M, V], at the positions that the loss reads and nowhere else: a whole [B, T, V] costs 1/p_m times the memory. Each loss
is a number >= 0 in nats, in float32 or float64.

For a batch encoded in chunks, add up `reduction="sum"` and divide once by the number of terms: the mean of the chunks'
means is a different number.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from contrast_kit import fast
from contrast_kit.checks import finite, floats, integers, precise, reduce

SKIPPED = -100
"""The label of a position that is to be skipped, as in torch."""


def mlm(
    logits: Tensor,
    labels: Tensor,
    *,
    reduction: str = "mean",
    rows: Tensor | None = None,
) -> Tensor:
    """Masked language modelling: name the original token at each selected position.

    CMLM, eq. 6: L_MLM = 1/B sum_b MLM(H_b^0), on view 0 only. COCO-LM 3.1 defines MLM:

        L_MLM        = E( -sum_{i in M} log p_MLM(x_i^orig | h_i) )
        p_MLM(x | h) = exp(x^T h) / sum_{x_t in V} exp(x_t^T h)

    M: all selected positions, including those where the token was kept or randomised. In the denominator: all V tokens.

    Args:
        logits: [M, V] at the selected positions only (or [..., V], with labels of the same leading shape). Training
            gives `Encoder.word_scores`, which need not be held whole.
        labels: [M], the original ids there: `ids[selected]`; −100 where nothing is to be named.
        reduction: "mean" over tokens, "sum", or "none" ([M], flat; 0 where ignored). Eq. 6 may also be read as a mean
            over texts of each text's own mean, "mean_per_seq": a text with few selected tokens counts as much as one
            with many. "sum_per_seq" is the sum of these means. A text with no selected token has none, and is left out.
        rows: [M], the text that each position belongs to, `selected.nonzero()[:, 0]`, for the "per_seq" reductions. Not
            needed where labels are [B, T].

    Returns:
        A number >= 0 in nats, float32 or float64. With nothing selected it is 0, with a zero gradient.

    Raises:
        ValueError: no rows for a "per_seq" reduction. NotFiniteError: the logits give NaN or infinity.

    See also:
        `corrective_lm` names the original where the *input* looks plausible but may be wrong.

    Example:
        >>> import torch
        >>> mlm(torch.zeros(2, 1000), torch.tensor([7, 42]))       # knows nothing: log V
        tensor(6.9078)
        >>> logits = torch.zeros(3, 5)
        >>> logits[:, 1] = 2.0
        >>> mlm(logits, torch.tensor([1, 1, 3]), rows=torch.tensor([0, 0, 1]), reduction="mean_per_seq")
        tensor(1.4327)
    """
    # In 8 bits, -100 would be 156.
    labels = integers(labels, None, logits.device, "labels").long()
    if rows is None and labels.dim() == 2:
        rows = torch.arange(len(labels), device=labels.device)[:, None].expand_as(labels)
    if labels.dim() > 1:
        # [B, T, V] -> [B*T, V], [B, T] -> [B*T]
        logits, labels = logits.flatten(0, -2), labels.flatten()
    counted = labels != SKIPPED  # [M]
    weight = counted.to(precise(logits))
    count = counted.sum()
    if reduction in ("mean_per_seq", "sum_per_seq"):
        weight, count = share_of_text(weight, rows)
        reduction = reduction.removesuffix("_per_seq")
    terms = word_terms(mlm_terms, logits, labels, weight, reduction=reduction)
    finite(terms.sum(), "mlm")
    return reduce(terms, reduction, count, others=("mean_per_seq", "sum_per_seq"))


def mlm_terms(log_q: Tensor, weight: Tensor) -> Tensor:
    """The terms of CMLM eq. 6, [M]: -log of the softmax at the original token, times the weight of its position."""
    return -weight * log_q


def replaced_token_detection(
    logits: Tensor, is_original: Tensor, valid: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """ELECTRA: tell for each token whether it is the original.

    COCO-LM 3.1: the binary cross-entropy of p_RTD( 1(x_i^MLM = x_i^orig) | h_i ), a sigmoid, over *all* tokens and not
    only the selected ones. The label is 1 for an original token (ELECTRA's code has 1 = replaced). A sampled token that
    happens to be the original counts as original.

    Args:
        logits: [B, T], positive for "original".
        is_original: bool [B, T], `view["input_ids"] == view["targets"]`; not "was not masked".
        valid: bool or 0/1 [B, T], the tokens that count: the attention mask, without padding.
        reduction: "mean" over valid tokens (ELECTRA's and COCO-LM's code), "sum" (eq. 2), or "none", 0 where not valid.

    See also:
        `copy` is this loss under COCO-LM's name, from the two texts themselves.

    Example:
        >>> import torch
        >>> logits = torch.tensor([[3.0, 3.0, -3.0, 0.0]])
        >>> is_original = torch.tensor([[True, True, False, True]])
        >>> valid = torch.tensor([[1, 1, 1, 0]])                   # the last one is padding
        >>> replaced_token_detection(logits, is_original, valid)
        tensor(0.0486)
    """
    valid = valid != 0  # [B, T]
    logits = floats(logits, "logits").masked_fill(~valid, 0.0)
    # [B, T]
    terms = F.binary_cross_entropy_with_logits(
        logits, is_original.to(logits.dtype), reduction="none"
    )
    terms = terms.masked_fill(~valid, 0.0)
    finite(terms.sum(), "replaced_token_detection")
    return reduce(terms, reduction, valid.sum())


def copy(
    logits: Tensor,
    corrupted: Tensor,
    original: Tensor,
    valid: Tensor,
    *,
    reduction: str = "mean",
) -> Tensor:
    """COCO-LM's copy loss: tell for each token whether it can be copied.

    COCO-LM, eq. 2, over all n tokens:

        L_copy = -E( sum_i 1(x_i^MLM = x_i^orig) log p_copy(1 | h_i) + 1(x_i^MLM != x_i^orig) log p_copy(0 | h_i) )
        p_copy(y | h) = exp(y w_copy^T h) / (exp(w_copy^T h) + 1)

    y = 1 means "original, copy it". In L_CLM = lambda_copy L_copy + L_LM its weight is lambda_copy = 50, and it
    alone trains w_copy.

    Args:
        logits: [B, T], w_copy^T h_i.
        corrupted: ids [B, T], x^MLM, what the main model read. original: ids [B, T], x^orig.
        valid: bool or 0/1 [B, T], the tokens that count: the attention mask, without padding.
        reduction: "mean" over tokens (lambda = 50 belongs to this scale), "sum" (the printed one; over n tokens it is
            some n/|M| = 7 times heavier against a summed L_LM), or "none".

    Example:
        >>> import torch
        >>> original = torch.tensor([[5, 6, 7]])
        >>> corrupted = torch.tensor([[5, 9, 7]])
        >>> logits = torch.tensor([[4.0, -4.0, 4.0]])              # finds the replaced one
        >>> copy(logits, corrupted, original, torch.ones(1, 3, dtype=torch.bool))
        tensor(0.0181)
    """
    return replaced_token_detection(
        logits, corrupted == original, valid, reduction=reduction
    )


def corrective_lm(
    logits: Tensor,
    copy_logits: Tensor,
    corrupted: Tensor,
    original: Tensor,
    *,
    variant: str = "paper",
    stop_gradient: bool = True,
    reduction: str = "mean",
) -> Tensor:
    """COCO-LM's language model: name the original token, by copying the input or by correcting it.

    COCO-LM, L_LM (printed under eq. 2), over masked positions M only, with x_i = x_i^orig:

        L_LM = -E( sum_{i in M} log( 1(x_i^MLM = x_i^orig) p_copy^sg(1 | h_i) + p_copy^sg(0 | h_i) q_i ) )
        q_i  = exp(x_i^T h_i) / sum_{x_t in V} exp(x_t^T h_i)

    `sg` is a stop-gradient, on both p_copy: this term trains the softmax q and the encoder behind it, never w_copy. In
    the denominator of q: all V tokens.

    Where the input is wrong, only correcting helps, and the gradient on the softmax is that of plain cross-entropy.
    Where it is right, copying explains most of it: the gradient is scaled by p_0 q / (p_1 + p_0 q), p_y = p_copy(y).

    Args:
        logits: [M, V] over the vocabulary, at masked positions, or `Encoder.word_scores`.
        copy_logits: [M], w_copy^T h_i at the same positions; positive for "copy".
        corrupted: ids [M], x_i^MLM. original: ids [M], x_i^orig; -100 for a row that is to be skipped.
        variant: "paper" is the printed mixture. "authors_code" is what the authors posted, another loss: the
            cross-entropy weighted by p_copy(0), stopped in the same way, which shrinks the gradient everywhere.
        stop_gradient: False is the paper's ablation "CLM w/o Stop-grad", and what All-Token MLM does.
        reduction: "mean" over the M positions (as in the released code; 0 if M = 0), "sum" (printed), or "none": [M].

    See also:
        `copy`, its partner in L_CLM = 50 L_copy + L_LM; `all_token_lm`, ELECTRA's form of it; `mlm` on the same logits
        is the ablation "CLM w/o Copy".

    Example:
        >>> import torch
        >>> logits = torch.zeros(2, 10)                            # a softmax that knows nothing: q = 1/10
        >>> copy_logits = torch.tensor([2.0, -2.0])                # p_copy(1) = 0.88 and 0.12
        >>> corrupted, original = torch.tensor([4, 5]), torch.tensor([4, 6])
        >>> corrective_lm(logits, copy_logits, corrupted, original, reduction="none")
        tensor([0.1135, 2.4295])
    """
    copy_logits = floats(copy_logits, "copy_logits")
    if stop_gradient:
        copy_logits = copy_logits.detach()
    counted = original != SKIPPED  # [M]
    formula = {"paper": corrective_terms, "authors_code": authors_terms}[variant]
    rows = copy_logits, corrupted == original, counted.to(copy_logits.dtype)
    # [M]
    terms = word_terms(
        formula, logits, original, *rows, others=corrupted, reduction=reduction
    )
    finite(terms.sum(), "corrective_lm")
    return reduce(terms, reduction, counted.sum())


def corrective_terms(
    log_q: Tensor, copy_logits: Tensor, same: Tensor, weight: Tensor | float = 1.0
) -> Tensor:
    """The terms of L_LM, [M], from log q_i [M], w_copy^T h_i [M] and where x_i^MLM = x_i^orig, bool [M].

    In logarithms throughout: they stay finite where a probability itself rounds to 0.
    """
    # [M]
    log_copy, log_correct = F.logsigmoid(copy_logits), F.logsigmoid(-copy_logits)
    # [M]
    return -weight * torch.logaddexp(
        log_copy.masked_fill(~same, -torch.inf), log_correct + log_q
    )


def authors_terms(
    log_q: Tensor, copy_logits: Tensor, same: Tensor, weight: Tensor | float = 1.0
) -> Tensor:
    """The terms of the variant "authors_code", [M], from the same."""
    return -weight * F.logsigmoid(-copy_logits).exp() * log_q


def all_token_lm(
    logits: Tensor,
    copy_logits: Tensor,
    corrupted: Tensor,
    original: Tensor,
    *,
    reduction: str = "mean",
) -> Tensor:
    """ELECTRA's All-Token MLM: name the original token at *every* position, learning to copy along the way.

    COCO-LM 3.3, over all tokens, without a stop-gradient and without L_copy:

        -log p_LM(x_i^orig | h_i)
        p_LM(x_i | h_i) = 1(x_i = x_i^MLM) p_copy(1 | h_i) + p_copy(0 | h_i) exp(x_i^T h_i) / sum_t exp(x_t^T h_i)

    The copy mechanism is learned only as a part of the language model: the baseline "All-Token LM Only", which COCO-LM
    improves on. In the denominator of the softmax: all V tokens.

    Args:
        logits: [N, V] at all N real tokens of the batch (a softmax at each: the costly one of these losses).
        copy_logits: [N], positive for "copy". corrupted: ids [N], x_i^MLM. original: ids [N], x_i^orig.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import torch
        >>> logits = torch.zeros(2, 10)
        >>> copy_logits = torch.tensor([2.0, -2.0], requires_grad=True)
        >>> loss = all_token_lm(logits, copy_logits, torch.tensor([4, 5]), torch.tensor([4, 6]))
        >>> loss.backward()
        >>> copy_logits.grad.sign()                                # copy the first more, the second less
        tensor([-1.,  1.])
    """
    return corrective_lm(
        logits,
        copy_logits,
        corrupted,
        original,
        stop_gradient=False,
        reduction=reduction,
    )


@torch.no_grad()
def guesses(
    logits: Tensor, labels: Tensor, others: Tensor | None = None
) -> "fast.Guesses":
    """What the softmax over the vocabulary says at M positions, without gradient: for the accuracies beside a loss.

    Args:
        logits: [M, V], or `Encoder.word_scores`. After a loss on these no further pass is made, if `labels` and
            `others` are the same tensors: for `corrective_lm`, `original` and `corrupted`; for `mlm`, `labels`.
        labels: ids [M]. others: ids [M], further words of interest.

    Returns:
        `log_q`, the log-probability of the label; `best`, the most probable word; `log_best`, its log-probability;
        `log_other`, that of `others` (of the label, without them); each [M].

    Example:
        >>> import torch
        >>> guesses(torch.tensor([[0.0, 2.0, 0.0]]), torch.tensor([0])).best
        tensor([1])
    """
    if isinstance(logits, fast.WordScores):
        return logits.guesses(labels, others)
    log_p = floats(logits, "logits").log_softmax(-1)  # [M, V]
    log_best, best = log_p.max(-1)  # [M] each
    if others is None:
        others = labels
    # [M] each
    log_q, log_other = (
        log_p.gather(1, ids.clamp(min=0)[:, None]).squeeze(1) for ids in (labels, others)
    )
    return fast.Guesses(log_q, best, log_best, log_other)


def word_terms(
    terms: Callable[..., Tensor],
    scores: Tensor,
    labels: Tensor,
    *rows: Tensor,
    others: Tensor | None = None,
    reduction: str = "none",
) -> Tensor:
    """terms(log q_i, rows_i) of the softmax q at M labels, [M]; of word scores in blocks only their sum."""
    if isinstance(scores, fast.WordScores):
        if reduction != "none":
            return scores.total(terms, labels, *rows, others=others)
        scores = scores.full()
    # [M, V] -> [M]
    log_q = -F.cross_entropy(floats(scores, "logits"), labels.long(), reduction="none")
    return terms(log_q, *rows)


def share_of_text(counted: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
    """The weight of each position in its text's mean, [M], and how many texts have any; `counted` is 0 or 1, [M]."""
    if rows is None:
        raise ValueError(
            'The "per_seq" reductions need rows [M], the text that each position belongs to.'
        )
    _, rows = rows.reshape(-1).unique(return_inverse=True)  # [M], from 0 on
    # [M], more than there are texts
    sizes = torch.zeros_like(counted).index_add(0, rows, counted)
    return counted / sizes[rows].clamp(min=1), (sizes > 0).sum()
