"""What takes long is made once: it lies in the user's cache folder, which may be deleted at any time."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from contrast_kit._util import warn

T = TypeVar("T")


def cache_folder() -> Path:
    """Give the folder for what takes long to make: `CONTRAST_KIT_CACHE`, or `~/.cache/contrast_kit`."""
    place = Path(os.environ.get("CONTRAST_KIT_CACHE") or "~/.cache/contrast_kit")
    return place.expanduser()


def cached(
    name: str,
    make: Callable[[], T],
    read: Callable[[Path], T],
    write: Callable[[T, Path], object],
) -> T:
    """Read what is kept under a name; where it is not there, or damaged, make it and keep it.

    Where the folder takes no files, it is made each time, with a warning.

    Args:
        name: of the file in `cache_folder()`, such as "docstrings-1f2e.parquet".
        make, read, write: make the thing, read it from a path, write it to one.
    """
    path = cache_folder() / name
    if path.is_file():
        try:
            return read(path)
        except Exception as error:  # each format has errors of its own for a damaged file
            warn(f"{path} cannot be read ({type(error).__name__}), so it is made anew.")
    made = make()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(made, draft)
        draft.replace(path)  # in one step: a reader never meets half a file
    except (OSError, RuntimeError) as error:  # RuntimeError: torch, on a full disk
        draft.unlink(missing_ok=True)
        warn(
            f"{path} could not be kept ({error}), so it is made anew; CONTRAST_KIT_CACHE names another folder."
        )
    return made
