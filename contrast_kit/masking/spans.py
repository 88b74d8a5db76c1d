"""Whole spans of tokens instead of single ones."""

import torch
from torch import Tensor

from contrast_kit import checks
from contrast_kit.masking.masks import BERT_SPLIT, Masked, check_masking, check_tokens


def span_mask(
    ids: Tensor,
    maskable: Tensor,
    p: float,
    *,
    mask_id: int,
    vocab_size: int,
    split: tuple[float, float, float] = BERT_SPLIT,
    span_p: float = 0.2,
    max_span: int = 10,
    generator: torch.Generator | None = None,
) -> Masked:
    """Select spans of tokens until the share p of each text is selected, then mask, randomise or keep them.

    CAPT, Table 1, lists this among the kinds of noise ("SpanBERT: mask spans"). Span lengths follow a geometric
    distribution cut off at `max_span`, P(l) ~ (1 - span_p)^(l-1), with a mean of 3.8 tokens at (0.2, 10). The start of
    a span is any token that is still free. A span ends early at a special token, at another span, or where the budget
    of p * n tokens is spent, so that runs are shorter in short texts: 2 tokens on average in texts of 20, 3.5 in texts
    of 128. The 80/10/10 split is drawn once for each span.

    Two differences from `dynamic_random_mask`: the *number* selected is p * n (rounded up or down at random, so that
    the share is p in texts of a few tokens too), and neighbours are hidden together, so that a masked token cannot be
    read off the token beside it. SpanBERT's spans consist of whole words; these of tokens, as ids do not tell where
    words begin.

    Args:
        ids, maskable, mask_id, vocab_size, split, generator: as in `dynamic_random_mask`.
        p: the share of maskable tokens to select, 0.15.
        span_p: the chance that a span ends after each token, in (0, 1]; 1 gives spans of one token.
        max_span: the longest span in tokens.

    Returns:
        `Masked(input_ids, selected)`, both [B, T]. Raises as `dynamic_random_mask` does, and a ValueError for a span_p
        outside (0, 1] or a max_span below 1.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 13, 14, 15, 16, 17, 18, 2]])
        >>> g = torch.Generator().manual_seed(3)
        >>> span_mask(ids, ids > 2, 0.5, mask_id=3, vocab_size=20, generator=g).input_ids
        tensor([[ 1, 11, 12,  3, 14, 15, 16,  3, 15,  2]])
    """
    check_tokens(ids, generator, maskable=maskable)
    check_masking(p, split, mask_id, vocab_size)
    check_spans(span_p, max_span)

    selected, u = _draw_spans(maskable, p, span_p, max_span, generator)  # [B, T] each
    random_ids = torch.randint(vocab_size, ids.shape, dtype=ids.dtype, generator=generator, device=ids.device)  # [B, T]
    to_mask, _, to_keep = split
    becomes_mask = selected & (u < to_mask)
    becomes_random = selected & ~becomes_mask & (u < 1 - to_keep)
    return Masked(torch.where(becomes_random, random_ids, ids.masked_fill(becomes_mask, mask_id)), selected)


def check_spans(span_p: float, max_span: int) -> None:
    """Refuse lengths of spans that cannot be drawn."""
    if not (checks.is_number(span_p) and 0 < span_p <= 1):
        raise ValueError(f"span_p is the chance that a span ends and must lie in (0, 1], got {checks.shown(span_p)}.")
    checks.count("max_span", max_span, "the longest span in tokens", most=2**16)


def _draw_spans(
    maskable: Tensor, p: float, span_p: float, max_span: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Which tokens are selected, and a uniform number for each span, both [B, T]; each round draws a span per text."""
    (rows, length), device = maskable.shape, maskable.device
    draw, where = {"generator": generator, "device": device}, torch.arange(length, device=device)  # [T]
    weights = (1.0 - span_p) ** torch.arange(max_span, device=device)  # P(l) for l = 1 .. max_span
    count, part = maskable.sum(dim=1), torch.rand(rows, **draw)  # [B] each
    budget = torch.floor(count * p + part).long().minimum(count)  # [B], p n of a text on average; a sum may round up
    selected, u = torch.zeros_like(maskable), torch.zeros(maskable.shape, device=device)
    while ((left := budget - selected.sum(dim=1)) > 0).any():
        free = maskable & ~selected
        start = torch.rand(free.shape, **draw).masked_fill(~free, -1.0).argmax(dim=1, keepdim=True)  # [B, 1]
        size = torch.multinomial(weights, rows, replacement=True, generator=generator) + 1  # [B]
        ahead = where >= start  # [B, T]
        blocked = (ahead & ~free).cumsum(dim=1) > 0  # a special token or another span, and all behind it
        span = ahead & ~blocked & (where < start + size.minimum(left)[:, None])
        selected = selected | span
        u = torch.where(span, torch.rand((rows, 1), **draw), u)
    return selected, u
