"""Token-level losses: what a model should predict at a position. `corrective` has those that read a corrupted text.

Letters: B examples, T tokens, V vocabulary, M positions (the masked ones, for most). Logits over the vocabulary are
[M, V], at the positions that the loss reads and nowhere else: a whole [B, T, V] costs 1/p_m times the memory.

For a batch encoded in chunks, add up `reduction="sum"` and divide once by the number of terms: the mean of the chunks'
means is a different number.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from contrast_kit.checks import count, finite, floats, in_vocabulary, integers, reads, reduce, shown


def mlm(
    logits: Tensor, labels: Tensor, *, reduction: str = "mean", ignore_index: int = -100, rows: Tensor | None = None
) -> Tensor:
    """Masked language modelling: name the original token at each selected position.

    CMLM, eq. 6: L_MLM = 1/B sum_b MLM(H_b^0), on view 0 only. COCO-LM 3.1 defines MLM:

        L_MLM        = E( -sum_{i in M} log p_MLM(x_i^orig | h_i) )
        p_MLM(x | h) = exp(x^T h) / sum_{x_t in V} exp(x_t^T h)

    M: all selected positions, including those where the token was kept or randomised. In the denominator: all V tokens.

    Args:
        logits: [M, V] at the selected positions only (or [..., V], with labels of the same leading shape).
        labels: [M], the original ids there: `ids[selected]`.
        reduction: "mean" over tokens, "sum", or "none" ([M], flat; 0 where ignored). Eq. 6 may also be read as a mean
            over texts of each text's own mean, "mean_per_seq": a text with few selected tokens counts as much as one
            with many. "sum_per_seq" is the sum of these means. A text with no selected token has none, and is left out.
        ignore_index: a label that is to be skipped.
        rows: [M], the text that each position belongs to, `selected.nonzero()[:, 0]`, for the "per_seq" reductions. Not
            needed where labels are [B, T].

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
    logits = floats(logits, "logits")
    labels = integers(labels, None, logits.device, "labels").long()  # in 8 bits, -100 would be 156
    count("ignore_index", ignore_index, "a label to skip", least=-(2**31))
    if logits.shape[:-1] != labels.shape or logits.dim() < 2:
        shapes = f"{list(logits.shape)} and {list(labels.shape)}"
        raise ValueError(f"logits must be [M, V] and labels [M], at the same positions, got {shapes}.")
    if rows is not None:
        rows = integers(rows, None, labels.device, "rows")
    if rows is None and labels.dim() == 2:
        rows = torch.arange(len(labels), device=labels.device)[:, None].expand_as(labels).reshape(-1)  # [B*T]
    logits, labels = logits.flatten(0, -2), labels.reshape(-1)  # [M, V] and [M] (or [B, T, V] -> [B*T, V])
    counted = labels != ignore_index  # [M]
    in_vocabulary(labels.where(counted, 0), logits.shape[1])
    terms = cross_entropy(logits, labels, counted)  # [M], 0 where ignored
    if not isinstance(reduction, str):
        raise ValueError(f"reduction is a word, such as 'mean', not {shown(reduction)}.")
    if reduction.endswith("_per_seq"):
        terms, counted = _text_means(terms, counted, rows)  # [number of texts]
    finite(terms.sum(), "mlm")
    return reduce(terms, reduction.removesuffix("_per_seq"), counted.sum(), ("mean_per_seq", "sum_per_seq"))


def mlm_terms(log_p: Tensor, weight: Tensor) -> Tensor:
    """The terms of eq. 6, [M] → [M]: −log p of the original token, times the weight of its position."""
    return -weight * log_p


def cross_entropy(logits: Tensor, labels: Tensor, counted: Tensor) -> Tensor:
    """-log p of each label, [M, V] → [M]; 0 where it is not counted, and no gradient, even where logits are NaN."""
    if reads(labels) and not counted.all():
        terms = F.cross_entropy(logits[counted], labels[counted], reduction="none")
        return torch.zeros_like(labels, dtype=terms.dtype).masked_scatter(counted, terms)
    return F.cross_entropy(logits, labels.where(counted, -100), reduction="none")


def _text_means(terms: Tensor, counted: Tensor, rows: Tensor | None) -> tuple[Tensor, Tensor]:
    """Each text's mean over its counted terms, and which texts have one: [M] -> [number of texts] twice."""
    if rows is None or rows.reshape(-1).shape != terms.shape:
        raise ValueError('The "per_seq" reductions need rows [M], the text that each position belongs to.')
    rows = rows.reshape(-1).long()
    if reads(rows) and len(rows) and rows.min() < 0:
        raise ValueError(f"rows number the texts from 0, and hold {int(rows.min())}.")
    texts = int(rows.max()) + 1 if len(rows) else 0
    total = terms.new_zeros(texts).index_add(0, rows, terms.masked_fill(~counted, 0.0))
    count = terms.new_zeros(texts).index_add(0, rows, counted.to(terms.dtype))
    return total / count.clamp(min=1), count > 0
