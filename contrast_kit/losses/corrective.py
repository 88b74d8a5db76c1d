"""Losses on a corrupted text: which tokens are original (ELECTRA), and what the others should be (COCO-LM).

Each is a number >= 0 in nats, in float32 or float64. Letters: B examples, T tokens, M masked positions, V vocabulary.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from contrast_kit.checks import choice, finite, floats, in_vocabulary, reduce, switch, tensors


def replaced_token_detection(logits: Tensor, is_original: Tensor, valid: Tensor, *, reduction: str = "mean") -> Tensor:
    """ELECTRA: tell for each token whether it is the original.

    COCO-LM 3.1: the binary cross-entropy of p_RTD( 1(x_i^MLM = x_i^orig) | h_i ), a sigmoid, over *all* tokens and not
    only the selected ones. The label is 1 for an original token (ELECTRA's code has 1 = replaced). A sampled token that
    happens to be the original counts as original.

    Args:
        logits: [B, T], positive for "original".
        is_original: bool [B, T], `view["input_ids"] == view["targets"]`; not "was not masked".
        valid: bool or 0/1 [B, T], the tokens that count: the attention mask, without padding.
        reduction: "mean" over valid tokens (ELECTRA's and COCO-LM's code), "sum" (eq. 2), or "none", 0 where not valid.

    Raises:
        TypeError, ValueError: wrong kinds or shapes.
        NotFiniteError: the logits give NaN or infinity.

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
    tensors(logits=logits, is_original=is_original, valid=valid)
    is_original, valid = _flags(is_original, "is_original"), _flags(valid, "valid")
    if not logits.shape == is_original.shape == valid.shape:
        shapes = ", ".join(str(list(x.shape)) for x in (logits, is_original, valid))
        raise ValueError(f"logits, is_original and valid must have one shape [B, T], got {shapes}.")
    logits = floats(logits, "logits").masked_fill(~valid, 0.0)
    terms = F.binary_cross_entropy_with_logits(logits, is_original.to(logits.dtype), reduction="none")  # [B, T]
    terms = terms.masked_fill(~valid, 0.0)
    finite(terms.sum(), "replaced_token_detection")
    return reduce(terms, reduction, valid.sum())


def copy(logits: Tensor, corrupted: Tensor, original: Tensor, valid: Tensor, *, reduction: str = "mean") -> Tensor:
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

    Raises:
        TypeError, ValueError, NotFiniteError: as `replaced_token_detection`.

    Example:
        >>> import torch
        >>> original = torch.tensor([[5, 6, 7]])
        >>> corrupted = torch.tensor([[5, 9, 7]])
        >>> logits = torch.tensor([[4.0, -4.0, 4.0]])              # finds the replaced one
        >>> copy(logits, corrupted, original, torch.ones(1, 3, dtype=torch.bool))
        tensor(0.0181)
    """
    tensors(corrupted=corrupted, original=original)
    if corrupted.shape != original.shape:
        shapes = f"{list(corrupted.shape)} and {list(original.shape)}"
        raise ValueError(f"corrupted and original must have one shape [B, T], got {shapes}.")
    return replaced_token_detection(logits, corrupted == original, valid, reduction=reduction)


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
        logits: [M, V] over the vocabulary, at masked positions.
        copy_logits: [M], w_copy^T h_i at the same positions; positive for "copy".
        corrupted: ids [M], x_i^MLM. original: ids [M], x_i^orig.
        variant: "paper" is the printed mixture. "authors_code" is what the authors posted, another loss: the
            cross-entropy weighted by p_copy(0), stopped in the same way, which shrinks the gradient everywhere.
        stop_gradient: False is the paper's ablation "CLM w/o Stop-grad", and what All-Token MLM does.
        reduction: "mean" over the M positions (as in the released code; 0 if M = 0), "sum" (printed), or "none": [M].

    Raises:
        TypeError, ValueError: wrong kinds or shapes, an unknown variant, or an id outside the vocabulary.
        NotFiniteError: the logits give NaN or infinity.

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
    tensors(logits=logits, copy_logits=copy_logits, corrupted=corrupted, original=original)
    if logits.dim() != 2 or not logits.shape[:1] == copy_logits.shape == corrupted.shape == original.shape:
        shapes = ", ".join(str(list(x.shape)) for x in (logits, copy_logits, corrupted, original))
        raise ValueError(f"logits must be [M, V], and copy_logits, corrupted and original [M], got {shapes}.")
    logits, copy_logits = floats(logits, "logits"), floats(copy_logits, "copy_logits")
    in_vocabulary(original, logits.shape[1], "original")
    in_vocabulary(corrupted, logits.shape[1], "corrupted")
    switch("stop_gradient", stop_gradient)
    if stop_gradient:
        copy_logits = copy_logits.detach()
    log_q = -F.cross_entropy(logits, original.long(), reduction="none")  # [M, V] -> [M]
    terms = corrective_terms(log_q, copy_logits, corrupted == original, variant)  # [M]
    finite(terms.sum(), "corrective_lm")
    return reduce(terms, reduction, count=len(terms))


def corrective_terms(log_q: Tensor, copy_logits: Tensor, same: Tensor, variant: str = "paper") -> Tensor:
    """The terms of `corrective_lm`, [M], from log q_i [M], w_copy^T h_i [M] and where x_i^MLM = x_i^orig, bool [M].

    In logarithms throughout: they stay finite where a probability itself rounds to 0.
    """
    choice("variant", variant, ("paper", "authors_code"))
    log_copy, log_correct = F.logsigmoid(copy_logits), F.logsigmoid(-copy_logits)  # [M]
    if variant == "authors_code":
        return -log_correct.exp() * log_q
    return -torch.logaddexp(log_copy.masked_fill(~same, -torch.inf), log_correct + log_q)  # [M]


def all_token_lm(
    logits: Tensor, copy_logits: Tensor, corrupted: Tensor, original: Tensor, *, reduction: str = "mean"
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

    Raises:
        TypeError, ValueError, NotFiniteError: as `corrective_lm`.

    Example:
        >>> import torch
        >>> logits = torch.zeros(2, 10)
        >>> copy_logits = torch.tensor([2.0, -2.0], requires_grad=True)
        >>> loss = all_token_lm(logits, copy_logits, torch.tensor([4, 5]), torch.tensor([4, 6]))
        >>> loss.backward()
        >>> copy_logits.grad.sign()                                # copy the first more, the second less
        tensor([-1.,  1.])
    """
    return corrective_lm(logits, copy_logits, corrupted, original, stop_gradient=False, reduction=reduction)


def _flags(x: Tensor, name: str) -> Tensor:
    """Bool or 0/1 integers as bool."""
    if x.is_floating_point():
        raise TypeError(f"{name} must be bool (or 0/1 integers), not {x.dtype}.")
    return x != 0
