"""Products of matrices on this processor: a faster float32 one where it is as accurate, and what bfloat16 is worth.

On CPUs, torch multiplies float32 matrices with MKL. The switch `torch.backends.mkldnn.matmul.fp32_precision = "bf16"`
*allows* it to round to bfloat16. What then happens depends on the processor: with AVX-512 but without AMX, oneDNN's own
float32 kernel takes over, as accurate and up to twice as fast (on AMD, where MKL holds back); with AMX the products are
really rounded, and two digits remain. So nobody should assume: `probe` tries it, and `fast_float32` switches it on for
the length of a `with` block only if the digits stayed.

The tiles of large contrasts use it by themselves (`tile_products`). For a whole run, opt in with `with
kernels.fast_float32(): fit(…)`: torch.compile cannot be called inside.

bfloat16 itself, which `precision="bf16"` asks for, is faster than float32 on some processors and much slower on others:
`bfloat16_speed` measures it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

ACCURATE = 2e-6
"""Relative error up to which a product counts as float32: torch's own is 2e-7; one rounded to bfloat16 has 2e-3."""


@dataclass(frozen=True)
class Probe:
    """What the switch does on this machine: relative errors of a product against float64, by default and switched."""

    error: float
    switched_error: float

    @property
    def accurate(self) -> bool:
        """Whether float32 stays float32 with the switch on."""
        return self.switched_error < ACCURATE

    def __str__(self) -> str:
        use = "rounds to bfloat16: will not be used"
        if self.accurate:
            use = "may be used (kernels.fast_float32)"
        return f"error {self.error:.0e} → {self.switched_error:.0e}: {use}"


@cache
def probe() -> Probe:
    """Try the switch once in this process. The setting is as before afterwards.

    Example:
        >>> probe().error < 2e-6
        True
    """
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 384, 384, generator=generator)  # [384, 384] each
    exact = x.double() @ y.double()
    errors = []
    for precision in ("none", "bf16"):
        with _set_to(precision):
            errors.append(
                (torch.linalg.norm(x @ y - exact) / torch.linalg.norm(exact)).item()
            )
    return Probe(*errors)


@cache
def bfloat16_speed() -> float:
    """How many times as fast as an ordinary float32 product one of bfloat16 is here; measured once, roughly.

    Example:
        >>> bfloat16_speed() > 0
        True
    """
    generator = torch.Generator().manual_seed(0)
    # [256, 256] each: it may be very slow
    x, y = torch.randn(2, 256, 256, generator=generator)
    with _set_to("none"):
        return _seconds(x, y) / _seconds(x.bfloat16(), y.bfloat16())


@contextmanager
def fast_float32(wanted: bool = True) -> Iterator[bool]:
    """Use the faster float32 product inside a `with` block, if this machine has one that is accurate.

    It concerns every float32 product on the CPU that is made inside, forward and backward, so wrap a whole run,
    `with kernels.fast_float32(): fit(...)`, not only a loss. Results differ in the last digits from those outside
    (another order of summation): stay on one side when you resume. Do not compile inside: torch.compile asks for the
    setting by its older name, and torch then raises.

    Args:
        wanted: False leaves everything as it is, for a caller with an option.

    Returns:
        For `with … as used`: whether it is on. The setting is put back at the end, also after an error.

    Example:
        >>> import torch
        >>> x = torch.eye(3)
        >>> with fast_float32() as used:
        ...     y = x @ x
        >>> torch.equal(x, y), isinstance(used, bool)
        (True, True)
    """
    if not (wanted and probe().accurate):
        yield False
        return
    with _set_to("bf16"):
        yield True


def half_product(x: Tensor, y: Tensor) -> Tensor:
    """The float32 product of two matrices rounded to bfloat16; rounding the product itself would lose the cosine."""
    x, y = x.bfloat16(), y.bfloat16()
    if x.device.type == "cuda":
        return torch.mm(x, y, out_dtype=torch.float32)
    return x.float() @ y.float()  # the same numbers where nothing is gained by it


@contextmanager
def tile_products(x: Tensor) -> Iterator[None]:
    """Products of tiles of x, with the caller's autocast off: in x's dtype, by the faster kernel if it is accurate."""
    wanted = x.device.type == "cpu" and x.dtype == torch.float32
    with torch.autocast(x.device.type, enabled=False), fast_float32(wanted):
        yield


@contextmanager
def _set_to(precision: str) -> Iterator[None]:
    switch = getattr(torch.backends.mkldnn, "matmul", None)
    if not hasattr(switch, "fp32_precision"):  # torch before 2.9
        yield
        return
    before = switch.fp32_precision
    switch.fp32_precision = precision
    try:
        yield
    finally:
        switch.fp32_precision = before


def _seconds(x: Tensor, y: Tensor, trials: int = 20) -> float:
    """The shortest time that x y takes."""
    times = []
    for _ in range(trials):
        start = time.perf_counter()
        x @ y
        times.append(time.perf_counter() - start)
    return min(times)
