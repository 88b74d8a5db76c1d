"""A fixed number of rows for the chosen positions of a view: no wait for a GPU, and shapes that never change.

Ordinarily the device finds the rows of the selected positions, and the program waits to learn how many there are. Here
there are always equally many rows, enough for all but the unluckiest draw; those left over hold position 0 and count 0.

Letters: B examples, T tokens, D width, V vocabulary, M rows.
"""

import math

import torch
from torch import Tensor, nn
from transformers.models.mpnet.modeling_mpnet import MPNetModel

from contrast_kit import fast
from contrast_kit.fast.packed import NAME


class FixedPositions:
    """The chosen positions of a view in a fixed number of rows; as `encoder.encoder.Positions`."""

    def __init__(self, where: Tensor, places: int) -> None:
        total, chosen = where.numel(), where.flatten()
        count = chosen.sum()
        torch._assert_async(
            count <= places, "More positions were chosen than the fixed capacity holds: use a larger share."
        )
        rank = torch.where(chosen, chosen.cumsum(0) - 1, places)  # [B*T], the row of each; the last is a bin
        rows = rank.new_zeros(places + 1).scatter_(0, rank, torch.arange(total, device=rank.device))
        self.where = where  # [B, T] bool
        self.index = rows[:-1]  # [M], places in the flattened view
        self.counted = torch.arange(places, device=rank.device) < count  # [M] bool

    def rows(self, x: Tensor) -> Tensor:
        """[B, T, …] → [M, …]."""
        return x.flatten(0, 1).index_select(0, self.index)

    def labels(self, ids: Tensor) -> Tensor:
        """Of ids [B, T] those that a loss asks for, [M]; -100, which it skips, in rows that are left over."""
        return self.rows(ids).masked_fill(~self.counted, -100)

    # leaves with objectives' rewrite
    def weights(self, each: Tensor) -> Tensor:
        """The weight of each row, [M]: the entry of `each` [B] for its text, or 0 if the row is left over."""
        return self.rows(each.unsqueeze(1).expand(self.where.shape)) * self.counted


class FixedCapacity:
    """How an encoder computes with shapes that never change; the strategy of `faster(fixed_capacity=share)`.

    Args:
        share: how many of the positions are chosen, 0.15 for most.
    """

    fixed_shapes = True

    def __init__(self, share: float) -> None:
        self.share = share

    def hidden_states(self, model: nn.Module, inputs: dict[str, Tensor], read: Tensor | None = None) -> Tensor:
        """Last hidden states of padded texts, [B, T, D]."""
        mask = ready_made_mask(model, inputs["attention_mask"])
        return model.base_model(**inputs | {"attention_mask": mask}).last_hidden_state

    def positions(self, where: Tensor, share: float | None = None) -> FixedPositions:
        """The positions at which `where` [B, T] is True; `share` of them instead of the strategy's own."""
        total = where.numel()
        expected = total * (share or self.share)
        deviations = 8 * math.sqrt(expected)  # more than that: never in a lifetime
        return FixedPositions(where, min(total, math.ceil(expected + deviations) + 8))


def draw_words(encoder: nn.Module, view: dict[str, Tensor], generator: torch.Generator | None = None) -> Tensor:
    """Words drawn from an encoder's masked LM at the selected positions, [B, T], without a wait for the device."""
    targets = view["targets"]  # [B, T]
    at = encoder.strategy.positions(view["selected"])
    states = at.rows(encoder(view))  # [B, T, D] → [M, D]
    words = []
    for block in states.split(max(1, fast.scores_at_once(states.device) // encoder.vocabulary["vocab_size"])):
        known = encoder.mlm_logits(block)[:, : encoder.vocabulary["vocab_size"]]  # [R, D] → [R, V]
        p = known.float().softmax(-1)
        waiting = torch.empty_like(p).exponential_(generator=generator)
        words.append((p / waiting).argmax(-1))  # the first of exponential clocks with rates p: a draw from p
    places = at.index.where(at.counted, targets.numel())  # [M]; rows left over write into a bin at the end
    flat = torch.cat([targets.flatten(), targets.new_zeros(1)])  # [B*T + 1]
    return flat.scatter(0, places, torch.cat(words).to(targets.dtype))[:-1].view_as(targets)


def ready_made_mask(model: nn.Module, attention_mask: Tensor) -> Tensor:
    """A mask [B, T] in the form [B, 1, 1, T] that attention reads; for other kinds of attention, as it is.

    If transformers made it, the program would wait for the device to learn whether there is any padding.
    """
    real = attention_mask[:, None, None, :].bool()  # [B, 1, 1, T]
    if isinstance(model.base_model, MPNetModel):  # adds it to the scores
        lowest = torch.finfo(model.dtype).min
        return torch.zeros_like(real, dtype=model.dtype).masked_fill(~real, lowest)
    return real if model.config._attn_implementation in ("sdpa", NAME) else attention_mask
