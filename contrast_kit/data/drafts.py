"""Files and folders written under another name and renamed when whole: a kill at any moment leaves no half of one."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """The place of a draft beside `path`. What is written there ends up at `path` or, after an error, nowhere.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with draft_of(Path(folder) / "table.csv") as draft:
        ...         _ = draft.write_text("step,loss\\n")
        ...     [file.name for file in Path(folder).iterdir()]
        ['table.csv']
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        yield draft
        for file in draft.iterdir() if draft.is_dir() else [draft]:
            _flush(file)
        if draft.is_dir():
            remove_folder(path)
        draft.replace(path)
        _flush(path.parent)
    finally:  # still there only if something failed
        shutil.rmtree(draft, ignore_errors=True) if draft.is_dir() else draft.unlink(
            missing_ok=True
        )


def remove_folder(path: Path) -> None:
    """Delete a folder, if it is there; a kill half-way leaves no folder of that name."""
    if path.exists():
        gone = path.with_name(f".{path.name}.gone")
        path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def _flush(path: Path) -> None:
    """Ask the system to put a file, or the names in a folder, on the disk now."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
