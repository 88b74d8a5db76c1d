"""The shape that nearly all exercises have: for each case the right answer, the usual mistakes and their hints."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from contrast_kit import _util

# Hints that several exercises share.
OVER_THE_BATCH = "You normalised over dim=0, the batch. Each *vector* must have length 1: dim=1."
MEAN_OF_P = (
    "That is the mean of -p. The loss is -log p: it punishes a confident mistake without limit."
)
LOG_OF_MEAN = "First the log of each row's p, then the mean; not the other way round."
TAKE_NOTHING_OUT = "The diagonal holds the partners here and must stay: take nothing out."

NOT_FINITE = [math.nan, math.inf, -math.inf]

Rows = Callable[..., tuple[Any, Mapping[str, Any], str]]
"""From one case: the right answer, what each mistake gives (hint -> value), and what is said of any other answer."""


@dataclass(frozen=True)
class Table:
    """Checks an answer by the table of an exercise; see `contrast_kit.exercises.table` for the fields."""

    rows: Rows
    cases: Sequence[tuple]
    shape: str = ""
    further: Mapping[str, tuple] = field(default_factory=dict)
    leaves: str = ""
    detached: str = ""
    rtol: float = 1e-5
    then: Callable[[Callable], str | None] | None = None

    def __call__(self, answer: Any) -> str | None:
        """The hint for the first mistake that fits; None for a right answer."""
        if not callable(answer):
            parameters = " and ".join(signature(self.rows).parameters)
            return f"Give a function of {parameters}, so that it can be tried with several."
        values = [answer(*case) for case in self.cases]
        tables = [self.rows(*case) for case in self.cases]
        wrong = [
            i for i, (right, *_) in enumerate(tables) if not equals(values[i], right, self.rtol)
        ]
        if wrong:
            return self.mistake(values, tables, wrong[0])
        for hint, case in self.further.items():
            value = answer(*case)
            if not equals(value, self.rows(*case)[0], self.rtol):
                return filled(hint, value)
        if self.leaves:
            return self.gradient(answer)
        return self.then and self.then(answer)

    def mistake(self, values: list, tables: list, first: int) -> str:
        """The hint of the mistake that gives these values in all cases, worded for the first case that is wrong."""
        for rows in zip(*(mistakes.items() for _, mistakes, _ in tables), strict=True):
            pairs = zip(values, rows, strict=True)
            if all(fits(value, expected, self.rtol) for value, (_, expected) in pairs):
                return filled(rows[first][0], values[first])
        right, _, otherwise = tables[first]
        if self.shape and shape_of(values[first]) != shape_of(right):
            otherwise = self.shape
        return filled(otherwise, values[first])

    def gradient(self, answer: Callable) -> str | None:
        """The hint for a right value whose gradient with respect to one of the `leaves` is missing or wrong."""
        case = dict(zip(signature(self.rows).parameters, self.cases[0], strict=True))
        leaves = {
            name: case[name].detach().clone().requires_grad_() for name in self.leaves.split()
        }
        arguments = (case | leaves).values()
        right = torch.autograd.grad(
            self.rows(*arguments)[0], tuple(leaves.values()), allow_unused=True
        )
        with (
            torch.autograd.graph.allow_mutation_on_saved_tensors()
        ):  # an answer may normalise in place
            value = answer(*arguments)
            hint = "no gradient comes back: stay in torch, without item or detach."
            if getattr(value, "requires_grad", False):
                gradients = torch.autograd.grad(value, tuple(leaves.values()), allow_unused=True)
                hints = map(gradient_hint, leaves, gradients, right)
                hint = next(filter(None, hints), "")
        if hint:
            return f"The value is right, but {hint} {self.detached}".strip()
        return None


def gradient_hint(name: str, gradient: Tensor | None, target: Tensor | None) -> str:
    """What is wrong with one gradient; "" where nothing is."""
    if target is None:
        if gradient is not None and gradient.any():
            return f"a gradient flows into {name}: detach it."
        return ""
    if gradient is None:
        return f"no gradient reaches {name}: is it detached?"
    if gradient.isnan().any():
        return "its gradient is NaN: a log 0 or 0/0 is masked only after it was taken."
    if not torch.allclose(gradient, target, rtol=1e-3, atol=1e-5):
        return f"not the gradient that reaches {name}: is a part of the loss detached?"
    return ""


def equals(value: Any, target: Any, rtol: float = 1e-5) -> bool:
    """True for the same shape and values equal up to rounding; NaN equals NaN."""
    try:
        value = torch.as_tensor(value).detach().double()
    except (TypeError, ValueError, RuntimeError):
        return False
    target = torch.as_tensor(target).detach().double()
    return value.shape == target.shape and torch.allclose(value, target, rtol, 1e-7, equal_nan=True)


def fits(value: Any, expected: Any, rtol: float) -> bool:
    """True if the answer is what a mistake gives: one value, one of a list of values, or what a function finds true."""
    if isinstance(expected, list):
        return any(fits(value, each, rtol) for each in expected)
    if callable(expected):
        return bool(expected(value))
    return equals(value, expected, rtol)


def shape_of(value: Any) -> list[int]:
    """The shape of a tensor, an array or nested lists; [] for anything else."""
    try:
        return list(torch.as_tensor(value).shape)
    except (TypeError, ValueError, RuntimeError):
        return []


def shown(value: Any) -> str:
    """A number with four digits; anything else as it is."""
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError, RuntimeError):
        return _util.shown(value)


def filled(hint: str, value: Any) -> str:
    """A hint with the answer's value and shape in it."""
    return hint.replace("{value}", shown(value)).replace("{shape}", str(shape_of(value)))


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in float64."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def vectors(rows: int, seed: int = 0) -> Tensor:
    """Vectors [rows, 4] of different lengths, so that a missing normalisation or a transposition shows."""
    return draw(rows, 4, seed=seed) * torch.linspace(0.5, 3.0, rows, dtype=torch.float64)[:, None]
