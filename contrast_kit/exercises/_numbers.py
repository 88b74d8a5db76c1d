"""Compare an answer with the right number or tensor, and with those of usual mistakes."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

# Hints that several exercises share.
OVER_THE_BATCH = "You normalised over dim=0, the batch. Each *vector* must have length 1: dim=1."
MEAN_OF_P = "That is the mean of -p. The loss is -log p: it punishes a confident mistake without limit."
LOG_OF_MEAN = "First the log of each row's p, then the mean; not the other way round."
TAKE_NOTHING_OUT = "The diagonal holds the partners here and must stay: take nothing out."


def equals(value: object, target: Tensor | float) -> bool:
    """True for the same shape and values equal up to rounding; False for what is not a number."""
    target = torch.as_tensor(target).detach().to(torch.float64)
    try:
        value = torch.as_tensor(value).detach()
    except (TypeError, ValueError, RuntimeError):
        return False
    if value.is_complex():  # as float64 it would lose its imaginary part
        return False
    value = value.to(torch.float64)
    return value.shape == target.shape and bool(torch.allclose(value, target, atol=1e-7))


def near(value: object, target: Tensor | float) -> bool:
    """True for values equal to four digits: typed by hand, or summed in another order."""
    return math.isclose(float(value), float(target), rel_tol=1e-4, abs_tol=1e-4)


def first_hint(
    said: object, mistakes: Iterable[tuple[Tensor | float, str]], same: Callable[..., bool] = equals
) -> str | None:
    """The hint of the first mistake whose value is the `same` as this answer; None where there is none."""
    return next((hint for value, hint in mistakes if same(said, value)), None)


def many(said: object, what: str) -> str | None:
    """The hint for a tensor, an array, a list or a tuple where one number is asked for."""
    if isinstance(said, list | tuple):
        return f"Return one number, {what}; yours is a {type(said).__name__} of {len(said)}."
    shape = list(getattr(said, "shape", ()))
    return f"Return one number, {what}; yours has shape {shape}." if shape else None


class Tried:
    """A function of numbers tried at several points, so that no constant is right and no number has two readings."""

    def __init__(self, answer: Callable, *points: tuple):
        self.points = points
        self.said = [answer(*point) for point in points]

    def wrong(self, right: Callable, same: Callable[..., bool] = equals) -> tuple[tuple, Any] | None:
        """The first point at which the answer is not that of `right`, and what it says there; None without one."""
        pairs = zip(self.points, self.said, strict=True)
        return next(((point, said) for point, said in pairs if not same(said, right(*point))), None)

    def hint(self, mistakes: Mapping[Callable, str], same: Callable[..., bool] = equals) -> str | None:
        """The hint of the first formula that gives the answer's number at every point."""
        return next((hint for formula, hint in mistakes.items() if self.wrong(formula, same) is None), None)


def shown(value: object) -> str:
    """A number with four digits; anything else as it is."""
    try:
        return f"{float(value):.4g}"  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        return repr(value)


def no_gradient(value: object, and_also: str = "") -> str | None:
    """The hint for a right value that cannot be trained."""
    if isinstance(value, Tensor) and value.requires_grad:
        return None
    return f"The value is right, but no gradient comes back: stay in torch, without item or detach.{and_also}"


def gradient(loss: Callable[..., Tensor], given: Mapping[str, Tensor], *rest: Any, right: Callable) -> str | None:
    """The hint for a right value whose gradient with respect to one of these tensors is missing or wrong."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in given.values()]
    expected = torch.autograd.grad(right(*leaves, *rest), leaves)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():  # an answer may normalise in place
        value = loss(*leaves, *rest)
        if hint := no_gradient(value):
            return hint
        found = torch.autograd.grad(value, leaves, allow_unused=True)
    for name, gradient, target in zip(given, found, expected, strict=True):
        if gradient is None:
            return f"The value is right, but no gradient reaches {name}: is it detached?"
        if gradient.isnan().any():
            return "The value is right, but its gradient is NaN: a log 0 or 0/0 is masked only after it was taken."
        if not torch.allclose(gradient, target, rtol=1e-3, atol=1e-5):
            return f"The value is right, but not the gradient that reaches {name}: is a part of the loss detached?"
    return None
