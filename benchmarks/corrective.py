"""The corrective language model's loss, forward and backward: 32 × 64 tokens, width 256, 30,000 words.

    python benchmarks/corrective.py

The paper takes it at masked positions (15 %). Literally, p_LM is a distribution over all words at all positions;
`all positions` computes that and looks at the masked ones. Ours is `fast.sum_over_words` with the paper's formula.
"""

from collections.abc import Callable

import torch
from _bench import Case, main

from contrast_kit import losses
from contrast_kit.fast import kernels, sum_over_words
from contrast_kit.losses.tokens import corrective_terms


def corrective(
    tokens: int = 32 * 64, width: int = 256, words: int = 30_000
) -> dict[str, Callable[[], object]]:
    g = torch.Generator().manual_seed(0)
    states = torch.randn(tokens, width, generator=g).requires_grad_()
    weight = (torch.randn(words, width, generator=g) * 0.05).requires_grad_()
    copying = torch.randn(tokens, generator=g)
    original = torch.randint(words, (tokens,), generator=g)
    masked = torch.rand(tokens, generator=g) < 0.15
    read = torch.where(
        torch.rand(tokens, generator=g) < 0.3, original, torch.randint(words, (tokens,), generator=g)
    )

    def backward(loss: torch.Tensor) -> None:
        states.grad = weight.grad = None
        loss.backward()

    def ours(fast: bool = False) -> None:
        with kernels.fast_float32(fast):
            rows = copying[masked], read[masked] == original[masked]
            total, _ = sum_over_words(
                corrective_terms, states[masked], weight, None, original[masked], *rows
            )
            backward(total)

    def plain() -> None:
        logits = states[masked] @ weight.T  # [M, V]
        inputs = logits, copying[masked], read[masked], original[masked]
        backward(losses.corrective_lm(*inputs, reduction="sum"))

    def everywhere() -> None:
        loss = losses.corrective_lm(states @ weight.T, copying, read, original, reduction="none")
        backward(loss[masked].sum())

    calls = {"ours": ours, "masked positions, plain": plain, "all positions": everywhere}
    return calls | ({"ours, fast float32": lambda: ours(True)} if kernels.probe().accurate else {})


MASKED_FLOP = 6 * 0.15 * 32 * 64 * 256 * 30_000

if __name__ == "__main__":
    main(
        "corrective",
        [Case("32x64, 30k words", corrective, flop=MASKED_FLOP)],
        [Case("tiny", lambda: corrective(64, 16, 100))],
        __doc__,
    )
