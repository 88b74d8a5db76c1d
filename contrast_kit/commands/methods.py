"""The class that a method's name on the command line stands for: one of the kit's, or `module:Class` of one's own."""

import importlib
import inspect
import traceback
from typing import Any

from contrast_kit import method_checks
from contrast_kit.objectives import METHODS, Objective


def is_own(word: str) -> bool:
    """Whether a word names a class of one's own, `module:Class`, that may or may not be there."""
    return ":" in word and not word.startswith("-")


def class_of(method: str) -> type[Objective]:
    """The class of a method, imported where it is one's own.

    Raises ValueError for one that cannot be imported, TypeError for what is not an objective, or has no `Config`.

    Example:
        >>> from contrast_kit.commands.methods import class_of
        >>> class_of("cmlm") is class_of("contrast_kit.objectives.cmlm:CMLM")
        True
    """
    if method in METHODS:
        return METHODS[method]
    module, _, name = method.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise ValueError(
            f"{method} cannot be imported ({error}): write module:Class, with module.py in this folder or installed."
        ) from error
    if not (isinstance(found, type) and issubclass(found, Objective)):
        raise TypeError(f"{method} is no objective: name a class that is a subclass of objectives.Objective.")
    method_checks.config_class(found)
    return found


def made(method: str, *given: Any, **settings: Any) -> Objective:
    """The objective of that name, made of these arguments. TypeError where its `__init__` does not take them."""
    cls = class_of(method)
    try:
        inspect.signature(cls).bind(*given, **settings)
    except TypeError as error:
        raise TypeError(
            f"{method} cannot be made ({error}): an __init__ of its own takes what the base's takes, (self, encoder, "
            "config=None, *, seed=0, **changes), and hands it on; settings are fields of Config."
        ) from error
    return cls(*given, **settings)


def nearest(cls: type[Objective]) -> str:
    """The kit's method whose training defaults a class gets: its own, that of its nearest base, or else SimCSE's.

    Example:
        >>> from contrast_kit.commands.methods import class_of, nearest
        >>> nearest(class_of("scl")), nearest(type("Mine", (class_of("capt"),), {})), nearest(Objective)
        ('scl', 'capt', 'simcse')
    """
    names = {known: name for name, known in METHODS.items() if known.__module__.startswith("contrast_kit.")}
    return next((names[base] for base in cls.__mro__ if base in names), "simcse")


def place_of(error: BaseException | None, method: str) -> str:
    """Where in the module of one's own method an error came up, as the end of a line; "" where none of it was run."""
    module, found = method.partition(":")[0] if is_own(method) else None, ""
    while error is not None:
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_globals.get("__name__") == module:
                found = f" ({frame.f_code.co_filename}, line {line}, in {frame.f_code.co_name})"
        error = error.__cause__
    return found
