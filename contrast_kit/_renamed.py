"""Former names, which go on working for one more version, with a warning."""

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from contrast_kit._names import meant
from contrast_kit._warn import warn


def renamed(**new_names: str) -> Callable:
    """Decorator: accept the former names of keyword arguments for one more version, `renamed(how="implementation")`."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for old in [name for name in kwargs if name in new_names]:
                _warn(old, new_names[old])
                kwargs[new_names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def renamed_fields(**new_names: str) -> Callable[[type], type]:
    """Class decorator: the same for the fields of a dataclass, both when it is constructed and when they are read."""

    def decorate(cls: type) -> type:
        cls.__init__ = renamed(**new_names)(cls.__init__)
        cls.former_fields = new_names
        for old, new in new_names.items():
            setattr(cls, old, former_property(old, new))
        return cls

    return decorate


def present_names(cls: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a dataclass under their present names."""
    new_names = getattr(cls, "former_fields", {})
    for old in settings.keys() & new_names:
        _warn(old, new_names[old])
    return {new_names.get(name, name): value for name, value in settings.items()}


def former_names(module: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names have changed.

    >>> __getattr__ = former_names("contrast_kit.tasks", {"find": "get_task"})
    >>> __getattr__("get_tsk")
    Traceback (most recent call last):
    AttributeError: module 'contrast_kit.tasks' has no attribute 'get_tsk'; did you mean 'get_task'?
    """

    def getattr_of_module(name: str) -> Any:
        if name not in new_names:
            raise no_attribute(module, name)
        _warn(f"{module}.{name}", f"{module}.{new_names[name]}")
        return getattr(sys.modules[module], new_names[name])

    return getattr_of_module


def no_attribute(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have; it suggests the one that was meant, if one is close.

    >>> no_attribute("contrast_kit.losses", "nt_xnt")
    AttributeError("module 'contrast_kit.losses' has no attribute 'nt_xnt'; did you mean 'nt_xent'?")
    """
    known = vars(sys.modules[module]).get("__all__", ()) if module in sys.modules else ()  # getattr would ask us again
    hint = meant(name, known, 0.7)
    near = f"; {hint}" if hint.startswith("did") and not name.startswith("_") else ""  # _repr_html_ and its like
    return AttributeError(f"module {module!r} has no attribute {name!r}{near}")


def moved(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module from which names have moved to others."""

    def getattr_of_module(name: str) -> Any:
        if name not in homes:
            raise no_attribute(module, name)
        _warn(f"{module}.{name}", f"{homes[name]}.{name}")
        return getattr(importlib.import_module(homes[name]), name)

    return getattr_of_module


def former_property(old: str, new: str) -> property:
    """A property or method under its former name: `words = former_property("words", "description")` in the class."""

    def read(self: Any) -> Any:
        _warn(old, new)
        return getattr(self, new)

    return property(read)


def _warn(old: str, new: str) -> None:
    warn(f"{old} is now called {new}.", DeprecationWarning)
