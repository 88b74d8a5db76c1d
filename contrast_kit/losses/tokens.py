"""Token-level losses: what a model should say at a position, or about it.

Letters: B examples, T tokens, V vocabulary, M positions (the masked ones, for most). Logits over the
vocabulary come as [M, V], at the positions that the loss looks at and nowhere else: a whole [B, T, V] costs
1/p_m times the memory.

Each loss has `reduction="mean"` over its terms and `reduction="sum"`: a batch that is encoded in chunks
adds up sums and divides by the number of terms once, since the mean of the chunks' means is another number.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from .similarity import NotFiniteError


def mlm(
    logits: Tensor,
    labels: Tensor,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    rows: Tensor | None = None,
) -> Tensor:
    """Masked language modelling: name the original token at each selected position.

    CMLM, eq. 6: L_MLM = 1/B sum_b MLM(H_b^0), on view 0 only. COCO-LM 3.1 says what MLM is:

        L_MLM        = E( -sum_{i in M} log p_MLM(x_i^orig | h_i) )
        p_MLM(x | h) = exp(x^T h) / sum_{x_t in V} exp(x_t^T h)

    The selected positions M include those where the token was kept or randomised, not only those that show
    [MASK]. In the denominator: all V tokens.

    Args:
        logits: [M, V] at the selected positions only (or [..., V], with labels of the same leading shape).
        labels: [M], the original ids there: `ids[selected]`.
        reduction: "mean" over tokens, "sum", or "none" ([M], 0 where ignored). Eq. 6 may also be read as a
            mean over texts of each text's own mean, so that a text with few selected tokens counts as much
            as one with many: that is "mean_per_seq", and "sum_per_seq" is the sum over texts of their
            means. A text with no selected token has no mean, and is left out.
        ignore_index: a label that is to be skipped.
        rows: [M], the text that each position belongs to, for the "per_seq" reductions:
            `selected.nonzero()[:, 0]`. Not needed where labels are [B, T].

    Returns:
        A number >= 0 in nats, float32 or float64. With nothing selected it is 0, with a zero gradient.

    Raises:
        TypeError, ValueError: wrong kinds or shapes, a label outside the vocabulary, or rows missing.
        NotFiniteError: the logits give NaN or infinity.

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
    if logits.shape[:-1] != labels.shape or logits.dim() < 2:
        shapes = f"{list(logits.shape)} and {list(labels.shape)}"
        raise ValueError(f"logits must be [M, V] and labels [M], at the same positions, got {shapes}.")
    if rows is None and labels.dim() == 2:
        rows = torch.arange(len(labels), device=labels.device)[:, None].expand_as(labels).reshape(-1)  # [B*T]
    logits = _float(logits, "logits").flatten(0, -2)  # [M, V] (or [B, T, V] -> [B*T, V])
    labels = labels.reshape(-1)  # [M]
    counted = labels != ignore_index  # [M]
    _check_in_vocabulary(labels[counted], logits.shape[1])
    terms = F.cross_entropy(logits, labels.long(), ignore_index=ignore_index, reduction="none")  # [M]
    if reduction.endswith("_per_seq"):
        terms, counted = _text_means(terms, counted, rows)  # [number of texts]
    return _reduce(terms, counted, reduction.removesuffix("_per_seq"), "mlm")


