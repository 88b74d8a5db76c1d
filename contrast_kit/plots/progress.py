"""What you see while a model trains: one line that is rewritten, and in a notebook a figure that grows."""

import sys
import time
from collections.abc import Mapping
from typing import Any


def in_notebook() -> bool:
    """True inside a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython() if ipython else None, "kernel")


class Progress:
    """A progress line with each part of the loss: on stderr in a terminal, as one rewritten output in a notebook.

    Args:
        total: steps of the run.
        start: steps done before (of a resumed run).
        show: False prints nothing.
        live: in a notebook, also redraw the loss curves every 2 seconds.
        unit: what is counted.
    """

    def __init__(
        self,
        total: int,
        start: int = 0,
        *,
        show: bool = True,
        live: bool = False,
        unit: str = "step",
    ):
        self.total, self.done, self.first, self.unit = total, start, start, unit
        self.began = self.shown = self.drawn = time.monotonic()
        self.curves = self.line = self.bar = None
        self.row: Mapping[str, float] = {}
        if show and in_notebook():
            from IPython.display import DisplayHandle

            self.line = DisplayHandle()
            self.line.display(self._line())
            self.curves = DisplayHandle() if live else None
        elif show:
            from tqdm import tqdm

            self.bar = tqdm(total=total, initial=start, unit=unit)

    def update(self, row: Mapping[str, float], history: list[dict[str, Any]]) -> None:
        """Show that one more step is done, and what its parts were; an empty `row` leaves the last ones standing."""
        self.done += 1
        self.row = row or self.row
        now, last = time.monotonic(), self.done == self.total
        if self.bar is not None:
            self.bar.set_postfix(
                {name: f"{value:.3f}" for name, value in self.row.items()},
                refresh=False,
            )
            self.bar.update(1)
        if self.line is not None and (last or now - self.shown > 0.2):
            self.shown = now
            self.line.update(self._line())
        if self.curves is not None and (last or now - self.drawn > 2.0):
            self.draw(history)

    def draw(self, history: list[dict[str, Any]]) -> None:
        """Draw the loss curves so far in the notebook."""
        import pandas as pd

        from contrast_kit.plots.lines import loss_curves

        figure = loss_curves(pd.DataFrame(history))
        (self.curves.display if self.drawn == self.began else self.curves.update)(figure)
        self.drawn = time.monotonic()

    def close(self) -> None:
        """Leave the last line as it stands."""
        if self.bar is not None:
            self.bar.close()

    def _line(self) -> Any:
        """The line as tqdm would write it, shown without quotes."""
        from IPython.display import Pretty
        from tqdm import tqdm

        parts = " · ".join(f"{name} {value:.3f}" for name, value in self.row.items())
        options = dict(ncols=100, unit=self.unit, initial=self.first, postfix=parts)
        return Pretty(tqdm.format_meter(self.done, self.total, time.monotonic() - self.began, **options))
