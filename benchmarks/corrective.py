"""COCO-LM's corrective language model, forward and backward: 30,000 words, 32 texts of 64 tokens, width 256.

    python benchmarks/corrective.py

The paper prints a probability for each token; read literally, a softmax over the vocabulary stands at every
position, and is then mixed with the copy mechanism. It counts at masked positions only (15 %), and in logarithms.
"""

from collections.abc import Callable
from functools import partial

import torch
from _bench import Case, main
from torch import Tensor
from torch.nn import functional as F

from contrast_kit import kernels, losses
from contrast_kit.losses.corrective import corrective_terms
from contrast_kit.losses.words import sum_over_words


def literally(
    logits: Tensor, copy_logits: Tensor, corrupted: Tensor, original: Tensor, masked: Tensor
) -> Tensor:
    """The printed formula, at all positions: p = 1(same) p_copy + (1 - p_copy) softmax, then the log where masked."""
    p_copy = copy_logits.sigmoid().detach()
    p = (1 - p_copy)[..., None] * logits.softmax(-1)  # [B, T, V]
    p = p + F.one_hot(corrupted, p.shape[-1]) * p_copy[..., None]
    return -p.gather(-1, original[..., None]).squeeze(-1).log()[masked].mean()


def everywhere(
    logits: Tensor, copy_logits: Tensor, corrupted: Tensor, original: Tensor, masked: Tensor
) -> Tensor:
    """The same in logarithms, still with scores at all positions."""
    log_q = -F.cross_entropy(logits.flatten(0, 1), original.flatten(), reduction="none").view(original.shape)
    return corrective_terms(log_q, copy_logits.detach(), corrupted == original)[masked].mean()


def corrective(b: int, t: int, d: int, v: int) -> dict[str, Callable[[], object]]:
    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn(b, t, d, generator=draw).requires_grad_()
    weight = (0.05 * torch.randn(v, d, generator=draw)).requires_grad_()
    copy_logits = torch.randn(b, t, generator=draw)
    original = torch.randint(v, (b, t), generator=draw)
    masked = torch.rand(b, t, generator=draw) < 0.15
    corrupted = torch.where(masked & (torch.rand(b, t, generator=draw) < 0.5), original.roll(1), original)

    def all_positions(loss: Callable[..., Tensor]) -> Tensor:
        return loss(hidden @ weight.T, copy_logits, corrupted, original, masked)

    def masked_positions() -> Tensor:
        rows = copy_logits[masked], corrupted[masked], original[masked]
        return losses.corrective_lm(hidden[masked] @ weight.T, *rows)  # [M, V]

    def in_blocks() -> Tensor:
        rows = copy_logits[masked], (corrupted == original)[masked]
        found = sum_over_words(corrective_terms, hidden[masked], weight, None, original[masked], *rows)
        return found.total / masked.sum()

    def both_ways(loss: Callable[[], Tensor], fast: bool = False) -> Callable[[], None]:
        def call() -> None:
            hidden.grad = weight.grad = None
            with kernels.fast_float32(fast):
                loss().backward()

        return call

    calls = {
        "ours, in blocks": both_ways(in_blocks),
        "ours, plain at masked positions": both_ways(masked_positions),
    }
    if kernels.probe().accurate:
        calls["ours, in blocks, fast float32"] = both_ways(in_blocks, fast=True)
    return calls | {
        "all positions, in logarithms": both_ways(partial(all_positions, everywhere)),
        "all positions, read literally": both_ways(partial(all_positions, literally)),
    }


def case(b: int, t: int, d: int, v: int) -> Case:
    flop = 6 * 0.15 * b * t * d * v  # scores at masked positions, and their two gradients
    return Case(f"{b} x {t}, V = {v}", lambda: corrective(b, t, d, v), flop=flop, facts={"width": d})


if __name__ == "__main__":
    main("corrective", [case(32, 64, 256, 30_000)], [case(4, 8, 16, 100)], __doc__)
