"""Which exercises the reader has tried and done, kept in a small file beside the notebooks."""

import contextlib
import json
import os
from pathlib import Path

from contrast_kit.plots.progress import in_notebook

FILE = ".exercises.json"
"""In the folder in which the notebook runs. CONTRAST_KIT_PROGRESS names another; if it is empty, nothing is kept."""

_HERE: dict[str, bool] = {}  # from this kernel: what counts where no file can be written


def place() -> Path | None:
    """The file; None where nothing is kept: outside of notebooks, or where CONTRAST_KIT_PROGRESS is empty."""
    named = os.environ.get("CONTRAST_KIT_PROGRESS", FILE if in_notebook() else "")
    return Path(named).expanduser() if named else None


def known() -> dict[str, bool]:
    """Exercise -> True if it was once done, False if only tried: in this kernel, and in those before it."""
    return _joined(_read(place()), _HERE)


def note(name: str, right: bool) -> None:
    """Remember a try. What was done stays done; where the file cannot be written, this kernel remembers."""
    file = place()
    if file is None:
        return
    _HERE.update(_joined(_HERE, {name: right}))
    with contextlib.suppress(OSError):
        beside = file.with_name(f"{file.name}.{os.getpid()}")
        beside.write_text(json.dumps(known(), indent=1) + "\n", encoding="utf-8")
        beside.replace(file)  # in one step, so that two notebooks never leave half a file


def _read(file: Path | None) -> dict[str, bool]:
    try:
        found = json.loads(file.read_text(encoding="utf-8")) if file else {}
    except (OSError, ValueError):
        return {}
    return {str(name): done is True for name, done in found.items()} if isinstance(found, dict) else {}


def _joined(a: dict[str, bool], b: dict[str, bool]) -> dict[str, bool]:
    return {name: a.get(name, False) or b.get(name, False) for name in a | b}
