"""Which tokens are selected, and what stands in their place: dynamic and complementary masks, replacing."""

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
        generator: where the draws come from, on the device of ids; by default torch's own.

    Returns:
        `Masked(input_ids, selected)`, both [B, T]. The labels of the masked language model are `ids[selected]`, [M].

    Raises:
        TypeError: ids are not integers, or maskable is not bool.
        ValueError: shapes or devices differ, p is outside [0, 1], or split does not sum to 1.

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
    check_tokens(ids, generator, maskable=maskable)
    check_masking(p, split, mask_id, vocab_size)

    u = torch.rand(ids.shape, generator=generator, device=ids.device)  # [B, T] in [0, 1)
    # Drawn for every token, used for few: so the generator advances equally far whatever p and split are.
    random_ids = torch.randint(vocab_size, ids.shape, generator=generator, device=ids.device, dtype=ids.dtype)  # [B, T]
    to_mask, _, to_keep = split
    selected = maskable & (u < p)
    becomes_mask = maskable & (u < p * to_mask)
    becomes_new = selected & (u < p * (1 - to_keep))  # [MASK] or random
    # Random first, [MASK] over it, both in the memory of the draw: fresh memory would cost more than the work.
    noisy = torch.where(becomes_new, random_ids, ids, out=random_ids).masked_fill_(becomes_mask, mask_id)
    return Masked(noisy, selected)


def complementary_random_mask(
    ids: Tensor,
    maskable: Tensor,
    selected: Tensor,
    p: float,
    *,
    mask_id: int,
    vocab_size: int,
    split: tuple[float, float, float] = BERT_SPLIT,
    generator: torch.Generator | None = None,
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
        maskable, mask_id, vocab_size, split, generator: as in `dynamic_random_mask`. The paper does not say whether
            the 80/10/10 split holds in this view too; it is applied here; split=(1, 0, 0) makes all of them [MASK].

    Returns:
        `Masked(input_ids, selected)`, both [B, T], with no token selected that view 0 selected. Raises as
        `dynamic_random_mask` does.

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
    check_tokens(ids, maskable=maskable, selected=selected)
    options = dict(mask_id=mask_id, vocab_size=vocab_size, split=split, generator=generator)
    return dynamic_random_mask(ids, maskable & ~selected, p, **options)


def replace(ids: Tensor, selected: Tensor, logits: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
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
        TypeError, ValueError: wrong kinds or shapes, more or fewer rows of logits than selected positions, or NaN.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 2]])
        >>> selected = torch.tensor([[False, False, True, False]])
        >>> logits = torch.full((1, 20), -9.0)
        >>> logits[0, 15] = 9.0                                       # the model is all but sure of 15
        >>> replace(ids, selected, logits, generator=torch.Generator().manual_seed(0))
        tensor([[ 1, 11, 15,  2]])
    """
    check_tokens(ids, generator, selected=selected)
    checks.floats(logits, "logits")
    if logits.dim() != 2 or checks.reads(selected) and len(logits) != int(selected.sum()):
        raise ValueError(
            f"logits must be [M, V] with one row for each of the {int(selected.sum())} selected positions, "
            f"got shape {list(logits.shape)}."
        )
    if not len(logits):
        return ids.clone()
    probability = logits.detach().float().softmax(dim=-1)  # [M, V]
    if checks.reads(probability) and not torch.isfinite(probability).all():
        raise ValueError("logits give no probabilities (NaN or infinity): the auxiliary model has diverged.")
    sampled = torch.multinomial(probability, 1, generator=generator).squeeze(1)  # [M, V] -> [M]
    return ids.masked_scatter(selected, sampled.to(ids.dtype))  # in order of the positions


def allowed(batch: Mapping[str, Tensor]) -> Tensor:
    """Which tokens of a batch may be masked, bool [B, T]; ValueError if it does not say, like a tokenizer's own."""
    if not isinstance(batch, Mapping) or "maskable" not in batch:
        raise ValueError("A batch must say which tokens may be masked: Texts(texts, tokenizer).batch(range(8)).")
    return batch["maskable"]


