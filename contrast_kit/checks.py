"""Arguments, brought into shape or refused in one sentence that says what was wrong and what to do.

Imports torch only; every room may use it. Letters: N vectors, D width, V vocabulary.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import torch
from torch import Tensor

from contrast_kit._util import meant, shown

# Each thread has its own.
_reads_values: ContextVar[bool] = ContextVar("reads_values", default=True)


class NotFiniteError(ValueError):
    """A number that should be finite is not: a `ValueError` of its own, so that a trainer can catch it."""


@contextmanager
def unchecked(on: bool = True) -> Iterator[None]:
    """Inside this context losses check types and shapes but no values, since reading those means waiting for a GPU.

    The trainer uses it on a GPU, and reads the loss at the end of a logged step. `unchecked(False)` changes nothing.
    """
    before = _reads_values.set(_reads_values.get() and not on)
    try:
        yield
    finally:
        _reads_values.reset(before)


@contextmanager
def drawing_on_its_device() -> Iterator[None]:
    """Inside, torch's complaint that a generator is of another device also says what to do."""
    try:
        yield
    except RuntimeError as error:
        if "generator" in str(error):
            error.add_note(
                "The generator is on the batch's device: draw there, with device=ids.device."
            )
        raise


def is_traced(x: Tensor) -> bool:
    """Whether x has no values now: on the device "meta", in `torch.compile`, or in a transform of `torch.func`."""
    return (
        x.is_meta
        or torch.compiler.is_compiling()
        or torch._C._are_functorch_transforms_active()
    )


def reads(x: Tensor) -> bool:
    """Whether a check reads the values of x: not where they are traced (`is_traced`), nor inside `unchecked`."""
    if x.is_meta or torch.compiler.is_compiling() or not _reads_values.get():
        return False
    return not torch._C._are_functorch_transforms_active()


def precise(*tensors: Any) -> torch.dtype:
    """The dtype of a result: the widest of these tensors', and float32 at least."""
    dtype = torch.float32
    for x in tensors:
        dtype = torch.promote_types(dtype, x.dtype)
    return dtype


def floats(x: Tensor, name: str) -> Tensor:
    """Numbers in float32 or better: half precision is raised before anything is summed."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"{name} must be a tensor of floating-point numbers, not {kind}.")
    return x.to(precise(x))


def vectors(x: Tensor, name: str, at_least: int = 1) -> Tensor:
    """At least `at_least` rows of numbers, [N, D], in float32 or better."""
    x = floats(x, name)
    if x.dim() != 2 or not x.shape[1] or len(x) < at_least:
        least = "one row" if at_least == 1 else f"{at_least} rows"
        raise ValueError(
            f"{name} must be [N, D], one vector a row, with at least {least}, got shape {list(x.shape)}."
        )
    return x


def normalise(x: Tensor, name: str = "x") -> Tensor:
    """Scale each row to length 1, so that a dot product of two rows is their cosine.

    CMLM, eq. 8: h / ||h||_2. CAPT, eq. 1: the outer norm of s(x). SCL calls it "l2 normalization".

    Args:
        x: vectors [N, D], any floating dtype. Half precision is raised to float32 *before* the norm is taken.
        name: what to call x in an error message.

    Returns:
        [N, D], float32 (float64 where x is float64).

    Raises:
        ValueError: not [N, D], or a row of zeros. NotFiniteError: NaN or infinity in a row.

    Example:
        >>> import torch
        >>> normalise(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    if x.dim() != 2:
        raise ValueError(
            f"{name} must be [N, D], one vector a row, got shape {list(x.shape)}. Flatten several views of each "
            "example, x.flatten(0, 1), and repeat their labels."
        )
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    norm = torch.linalg.vector_norm(x, dim=1, keepdim=True)  # [N, D] -> [N, 1]
    usable = torch.isfinite(norm.detach()) & (norm.detach() > 0)
    if reads(x) and not usable.all():
        row = int((~usable.squeeze(1)).nonzero()[0])
        if norm[row] == 0:
            raise ValueError(
                f"Row {row} of {name} is a vector of zeros, or as good as zeros, and so has no cosine: "
                "leave it out, or look for the layer that gives zeros."
            )
        raise NotFiniteError(
            f"Row {row} of {name} has NaN, infinity or a huge number in it: the model that made it has diverged, "
            "so lower the learning rate or go back to an earlier checkpoint."
        )
    return x / norm


def pair(x: Tensor, y: Tensor, x_name: str, y_name: str) -> None:
    """Two sets of vectors that pair up row by row, [B, D] each."""
    if vectors(x, x_name).shape != vectors(y, y_name).shape:
        shapes = f"{list(x.shape)} and {list(y.shape)}"
        raise ValueError(
            f"{x_name} and {y_name} must have one shape [B, D], row b of each a pair, got {shapes}."
        )


def integers(x: Any, n: int | None, device: torch.device, name: str) -> Tensor:
    """Integers, from a list or a tensor, on a device; if n is given, one for each of n rows, [n]."""
    x = torch.as_tensor(x, device=device)
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        raise TypeError(f"{name} must be integers, not {x.dtype}.")
    if n is not None and x.shape != (n,):
        raise ValueError(
            f"{name} must be [{n}], one for each row, got shape {list(x.shape)}."
        )
    return x


def classes(x: Tensor, n: int, device: torch.device, name: str) -> Tensor:
    """One class for each of n rows, [n]; −1, which marks a row without a label, is refused."""
    x = torch.as_tensor(x, device=device)
    if x.shape != (n,) or x.is_floating_point():
        raise ValueError(
            f"{name} must be integers, one for each of {n} rows, got {x.dtype} {list(x.shape)}."
        )
    if reads(x) and (x < 0).any():
        row = int((x < 0).nonzero()[0])
        raise ValueError(
            f"{name} hold {int(x[row])} in row {row}, which marks an unlabeled text: leave such rows out."
        )
    return x


def finite(total: Tensor, loss: str) -> None:
    """A sum of terms of a token loss that is neither NaN nor infinite."""
    if reads(total) and not torch.isfinite(total.detach()):
        raise NotFiniteError(
            f"{loss} is {total.item()}: the logits hold NaN or infinity, so the model has diverged; "
            "lower the learning rate or go back to an earlier checkpoint."
        )


def reduce(
    terms: Tensor, reduction: str, count: Tensor | int | None = None, others: tuple = ()
) -> Tensor:
    """Terms reduced to a number, or as they are. "mean" divides by `count` (default: all) and is 0 if that is 0."""
    if isinstance(reduction, str) and reduction == "mean":
        count = len(terms) if count is None else torch.as_tensor(count).clamp(min=1)
        return terms.sum() / count
    if reduction in ("sum", "none"):
        return terms.sum() if reduction == "sum" else terms
    choices = ", ".join(map(repr, ("mean", "sum", "none", *others)))
    raise ValueError(f"reduction must be one of {choices}, got {shown(reduction)}.")


# -- settings ------------------------------------------------------------------------------------------------------


def temperature(tau: float | Tensor) -> None:
    """A number above 0, such that 1/τ and the scores divided by it stay finite in float32."""
    if not 1e-18 <= tau <= 1e18:  # NaN is refused too
        raise ValueError(
            f"tau is a temperature and must be a number > 0 (1e-18 to 1e18), got {shown(tau)}."
        )


def probability(name: str, value: Any) -> None:
    """A number from 0 to 1."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(
            f"{name} is a probability and must lie between 0 and 1, got {shown(value)}."
        )


def is_number(value: Any) -> bool:
    """A real number of Python or numpy, but not NaN and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool) and value == value


