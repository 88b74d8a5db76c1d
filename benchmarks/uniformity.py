"""The uniformity of N vectors of width 256, value alone and with its gradient, beside align_uniform's form.

python benchmarks/uniformity.py
"""

from collections.abc import Callable

import _peers
import torch
from _bench import Case, main
from torch import Tensor

from contrast_kit import geometry
from contrast_kit.fast import kernels

D = 256


def value(n: int) -> dict[str, Callable[[], object]]:
    x = torch.nn.functional.normalize(torch.randn(n, D, generator=torch.Generator().manual_seed(0)))
    return _forms(x, lambda measure: lambda: measure(x))


def with_gradient(n: int) -> dict[str, Callable[[], object]]:
    x = torch.nn.functional.normalize(torch.randn(n, D, generator=torch.Generator().manual_seed(0)))
    x.requires_grad_()
    return _forms(x, lambda measure: lambda: torch.autograd.grad(measure(x), x))


def _forms(x: Tensor, call: Callable) -> dict[str, Callable[[], object]]:
    calls = {"ours": call(geometry.uniformity), "align_uniform's form": call(_peers.uniformity)}
    if not kernels.probe().accurate:
        return calls

    def fast() -> object:
        with kernels.fast_float32():
            return calls["ours"]()

    return calls | {"ours, fast float32": fast}


def cases(*sizes: int) -> list[Case]:
    # 1 N²D for the value (half of a matrix product), 3 N²D with the gradient.
    return [
        Case(f"{name} {n}", lambda make=make, n=n: make(n), flop=products * n**2 * D, facts={"n": n, "d": D})
        for n in sizes
        for name, make, products in (("value", value, 1), ("gradient", with_gradient, 3))
    ]


if __name__ == "__main__":
    main("uniformity", cases(2048, 8192), cases(64), __doc__)
