"""Folders that can tell whether their files are as they were written, and that one writer at a time has to itself."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DIGESTS = "digests.json"
"""The file with the SHA-256 of every other file of its folder."""


class UnfitError(RuntimeError):
    """The files of a folder can be opened, and are not those of one moment; the words say why."""


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


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
