"""Compare an answer with the right number or tensor, and with those of usual mistakes."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def equals(value: object, target: Tensor | float) -> bool:
    """True for one shape and values equal up to rounding; False for what is no number."""
    target = torch.as_tensor(target).detach().to(torch.float64)
    try:
        value = torch.as_tensor(value).detach().to(torch.float64)
    except (TypeError, ValueError, RuntimeError):
        return False
    return value.shape == target.shape and bool(torch.allclose(value, target, atol=1e-7))


def near(value: object, target: Tensor | float) -> bool:
    """True for values equal to four digits: typed by hand, or summed in another order."""
    return math.isclose(float(value), float(target), rel_tol=1e-4, abs_tol=1e-4)


def first_hint(
    said: object, mistakes: Iterable[tuple[Tensor | float, str]], same: Callable[..., bool] = equals
) -> str | None:
    """The hint of the first mistake whose value is the `same` as this answer; None where there is none."""
    return next((hint for value, hint in mistakes if same(said, value)), None)
