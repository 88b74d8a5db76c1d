"""Bad input gets one clear sentence, before any token is touched."""

import torch
from torch import Tensor


def check_ids(ids: Tensor, name: str = "ids") -> None:
    """Refuse what is no [B, T] of integers."""
    if not isinstance(ids, Tensor) or ids.dtype not in (torch.int64, torch.int32):
        kind = ids.dtype if isinstance(ids, Tensor) else type(ids).__name__
        raise TypeError(f"{name} must be a tensor of token ids (torch.long), not {kind}.")
    if ids.dim() != 2:
        raise ValueError(f"{name} must be [B, T], one row per text, got shape {list(ids.shape)}.")


def check_flags(flags: Tensor, ids: Tensor, name: str) -> None:
    """Refuse what is no bool [B, T] beside the ids."""
    if not isinstance(flags, Tensor) or flags.dtype != torch.bool:
        kind = flags.dtype if isinstance(flags, Tensor) else type(flags).__name__
        raise TypeError(
            f"{name} must be a bool tensor, not {kind} (and an attention mask made bool will not do: "
            "it also counts [CLS] and [SEP])."
        )
    if flags.shape != ids.shape:
        raise ValueError(f"{name} must have the shape of ids, {list(ids.shape)}, got shape {list(flags.shape)}.")
    if flags.device != ids.device:
        raise ValueError(f"{name} is on {flags.device} but ids are on {ids.device}: move one of them.")


def check_probability(p: float, name: str = "p") -> None:
    """Refuse what is not between 0 and 1."""
    if not 0 <= p <= 1:
        raise ValueError(f"{name} is a probability and must lie between 0 and 1, got {p}.")


def check_split(split: tuple[float, float, float]) -> None:
    """Refuse shares of ([MASK], random, kept) that are no three numbers from 0 to 1 with the sum 1: `ValueError`.

    >>> check_split((0.8, 0.1, 0.1))
    """
    if len(split) != 3 or not all(0 <= share <= 1 for share in split) or abs(sum(split) - 1) > 1e-6:
        raise ValueError(
            "split holds the shares of selected tokens that become ([MASK], a random token, itself): "
            f"three numbers between 0 and 1 that sum to 1, got {split}."
        )


def check_vocabulary(mask_id: int, vocab_size: int) -> None:
    """Refuse ids that no vocabulary has."""
    if mask_id is None or mask_id < 0:
        raise ValueError(f"mask_id must be the id of [MASK] (tokenizer.mask_token_id), got {mask_id}.")
    if vocab_size < 1:
        raise ValueError(f"vocab_size must be at least 1 (use len(tokenizer)), got {vocab_size}.")


def check_generator(generator: torch.Generator | None, ids: Tensor) -> None:
    """Refuse a generator on another device than the ids."""
    if generator is not None and generator.device.type != ids.device.type:
        raise ValueError(
            f"The generator is on {generator.device} but the ids are on {ids.device}: "
            f"make it with torch.Generator('{ids.device.type}')."
        )
