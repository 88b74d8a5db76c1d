"""Which tokens are selected, and what stands in their place: dynamic and complementary masks, spans, replacing."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from contrast_kit import checks

BERT_SPLIT = (0.8, 0.1, 0.1)
"""Of the selected tokens: the shares that become [MASK], a random token, or stay (CMLM 3.1, after BERT)."""


class Masked(NamedTuple):
    """A noisy copy of a batch, and where the noise may have fallen.

    `selected` is what was *selected*, before the 80/10/10 split: it is also True where a selected token was kept as it
    is, or was replaced by a random token. The loss is taken there, and complementary masking avoids it (CMLM, eq. 2
    says "selected", not "became [MASK]"). The labels are the original ids there: `ids[selected]`.
    """

    input_ids: Tensor  # [B, T], in the dtype of the ids
    selected: Tensor  # [B, T] bool


def dynamic_random_mask(
    ids: Tensor,
    maskable: Tensor,
    p: float,
    *,
    mask_id: int,
    vocab_size: int,
    split: tuple[float, float, float] = BERT_SPLIT,
    words: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> Masked:
    """Select each token with probability p, then mask, randomise or keep it.

    CMLM, eq. 1: P_DRM(t_n) = p_m. "Dynamic" means that a new pattern is drawn each time a text is fed: call this once
    per step, never once per data set. Each token is selected on its own, so the *number* selected varies (a short text
    may have none). Of the selected tokens, 80 % become [MASK], 10 % a token drawn uniformly from the whole vocabulary
    (which may happen to be the same token), and 10 % stay as they are (CMLM 3.1, after BERT).

    One uniform number u per token decides everything: the token is selected if u < p, and where u falls inside [0, p)
    decides which of the three happens. So with one seed the selection does not depend on `split`, and a larger p
    selects a superset. See `complementary_random_mask` for the second view of a pair, and `replace`, where a model
    chooses the new tokens.

    Args:
        ids: token ids [B, T], left as they are.
        maskable: bool [B, T], True for real tokens that may be selected: not [CLS], not [SEP], not padding.
        p: the probability of being selected, p_m in the paper: 0.15.
        mask_id: the id of [MASK], `tokenizer.mask_token_id`.
        vocab_size: V, `len(tokenizer)`; random tokens are drawn from 0 .. V-1.
        split: shares of selected tokens that become ([MASK], a random token, itself); (1, 0, 0) is "all [MASK]".
        words: [B, T] long, for whole-word masking: where in its row the word of a token begins (`data.Texts` gives them
            with `whole_words=True`). The tokens of a word then share one u, and with it their fate.
        generator: where the draws come from, on the device of ids; by default torch's own.

    Returns:
        `Masked(input_ids, selected)`, both [B, T]. The labels of the masked language model are `ids[selected]`, [M].

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 13, 14, 15, 16, 2]])      # [CLS] six tokens [SEP]
        >>> maskable = ids > 2
        >>> g = torch.Generator().manual_seed(10)
        >>> view = dynamic_random_mask(ids, maskable, 0.5, mask_id=3, vocab_size=20, generator=g)
        >>> view.input_ids                                            # 11 kept, two masked, 15 became 10
        tensor([[ 1, 11,  3, 13,  3, 10, 16,  2]])
        >>> ids[view.selected]                                        # what the model should say
        tensor([11, 12, 14, 15])
    """
    checks.probability("p", p)
    check_split(split)
    check_flags(ids, maskable=maskable)

    u = torch.rand(ids.shape, generator=generator, device=ids.device)  # [B, T] in [0, 1)
    if words is not None:
        u = u.gather(1, words)
    # Drawn for every token, used for few: so the generator advances equally far whatever p and split are.
    # [B, T]
    random_ids = torch.randint(
        vocab_size, ids.shape, generator=generator, device=ids.device, dtype=ids.dtype
    )
    to_mask, _, to_keep = split
    selected = maskable & (u < p)
    becomes_mask = maskable & (u < p * to_mask)
    becomes_new = selected & (u < p * (1 - to_keep))  # [MASK] or random
    # Random first, [MASK] over it, both in the memory of the draw: fresh memory would cost more than the work.
    noisy = torch.where(becomes_new, random_ids, ids, out=random_ids).masked_fill_(
        becomes_mask, mask_id
    )
    return Masked(noisy, selected)


def complementary_random_mask(
    ids: Tensor,
    maskable: Tensor,
    selected: Tensor,
    p: float,
    **options: Any,
) -> Masked:
    """Make the second view of a pair: select only among tokens that view 0 did not select.

    CMLM, eq. 2: P_CRM(t_n) = p_c if t_n^0 was not selected in T^0, and 0 otherwise. Every token then stays readable in
    at least one view of the pair, so the two views may differ much (large p_c) while view 0 stays easy to read (small
    p_m). p_c is the probability *given* that a token is free; over all maskable tokens the rate is p_c (1 - p_m),
    0.595 at the paper's (0.15, 0.7). p_c = 1 gives the exact complement.

    The view is built on the *original* ids (eq. 4: CRM(T_b, T_b^0)); view 0 only says what it selected. Call it K
    times for K views: each call draws anew.

    Args:
        ids: the original token ids [B, T], never view 0's.
        selected: bool [B, T], view 0's `Masked.selected`, which includes the kept and the randomised tokens.
        p: the probability that a free token is selected, p_c in the paper: 0.7.
        maskable, options: as in `dynamic_random_mask`: mask_id, vocab_size, split, words, generator. The paper does not
            say whether the 80/10/10 split holds in this view too; it is applied here; split=(1, 0, 0) makes all of them
            [MASK].

    Returns:
        `Masked(input_ids, selected)`, both [B, T], with no token selected that view 0 selected.

    Example:
        >>> import torch
        >>> ids = torch.arange(10, 22).reshape(2, 6)
        >>> maskable = torch.ones_like(ids, dtype=torch.bool)
        >>> g = torch.Generator().manual_seed(0)
        >>> vocabulary = dict(mask_id=3, vocab_size=30)
        >>> view_0 = dynamic_random_mask(ids, maskable, 0.15, generator=g, **vocabulary)
        >>> view_1 = complementary_random_mask(ids, maskable, view_0.selected, 1.0, generator=g, **vocabulary)
        >>> torch.equal(view_1.selected, ~view_0.selected)            # p_c = 1: exactly the rest
        True
    """
    check_flags(ids, maskable=maskable, selected=selected)
    return dynamic_random_mask(ids, maskable & ~selected, p, **options)


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
        `Masked(input_ids, selected)`, both [B, T].

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 13, 14, 15, 16, 17, 18, 2]])
        >>> g = torch.Generator().manual_seed(3)
        >>> span_mask(ids, ids > 2, 0.5, mask_id=3, vocab_size=20, generator=g).input_ids
        tensor([[ 1, 11, 12,  3, 14, 15, 16,  3, 15,  2]])
    """
    checks.probability("p", p)
    check_split(split)
    check_flags(ids, maskable=maskable)
    if not 0 < span_p <= 1:
        raise ValueError(
            f"span_p is the chance that a span ends and must lie in (0, 1], got {span_p}."
        )

    selected, u = _draw_spans(maskable, p, span_p, max_span, generator)  # [B, T] each
    # [B, T]
    random_ids = torch.randint(
        vocab_size, ids.shape, dtype=ids.dtype, generator=generator, device=ids.device
    )
    to_mask, _, to_keep = split
    becomes_mask = selected & (u < to_mask)
    becomes_random = selected & ~becomes_mask & (u < 1 - to_keep)
    return Masked(
        torch.where(becomes_random, random_ids, ids.masked_fill(becomes_mask, mask_id)),
        selected,
    )


