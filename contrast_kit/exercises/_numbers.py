"""Whether an answer is the number, or the tensor, that was asked for."""

import math

import torch
from torch import Tensor


def equals(value: object, target: Tensor | float) -> bool:
    """Of one shape and equal up to rounding. What is no number at all is not."""
    target = torch.as_tensor(target).detach().to(torch.float64)
    try:
        value = torch.as_tensor(value).detach().to(torch.float64)
    except (TypeError, ValueError, RuntimeError):
        return False
    return value.shape == target.shape and bool(torch.allclose(value, target, atol=1e-7))


def near(value: object, target: Tensor | float) -> bool:
    """Equal to four digits: what somebody has typed, or has added up in another order."""
    return math.isclose(float(value), float(target), rel_tol=1e-4, abs_tol=1e-4)


def first_hint(said: object, mistakes: list[tuple[Tensor | float, str]]) -> str | None:
    """The hint of the first mistake that gives just this answer."""
    return next((hint for value, hint in mistakes if equals(said, value)), None)