# -- settings, checked from their annotations ------------------------------------------------------------------------


@dataclass(frozen=True)
class Between:
    """An annotation: what a number is, its least value and its largest."""

    what: str
    least: float = 0.0
    most: float = float("inf")
    whole: bool = False


Probability = Annotated[float, Between("a probability", 0, 1)]
Weight = Annotated[float, Between("a weight in the loss", 0, 1e18)]
Temperature = Annotated[float, Between("a temperature", 1e-18, 1e18)]
Count = Annotated[int, Between("a whole number", 1, 2**63 - 1, whole=True)]


class Settings:
    """The base of the configs: each field is checked against its annotation when a config is made.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class TwiceConfig(Settings):
        ...     tau: Temperature = 0.05
        >>> TwiceConfig(tau=0.0)
        Traceback (most recent call last):
        ValueError: tau must be a temperature from 1e-18 to 1e+18, not 0.0.
    """

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self), include_extras=True)
        for field in fields(self):
            value = getattr(self, field.name)
            options = _options(hints[field.name])
            if not any(_fits(value, option) for option in options):
                allowed = " or ".join(map(_described, options))
                raise ValueError(f"{field.name} must be {allowed}, not {shown(value)}.")


def known_fields(config: type, names: Iterable[str], whose: str) -> None:
    """Raise a TypeError for the first name that is no field of a config; it suggests the one that was meant."""
    known = [field.name for field in fields(config)]
    for name in names:
        if name not in known:
            near = meant(SYNONYMS.get(name, name), known, 0.5)
            raise TypeError(f"{whose} has no setting {name!r}; {near}")


SYNONYMS = {"temperature": "tau"}
"""What other libraries call a setting, and what it is called here."""


def _options(hint: Any) -> tuple:
    """The alternatives of an annotation: `float | None` has two, `Literal` and `Annotated` are one each."""
    if get_origin(hint) in (Union, UnionType):
        return get_args(hint)
    return (hint,)


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return any(
            type(value) is type(choice) and value == choice for choice in get_args(hint)
        )
    if get_origin(hint) is Annotated:
        limits = get_args(hint)[1]
        if not is_number(value) or (limits.whole and not isinstance(value, Integral)):
            return False
        return limits.least <= value <= limits.most
    if hint is float:
        return is_number(value)
    return isinstance(value, hint) if isinstance(hint, type) else True


def _described(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if get_origin(hint) is Annotated:
        limits = get_args(hint)[1]
        if limits.whole or limits.most == float("inf"):
            return f"{limits.what} of at least {limits.least:g}"
        return f"{limits.what} from {limits.least:g} to {limits.most:g}"
    return getattr(hint, "__name__", str(hint))
