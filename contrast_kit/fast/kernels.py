"""Products of matrices on this processor: a faster float32 one where it is as accurate, and what bfloat16 is worth.

On CPUs, torch multiplies float32 matrices with MKL. The switch `torch.backends.mkldnn.matmul.fp32_precision = "bf16"`
*allows* it to round to bfloat16. What then happens depends on the processor: with AVX-512 but without AMX, oneDNN's own
float32 kernel takes over, as accurate and up to twice as fast (on AMD, where MKL holds back); with AMX the products are
really rounded, and two digits remain. So nobody should assume: `probe` tries it, and `fast_float32` switches it on for
the length of a `with` block only if the digits stayed.

The tiles of large contrasts use it by themselves (`tile_products`); `allow(False)` forbids it everywhere. For a whole
run, opt in with `with kernels.fast_float32(): fit(…)`: torch.compile cannot be called inside.

bfloat16 itself, which `precision="bf16"` asks for, is faster than float32 on some processors and much slower on others:
`bfloat16_speed` measures it, and `fit` warns of a slow one.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

_allowed = True

ACCURATE = 2e-6
"""Relative error up to which a product counts as float32: torch's own is 2e-7; one rounded to bfloat16 has 2e-3."""


@dataclass(frozen=True)
class Probe:
    """What the switch does on this machine."""

    available: bool
    """Whether this torch has the switch (2.9 and later, CPU builds with oneDNN)."""
    error: float
    """Relative error of a product as torch makes it by default, against float64."""
    switched_error: float
    """The same with the switch on."""
    gflops: float
    """Speed by default, in 10⁹ operations a second (a few milliseconds' measurement: rough)."""
    switched_gflops: float
    """The same with the switch on."""

    @property
    def accurate(self) -> bool:
        """Whether float32 stays float32 with the switch on."""
        return self.available and self.switched_error < ACCURATE

    def __str__(self) -> str:
        if not self.available:
            return "this torch has no switch for it"
        speed = f"{self.gflops:.0f} → {self.switched_gflops:.0f} GFLOP/s"
        error = f"error {self.error:.0e} → {self.switched_error:.0e}"
        use = "may be used (kernels.fast_float32)" if self.accurate else "rounds to bfloat16: will not be used"
        return f"{speed}, {error}: {use}"


@cache
def probe() -> Probe:
    """Try the switch once in this process: error against float64, and speed. The setting is as before afterwards.

    Example:
        >>> found = probe()
        >>> found.error < 2e-6
        True
        >>> found is probe()  # measured once
        True
    """
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 384, 384, generator=generator)  # [384, 384] each
    exact = x.double() @ y.double()
    error, gflops = _measure(x, y, exact)
    if _switch() is None:
        return Probe(False, error, error, gflops, gflops)
    with _set_to("bf16"):
        switched_error, switched_gflops = _measure(x, y, exact)
    return Probe(True, error, switched_error, gflops, switched_gflops)


@cache
def bfloat16_speed() -> float:
    """How many times as fast as an ordinary float32 product one of bfloat16 is here; measured once, roughly.

    Example:
        >>> bfloat16_speed() > 0
        True
    """
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 256, 256, generator=generator)  # [256, 256] each: it may be very slow
    with _set_to("none") if _switch() else nullcontext():
        return _seconds(x, y, 20) / _seconds(x.bfloat16(), y.bfloat16(), 20)


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
    if not (wanted and _allowed and probe().accurate):
        yield False
        return
    with _set_to("bf16"):
        yield True


def allow(on: bool = True) -> None:
    """Whether the faster product may be used in this process at all; it may, unless you forbid it.

    Forbid it to compare the last digits of two runs, one of them on another kind of processor.

    Example:
        >>> allow(False)
        >>> with fast_float32() as used:
        ...     used
        False
        >>> allow(True)
    """
    global _allowed
    _allowed = on


@contextmanager
def tile_products(x: Tensor) -> Iterator[None]:
    """Products of tiles of x, with the caller's autocast off: in x's dtype, by the faster kernel if it is accurate."""
    with (
        torch.autocast(x.device.type, enabled=False),
        fast_float32(x.device.type == "cpu" and x.dtype == torch.float32),
    ):
        yield


def _switch() -> object | None:
    """Where torch keeps the setting, or None in a torch without it."""
    switch = getattr(torch.backends.mkldnn, "matmul", None)
    return switch if torch.backends.mkldnn.is_available() and hasattr(switch, "fp32_precision") else None


@contextmanager
def _set_to(precision: str) -> Iterator[None]:
    switch = _switch()
    before = switch.fp32_precision
    switch.fp32_precision = precision
    try:
        yield
    finally:
        switch.fp32_precision = before


def _measure(x: Tensor, y: Tensor, exact: Tensor) -> tuple[float, float]:
    """Relative error and GFLOP/s of x y."""
    error = torch.linalg.norm(x @ y - exact) / torch.linalg.norm(exact)
    return error.item(), 2 * len(x) ** 3 / _seconds(x, y) / 1e9


def _seconds(x: Tensor, y: Tensor, trials: int = 5) -> float:
    """The shortest time that x y takes."""
    times = []
    for _ in range(trials):
        start = time.perf_counter()
        x @ y
        times.append(time.perf_counter() - start)
    return min(times)
