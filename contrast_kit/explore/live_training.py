"""A training run to watch and to stop: curves, cosines and a map, redrawn while an objective trains."""

import html
import threading
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import torch

from contrast_kit import geometry
from contrast_kit.explore._panel import FigurePanel, beside, button, row, widgets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from contrast_kit.objectives.base import Objective
    from contrast_kit.training.fit import Run

PAUSE = 3  # the pause between two pictures, in the time that drawing one takes: a run is never slowed by much more


class LiveTraining(FigurePanel):
    """A training run in its own thread, redrawn as it goes. See `live_training`."""

    def __init__(
        self,
        objective: "Objective",
        data: Any,
        pairs: Any,
        texts: Any,
        labels: Any,
        every: float,
        **settings: Any,
    ):
        self.objective, self.data, self.settings, self.every = objective, data, settings, every
        self.pairs = None if pairs is None else [list(side) for side in zip(*pairs, strict=True)]
        self.texts, self.labels = texts, labels
        self.run: Run | None = None
        self.problem = ""
        self._thread: threading.Thread | None = None
        self._stop_requested, self._training, self._next_picture = threading.Event(), threading.Event(), 0.0
        self._before = self._now = self.measure()
        w = widgets()
        self.buttons = {
            "start": button("start", self.start, "train from where the encoder stands"),
            "stop": button("stop", self.request_stop, "end after this step; the run is kept"),
        }
        self.bar = w.IntProgress(0, 0, 1, layout=w.Layout(width="300px"))
        self.assemble({}, row(*self.buttons.values(), self.bar))

    # -- the run --------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """True while the thread trains."""
        return self._training.is_set()

    def start(self) -> Self:
        """Train from where the encoder stands, in a thread; returns at once. While it trains, does nothing."""
        if not self.running:
            self._stop_requested.clear()
            self._training.set()
            self.problem, self.run, self._next_picture = "", None, 0.0
            self._thread = threading.Thread(target=self._train, daemon=True)
            self._thread.start()
            self._update_controls()
        return self

    def request_stop(self) -> None:
        """Let the run end after the current step, as the stop button does; does not wait for it."""
        self._stop_requested.set()
        if self.run is not None:
            self.run.stop()

    def ask(self) -> None:
        """The former name of `request_stop`."""
        warnings.warn("ask is now called request_stop.", DeprecationWarning, stacklevel=2)
        self.request_stop()

    def stop(self) -> "Run | None":
        """End the run after the current step and return it; None if none was started."""
        self.request_stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> "Run | None":
        """Wait until the run has ended (or `timeout` seconds), and return it."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self.run

    def _train(self) -> None:
        from contrast_kit.training.fit import fit

        try:
            self.run = fit(self.objective, self.data, callback=self._step, progress=False, **self.settings)
        except Exception as error:  # in a thread nobody would see it
            self.problem = str(error) or type(error).__name__
            self.run = getattr(error, "run", self.run)
        if self.run is not None:
            self._now = self.measure()
        self._training.clear()
        self.draw()

    def _step(self, run: "Run") -> None:
        self.run = run
        if self._stop_requested.is_set():
            run.stop()
        elif (now := time.monotonic()) > self._next_picture:
            self._now = self.measure()
            self.draw()
            spent = time.monotonic() - now
            self._next_picture = now + max(self.every, PAUSE * spent)
        self._update_controls()

    # -- the picture ------------------------------------------------------------------------------------------------

    def measure(self) -> dict[str, Any]:
        """The cosines of similar and of random pairs, and the vectors for the map, from the encoder as it is now."""
        encoder, seen = self.objective.encoder, {}
        if self.pairs is not None:
            a, b = (encoder.encode(side) for side in self.pairs)  # [P, D] each
            groups = torch.arange(len(a)).repeat(2)
            random = geometry.random_pair_cosines(torch.cat([a, b]).cpu(), groups=groups)
            seen["cosines"] = geometry.pair_cosines(a, b).cpu(), random
        if self.texts is not None:
            seen["vectors"] = encoder.encode(self.texts).cpu()
        return seen

    def draw(self) -> None:
        if hasattr(self, "buttons"):
            self._update_controls()
        super().draw()

    def _update_controls(self) -> None:
        running, run = self.running, self.run
        if run is not None:
            self.bar.max, self.bar.value = max(1, run.total), run.steps
        self.buttons["start"].disabled, self.buttons["stop"].disabled = running, not running

    def words(self) -> str:
        if self.problem:
            return f"<b>The run has ended</b>: {html.escape(self.problem)}"
        if self.run is None:
            return "Press <i>start</i>: the figure grows while it trains. <i>stop</i> keeps the run."
        if self.running:
            return f"Training: step {self.run.steps} of {self.run.total}, {self.run.seconds:.0f} s."
        end = "Stopped" if self.run.interrupted else "Done"
        kept = "It is kept as <code>panel.run</code>, with its history and its encoder."
        return f"<b>{end}</b>: {html.escape(repr(self.run))}. {kept}"

    def figure(self) -> "Figure":
        """Curves so far; cosines and map of the encoder at the beginning and now."""
        from contrast_kit import plots

        names = ["before", f"step {self.run.steps}"] if self.run is not None else ["before"]
        both = dict(zip(names, [self._before, self._now], strict=False))
        parts = []
        if self.run is not None and self.run.rows:
            parts.append(plots.loss_curves(self.run.history, ["loss", *self.objective.weights]))
        if self.pairs is not None:
            parts.append(plots.cosine_histograms({name: seen["cosines"] for name, seen in both.items()}, bins=40))
        if self.texts is not None:
            vectors = {name: seen["vectors"] for name, seen in both.items()}
            parts.append(plots.embedding_map(vectors, self.labels, "pca"))
        if not parts:
            raise ValueError(f"The run has ended: {self.problem}" if self.problem else "Press start.")
        return beside(*parts, columns=1)


def live_training(
    objective: "Objective",
    data: Any,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    texts: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    every: float = 2.0,
    **settings: Any,
) -> LiveTraining:
    """Train with a start and a stop button, and watch the losses and the space while it happens.

    The run is `ck.fit` in a thread, so that the notebook stays free; the stop button ends it after the present step
    and keeps it as `panel.run`, history, encoder and all, whatever it had reached. Cells that you run meanwhile share
    torch's random numbers with it: for a run that can be repeated to the last digit, use `ck.fit` itself.

    Args:
        objective: what to train, around its encoder, such as `ck.objectives.CMLM(encoder)`.
        data: as for `ck.fit`.
        pairs: sentences that mean the same, such as `toyshop.probe_pairs(200)`: their cosines beside those of random
            pairs (COCO-LM, figure 1). None leaves the histograms out.
        texts, labels: some hundred sentences for the map, and their labels. None leaves the map out.
        every: seconds between two pictures, more where drawing takes long.
        settings: those of `ck.fit`: `steps=`, `batch_size=`, `lr=`, `folder=` …

    Returns:
        A panel. `start()`, `stop()` and `wait()` do from Python what the buttons do, the last two returning the `Run`.

    Raises:
        TypeError: for something that is no objective.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> panel = ck.explore.live_training(ck.objectives.MLM(encoder), texts, steps=3, batch_size=4)
        >>> panel.start().wait().steps
        3
    """
    from contrast_kit.objectives.base import Objective

    widgets()
    if not isinstance(objective, Objective):
        raise TypeError(
            f"objective must be one of ck.objectives, such as CMLM(encoder), not {type(objective).__name__}."
        )
    return LiveTraining(objective, data, pairs, texts, labels, every, **settings)
