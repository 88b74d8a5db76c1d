"""A training run to watch and to stop: its losses, its cosines and a sphere of sentences, drawn while it happens."""

import copy
import html
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from contrast_kit import arguments, checks
from contrast_kit._warn import warn
from contrast_kit.explore import _live_page as page
from contrast_kit.explore._panel import _DRAWING, Panel, widgets
from contrast_kit.explore._turns import Turns

if TYPE_CHECKING:
    import torch
    from matplotlib.figure import Figure

    from contrast_kit.objectives.base import Objective
    from contrast_kit.training.fit import Run

OFTEN = 0.1  # seconds between two messages to the page
PAUSE = 3  # the pause between two measurements, in units of the time that one takes: a limit on the slowdown
OVER = ("ready", "stopped", "done", "failed")


class LiveTraining(Panel):
    """One run or several, each in its own thread, drawn as they go. See `live_training`."""

    script, stand_in = ("canvas", "sphere", "live_training"), "film_numbers"

    def __init__(
        self,
        objectives: Mapping[str, "Objective"],
        data: Any,
        pairs: Any,
        texts: Any,
        labels: Any,
        every: float,
        **settings: Any,
    ):
        self.objectives, self.data, self.settings, self.every = dict(objectives), data, settings, every
        self.pairs = None if pairs is None else [list(side) for side in zip(*pairs, strict=True)]
        self.texts, self.labels = texts, labels
        self.runs: dict[str, Run] = {}
        self.problem, self._phase = "", "ready"
        self._threads: list[threading.Thread] = []
        self._here: list[str] = []  # the runs that are still going
        self._stop_requested = threading.Event()
        self._first: dict[str, dict[str, torch.Tensor]] = {}  # the weights before the first start
        self._before = {name: self.measure(name) for name in self.objectives}
        self._now, self._film = dict(self._before), page.Film()
        facts = page.facts(self.objectives, self.texts, self.labels, self._before)
        self.view = self.stage = page.stage_widget()(facts=facts, moment=self._film.moment(0, self._now))
        self.stage.observe(self._on_press, names="pressed")
        self.assemble({}, self.stage)

    @property
    def run(self) -> "Run | None":
        """The run, or the first of several; `runs` has them all by name."""
        return next(iter(self.runs.values()), None)

    @property
    def running(self) -> bool:
        """True while a thread trains."""
        return self._phase not in OVER

    def start(self) -> Self:
        """Train from where the encoder stands, in a thread; returns at once. While it trains, does nothing."""
        if self.running:
            return self
        self._phase, self.problem, self.runs, self._here = "starting", "", {}, list(self.objectives)
        self._film.moments.clear()
        self._stop_requested.clear()
        self._next_look, self._next_word, self._look_at = 0.0, 0.0, -1  # the step at which all runs are measured
        for name, objective in self.objectives.items():
            self._first.setdefault(name, copy.deepcopy(objective.state_dict()))
        turns = Turns(len(self.objectives))
        work = [threading.Thread(target=self._train, args=(turns, *one), daemon=True) for one in enumerate(self._here)]
        self._threads = [*work, threading.Thread(target=self._finish, args=(work,), daemon=True)]
        self.show()
        for thread in self._threads:
            thread.start()
        return self

    def request_stop(self) -> None:
        """Let the run end after the current step, as the stop button does; does not wait for it."""
        self._stop_requested.set()
        for run in self.runs.values():
            run.stop()
        if self.running:
            self._phase = "stopping"
            self.show()

    def ask(self) -> None:
        """The former name of `request_stop`."""
        warn("ask is now called request_stop.", DeprecationWarning)
        self.request_stop()

    def stop(self) -> "Run | None":
        """End the run after the current step and return it; None if none was started."""
        self.request_stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> "Run | None":
        """Wait until the run has ended (or `timeout` seconds), and return it."""
        until = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
        return self.run

    def reset(self) -> Self:
        """Give the encoders, and the heads of the objectives, the weights from before the first start.

        Raises a RuntimeError while it trains.
        """
        if self.running:
            raise RuntimeError("The run is still going: stop it first, then reset the encoder.")
        for name, weights in self._first.items():
            self.objectives[name].load_state_dict(weights)
        self.runs, self.problem, self._phase, self._film = {}, "", "ready", page.Film()
        self._now = {name: self.measure(name) for name in self.objectives}
        self.stage.frames, self.stage.moment = [], self._film.moment(0, self._now)
        self.draw()
        return self

    def _train(self, turns: Turns, i: int, name: str) -> None:
        from contrast_kit.training.fit import fit

        def after_step(run: "Run") -> None:
            self._step(name, run)
            turns.hand_on(i)

        with turns.taken_by(i):
            try:
                run = fit(self.objectives[name], self.data, callback=after_step, progress=False, **self.settings)
                self.runs[name] = run
            except Exception as error:  # in a thread nobody would see it
                self.problem = self.problem or page.said(name, error)
                self.runs |= {name: error.run} if getattr(error, "run", None) else {}
            self._here.remove(name)
            try:
                self._now[name] = self.measure(name)
            except ValueError as error:  # it has diverged: its last measurement stays
                self.problem = self.problem or page.said(name, error)

    def _finish(self, work: list[threading.Thread]) -> None:
        """When the last run is over, measure its end and send its film to the page."""
        for thread in work:
            thread.join()
        if self.runs:
            self._keep_moment()
        self.stage.frames = list(self._film.moments)
        over = "stopped" if any(run.interrupted for run in self.runs.values()) else "done"
        self._phase = "failed" if self.problem else over
        self.draw()
        with _DRAWING, suppress(ValueError):  # there may be nothing to draw
            self.still.update(lambda: self.figure()._repr_png_())

    def _keep_moment(self) -> None:
        self.stage.moment = self._film.keep(max(run.steps for run in self.runs.values()), self._now)

    def _step(self, name: str, run: "Run") -> None:
        self.runs[name] = run
        if self._phase == "starting":
            self._phase, self._next_look = "training", time.monotonic() + self.every
        if self._stop_requested.is_set():
            return run.stop()
        if (now := time.monotonic()) > self._next_look and self._look_at != run.steps:
            self._look_at, self._next_look = run.steps, now + self.every
        if self._look_at == run.steps:  # the others follow in the same round
            self._now[name] = self.measure(name)
            if name == self._here[-1]:
                self._keep_moment()
                spent = time.monotonic() - now
                self._next_look = now + max(self.every, PAUSE * spent * len(self.runs))
        if time.monotonic() > self._next_word:
            self.show()
            self._next_word = time.monotonic() + OFTEN
        return None

    def measure(self, name: str | None = None) -> dict[str, Any]:
        """The cosines of similar and of random pairs, and the vectors of `texts`, from an encoder as it is now."""
        name = next(iter(self.objectives)) if name is None else name
        return page.measured(self.objectives[name].encoder, self.pairs, self.texts)

    def show(self) -> None:
        """Send the page what it does not have yet: the state, and the losses so far."""
        runs = list(self.runs.values())
        rows = {name: self.runs[name].rows if name in self.runs else [] for name in self.objectives}
        self.stage.curves = [page.curve(rows[name], each.weights) for name, each in self.objectives.items()]
        self.stage.now = {
            "phase": self._phase,
            "step": min((run.steps for run in runs), default=0),
            "total": max((run.total for run in runs), default=1),
            "seconds": max((run.seconds for run in runs), default=0.0),
            "problem": f"The run has ended: {self.problem}" if self.problem else "",
        }

    def draw(self) -> None:
        if hasattr(self, "stage"):
            self.show()
        super().draw()

    def words(self) -> str:
        if self.problem:
            return f"<b>The run has ended</b>: {html.escape(self.problem)}"
        if self._phase == "ready":
            return "<i>start</i> trains, <i>stop</i> ends it after the current step and keeps the run."
        if self.running:
            return "It trains. The notebook stays free; the run so far is <code>panel.run</code>."
        end = "Stopped" if self._phase == "stopped" else "Done"
        said = "; ".join(html.escape(f"{name} – {run!r}".removeprefix(" – ")) for name, run in self.runs.items())
        kept = "Kept as <code>panel.run</code>" if len(self.runs) == 1 else "Kept in <code>panel.runs</code>"
        return f"<b>{end}</b>: {said}. {kept}, with history and encoder."

    def page_state(self) -> dict[str, Any]:
        """A run that is over, as a film: the page plays it again. ValueError where there is none."""
        if self.running or not self._film.moments:
            raise ValueError("There is no film of a run yet: train, wait for the end, then write the page.")
        return {"frames": self._film.for_page(), "ended": self.words()}

    def figure(self) -> "Figure":
        """Curves so far; cosines and map of each encoder at the beginning and now."""
        if not (self.runs or self.pairs or self.texts):
            raise ValueError(f"The run has ended: {self.problem}" if self.problem else "Press start.")
        weights = {name: each.weights for name, each in self.objectives.items()}
        return page.picture(self.runs, weights, self._before, self._now, self.labels)

    def _on_press(self, change: Any) -> None:
        does = {"start": self.start, "stop": self.request_stop, "reset encoder": self.reset}
        try:
            does[change["new"][0]]()
        except Exception as error:  # the page is the only place where it would be seen
            self.problem = str(error) or type(error).__name__
            self.draw()


