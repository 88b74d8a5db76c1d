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
