"""What the fields of a config may be: each check refuses a value in one sentence, with a `ValueError`."""

from numbers import Integral, Real
from typing import Any


def check_share(name: str, value: Any) -> None:
    """A probability."""
    if not _number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} is a probability, between 0 and 1, not {value!r}.")


def check_choice(name: str, value: Any, choices: tuple) -> None:
    """One of some words."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}.")


def check_tau(value: Any) -> None:
    """A temperature."""
    if not _number(value) or not value > 0:
        raise ValueError(f"tau is a temperature and must be above 0, not {value!r}.")


def check_weight(name: str, value: Any) -> None:
    """What a part of the loss is multiplied by."""
    if not _number(value) or not value >= 0:
        raise ValueError(
            f"{name} weighs a part of the loss and must be a number of at least 0, not {value!r}."
        )


def check_count(name: str, value: Any, what: str, least: int = 1) -> None:
    """A whole number."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {what}, at least {least}, not {value!r}.")


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