def _draw_spans(maskable, p, span_p, max_span, generator):
    """Which tokens are selected, and a uniform number for each span, both [B, T]; each round draws a span per text."""
    rows, length = maskable.shape
    draw = {"generator": generator, "device": maskable.device}
    where = torch.arange(length, device=maskable.device)  # [T]
    sizes = torch.arange(max_span, device=maskable.device)
    weights = (1.0 - span_p) ** sizes  # P(l) for l = 1 .. max_span
    count, part = maskable.sum(dim=1), torch.rand(rows, **draw)  # [B] each
    budget = torch.floor(count * p + part).long()  # [B]: p n of a text, on average
    budget = left = budget.minimum(count)  # a sum may round up
    selected = torch.zeros_like(maskable)
    u = torch.zeros_like(maskable, dtype=torch.float32)
    while (left > 0).any():
        free = maskable & ~selected
        scores = torch.rand(free.shape, **draw).masked_fill(~free, -1.0)  # [B, T]
        start = scores.argmax(dim=1, keepdim=True)  # [B, 1]
        # [B]
        size = torch.multinomial(weights, rows, replacement=True, generator=generator) + 1
        ahead = where >= start  # [B, T]
        # It ends at a special token, or at another span: that blocks all behind it.
        blocked = (ahead & ~free).cumsum(dim=1) > 0
        span = ahead & ~blocked & (where < start + size.minimum(left)[:, None])
        selected = selected | span
        u = torch.where(span, torch.rand((rows, 1), **draw), u)
        left = budget - selected.sum(dim=1)
    return selected, u


