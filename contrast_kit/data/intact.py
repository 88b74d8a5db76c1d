"""Folders that can tell whether their files are as they were written, and that have one writer at a time."""

import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from types import CodeType
from typing import Any

DIGESTS = "digests.json"
"""The file with the SHA-256 of every other file of its folder."""
_KNOWN = {"contrast_kit", "torch", "transformers"} | sys.stdlib_module_names
"""Packages whose classes count by their name alone."""


class UnfitError(RuntimeError):
    """The files of a folder can be opened, and are not those of one moment; the words say why."""


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def written(setting: Any) -> Any:
    """A setting as it is recorded, equal in every process: numbers of numpy or torch as Python's; a function or another
    object as its name, and a lambda, whose name many share, with twelve digits of what it is made of.

    Example:
        >>> written(len), written(lambda x: x + 1) == written(lambda x: x + 1), written(lambda x: x + 2)[:8]
        ('len', True, '<lambda>')
    """
    if hasattr(setting, "tolist"):
        return setting.tolist()
    name, code = getattr(setting, "__qualname__", type(setting).__qualname__), getattr(setting, "__code__", None)
    if code is None or not name.endswith("<lambda>"):
        return name
    return f"{name} {digest(repr(_parts(setting)).encode())[:12]}"


def code_digest(cls: type) -> str:
    """Twelve digits of what a class from outside the kit is made of; "" for one of the kit, torch or Python.

    Its code counts, that of its bases from outside, and its `Config` with the default values. It is the code that is
    loaded, not its file, which may have been edited since: a comment changes nothing. Functions that it calls elsewhere
    do not count, and another Python writes other code.

    Example:
        >>> import torch
        >>> def made(tau):
        ...     return type("Mine", (torch.nn.Module,), {"__module__": "mine", "tau": tau})
        >>> code_digest(made(0.1)) == code_digest(made(0.1)), code_digest(made(0.1)) == code_digest(made(0.5))
        (True, False)
        >>> code_digest(torch.nn.Module)
        ''
    """
    return digest(repr(_plain(cls)).encode())[:12] if _from_outside(cls) else ""


def _from_outside(cls: type) -> bool:
    return cls.__module__.partition(".")[0] not in _KNOWN


def _plain(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """What something is made of, equal in every process: no address, and sets in one order. `inside`: the ids of what
    it is a part of, so that a function that holds itself ends. An object that is none of these counts by its class."""
    if id(value) in inside:
        return "itself"
    into = (*inside, id(value))
    if isinstance(value, CodeType):
        return [value.co_code, _plain(value.co_consts, into), value.co_names, value.co_freevars]
    if isinstance(value, set | frozenset):
        return sorted(repr(_plain(each, into)) for each in value)
    if isinstance(value, list | tuple):
        return [_plain(each, into) for each in value]
    if isinstance(value, dict):
        return [[key, _plain(each, into)] for key, each in value.items()]
    if isinstance(value, partial):
        return [_plain(part, into) for part in (value.func, value.args, value.keywords)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, _plain(vars(value), into)]
    if isinstance(value, type) and _from_outside(value):
        return [[base.__name__, _members(base, into)] for base in value.__mro__ if _from_outside(base)]
    if isinstance(value, property):
        return [_plain(part, into) for part in (value.fget, value.fset)]
    if isinstance(value, staticmethod | classmethod | cached_property):
        return _plain(getattr(value, "func", None) or value.__func__, into)
    if getattr(value, "__code__", None) is not None and not hasattr(value, "__self__"):
        return _parts(value, into)
    return value if isinstance(value, str | bytes | int | float | complex | None) else written(value)


def _parts(function: Any, inside: tuple[int, ...] = ()) -> Any:
    """A function's code, its defaults and what it captured where it was made."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != type(cell)()]
    parts = [function.__code__, function.__defaults__, function.__kwdefaults__, cells]
    return _plain(parts, (*inside, id(function)))


def _members(cls: type, inside: tuple[int, ...]) -> list:
    """What stands in the body of a class, except for what Python itself writes there: its module, its first line."""
    members = sorted(vars(cls).items())
    own = [(name, value) for name, value in members if hasattr(value, "__code__") or not name.startswith("__")]
    return [[name, _plain(value, inside)] for name, value in own]


def seal(folder: Path) -> None:
    """Write down the digest of each file of a folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as name:
        ...     folder = Path(name)
        ...     _ = (folder / "weights").write_bytes(b"abc")
        ...     seal(folder)
        ...     before = damage(folder)
        ...     _ = (folder / "weights").write_bytes(b"abd")
        ...     before, damage(folder)
        (None, 'weights is not as it was written')
    """
    digests = {file.name: digest(file.read_bytes()) for file in sorted(folder.iterdir())}
    (folder / DIGESTS).write_text(json.dumps(digests, indent=1))


def damage(folder: Path, files: Iterable[str] = ()) -> str | None:
    """What is wrong with a sealed folder, in words; None if nothing is, or if it was never sealed.

    `files` are the names that its seal must have.
    """
    if not (folder / DIGESTS).exists():
        return None
    try:
        digests = json.loads((folder / DIGESTS).read_text())
        unlisted = [name for name in files if name not in digests]
        changed = [name for name, known in digests.items() if digest((folder / name).read_bytes()) != known]
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, AttributeError) as error:
        return f"{DIGESTS}: {type(error).__name__}"
    if unlisted:
        return f"{DIGESTS} does not list {unlisted[0]}"
    return f"{changed[0]} is not as it was written" if changed else None


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Inside, no other process of the kit may write to the folder. A process that is killed also frees it.

    Raises:
        ValueError: another one is writing there.
    """
    from filelock import FileLock, Timeout  # which transformers brings

    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / ".run.lock"
    try:
        with FileLock(lock, timeout=0):
            try:
                yield
            finally:
                with suppress(OSError):  # while it is held; Windows keeps it
                    lock.unlink()
    except Timeout as error:
        raise ValueError(f"Another run is writing to {folder} now: wait for it, or name another folder.") from error
