"""Checks of arguments that are not numbers or tensors: strings, lists, names, paths. Each refuses in one sentence.

The rest of `checks`, kept apart so that a reader of the losses need not see it.
"""

import operator
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from contrast_kit import checks
from contrast_kit._names import meant
from contrast_kit.checks import shown


def string(name: str, value: Any, what: str) -> None:
    """A string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {what}, a string, not {shown(value)}.")


def strings(name: str, values: Any, what: str) -> list[str]:
    """Strings, as a list; a single string is refused."""
    values = listed(name, values, what)
    for at, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(f"Number {at} of {name} is {shown(value)}, not a string.")
    return values


def listed(name: str, values: Any, what: str) -> list:
    """Any iterable except a string or a dict, as a list."""
    values = values.tolist() if hasattr(values, "tolist") else values  # a tensor, an array, a column of a table
    if type(values).__module__.startswith("pandas"):
        kind = type(values).__name__
        raise TypeError(f"{name} must be a list of {what}, not a pandas {kind}: give frame.values.tolist(), its rows.")
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of {what}, not {shown(values)}.")
    return list(values)


def text_pairs(name: str, pairs: Any) -> list[tuple[str, str]]:
    """Pairs of strings."""
    pairs = listed(name, pairs, "pairs of texts")
    if not pairs:
        raise ValueError(f"{name} is empty: give at least one pair of texts.")
    for at, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise TypeError(f"{name} must be pairs of texts, (one, other), and number {at} is {shown(pair)}.")
    return [(one, other) for one, other in pairs]


def mapping(name: str, value: Any, what: str) -> Mapping:
    """A dict."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dict {what}, not {shown(value)}.")
    return value


def known(name: Any, names: Iterable[str], what: str, where: str = "") -> None:
    """One of the names of a table; the ValueError suggests the name that was meant, or lists them all."""
    if not isinstance(name, str) or name not in names:
        raise ValueError(f"There is no {what} {shown(name)}{where and f' {where}'}; {meant(name, names)}")


def betas(given: Any) -> None:
    """AdamW's two."""
    two = given if isinstance(given, tuple | list) else ()
    if len(two) != 2 or not all(checks.is_number(beta) and 0 <= beta < 1 for beta in two):
        raise ValueError(f"betas must be two numbers from 0 to below 1, not {shown(given)}.")


def path(name: str, value: Any, what: str) -> Path:
    """A string or a Path, as a Path, with "~" replaced by the reader's home."""
    if not isinstance(value, str | PathLike) or not str(value).strip():
        raise TypeError(f"{name} is {what}, a string or a Path, not {shown(value)}.")
    return Path(value).expanduser()


def of_kind(name: str, value: Any, kind: Any, what: str) -> None:
    """An object of a class, or of one of several: `kind` is whatever `isinstance` accepts."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} is {what}, not {shown(value)}.")


def place(index: Any, length: int, what: str) -> int:
    """The index of one of `length` things, as an integer; below 0 it counts from the end."""
    try:
        index = operator.index(index)
    except TypeError:
        raise TypeError(f"A {what} is selected by its number, not by {shown(index)}.") from None
    if not -length <= index < length:
        raise IndexError(f"There is no {what} {index}: these are {length} {what}s.")
    return index


def length(value: Any, special: int = 0) -> None:
    """A `max_length` that leaves room for text; 10³⁰ is the `model_max_length` of a tokenizer without a limit."""
    what = f"a number of tokens, {special} of them special" if special else "a number of tokens"
    checks.count("max_length", value, what, special + 1, 10**30)


def in_a_line(error: BaseException) -> str:
    """What another library's error says, as part of a sentence: its first line, or its type if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
