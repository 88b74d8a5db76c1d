"""A training run to watch and to stop: its losses, its cosines and a sphere of sentences, drawn while it happens."""

import copy
import html
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import contrast_kit as ck
from contrast_kit.explore._film import BINS, MOST_MOMENTS, curve, hills, measured, moment
from contrast_kit.explore._panel import Panel, view_of
from contrast_kit.plots.style import MARKERS, PALETTE, in_order
from contrast_kit.plots.style import texts as labels_of

if TYPE_CHECKING:
    from contrast_kit.objectives import Objective

OFTEN = 0.1  # seconds between two messages to the page
PAUSE = 3  # the pause between two measurements, in units of the time that one takes: a limit on the slowdown
OVER = ("ready", "stopped", "done", "failed")


class LiveTraining(Panel):
    """Train with a start and a stop button, and watch the losses and the space while it happens.

    The run is `ck.fit` in a thread, so that the notebook stays free; the stop button ends it after the current step and
    keeps it as `panel.run`, history, encoder and all, however far it got. *Reset encoder* brings back the weights from
    before the first start. Cells that you run meanwhile share torch's random numbers with it, and so does the run of
    another panel: for a run that can be repeated to the last digit, use `ck.fit` itself.

    Losses are drawn up to ten times a second. Cosines and the sphere are measured every half second, or less often,
    so that measuring takes no more than about a quarter of the time. On the sphere a vector stands for its direction:
    three directions of the space, those that hold most of it, are fitted at each measurement and turned onto the last
    ones, so that points glide; between two measurements they move along great circles, where nothing was measured.
    Drag the sphere, or turn it with the arrow keys.

    Args:
        objective: what to train, around its encoder, such as `ck.objectives.CMLM(encoder)`.
        data: as for `ck.fit`.
        pairs: sentences that mean the same, such as `toyshop.probe_pairs(200)`: their cosines beside those of random
            pairs (COCO-LM, figure 1). None leaves the histograms out.
        texts, labels: a hundred or so sentences for the sphere, and their labels. None leaves the sphere out.
        every: seconds between two measurements, more where one takes long.
        settings: those of `ck.fit`: `steps=`, `batch_size=`, `lr=`, `folder=` …

    Returns:
        A panel. `start()`, `stop()`, `wait()` and `reset()` do from Python what the buttons do; `stop` and `wait`
        return the `Run`.

    Raises:
        ValueError: labels that do not fit the texts.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> panel = ck.explore.live_training(ck.objectives.MLM(encoder), texts, steps=3, batch_size=4)
        >>> panel.start().wait().steps
        3
    """

    script, stand_in = ("canvas", "sphere", "live_training"), "film_numbers"

    def __init__(
        self,
        objective: "Objective",
        data: Any,
        *,
        pairs: Sequence[tuple[str, str]] | None = None,
        texts: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
        every: float = 0.5,
        **settings: Any,
    ):
        self.objective, self.data = objective, data
        self.settings, self.every = settings, every
        self.pairs = pairs and [list(side) for side in zip(*pairs, strict=True)]
        self.texts = texts
        self.labels = None if labels is None else labels_of(labels, "labels", len(texts))
        self._thread = self._first = None  # the weights before the first start
        self._stop_requested = threading.Event()
        first = self._clear()
        kinds = in_order(self.labels or [])
        facts = {
            "texts": texts or [],
            "kinds": [kinds.index(label) for label in self.labels or []],
            "legend": kinds,
            "colours": list(PALETTE),
            "markers": "".join(MARKERS),
            "width": objective.encoder.width,
            "before": hills(self._before),
        }
        traits = {
            "facts": facts,  # what does not change
            "now": {},
            "curves": {},  # column -> numbers
            "moment": first,  # the last one: sphere and cosines
            "frames": [],  # all measurements of a run that is over
            "pressed": ["", 0],  # which button, and how often any was pressed
        }
        self.view = view_of(self.script, **traits)
        self.view.observe(self._on_press, names="pressed")
        self.assemble({})

    def _clear(self):
        """As it is before a start: no run, and the encoder measured. Returns the first moment."""
        self.run, self.problem, self._phase = None, "", "ready"
        self._before = self._now = self.measure()
        first, self._points = moment(0, self._now)
        self.moments = [first]
        return first

    @property
    def running(self) -> bool:
        """True while a thread trains."""
        return self._phase not in OVER

    def start(self) -> Self:
        """Train from where the encoder stands, in a thread; returns at once. While it trains, does nothing."""
        if self.running:
            return self
        self._phase, self.problem, self.run = "starting", "", None
        self._first = self._first or copy.deepcopy(self.objective.state_dict())
        del self.moments[1:]
        self._stop_requested.clear()
        self._next_word, self._next_look = 0.0, time.monotonic() + self.every
        self._thread = threading.Thread(target=self._train, daemon=True)
        self.show()
        self._thread.start()
        return self

    def request_stop(self) -> None:
        """Let the run end after the current step, as the stop button does; does not wait for it."""
        self._stop_requested.set()
        if self.running:
            self._phase = "stopping"
            self.show()

    def stop(self) -> "ck.Run | None":
        """End the run after the current step and return it; None if none was started."""
        self.request_stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> "ck.Run | None":
        """Wait until the run has ended (or `timeout` seconds), and return it."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self.run

    def reset(self) -> Self:
        """Give the encoder, and the heads of the objective, the weights from before the first start.

        Raises a RuntimeError while it trains.
        """
        if self.running:
            raise RuntimeError(
                "The run is still going: stop it first, then reset the encoder."
            )
        if self._first is not None:
            self.objective.load_state_dict(self._first)
        self.view.frames, self.view.moment = [], self._clear()
        self.draw()
        return self

    def _train(self):
        options = dict(callback=self._step, progress=False) | self.settings
        try:
            self.run = ck.fit(self.objective, self.data, **options)
            self._look(self.run)
        except Exception as error:  # in a thread nobody would see it
            self.problem = str(error) or type(error).__name__
            self.run = getattr(error, "run", self.run)
        self.view.frames = list(self.moments)
        over = "stopped" if self.run is not None and self.run.interrupted else "done"
        self._phase = "failed" if self.problem else over
        self.draw()

    def _look(self, run):
        """Measure the encoder and send it; when the film gets too long, every second moment is dropped."""
        self._now = self.measure()
        self.view.moment, self._points = moment(run.steps, self._now, self._points)
        self.moments.append(self.view.moment)
        if len(self.moments) > MOST_MOMENTS:
            del self.moments[1:-1:2]

    def _step(self, run):
        self.run = run
        if self._stop_requested.is_set():
            run.stop()
            return
        self._phase, now = "training", time.monotonic()
        if now > self._next_look:
            self._look(run)
            spent = time.monotonic() - now
            self._next_look = now + max(self.every, PAUSE * spent)
        if now > self._next_word:
            self.show()
            self._next_word = now + OFTEN

    def measure(self) -> dict[str, Any]:
        """The cosines of similar and of random pairs, and the vectors of `texts`, from the encoder as it is now."""
        return measured(self.objective.encoder, self.pairs, self.texts)

    def show(self) -> None:
        """Send the page what it does not have yet: the state, and the losses so far."""
        run = self.run
        self.view.curves = {} if run is None else curve(run.rows, self.objective.weights)
        self.view.now = {
            "phase": self._phase,
            "step": getattr(run, "steps", 0),
            "total": getattr(run, "total", 1),
            "seconds": getattr(run, "seconds", 0.0),
            "problem": self.problem and f"The run has ended: {self.problem}",
        }

    def words(self) -> str:
        if self.problem:
            return f"<b>The run has ended</b>: {html.escape(self.problem)}"
        if self.run is None or self.running:
            return "<i>start</i> trains, <i>stop</i> ends it; the run so far is <code>panel.run</code>."
        return f"Kept as <code>panel.run</code>: {html.escape(repr(self.run))}."

    def page_state(self) -> dict[str, Any]:
        """A run that is over, as a film: the page plays it again. ValueError where there is none."""
        if self.running or self.run is None:
            raise ValueError(
                "There is no film of a run yet: train, and wait for the end."
            )
        return {"ended": self.words()}

    def figure(self) -> Any:
        """Cosines of the encoder at the beginning and now; where it has no pairs, a map, or the losses."""
        seen = {"before": self._before}
        if self.run is not None:
            seen[f"step {self.run.steps}"] = self._now
        if self.pairs:
            cosines = {name: each["cosines"] for name, each in seen.items()}
            return ck.plots.cosine_histograms(cosines, bins=BINS)
        if self.texts:
            vectors = {name: each["vectors"] for name, each in seen.items()}
            return ck.plots.embedding_map(vectors, self.labels, "pca")
        if self.run is None or not self.run.rows:
            raise ValueError(self.problem or "There is nothing to draw yet: press start.")
        return ck.plots.loss_curves(self.run.history, ["loss", *self.objective.weights])

    def _on_press(self, change):
        name, _ = change["new"]
        try:
            {"start": self.start, "stop": self.request_stop}.get(name, self.reset)()
        except Exception as error:  # the page is the only place where it would be seen
            self.problem = str(error)
            self.draw()


live_training = LiveTraining
"""The name by which notebooks make the panel."""
