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

from ._terms import check_in_vocabulary, flags, floating, reduce_terms


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
    logits, labels = floating(logits, "logits"), torch.as_tensor(labels, device=logits.device)
    if logits.shape[:-1] != labels.shape or logits.dim() < 2:
        shapes = f"{list(logits.shape)} and {list(labels.shape)}"
        raise ValueError(f"logits must be [M, V] and labels [M], at the same positions, got {shapes}.")
    if rows is None and labels.dim() == 2:
        rows = torch.arange(len(labels), device=labels.device)[:, None].expand_as(labels).reshape(-1)  # [B*T]
    logits = logits.flatten(0, -2)  # [M, V] (or [B, T, V] -> [B*T, V])
    labels = labels.reshape(-1)  # [M]
    counted = labels != ignore_index  # [M]
    check_in_vocabulary(labels.where(counted, 0), logits.shape[1])
    terms = F.cross_entropy(logits, labels.long(), ignore_index=ignore_index, reduction="none")  # [M]
    if reduction.endswith("_per_seq"):
        terms, counted = _text_means(terms, counted, rows)  # [number of texts]
    return reduce_terms(terms, counted, reduction.removesuffix("_per_seq"), "mlm")


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
    is_original, valid = flags(is_original, "is_original"), flags(valid, "valid")
    if not logits.shape == is_original.shape == valid.shape:
        shapes = ", ".join(str(list(x.shape)) for x in (logits, is_original, valid))
        raise ValueError(f"logits, is_original and valid must have one shape [B, T], got {shapes}.")
    logits = floating(logits, "logits").masked_fill(~valid, 0.0)
    label = is_original.to(logits.dtype)
    terms = F.binary_cross_entropy_with_logits(logits, label, reduction="none")  # [B, T]
    return reduce_terms(terms.masked_fill(~valid, 0.0), valid, reduction, "replaced_token_detection")


def _text_means(terms: Tensor, counted: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
    """Each text's mean over its counted terms, and which texts have one: [M] -> [number of texts] twice."""
    if rows is None or rows.reshape(-1).shape != terms.shape:
        raise ValueError('The "per_seq" reductions need rows [M], the text that each position belongs to.')
    rows = rows.reshape(-1)
    texts = int(rows.max()) + 1 if len(rows) else 0
    total = terms.new_zeros(texts).index_add(0, rows, terms.masked_fill(~counted, 0.0))
    count = terms.new_zeros(texts).index_add(0, rows, counted.to(terms.dtype))
    return total / count.clamp(min=1), count > 0
