"""What the settings of the pictures may be, one table for all of them: a setting has one meaning wherever it occurs."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from contrast_kit import arguments, checks

Function = TypeVar("Function", bound=Callable[..., Any])
Setting = Callable[[str, Any], Any]


def checked(function: Function) -> Function:
    """Decorator: arguments that have a default, and are given, are checked by `SETTINGS`, each by its name."""
    signature = inspect.signature(function)
    asked = [name for name, each in signature.parameters.items() if name in SETTINGS and each.default is not each.empty]
    usual = {name: signature.parameters[name].default for name in asked}

    @functools.wraps(function)
    def inside(*args: Any, **kw: Any) -> Any:
        try:
            given = signature.bind(*args, **kw)
        except TypeError:  # an argument too many or too few: Python says it best
            return function(*args, **kw)
        for name, default in usual.items():
            if name in given.arguments and given.arguments[name] is not default:
                given.arguments[name] = SETTINGS[name](name, given.arguments[name])
        return function(*given.args, **given.kwargs)

    return inside  # type: ignore[return-value]


def whole(what: str, least: int = 1, most: int = 2**63 - 1) -> Setting:
    """A whole number; a tensor or array that holds one is welcome."""

    def check(name: str, value: Any) -> int:
        value = one(value)
        checks.count(name, value, what, least, most)
        return int(value)

    return check


def real(what: str, least: float = -1e18, most: float = 1e18) -> Setting:
    """A finite number; a tensor or array that holds one is welcome."""

    def check(name: str, value: Any) -> float:
        value = one(value)
        checks.number(name, value, what, least, most)
        return float(value)

    return check


def several(name: str, value: Any, setting: Setting) -> list:
    """A setting, or a list of several, as a list."""
    many = hasattr(one(value), "__len__") and not isinstance(value, str | bytes | Mapping)
    values = arguments.listed(name, value, "numbers") if many else [value]
    if not values:
        raise ValueError(f"{name} is an empty list: give a number, or several for a panel each.")
    return [setting(name, each) for each in values]


def one(value: Any) -> Any:
    """What a tensor or an array of one number holds; anything else as it is."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def _switch(name: str, value: Any) -> bool:
    value = one(value)
    checks.switch(name, value)
    return value


def _words(name: str, value: Any) -> Any:
    """Anything can be written in a figure, even a number; where panels differ, words come as a dict."""
    return value if value is None or isinstance(value, Mapping) else str(value)


def _two(name: str, value: Any) -> tuple[float, float]:
    ends = arguments.listed(name, value, "two numbers")
    if len(ends) != 2 or not all(map(checks.is_number, ends)) or not -1e18 < ends[0] < ends[1] < 1e18:
        raise ValueError(f"{name} is (lowest, highest), two numbers, not {checks.shown(value)}.")
    return tuple(ends)


SETTINGS: dict[str, Setting] = {
    **dict.fromkeys(("title", "label", "x_label", "y_label", "ylabel", "baseline_label", "corner"), _words),
    **dict.fromkeys(("center", "even", "log", "numbers", "sharey", "vectors"), _switch),
    "legend": lambda name, value: arguments.mapping(name, value, "from a kind of token to its words"),
    "levels": lambda name, value: arguments.mapping(name, value, "from words to the level at which a line stands"),
    **dict.fromkeys(("limits", "range"), _two),
    "baseline": real("where the bars start"),
    "bins": whole("how many bars a histogram has", most=10_000),
    "count": whole("how many frames a sheet shows", least=2),
    "digits": whole("how many digits stand behind the point", least=0, most=15),
    "max_points": whole("how many points are drawn at most", least=2),
    "smooth": whole("how many rows are averaged"),
}
