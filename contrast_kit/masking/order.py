"""Noise that moves or drops tokens instead of changing them: crop and shuffle."""

from typing import NamedTuple

import torch
from torch import Tensor

from contrast_kit.masking.masks import check_flags


class Cropped(NamedTuple):
    """A cropped copy of a batch, padded to the batch's own length so that it batches like any other view.

    `positions` says where in the original row each token stood, so anything that goes along with the tokens can be
    cropped the same way: `token_type_ids.gather(1, cropped.positions)`. Padding points to position 0.
    """

    input_ids: Tensor  # [B, T], in the dtype of the ids
    attention_mask: Tensor  # [B, T], in the dtype given
    positions: Tensor  # [B, T] long


def crop(
    ids: Tensor,
    attention_mask: Tensor,
    keep: float = 0.9,
    *,
    pad_id: int,
    specials: tuple[int, int] = (1, 1),
    generator: torch.Generator | None = None,
) -> Cropped:
    """Keep one contiguous span of each text.

    COCO-LM 3.3: X^crop is "a randomly cropped contiguous span of X^orig (the length of X^crop is 90 % of X^orig)". The
    span is taken from the content tokens, all places where it fits being equally likely; [CLS] in front and [SEP] at
    the end are put back exactly once. The paper does not say whether they count; here they do not. For a text of n
    content tokens the span has floor(keep * n) of them, and at least one. (`shuffle` keeps all tokens, but moves them.)

    Args:
        ids, generator: token ids [B, T], and where the draws come from; as in `dynamic_random_mask`.
        attention_mask: [B, T], 1 (or True) for real tokens and 0 for padding, on either side.
        keep: the share of content tokens that stays, 0 < keep <= 1; the paper keeps 0.9 and drops "10 %".
        pad_id: what to pad with, `tokenizer.pad_token_id`.
        specials: how many special tokens open and close each row: (1, 1) for [CLS] .. [SEP]. A [SEP] in the middle of
            a pair counts as content: it stays if the span covers it.

    Returns:
        `Cropped(input_ids, attention_mask, positions)`, each [B, T]: the real tokens moved to the left, padding after.

    Raises:
        ValueError: keep is outside (0, 1], or the shapes differ.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 13, 14, 2, 0]])
        >>> view = crop(ids, (ids > 0).long(), 0.5, pad_id=0, generator=torch.Generator().manual_seed(0))
        >>> view.input_ids
        tensor([[ 1, 12, 13,  2,  0,  0,  0]])
    """
    real = attention_mask != 0  # [B, T]
    check_flags(ids, attention_mask=real)
    if not 0 < keep <= 1:
        raise ValueError(
            f"keep is the share of tokens that stays and must lie in (0, 1], got {keep}."
        )

    opening, closing = specials
    rank = real.cumsum(1) - 1 - opening  # [B, T]: 0 is the first content token
    content = (real.sum(1, keepdim=True) - opening - closing).clamp(min=0)  # [B, 1]
    # The small term: 0.7 * 10 is a hair below 7 in floating point.
    # [B, 1]
    length = torch.floor(content * keep + 1e-4).long().clamp(min=1).minimum(content)
    places = content - length + 1  # [B, 1]: how many places the span fits in
    u = torch.rand(places.shape, generator=generator, device=ids.device)  # [B, 1]
    start = (u * places).long()  # [B, 1] in 0 .. places - 1

    inside = (rank >= start) & (rank < start + length)
    stays = real & (inside | (rank < 0) | (rank >= content))  # [B, T]
    # [B, T]: what stays moves to the left, in its order
    positions = torch.argsort(~stays, dim=1, stable=True)
    # [B, T]
    filled = torch.arange(ids.shape[1], device=ids.device) < stays.sum(1, keepdim=True)
    positions = positions.masked_fill(~filled, 0)
    return Cropped(
        ids.gather(1, positions).masked_fill(~filled, pad_id),
        filled.to(attention_mask.dtype),
        positions,
    )


def shuffle(
    ids: Tensor,
    maskable: Tensor,
    window: int = 3,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Permute tokens, moving none of them further than `window` places.

    CAPT 5.2: "a random permutation to the input sequence x within a fixed window k" with k = 3, after Lample et al.:
    sort the tokens by i + U(0, k + 1), which gives |sigma(i) - i| <= k for each token. Special tokens and padding stay
    where they are, and no token passes a special one, so the texts of a pair do not mix. CAPT found another noise
    better, `dynamic_random_mask`, since it makes the model "associate" words.

    Args:
        ids, maskable, generator: as in `dynamic_random_mask`; what is not maskable does not move.
        window: k, the furthest that a token may move; 0 leaves everything in place.

    Returns:
        The shuffled ids [B, T]: in each row the same tokens in another order.

    Example:
        >>> import torch
        >>> ids = torch.tensor([[1, 11, 12, 13, 14, 15, 16, 2]])
        >>> shuffle(ids, ids > 2, 3, generator=torch.Generator().manual_seed(0))
        tensor([[ 1, 12, 13, 11, 14, 15, 16,  2]])
    """
    check_flags(ids, maskable=maskable)
    u = torch.rand(ids.shape, generator=generator, device=ids.device)  # [B, T]
    home = torch.arange(ids.shape[1], device=ids.device)  # [T]
    # A fixed token opens a new run, and -inf keeps it at the front. Stable, so a tie cannot break the bound.
    key = (home + u * (window + 1)).masked_fill(~maskable, -torch.inf)  # [B, T]
    run = (~maskable).cumsum(1)  # [B, T]
    by_key = torch.argsort(key, dim=1, stable=True)
    by_run = torch.argsort(run.gather(1, by_key), dim=1, stable=True)
    return ids.gather(1, by_key.gather(1, by_run))
