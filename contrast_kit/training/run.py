"""What a run is while it goes and when it is over, and how it is asked to end."""

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

    `steps` of `total` are done; `history` has one row per logged step: the loss, its parts (as trained, before their
    weights), learning rate, gradient norm before clipping, and seconds so far. `interrupted` says that Ctrl-C, or
    `stop()`, ended it.

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
        """Ask the run to end after the present step: from a callback, or from a thread beside it, as a button does."""
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
        return words + (" (stopped on request)" if self.interrupted else "")


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets, so that a run ends between two steps; the second one interrupts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(signum: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
