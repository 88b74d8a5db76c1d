"""What is to be said at some positions of a view: which rows, and the loss over the vocabulary there.

Heads run at chosen positions only, for word scores at all of them cost more than the Transformer below. Few scores
are made whole, by the plain losses. Many are never made whole: `losses.words` sums block after block, to the same
number and gradient.

Letters: B examples, T tokens, D width, V vocabulary, M chosen positions.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from contrast_kit import losses
from contrast_kit.encoder.encoder import Encoder
from contrast_kit.fast import blocked_softmax
from contrast_kit.fast.blocked_softmax import Terms, Words


@dataclass(frozen=True)
class Positions:
    """Chosen positions of a view, [M]: where they are, and which of them count.

    Ordinarily the rows are found by the device and all count. In fixed slots (`Encoder.slots`) there are always
    equally many rows, so that nothing waits for the device; the slots left over hold position 0 and do not count.
    """

    where: Tensor
    """[B, T] bool."""
    slots: Tensor | None = None
    """[M], places in the flattened view; None without fixed slots."""
    counted: Tensor | None = None
    """[M] bool; None where all count."""

    def rows(self, x: Tensor) -> Tensor:
        """The chosen rows, [B, T, …] → [M, …]."""
        return x[self.where] if self.slots is None else x.flatten(0, 1).index_select(0, self.slots)

    def weights(self, dtype: torch.dtype, each: Tensor | None = None) -> Tensor | None:
        """What each row's term counts: 1, or its text's number of `each` [B]; 0 in a slot left over. None: all 1."""
        if each is None:
            return self.counted if self.counted is None else self.counted.to(dtype)
        weights = self.rows(each.to(dtype).unsqueeze(1).expand(self.where.shape))  # [B] → [B, T] → [M]
        return weights if self.counted is None else weights * self.counted


def positions(encoder: Encoder, where: Tensor, rate: float | None = None) -> Positions:
    """The positions at which `where` [B, T] is True.

    Args:
        encoder: its `slots` say what share of the positions is expected to be chosen; None takes just those there are.
        where: bool [B, T].
        rate: another share than `encoder.slots`; 1 where every token may be chosen.
    """
    if encoder.slots is None:
        return Positions(where)
    total = where.numel()
    expected = total * (rate or encoder.slots)
    places = min(total, math.ceil(expected + 8 * math.sqrt(expected)) + 8)  # 8 deviations: never in a lifetime
    chosen = where.flatten()
    count = chosen.sum()
    torch._assert_async(count <= places, "More positions were chosen than there are slots: use a larger share.")
    rank = torch.where(chosen, chosen.cumsum(0) - 1, places)  # [B*T], the slot of each; the last is a bin
    slots = rank.new_zeros(places + 1).scatter_(0, rank, torch.arange(total, device=rank.device))[:-1]
    return Positions(where, slots, torch.arange(places, device=rank.device) < count)


def in_blocks(encoder: Encoder, at: Positions, rows: Tensor) -> bool:
    """Whether word scores at these rows are to be summed in blocks: too many to hold, or in fixed slots."""
    at_once = blocked_softmax.at_once(rows.device)
    if at.slots is not None:
        return True
    return len(rows) * encoder.vocabulary["vocab_size"] > 2 * at_once and encoder.word_layer(rows[:0]) is not None


def block_sum(
    encoder: Encoder, terms: Terms, hidden: Tensor, labels: Tensor, *rows: Tensor, also: Tensor | None = None
) -> Words:
    """`losses.words.sum_over_words` with an encoder's vocabulary head: hidden [M, D], labels [M]."""
    found = encoder.word_layer(hidden)
    if found is None:  # only asked for by `Encoder.slots`
        raise ValueError(
            f"The vocabulary head of {type(encoder.model).__name__} is not known well enough here for fixed slots: "
            "leave slots out."
        )
    states, layer = found
    return blocked_softmax.sum_over_words(terms, states, layer.weight, layer.bias, labels, *rows, also=also)


def mlm_sum(
    encoder: Encoder, hidden: Tensor, view: dict[str, Tensor], mean: str = "tokens", hits: bool = False
) -> tuple[Tensor, Tensor | None]:
    """The masked-LM loss of a view, summed over its selected positions, or over the means of its texts.

    Args:
        encoder: for its word scores.
        hidden: last hidden states [B, T, D].
        view: with `selected` and `targets`, [B, T] each.
        mean: `"tokens"`, or `"sequences"`: each text's own mean counts once.
        hits: count also at how many positions the most probable word is the right one; else this is None.
    """
    selected = view["selected"]  # [B, T]
    at = positions(encoder, selected)
    states, targets = at.rows(hidden), at.rows(view["targets"])  # [M, D], [M]
    if not in_blocks(encoder, at, states):
        logits = encoder.mlm_logits(states)  # [M, V]
        texts = selected.nonzero()[:, 0] if mean == "sequences" else None  # [M], the text of each selected token
        total = losses.mlm(logits, targets, reduction="sum" if mean == "tokens" else "sum_per_seq", rows=texts)
        return total, (logits.detach().argmax(-1) == targets).sum() if hits else None
    each = None if mean == "tokens" else 1 / selected.sum(1).clamp(min=1).double()  # [B]
    weights = at.weights(torch.promote_types(states.dtype, torch.float32), each)  # [M]
    found = block_sum(encoder, mlm_terms, states, targets, *([] if weights is None else [weights]))
    right = found.best == targets  # [M]
    return found.total, (right if at.counted is None else right & at.counted).sum() if hits else None


def mlm_terms(log_q: Tensor, weight: Tensor | None = None) -> Tensor:
    """Cross-entropy at each position, [M], from log q there and what each counts."""
    return -log_q if weight is None else -weight * log_q
