"""The contrastive losses, forward and backward, beside their peers.

    python benchmarks/losses.py                         # all sizes: some four minutes on two cores
    python benchmarks/losses.py --only "NT-Xent 8192"   # one case
    python benchmarks/losses.py --tuned                 # with an allocator that keeps its pages: the peers' best case

N vectors of width 256, float32, τ = 0.1. Half of a plain loss's time at N = 8,192 goes into fresh pages for its N x N
buffers; `--tuned` tells glibc to keep them, so both are reported.
"""

from collections.abc import Callable

import _peers
import torch
from _bench import Case, main
from torch import Tensor

from contrast_kit import fast, losses
from contrast_kit.fast import kernels

D, TAU = 256, 0.1
# Their N x N x N masks or some five N x N matrices do not fit, or take minutes.
TOO_LARGE = {"pytorch-metric-learning NTXentLoss": 512}


def both_ways(loss: Callable[..., Tensor], *inputs: Tensor, quick: bool = False) -> Callable[[], None]:
    """One forward and backward pass, with or without the faster float32 product."""

    def call() -> None:
        for x in inputs:
            x.grad = None
        with kernels.fast_float32(quick):
            loss(*inputs).backward()

    return call


def vectors(n: int, seed: int = 0) -> Tensor:
    return torch.randn(n, D, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def with_routes(ours: Callable[..., Tensor], *inputs: Tensor) -> dict[str, Callable[[], None]]:
    """Ours as chosen by size, in tiles with and without the faster product, and plain."""

    def plain(*inputs: Tensor) -> Tensor:
        with fast.plain():
            return ours(*inputs)

    calls = {"ours": both_ways(ours, *inputs), "ours, plain": both_ways(plain, *inputs)}
    if kernels.probe().accurate:
        calls["ours, fast float32"] = both_ways(ours, *inputs, quick=True)
    return calls


def nt_xent(n: int) -> dict[str, Callable[[], object]]:
    """N anchors: N/2 texts, two views each."""
    a, b = vectors(n // 2), vectors(n // 2, seed=1)
    partners = torch.arange(n // 2).repeat(2)
    theirs = _peers.metric_learning("NTXentLoss")
    return with_routes(lambda a, b: losses.nt_xent(a, b, TAU), a, b) | {
        "mask and cross_entropy": both_ways(_peers.masked_cross_entropy, a, b),
        "lightly's algorithm": both_ways(_peers.lightly_nt_xent, a, b),
        "pytorch-metric-learning NTXentLoss": both_ways(
            lambda a, b: theirs(torch.cat([a, b]), partners), a, b
        ),
    }


def sup_con(n: int) -> dict[str, Callable[[], object]]:
    """N vectors of ten classes."""
    x, labels = vectors(n), torch.arange(n) % 10
    theirs = _peers.metric_learning("SupConLoss")
    return with_routes(lambda x: losses.sup_con(x, labels, TAU, reduction="mean"), x) | {
        "SupContrast's algorithm": both_ways(lambda x: _peers.supcontrast(x, labels), x),
        "pytorch-metric-learning SupConLoss": both_ways(lambda x: theirs(x, labels), x),
    }


def info_nce(n: int) -> dict[str, Callable[[], object]]:
    """N anchors against N candidates, one direction."""
    a, b = vectors(n), vectors(n, seed=1)
    return with_routes(lambda a, b: losses.info_nce(a, b, TAU), a, b) | {
        "sentence-transformers MNRL": both_ways(_peers.sentence_transformers(), a, b),
        "sentence-transformers Cached(32)": both_ways(_peers.sentence_transformers(cached=32), a, b),
        "torch linear_cross_entropy, chunked": both_ways(_peers.linear_cross_entropy, a, b),
    }


def large(n: int) -> dict[str, Callable[[], object]]:
    """More than any matrix can hold here: ours alone."""
    a, b = vectors(n // 2), vectors(n // 2, seed=1)
    calls = with_routes(lambda a, b: losses.nt_xent(a, b, TAU), a, b)
    return {name: call for name, call in calls.items() if name != "ours, plain"}


def case(kind: str, make: Callable[[int], dict], n: int, products: int) -> Case:
    left_out = frozenset(name for name, most in TOO_LARGE.items() if n > most and kind == "NT-Xent")
    flop, facts, memory = products * n**2 * D, {"n": n, "d": D}, n >= 8192 or n < 100
    return Case(f"{kind} {n}", lambda: make(n), flop, memory=memory, leave_out=left_out, facts=facts)


# 4 N²D where the matrix is symmetric: forward, forward again, and two halves of a gradient; 6 N²D where it is not.
KINDS = {"NT-Xent": (nt_xent, 4), "SupCon": (sup_con, 4), "InfoNCE": (info_nce, 6)}


def cases(*sizes: int) -> list[Case]:
    return [case(kind, make, n, products) for n in sizes for kind, (make, products) in KINDS.items()]


if __name__ == "__main__":
    main("losses", [*cases(512, 2048, 8192), case("NT-Xent", large, 32_768, 4)], cases(64), __doc__)