def live_training(
    objective: "Objective | Mapping[str, Objective]",
    data: Any,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    texts: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    every: float = 0.5,
    **settings: Any,
) -> LiveTraining:
    """Train with a start and a stop button, and watch the losses and the space while it happens.

    The run is `ck.fit` in a thread, so that the notebook stays free; the stop button ends it after the current step and
    keeps it as `panel.run`, history, encoder and all, however far it got. *Reset encoder* brings back the weights from
    before the first start. Cells that you run meanwhile share torch's random numbers with it: for a run that can be
    repeated to the last digit, use `ck.fit` itself.

    Losses are drawn up to ten times a second. Cosines and the sphere are measured every half second, or less often,
    so that measuring takes no more than about a quarter of the time. On the sphere a vector stands for its direction:
    three directions of the space, those that hold most of it, are fitted at each measurement and turned onto the last
    ones, so that points glide; between two measurements they move along great circles, where nothing was measured.
    Drag the sphere, or turn it with the arrow keys.

    Args:
        objective: what to train, around its encoder, such as `ck.objectives.CMLM(encoder)`; or several by name, each
            with an encoder of its own, to watch side by side. They take turns, one step each.
        data: as for `ck.fit`.
        pairs: sentences that mean the same, such as `toyshop.probe_pairs(200)`: their cosines beside those of random
            pairs (COCO-LM, figure 1). None leaves the histograms out.
        texts, labels: a hundred or so sentences for the sphere, and their labels. None leaves the sphere out.
        every: seconds between two measurements, more where one takes long.
        settings: those of `ck.fit`: `steps=`, `batch_size=`, `lr=`, `folder=` …

    Returns:
        A panel. `start()`, `stop()`, `wait()` and `reset()` do from Python what the buttons do; `stop` and `wait`
        return the `Run`. `panel.runs` has those of all objectives, by name.

    Raises:
        TypeError: for something that is not an objective.
        ValueError: two objectives share an encoder, or would write into one folder; labels that do not fit the texts.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> panel = ck.explore.live_training(ck.objectives.MLM(encoder), texts, steps=3, batch_size=4)
        >>> panel.start().wait().steps
        3
    """
    widgets()
    pairs = None if pairs is None else arguments.text_pairs("pairs", pairs)
    texts = None if texts is None else arguments.strings("texts", texts, "sentences")
    labels = None if labels is None else arguments.listed("labels", labels, "labels")
    checks.number("every", every, "a number of seconds", least=0)
    objectives = page.checked(objective, texts, labels, settings.get("folder"))
    return LiveTraining(objectives, data, pairs, texts, labels, every, **settings)
