"""Which name was meant? One answer for misspelled names of data, encoders, methods, settings and functions."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def meant(name: Any, names: Iterable[str], share: float = 0.65) -> str:
    """The end of a sentence about an unknown name: the known name that it resembles, else all known names.

    `share` is how alike two names must be, from 0 to 1 (difflib's ratio).

    >>> meant("cmml", ["mlm", "cmlm"]), meant("cooking", ["mlm", "cmlm"])
    ("did you mean 'cmlm'?", 'there are mlm, cmlm.')
    """
    by_lower = {one.lower(): one for one in names}
    near = get_close_matches(str(name).lower(), by_lower, 1, share)
    return f"did you mean {by_lower[near[0]]!r}?" if near else f"there are {', '.join(by_lower.values()) or 'none'}."