def masked_view(batch: Mapping[str, Tensor], masked: Masked) -> dict[str, Tensor]:
    """Replace a batch's ids by a masked copy, and keep what a token loss needs beside it.

    Args:
        batch: a dict of tensors with `input_ids` [B, T]; it is not changed.
        masked: what a masking function returned for these ids.

    Returns:
        A new dict: the batch with the noisy `input_ids`, `selected` [B, T], and `targets` [B, T], the original ids.

    Raises:
        TypeError, ValueError: not a batch, not a `Masked`, or a `Masked` of other ids.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 2]])
        >>> masked = Masked(torch.tensor([[1, 3, 12, 2]]), torch.tensor([[False, True, False, False]]))
        >>> view = masked_view({"input_ids": ids}, masked)
        >>> view["input_ids"], view["targets"][view["selected"]]
        (tensor([[ 1,  3, 12,  2]]), tensor([11]))
    """
    if not isinstance(batch, Mapping) or not isinstance(masked, Masked):
        raise TypeError("A view takes a batch, a dict of tensors, and the Masked that a masking function returned.")
    original = batch.get("input_ids")
    check_tokens(original, **{"masked.selected": masked.selected})
    if masked.input_ids.shape != original.shape:
        shapes = f"{list(masked.input_ids.shape)} and {list(original.shape)}"
        raise ValueError(f"The masked ids and the batch's ids must have one shape, got {shapes}.")
    return {**batch, "input_ids": masked.input_ids, "selected": masked.selected, "targets": original}


def kinds(ids: Tensor, masked: Masked, mask_id: int) -> Tensor:
    """Say what happened to each token, for a figure.

    Read off the ids, as a reader of the text would: a random token that happens to be the original looks kept.

    Args:
        ids: the original ids [B, T].
        masked: what a masking function returned for them.
        mask_id: the id of [MASK].

    Returns:
        [B, T] long: 0 not selected, 1 became [MASK], 2 became another token, 3 selected and kept as it is. Raises a
        TypeError or ValueError for ids that are not integers [B, T], or not of the same shape as the masked ids.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[11, 12, 13, 14]])
        >>> selected = torch.tensor([[False, True, True, True]])
        >>> kinds(ids, Masked(torch.tensor([[11, 3, 19, 14]]), selected), mask_id=3)
        tensor([[0, 1, 2, 3]])
    """
    masked_view({"input_ids": ids}, masked)  # refuses what does not fit
    checks.count("mask_id", mask_id, "the id of [MASK] (tokenizer.mask_token_id)", least=0, most=2**31 - 1)
    became_mask = masked.input_ids == mask_id
    kind = torch.where(masked.input_ids == ids, 3, 2).masked_fill(became_mask, 1)  # [B, T], right where selected
    return kind.masked_fill(~masked.selected, 0)


def check_tokens(ids: Tensor, generator: torch.Generator | None = None, **flags: Tensor) -> None:
    """Refuse ids that are not integers [B, T], flags that are not bool [B, T], and a device other than that of ids."""
    if not isinstance(ids, Tensor) or ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"ids must be a tensor of token ids (torch.long), not {_kind(ids)}.")
    if ids.dim() != 2:
        raise ValueError(f"ids must be [B, T], one row per text, got shape {list(ids.shape)}.")
    for name, flag in flags.items():
        if not isinstance(flag, Tensor) or flag.dtype != torch.bool:
            raise TypeError(
                f"{name} must be a bool tensor, not {_kind(flag)} (and an attention mask made bool will not do: "
                "it also counts [CLS] and [SEP])."
            )
        if flag.shape != ids.shape:
            raise ValueError(f"{name} must have the shape of ids, {list(ids.shape)}, got shape {list(flag.shape)}.")
        if flag.device != ids.device:
            raise ValueError(f"{name} is on {flag.device} but ids are on {ids.device}: move one of them.")
    if not isinstance(generator, torch.Generator | None):
        raise TypeError(f"generator must be a torch.Generator, not {checks.shown(generator)}.")
    if generator is not None and generator.device.type != ids.device.type:
        raise ValueError(
            f"The generator is on {generator.device} but the ids are on {ids.device}: "
            f"make it with torch.Generator('{ids.device.type}')."
        )


def check_masking(p: float, split: tuple[float, float, float], mask_id: int, vocab_size: int) -> None:
    """Refuse an invalid rate or split, and a mask id or size that no vocabulary has."""
    checks.probability("p", p)
    check_split(split)
    checks.count("mask_id", mask_id, "the id of [MASK] (tokenizer.mask_token_id)", least=0, most=2**31 - 1)
    checks.count("vocab_size", vocab_size, "the size of the vocabulary (len(tokenizer))", most=2**31 - 1)


def check_split(split: tuple[float, float, float]) -> None:
    """Raise a `ValueError` unless the shares of ([MASK], random, kept) are three numbers from 0 to 1 with the sum 1.

    >>> check_split((0.8, 0.1, 0.1))
    """
    shares = list(split) if isinstance(split, tuple | list) else []
    numbers = [share for share in shares if checks.is_number(share) and 0 <= share <= 1]
    if not len(shares) == len(numbers) == 3 or abs(sum(numbers) - 1) > 1e-6:
        raise ValueError(
            "split holds the shares of selected tokens that become ([MASK], a random token, itself): "
            f"three numbers between 0 and 1 that sum to 1, got {checks.shown(split)}."
        )


def _kind(value: Any) -> Any:
    return value.dtype if isinstance(value, Tensor) else type(value).__name__