def replace(
    ids: Tensor,
    selected: Tensor,
    logits: Tensor,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Put tokens sampled from a masked language model at the selected positions.

    COCO-LM, eq. 1: x_i^MLM ~ p_MLM(x | h_i) if i in M, and x_i^MLM = x_i^orig otherwise (ELECTRA's corruption). The
    tokens are *sampled* from softmax(logits), not taken at the maximum: a good auxiliary model often draws the
    original again, and then the token counts as original, not as replaced.

    Build it on the original ids. Starting from the masked ids would leak the random tokens of the mask into the text.
    Turn the auxiliary model's dropout off while sampling (COCO-LM 3.3), and back on for its own loss.

    Args:
        ids, generator: the original token ids [B, T]; where the draws come from. As in `dynamic_random_mask`.
        selected: bool [B, T] with M True entries, those that the auxiliary model saw masked.
        logits: [M, V], the auxiliary model's logits at these positions only, in the order of `ids[selected]` (row by
            row). A whole [B, T, V] is never needed: 85 % of it would be thrown away.

    Returns:
        X^MLM, [B, T]; outside `selected` nothing has changed.

    Raises:
        ValueError: more or fewer rows of logits than selected positions.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 2]])
        >>> selected = torch.tensor([[False, False, True, False]])
        >>> logits = torch.full((1, 20), -9.0)
        >>> logits[0, 15] = 9.0                                       # the model is all but sure of 15
        >>> replace(ids, selected, logits, generator=torch.Generator().manual_seed(0))
        tensor([[ 1, 11, 15,  2]])
    """
    check_flags(ids, selected=selected)
    if checks.reads(selected) and len(logits) != int(selected.sum()):
        raise ValueError(
            f"logits have {len(logits)} rows for {int(selected.sum())} selected positions."
        )
    if not len(logits):
        return ids.clone()
    probability = logits.detach().float().softmax(dim=-1)  # [M, V]
    # A race of exponential times is what torch.multinomial draws, which would wait for a GPU.
    times = torch.empty_like(probability).exponential_(generator=generator)
    sampled = (probability / times).argmax(-1)  # [M, V] -> [M]
    # In order of the positions.
    return ids.masked_scatter(selected, sampled.to(ids.dtype))


def allowed(batch: Mapping[str, Tensor]) -> Tensor:
    """Which tokens of a batch may be masked, bool [B, T]; ValueError if it does not say, like a tokenizer's own."""
    if "maskable" not in batch:
        raise ValueError(
            "A batch must say which tokens may be masked: Texts(texts, tokenizer).batch(range(8))."
        )
    return batch["maskable"]


def masked_view(batch: Mapping[str, Tensor], masked: Masked) -> dict[str, Tensor]:
    """Replace a batch's ids by a masked copy, and keep what a token loss needs beside it.

    Args:
        batch: a dict of tensors with `input_ids` [B, T]; it is not changed.
        masked: what a masking function returned for these ids.

    Returns:
        A new dict: the batch with the noisy `input_ids`, `selected` [B, T], and `targets` [B, T], the original ids.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 2]])
        >>> masked = Masked(torch.tensor([[1, 3, 12, 2]]), torch.tensor([[False, True, False, False]]))
        >>> view = masked_view({"input_ids": ids}, masked)
        >>> view["input_ids"], view["targets"][view["selected"]]
        (tensor([[ 1,  3, 12,  2]]), tensor([11]))
    """
    return {
        **batch,
        "input_ids": masked.input_ids,
        "selected": masked.selected,
        "targets": batch["input_ids"],
    }


def kinds(ids: Tensor, masked: Masked, mask_id: int) -> Tensor:
    """Say what happened to each token, for a figure.

    Read off the ids, as a reader of the text would: a random token that happens to be the original looks kept.

    Args:
        ids: the original ids [B, T].
        masked: what a masking function returned for them.
        mask_id: the id of [MASK].

    Returns:
        [B, T] long: 0 not selected, 1 became [MASK], 2 became another token, 3 selected and kept as it is.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[11, 12, 13, 14]])
        >>> selected = torch.tensor([[False, True, True, True]])
        >>> kinds(ids, Masked(torch.tensor([[11, 3, 19, 14]]), selected), mask_id=3)
        tensor([[0, 1, 2, 3]])
    """
    became_mask = masked.input_ids == mask_id
    # [B, T], right where selected
    kind = torch.where(masked.input_ids == ids, 3, 2).masked_fill(became_mask, 1)
    return kind.masked_fill(~masked.selected, 0)


def check_flags(ids: Tensor, **flags: Tensor) -> None:
    """Raise a ValueError for flags that are not bool, or not of the shape of ids."""
    for name, flag in flags.items():
        if flag.dtype != torch.bool or flag.shape != ids.shape:
            raise ValueError(
                f"{name} must be bool, of the shape of ids, {list(ids.shape)}, not {flag.dtype}, {list(flag.shape)} "
                "(and an attention mask made bool will not do: it also counts [CLS] and [SEP])."
            )


def check_split(split: tuple[float, float, float]) -> None:
    """Raise a `ValueError` unless the shares of ([MASK], random, kept) are three numbers from 0 to 1 with the sum 1.

    >>> check_split((0.8, 0.1, 0.1))
    """
    if (
        len(split) != 3
        or not all(0 <= share <= 1 for share in split)
        or abs(sum(split) - 1) > 1e-6
    ):
        raise ValueError(
            "split holds the shares of selected tokens that become ([MASK], a random token, itself): "
            f"three numbers between 0 and 1 that sum to 1, got {split}."
        )
