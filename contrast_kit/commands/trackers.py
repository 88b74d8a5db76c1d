"""Log the history of a run to TensorBoard or another tracker of accelerate."""

from pathlib import Path
from types import TracebackType
from typing import Any

from contrast_kit.training import Run


class Tracker:
    """Logs each row of the history to a tracker of accelerate; without a name it does nothing.

    Args:
        name: "tensorboard", "wandb", …; None logs nothing.
        folder: for trackers that write files.
        settings: the run's settings, logged with it.

    Raises:
        ValueError: for a name that accelerate does not know, or one whose package is not installed.

    Example:
        >>> from contrast_kit.commands.trackers import Tracker
        >>> Tracker("tensorbored", None, {})
        Traceback (most recent call last):
        ValueError: --log knows no tracker 'tensorbored'; accelerate has ... tensorboard, ...
    """

    def __init__(self, name: str | None, folder: Path | None, settings: dict[str, Any]):
        self.accelerator = None
        if name is None:
            return
        from accelerate import Accelerator
        from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

        known = sorted(str(kind) for kind in LOGGER_TYPE_TO_CLASS)
        if name not in known:
            raise ValueError(f"--log knows no tracker {name!r}; accelerate has {', '.join(known)}.")
        if name not in [str(kind) for kind in get_available_trackers()]:
            where = f"{folder / 'history.csv'} will hold" if folder else "with --folder, history.csv holds"
            raise ValueError(
                f"{name} is not installed here: pip install {name}, or leave --log out ({where} the same rows)."
            )
        self.accelerator = Accelerator(log_with=name, project_dir=folder or ".")
        plain = {key: v if isinstance(v, int | float | str | bool) else str(v) for key, v in settings.items()}
        self.accelerator.init_trackers("log", config=plain)

    def __enter__(self) -> "Tracker":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for tracker in self.accelerator.trackers if self.accelerator else ():
            tracker.finish()

    def log(self, run: Run) -> None:
        """Log the newest row; a callback of `fit`."""
        if self.accelerator:
            row = dict(run.rows[-1])
            self.accelerator.log(row, step=row.pop("step"))
