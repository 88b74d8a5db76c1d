"""What one sees while a model trains: one line that is rewritten, and in a notebook a figure that grows."""

import sys
import time
from collections.abc import Mapping
from typing import Any


def in_notebook() -> bool:
    """True inside a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


class Progress:
    """A progress line with each part of the loss: on stderr in a terminal, as one rewritten output in a notebook.

    Args:
        total: steps of the run.
        start: steps done before (of a resumed run).
        show: False prints nothing.
        live: in a notebook, also draw the loss curves anew every `every` seconds.
        unit: what is counted.
    """

    def __init__(
        self,
        total: int,
        start: int = 0,
        *,
        show: bool = True,
        live: bool = False,
        every: float = 2.0,
        unit: str = "step",
    ):
        self.total, self.done, self.first, self.every, self.unit = total, start, start, every, unit
        self.began = self.drawn = time.monotonic()
        self.curves = self.line = self.bar = None
        self.row: Mapping[str, float] = {}
        if show and in_notebook():
            from IPython.display import DisplayHandle

            self.line = DisplayHandle()
            self.line.display(_Text(self._words({})))
            self.curves = DisplayHandle() if live else None
        elif show:
            from tqdm import tqdm

            self.bar = tqdm(total=total, initial=start, unit=unit)
        self.shown = self.began

    def update(self, row: Mapping[str, float], history: list[dict[str, Any]]) -> None:
        """Say that one more step is done, and what its parts were; an empty `row` leaves the last ones standing."""
        self.done += 1
        self.row = row = row or self.row
        now, last = time.monotonic(), self.done == self.total
        if self.bar is not None:
            self.bar.set_postfix({name: f"{value:.3f}" for name, value in row.items()}, refresh=False)
            self.bar.update(1)
        if self.line is not None and (last or now - self.shown > 0.2):
            self.shown = now
            self.line.update(_Text(self._words(row)))
        if self.curves is not None and (last or now - self.drawn > self.every):
            self.draw(history)

    def draw(self, history: list[dict[str, Any]]) -> None:
        """Draw the loss curves so far in the notebook."""
        import pandas as pd

        from contrast_kit import plots

        figure = plots.loss_curves(pd.DataFrame(history))
        if self.drawn == self.began:
            self.curves.display(figure)
        else:
            self.curves.update(figure)
        self.drawn = time.monotonic()

    def close(self) -> None:
        """Leave the last line as it stands."""
        if self.bar is not None:
            self.bar.close()

    def _words(self, row: Mapping[str, float]) -> str:
        from tqdm import tqdm

        parts = " · ".join(f"{name} {value:.3f}" for name, value in row.items())
        elapsed = time.monotonic() - self.began
        return tqdm.format_meter(
            self.done, self.total, elapsed, ncols=100, unit=self.unit, initial=self.first, postfix=parts
        )


class _Text:
    """Plain text that a notebook shows without quotes."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text
