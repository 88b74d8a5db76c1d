"""A fixed number of rows for the chosen positions of a view: no wait for a GPU, and shapes that never change.

Ordinarily the device finds the rows of the selected positions, and the program waits to learn how many there are. Here
there are always equally many rows, enough for all but the unluckiest draw; those left over hold position 0 and count 0.

Letters: B examples, T tokens, D width, V vocabulary, M rows.
"""

import math

import torch
from torch import Tensor, nn


class FixedPositions:
    """The chosen positions of a view in a fixed number of rows; as `encoder.encoder.Positions`."""

    def __init__(self, where: Tensor, places: int) -> None:
        chosen = where.flatten()
        count = chosen.sum()
        torch._assert_async(
            count <= places,
            "More positions were chosen than the fixed capacity holds: use a larger share.",
        )
        # The row of each position, [B*T]; the last row is a bin.
        rank = torch.where(chosen, chosen.cumsum(0) - 1, places)
        numbers = torch.arange(len(chosen), device=rank.device)
        self.index = rank.new_zeros(places + 1).scatter_(0, rank, numbers)[:-1]  # [M]
        self.counted = torch.arange(places, device=rank.device) < count  # [M] bool

    def rows(self, x: Tensor) -> Tensor:
        """[B, T, …] → [M, …]."""
        return x.flatten(0, 1).index_select(0, self.index)

    def labels(self, ids: Tensor) -> Tensor:
        """Of ids [B, T] those that a loss asks for, [M]; -100, which it skips, in rows that are left over."""
        return self.rows(ids).masked_fill(~self.counted, -100)


class FixedCapacity:
    """How an encoder computes with shapes that never change; the strategy of `faster(fixed_capacity=share)`.

    Args:
        padded: the plain strategy, for everything else.
        share: how many of the positions are chosen, 0.15 for most.
    """

    fixed_shapes = True

    def __init__(self, padded: object, share: float) -> None:
        self.hidden_states = padded.hidden_states
        self.share = share

    def positions(self, where: Tensor, share: float | None = None) -> FixedPositions:
        """The positions at which `where` [B, T] is True; `share` of them instead of the strategy's own."""
        expected = where.numel() * (share or self.share)
        deviations = 8 * math.sqrt(expected)  # more than that: never in a lifetime
        return FixedPositions(
            where, min(where.numel(), math.ceil(expected + deviations) + 8)
        )


def quick_mask(model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
    """The attention mask [B, T] of a view, on a GPU in the form [B, 1, 1, T] that torch's attention reads.

    If transformers made it, the program would wait for the device to learn whether there is any padding.
    """
    mask, config = inputs["attention_mask"], model.config
    quick = mask.device.type != "cpu" and config.model_type in (
        "roberta",
        "bert",
        "electra",
    )
    if quick and config._attn_implementation != "eager":
        return mask[:, None, None, :].bool()  # [B, 1, 1, T]
    return mask
