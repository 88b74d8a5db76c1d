"""Folders that can tell whether their files are as they were written, and that one writer at a time has to itself."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

DIGESTS = "digests.json"
"""The file with the SHA-256 of every other file of its folder."""


class UnfitError(RuntimeError):
    """The files of a folder can be opened, and are not those of one moment; the words say why."""


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def written(setting: Any) -> Any:
    """A setting as a record has it, equal in every process: numbers of numpy or torch as Python's; a function or
    another object as its name, and a lambda, of which many have one name, with twelve digits of what it is made of.

    Example:
        >>> written(len), written(lambda x: x + 1) == written(lambda x: x + 1), written(lambda x: x + 2)[:8]
        ('len', True, '<lambda>')
    """
    if hasattr(setting, "tolist"):
        return setting.tolist()
    name, code = getattr(setting, "__qualname__", type(setting).__qualname__), getattr(setting, "__code__", None)
    if code is None or not name.endswith("<lambda>"):
        return name
    held = [cell.cell_contents for cell in setting.__closure__ or ()]
    return f"{name} {digest(repr(_plain([code, setting.__defaults__, setting.__kwdefaults__, held])).encode())[:12]}"


def _plain(value: Any) -> Any:
    """What a function is made of, equal in every process: no address, and sets in one order."""
    if isinstance(value, CodeType):
        return [value.co_code, _plain(value.co_consts), value.co_names, value.co_freevars]
    if isinstance(value, set | frozenset):
        return sorted(map(repr, map(_plain, value)))
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return [[key, _plain(each)] for key, each in value.items()]
    return value if isinstance(value, str | bytes | int | float | complex | None) else written(value)


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
    """Inside, no other process of the kit may write to the folder. A process that is killed frees it, too.

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
