"""A run, while it goes and when it is over, and the stop button that ends it early."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contrast_kit.encoder.encoder import Encoder
from contrast_kit.objectives.base import Objective
from contrast_kit.training.settings import Training


@dataclass
class Run:
    """What `fit` returns: the trained encoder and what happened on the way.

    `steps` of `total` are done; `history` has one row per logged step: the loss, its parts (before they are
    weighted), learning rate, gradient norm before clipping, and seconds so far. `interrupted` is True where Ctrl-C or
    `stop()` ended it early.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> run = ck.fit(ck.objectives.MLM(encoder), texts, epochs=3, batch_size=2, progress=False)
        >>> run.steps, run.encoder is encoder, len(run.history)
        (6, True, 6)
    """

    objective: Objective
    training: Training
    rows: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0
    total: int = 0
    seconds: float = 0.0
    folder: Path | None = None
    interrupted: bool = False
    stopping: bool = False

    def stop(self) -> None:
        """End the run after the present step; for a callback, or for a button in another thread."""
        self.stopping = True

    @property
    def encoder(self) -> Encoder:
        """The encoder that was trained."""
        return self.objective.encoder

    @property
    def history(self):
        """A pandas DataFrame of the logged steps."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __repr__(self) -> str:
        words = f"{type(self.objective).__name__}: {self.steps} of {self.total} steps in {self.seconds:.0f} s"
        if self.rows:
            words += f", loss {self.rows[0]['loss']:.3f} → {self.rows[-1]['loss']:.3f}"
        if self.interrupted:
            words += " (stopped on request)"
        return words


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C, SIGTERM or SIGHUP sets, so that a run ends between two steps.

    The second signal acts at once, as it would without this.
    """
    stop = threading.Event()
    # Only the main thread receives signals.
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def end_between_two_steps(number: int, frame: Any) -> None:
        restore()
        stop.set()

    for number in numbers:
        signal.signal(number, end_between_two_steps)
    try:
        yield stop
    finally:
        restore()