def replaced_token_detection(
    logits: Tensor, is_original: Tensor, valid: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """ELECTRA: tell for each token whether it is the original.

    COCO-LM 3.1: the binary cross-entropy of p_RTD( 1(x_i^MLM = x_i^orig) | h_i ), a sigmoid, over *all*
    tokens and not only the selected ones. The label is 1 for an original token, COCO-LM's way round
    (ELECTRA's code has 1 = replaced). A sampled token that happens to be the original counts as original.

    Args:
        logits: [B, T], positive for "original".
        is_original: bool [B, T], `view["input_ids"] == view["targets"]`; not "was not masked".
        valid: bool or 0/1 [B, T], the tokens that count: the attention mask, without padding.
        reduction: "mean" over valid tokens (what ELECTRA's and COCO-LM's code do), "sum" (what eq. 2
            prints), or "none": [B, T], 0 where not valid.

    Returns:
        A number >= 0 in nats, float32 or float64.

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
    is_original, valid = _flags(is_original, "is_original"), _flags(valid, "valid")
    if not logits.shape == is_original.shape == valid.shape:
        shapes = ", ".join(str(list(x.shape)) for x in (logits, is_original, valid))
        raise ValueError(f"logits, is_original and valid must have one shape [B, T], got {shapes}.")
    logits = _float(logits, "logits").masked_fill(~valid, 0.0)
    label = is_original.to(logits.dtype)
    terms = F.binary_cross_entropy_with_logits(logits, label, reduction="none")  # [B, T]
    return _reduce(terms.masked_fill(~valid, 0.0), valid, reduction, "replaced_token_detection")


def copy(
    logits: Tensor, corrupted: Tensor, original: Tensor, valid: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """COCO-LM's copy loss: tell for each token whether it can be copied.

    COCO-LM, eq. 2, over all n tokens:

        L_copy = -E( sum_i 1(x_i^MLM = x_i^orig) log p_copy(1 | h_i) + 1(x_i^MLM != x_i^orig) log p_copy(0 | h_i) )
        p_copy(y | h) = exp(y w_copy^T h) / (exp(w_copy^T h) + 1)

    y = 1 means "original, copy it". In L_CLM = lambda_copy L_copy + L_LM it weighs lambda_copy = 50, and it is
    the only term that trains w_copy.

    Args:
        logits: [B, T], w_copy^T h_i.
        corrupted: ids [B, T], x^MLM, what the main model read.
        original: ids [B, T], x^orig.
        valid: bool or 0/1 [B, T], the tokens that count: the attention mask, without padding.
        reduction: "mean" over tokens (lambda = 50 belongs to this scale), "sum" (the printed one; summed
            over n tokens it is some n/|M| = 7 times heavier against a summed L_LM), or "none".

    Returns:
        A number >= 0 in nats, float32 or float64.

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

    `sg` is a stop-gradient, on both p_copy: this term trains the softmax q and the encoder behind it, never
    w_copy. In the denominator of q: all V tokens.

    Where the input is wrong, only correcting helps, and the gradient on the softmax is that of plain
    cross-entropy. Where the input is right, copying explains most of it, and the gradient is scaled by
    p_0 q / (p_1 + p_0 q), with p_y for p_copy(y).

    Args:
        logits: [M, V] over the vocabulary, at masked positions.
        copy_logits: [M], w_copy^T h_i at the same positions; positive for "copy".
        corrupted: ids [M], x_i^MLM.
        original: ids [M], x_i^orig.
        variant: "paper" is the printed mixture. "authors_code" is what the authors posted, another loss:
            the cross-entropy of the original weighted by the stopped p_copy(0), which shrinks the gradient
            everywhere.
        stop_gradient: False is the paper's ablation "CLM w/o Stop-grad", and what All-Token MLM does.
        reduction: "mean" over the M positions (as the released code), "sum" (printed), or "none": [M].

    Returns:
        A number >= 0 in nats, float32 or float64; 0 where M = 0.

    Raises:
        TypeError, ValueError: wrong kinds or shapes, an unknown variant, or an id outside the vocabulary.
        NotFiniteError: the logits give NaN or infinity.

    See also:
        `copy`, its partner in L_CLM = 50 L_copy + L_LM; `all_token_lm`, ELECTRA's form of it; `mlm` on the
        same logits is the ablation "CLM w/o Copy".

    Example:
        >>> import torch
        >>> logits = torch.zeros(2, 10)                            # a softmax that knows nothing: q = 1/10
        >>> copy_logits = torch.tensor([2.0, -2.0])                # p_copy(1) = 0.88 and 0.12
        >>> corrupted, original = torch.tensor([4, 5]), torch.tensor([4, 6])
        >>> corrective_lm(logits, copy_logits, corrupted, original, reduction="none")
        tensor([0.1135, 2.4295])
    """
    if logits.dim() != 2 or not logits.shape[:1] == copy_logits.shape == corrupted.shape == original.shape:
        shapes = ", ".join(str(list(x.shape)) for x in (logits, copy_logits, corrupted, original))
        raise ValueError(
            "logits must be [M, V] and copy_logits, corrupted and original [M], all at the same positions, "
            f"got {shapes}."
        )
    logits, copy_logits = _float(logits, "logits"), _float(copy_logits, "copy_logits")
    _check_in_vocabulary(original, logits.shape[1])
    if stop_gradient:
        copy_logits = copy_logits.detach()
    # Logarithms all the way: they stay finite where a probability itself rounds to 0.
    log_q = -F.cross_entropy(logits, original.long(), reduction="none")  # [M, V] -> [M]
    log_copy, log_correct = F.logsigmoid(copy_logits), F.logsigmoid(-copy_logits)  # [M]
    if variant == "paper":
        copied = log_copy.masked_fill(corrupted != original, -torch.inf)
        terms = -torch.logaddexp(copied, log_correct + log_q)  # [M]
    elif variant == "authors_code":
        terms = -log_correct.exp() * log_q
    else:
        raise ValueError(f"variant must be 'paper' or 'authors_code', got {variant!r}.")
    return _reduce(terms, torch.ones_like(terms, dtype=torch.bool), reduction, "corrective_lm")


def all_token_lm(
    logits: Tensor, copy_logits: Tensor, corrupted: Tensor, original: Tensor, *, reduction: str = "mean"
) -> Tensor:
    """ELECTRA's All-Token MLM: name the original token at *every* position, learning to copy along the way.

    COCO-LM 3.3, over all tokens, without a stop-gradient and without L_copy:

        -log p_LM(x_i^orig | h_i)
        p_LM(x_i | h_i) = 1(x_i = x_i^MLM) p_copy(1 | h_i) + p_copy(0 | h_i) exp(x_i^T h_i) / sum_t exp(x_t^T h_i)

    The copy mechanism is learned only as a part of the language model. That is the baseline which COCO-LM
    improves on ("All-Token LM Only").

    Args:
        logits: [N, V] at all N real tokens of the batch (a softmax at each: the costly one of these losses).
        copy_logits: [N]. Positive for "copy".
        corrupted: ids [N], x_i^MLM.
        original: ids [N], x_i^orig.
        reduction: "mean", "sum" or "none", as in `corrective_lm`.

    Returns:
        A number >= 0 in nats, float32 or float64.

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


def _float(x: Tensor, name: str) -> Tensor:
    """Half precision becomes float32 before anything is summed; float64 stays."""
    if not x.is_floating_point():
        raise TypeError(f"{name} must be floating-point numbers, not {x.dtype}.")
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _flags(x: Tensor, name: str) -> Tensor:
    if x.is_floating_point():
        raise TypeError(f"{name} must be bool (or 0/1 integers), not {x.dtype}.")
    return x != 0


def _check_in_vocabulary(labels: Tensor, vocab_size: int) -> None:
    if labels.is_floating_point():
        raise TypeError(f"labels must be token ids (integers), not {labels.dtype}.")
    if ((labels < 0) | (labels >= vocab_size)).any():
        low, high = int(labels.min()), int(labels.max())
        raise ValueError(
            f"Labels must be ids in 0 .. {vocab_size - 1}, the width of logits, got {low} .. {high}."
        )


def _text_means(terms: Tensor, counted: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
    """Each text's mean over its counted terms, and which texts have one: [M] -> [number of texts] twice."""
    if rows is None or rows.reshape(-1).shape != terms.shape:
        raise ValueError('The "per_seq" reductions need rows [M], the text that each position belongs to.')
    rows = rows.reshape(-1)
    texts = int(rows.max()) + 1 if len(rows) else 0
    total = terms.new_zeros(texts).index_add(0, rows, terms.masked_fill(~counted, 0.0))
    count = terms.new_zeros(texts).index_add(0, rows, counted.to(terms.dtype))
    return total / count.clamp(min=1), count > 0


def _reduce(terms: Tensor, counted: Tensor, reduction: str, loss: str) -> Tensor:
    """Terms -> a number; terms that do not count are 0 in them already. No terms at all: 0, and no 0/0."""
    total = terms.sum()
    if not torch.isfinite(total.detach()):
        raise NotFiniteError(
            f"{loss} is {total.item()}: the logits hold NaN or infinity, so the model has diverged; "
            "lower the learning rate or go back to an earlier checkpoint."
        )
    if reduction == "sum":
        return total
    if reduction == "mean":
        return total / counted.sum().clamp(min=1)
    if reduction == "none":
        return terms
    raise ValueError(
        f"reduction must be 'mean', 'sum' or 'none' (for mlm also with '_per_seq'), got {reduction!r}."
    )
