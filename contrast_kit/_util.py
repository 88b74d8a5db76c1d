"""Small helpers that know nothing of language models: warnings, misspelled names, files that come with the kit."""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
PLACES = {
    "notebooks": "notebooks",
    "recorded": "data/recorded",
    "checkpoints": "data/checkpoints",
    "papers": "data/papers",
    "toyshop": "data/toyshop",
    "scenes": "data/scenes",
}
"""What comes with the kit besides its code, and where it lies in a checkout; a wheel holds it in `shipped/`."""

NOT_THE_READERS = ("contrast_kit", "dataclasses", "torch")
"""Packages through which a call of the reader's passes before it reaches the cause of a warning."""


def shipped(what: str) -> Path:
    """The folder of one of `PLACES`: in an installed package, or in the checkout that holds this one.

    >>> shipped("recorded").name
    'recorded'
    """
    installed = PACKAGE / "shipped" / what
    if installed.is_dir():
        return installed
    return PACKAGE.parent / PLACES[what]


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Inside, weights are drawn from this seed, on the CPU; no other random stream is touched."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(seed))
        yield


def progress_bar(*arguments: Any, show: bool = True, **options: Any) -> Any:
    """A bar of tqdm, in notebooks as a widget; none where TQDM_DISABLE is set, which the widget would not read."""
    from tqdm.auto import tqdm

    disable = not show or bool(os.environ.get("TQDM_DISABLE"))
    return tqdm(*arguments, disable=disable, **options)


def warn(message: str) -> None:
    """Warn at the reader's line that called the kit, however deep inside the kit the cause was found."""
    level = 1
    frame = sys._getframe()
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").split(".")[0] in NOT_THE_READERS
    ):
        frame = frame.f_back
        level += 1
    warnings.warn(message, UserWarning, stacklevel=level)


def shown(value: Any) -> str:
    """A value as a sentence shows it: on one line, and shortened if it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}…"


def rounded(number: float) -> str:
    """Three digits for a reader, and no powers of ten.

    >>> rounded(0.5333), rounded(14.96), rounded(210.2), rounded(32766)
    ('0.533', '15', '210', '32,766')
    """
    return f"{number:.3g}" if number < 999.5 else f"{number:,.0f}"


def meant(name: Any, names: Iterable[str], share: float = 0.65) -> str:
    """The end of a sentence about an unknown name: the known name that it resembles, else all known names.

    `share` is how alike two names must be, from 0 to 1 (difflib's ratio).

    >>> meant("cmml", ["mlm", "cmlm"]), meant("cooking", ["mlm", "cmlm"])
    ("did you mean 'cmlm'?", 'there are mlm, cmlm.')
    """
    by_lower = {known.lower(): known for known in names}
    near = get_close_matches(str(name).lower(), by_lower, 1, share)
    if near:
        return f"did you mean {by_lower[near[0]]!r}?"
    return f"there are {', '.join(by_lower.values()) or 'none'}."


def choose(table: Mapping[str, Any], name: Any, what: str) -> Any:
    """The entry of a table; a ValueError suggests the name that was meant, or lists those that there are.

    >>> choose({"mlm": 1, "cmlm": 2}, "cmml", "method")
    Traceback (most recent call last):
    ValueError: There is no method 'cmml'; did you mean 'cmlm'?
    """
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"There is no {what} {shown(name)}; {meant(name, table)}")
    return table[name]
