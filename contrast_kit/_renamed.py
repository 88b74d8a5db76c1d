"""Former names, for one version more: each works and warns."""

import functools
import warnings
from collections.abc import Callable
from typing import Any


def renamed(**new_names: str) -> Callable:
    """Decorator: keyword arguments under their former names, `renamed(how="implementation")`, for one version more."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in [name for name in kwargs if name in new_names]:
                warnings.warn(f"{old} is now called {new_names[old]}.", DeprecationWarning, stacklevel=2)
                kwargs[new_names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_fields(**new_names: str) -> Callable[[type], type]:
    """Class decorator: the same for fields of a dataclass, when one is made and when they are read."""

    def decorate(cls: type) -> type:
        cls.__init__ = renamed(**new_names)(cls.__init__)
        cls.former_fields = new_names
        for old, new in new_names.items():
            setattr(cls, old, property(_reader(old, new)))
        return cls

    return decorate


def _reader(old: str, new: str) -> Callable[[Any], Any]:
    def read(self: Any) -> Any:
        warnings.warn(f"{old} is now called {new}.", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return read


def present_names(cls: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a dataclass under their present names."""
    return renamed(**getattr(cls, "former_fields", {}))(dict)(**settings)
