"""The shape that nearly all exercises have: for each case the right answer, the usual mistakes and their hints."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from contrast_kit._util import shown

NOT_FINITE = [math.nan, math.inf, -math.inf]


@dataclass(frozen=True)
class Table:
    """Checks an answer by the table of an exercise; see `contrast_kit.exercises.table` for the fields."""

    rows: Callable[..., tuple[Any, dict[str, Any]]]
    cases: Sequence[tuple]
    otherwise: str
    shape: str = ""
    further: Sequence[tuple] = ()
    beyond: Sequence[str] = ()
    leaves: str = ""
    detached: str = ""
    then: Callable[[Callable], str | None] | None = None

    def __call__(self, answer: Any) -> str | None:
        """The hint for the first mistake that fits; None for a right answer."""
        if not callable(answer):
            parameters = " and ".join(signature(self.rows).parameters)
            return (
                f"Give a function of {parameters}, so that it can be tried with several."
            )
        values = [answer(*case) for case in self.cases]
        tables = [self.rows(*case) for case in self.cases]
        for i, (right, _) in enumerate(tables):
            if not equals(values[i], right):
                return self.filled(self.mistake(values, tables, i), values[i], i)
        for hint, case in zip(self.beyond, self.further, strict=True):
            value = answer(*case)
            if not equals(value, self.rows(*case)[0]):
                return self.filled(hint, value)
        if self.leaves:
            return self.gradient(answer)
        return self.then and self.then(answer)

    def mistake(self, values, tables, first):
        """The hint of the mistake that gives these values in all cases."""
        mistakes = [of_case for _, of_case in tables]
        for hint in mistakes[0]:
            expected = [of_case[hint] for of_case in mistakes]
            if all(map(fits, values, expected)):
                return hint
        if self.shape and shape_of(values[first]) != shape_of(tables[first][0]):
            return self.shape
        return self.otherwise

    def filled(self, hint, value, i=0):
        """A hint with the answer's value and shape in it, and with the arguments of a case and their right answer."""
        case = self.cases[i]
        words = {
            "right": self.rows(*case)[0],
            "value": number(value),
            "shape": shape_of(value),
        }
        words |= dict(zip(signature(self.rows).parameters, case, strict=True))
        for name, word in words.items():
            if isinstance(word, Tensor):
                words[name] = word.tolist()
        return hint.format_map(words)

    def gradient(self, answer):
        """The hint for a right value whose gradient with respect to one of the `leaves` is missing or wrong."""
        case = dict(zip(signature(self.rows).parameters, self.cases[0], strict=True))
        names = self.leaves.split()
        leaves = [case[name].detach().clone().requires_grad_() for name in names]
        arguments = (case | dict(zip(names, leaves, strict=True))).values()
        right = torch.autograd.grad(self.rows(*arguments)[0], leaves, allow_unused=True)
        # an answer may normalise in place
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            value = answer(*arguments)
            hints = ["no gradient comes back: stay in torch, without item or detach."]
            if getattr(value, "requires_grad", False):
                gradients = torch.autograd.grad(value, leaves, allow_unused=True)
                hints = map(gradient_hint, names, gradients, right)
            for hint in filter(None, hints):
                return f"The value is right, but {hint} {self.detached}".strip()
        return None


def gradient_hint(name, gradient, target):
    """What is wrong with one gradient; "" where nothing is."""
    if target is None:
        flows = gradient is not None and gradient.any()
        return f"a gradient flows into {name}: detach it." * bool(flows)
    if gradient is None:
        return f"no gradient reaches {name}: is it detached?"
    if gradient.isnan().any():
        return "its gradient is NaN: a log 0 or 0/0 is masked only after it was taken."
    if not torch.allclose(gradient, target, rtol=1e-3, atol=1e-5):
        return f"not the gradient that reaches {name}: is a part of the loss detached?"
    return ""


def tensor(value: Any) -> Tensor | None:
    """A number, an array or nested lists as a tensor of float64; None for anything else."""
    try:
        return torch.as_tensor(value).detach().double()
    except (TypeError, ValueError, RuntimeError):
        return None


def equals(value: Any, target: Any) -> bool:
    """True for the same shape and values equal up to rounding; NaN equals NaN."""
    value = tensor(value)
    target = tensor(target)
    if value is None or value.shape != target.shape:
        return False
    return torch.allclose(value, target, 1e-4, 1e-7, equal_nan=True)


def fits(value: Any, expected: Any) -> bool:
    """True if the answer is what a mistake gives: one value, one of a list of values, or what a function finds true."""
    if isinstance(expected, list):
        return any(fits(value, each) for each in expected)
    if callable(expected):
        return bool(expected(value))
    return equals(value, expected)


def shape_of(value: Any) -> list[int]:
    """The shape of a tensor, an array or nested lists; [] for anything else."""
    value = tensor(value)
    return [] if value is None else list(value.shape)


def number(value: Any) -> str:
    """A number with four digits; anything else as it is."""
    try:
        return f"{float(value):.4g}"
    except (TypeError, ValueError, RuntimeError):
        return shown(value)


def apart(n: int) -> Tensor:
    """[n, n] bool: each with all but itself."""
    return ~torch.eye(n, dtype=torch.bool)


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in float64."""
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )


def vectors(rows: int, seed: int = 0) -> Tensor:
    """Vectors [rows, 4] of different lengths, so that a missing normalisation or a transposition shows."""
    return (
        draw(rows, 4, seed=seed)
        * torch.linspace(0.5, 3.0, rows, dtype=torch.float64)[:, None]
    )
