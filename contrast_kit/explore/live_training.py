"""A training run to watch and to stop: its losses, its cosines and a sphere of sentences, drawn while it happens."""

import copy
import html
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

import torch

import contrast_kit as ck
from contrast_kit.explore._film import BINS, Film, curve, hills, measured
from contrast_kit.explore._panel import Panel, joined, view_of
from contrast_kit.plots.style import MARKERS, PALETTE, in_order
from contrast_kit.plots.style import texts as labels_of

if TYPE_CHECKING:
    from contrast_kit.objectives import Objective


class Turns:
    """Hands the turn from one thread to the next; only the thread whose turn it is works.

    Each thread has torch's random numbers (on the CPU) to itself, from their state when the turns were made: on a CPU a
    run beside others gives the same numbers as a run alone.

    Example:
        >>> turns, said = Turns(2), []
        >>> def count(i):
        ...     with turns.taken_by(i):
        ...         for number in range(3):
        ...             said.append((i, number))
        ...             turns.hand_on(i)
        >>> threads = [threading.Thread(target=count, args=[i]) for i in range(2)]
        >>> for thread in threads: thread.start()
        >>> for thread in threads: thread.join()
        >>> said
        [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    """

    def __init__(self, count: int):
        self._random = torch.get_rng_state()
        # The first one may begin.
        self._calls = [threading.Semaphore(i == 0) for i in range(count)]
        self._going = list(range(count))

    @contextmanager
    def taken_by(self, i: int) -> Iterator[None]:
        """Wait for the first turn; at the end leave, and let the next one go on."""
        self._wait(i, self._random)
        try:
            yield
        finally:
            after = self._next(i)
            self._going.remove(i)
            self._calls[after].release()

    def hand_on(self, i: int) -> None:
        """Let the others take their turns; returns when it is the turn of `i` again."""
        if len(self._going) == 1:
            return
        random = torch.get_rng_state()
        self._calls[self._next(i)].release()
        self._wait(i, random)

    def _wait(self, i, random):
        self._calls[i].acquire()
        torch.set_rng_state(random)

    def _next(self, i):
        return self._going[(self._going.index(i) + 1) % len(self._going)]


OFTEN = 0.1  # seconds between two messages to the page
PAUSE = 3  # the pause between two measurements, in units of the time that one takes: a limit on the slowdown
OVER = ("ready", "stopped", "done", "failed")


class LiveTraining(Panel):
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

    script, stand_in = ("canvas", "sphere", "live_training"), "film_numbers"

    def __init__(
        self,
        objective: "Objective | Mapping[str, Objective]",
        data: Any,
        *,
        pairs: Sequence[tuple[str, str]] | None = None,
        texts: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
        every: float = 0.5,
        **settings: Any,
    ):
        objectives = (
            dict(objective) if isinstance(objective, Mapping) else {"": objective}
        )
        if len({id(each.encoder) for each in objectives.values()}) < len(objectives):
            raise ValueError(
                "Each objective trains an encoder of its own: build one for each."
            )
        if len(objectives) > 1 and settings.get("folder") is not None:
            raise ValueError(
                "Two runs never mix in one folder: leave folder= out, or watch one objective at a time."
            )
        self.objectives, self.data = objectives, data
        self.settings, self.every = settings, every
        self.pairs = pairs and [list(side) for side in zip(*pairs, strict=True)]
        self.texts = texts
        self.labels = None if labels is None else labels_of(labels, "labels", len(texts))
        # Those that are running, and the names of their runs.
        self._threads, self._going = (
            [],
            [],
        )
        self._stop_requested = threading.Event()
        self._first = {}  # the weights before the first start
        self._clear()
        self._before = dict(self._now)
        kinds = in_order(self.labels or [])
        facts = {
            "names": list(objectives),
            "texts": texts or [],
            "kinds": [kinds.index(label) for label in self.labels or []],
            "legend": kinds,
            "colours": list(PALETTE),
            "markers": "".join(MARKERS),
            "width": [objective.encoder.width for objective in objectives.values()],
            "before": [hills(seen) for seen in self._before.values()],
        }
        self.view = view_of(
            self.script,
            facts=facts,  # what does not change
            now={},
            curves=[],  # of each run: column -> numbers
            # The last one: spheres and cosines of each run.
            moment=self._film.moment(0, self._now),
            frames=[],  # all measurements of a run that is over
            pressed=["", 0],  # which button, and how often any was pressed
        )
        self.view.observe(self._on_press, names="pressed")
        self.assemble({})

    def _clear(self):
        """As it is before a start: no runs, and the encoders measured."""
        self.runs, self.problem, self._phase = {}, "", "ready"
        self._now, self._film = (
            {name: self.measure(name) for name in self.objectives},
            Film(),
        )

    @property
    def run(self) -> "ck.Run | None":
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
        self._phase, self.problem, self.runs = "starting", "", {}
        self._going = list(self.objectives)
        self._film.moments.clear()
        self._stop_requested.clear()
        self._next_look = self._next_word = 0.0
        self._look_at = -1  # the step at which all runs are measured
        for name, objective in self.objectives.items():
            self._first.setdefault(name, copy.deepcopy(objective.state_dict()))
        turns = Turns(len(self.objectives))
        work = [
            threading.Thread(target=self._train, args=(turns, i, name), daemon=True)
            for i, name in enumerate(self.objectives)
        ]
        end = threading.Thread(target=self._finish, args=(work,), daemon=True)
        self._threads = [*work, end]
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

    def stop(self) -> "ck.Run | None":
        """End the run after the current step and return it; None if none was started."""
        self.request_stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> "ck.Run | None":
        """Wait until the run has ended (or `timeout` seconds), and return it."""
        for thread in self._threads[-1:]:  # the last one waits for the others
            thread.join(timeout)
        return self.run

    def reset(self) -> Self:
        """Give the encoders, and the heads of the objectives, the weights from before the first start.

        Raises a RuntimeError while it trains.
        """
        if self.running:
            raise RuntimeError(
                "The run is still going: stop it first, then reset the encoder."
            )
        for name, weights in self._first.items():
            self.objectives[name].load_state_dict(weights)
        self._clear()
        self.view.frames, self.view.moment = [], self._film.moment(0, self._now)
        self.draw()
        return self

    def _train(self, turns, i, name):
        def after_step(run: "ck.Run") -> None:
            self._step(name, run)
            turns.hand_on(i)

        with turns.taken_by(i):
            try:
                options = dict(callback=after_step, progress=False) | self.settings
                self.runs[name] = ck.fit(self.objectives[name], self.data, **options)
            except Exception as error:  # in a thread nobody would see it
                self.problem = self.problem or _sentence(name, error)
                self.runs |= {name: error.run} if getattr(error, "run", None) else {}
            self._going.remove(name)
            try:
                self._now[name] = self.measure(name)
            except ValueError as error:  # it has diverged: its last measurement stays
                self.problem = self.problem or _sentence(name, error)

    def _finish(self, work):
        """When the last run is over, measure its end and send its film to the page."""
        for thread in work:
            thread.join()
        if self.runs:
            self._keep_moment()
        self.view.frames = list(self._film.moments)
        over = "stopped" if any(run.interrupted for run in self.runs.values()) else "done"
        self._phase = "failed" if self.problem else over
        self.draw()
        with suppress(ValueError):  # there may be nothing to draw
            self.update_stored(lambda: self.figure()._repr_png_())

    def _keep_moment(self):
        self.view.moment = self._film.keep(
            max(run.steps for run in self.runs.values()), self._now
        )

    def _step(self, name, run):
        self.runs[name] = run
        if self._phase == "starting":
            self._phase, self._next_look = "training", time.monotonic() + self.every
        if self._stop_requested.is_set():
            run.stop()
            return
        now = time.monotonic()
        if now > self._next_look and self._look_at != run.steps:
            self._look_at, self._next_look = run.steps, now + self.every
        if self._look_at == run.steps:  # the others follow in the same round
            self._now[name] = self.measure(name)
            if name == self._going[-1]:
                self._keep_moment()
                spent = time.monotonic() - now
                self._next_look = now + max(self.every, PAUSE * spent * len(self.runs))
        if time.monotonic() > self._next_word:
            self.show()
            self._next_word = time.monotonic() + OFTEN

    def measure(self, name: str | None = None) -> dict[str, Any]:
        """The cosines of similar and of random pairs, and the vectors of `texts`, from an encoder as it is now."""
        name = next(iter(self.objectives)) if name is None else name
        return measured(self.objectives[name].encoder, self.pairs, self.texts)

    def show(self) -> None:
        """Send the page what it does not have yet: the state, and the losses so far."""
        runs = list(self.runs.values())
        curves = []
        for name, objective in self.objectives.items():
            rows = self.runs[name].rows if name in self.runs else []
            curves.append(curve(rows, objective.weights))
        self.view.curves = curves
        self.view.now = {
            "phase": self._phase,
            "step": min((run.steps for run in runs), default=0),
            "total": max((run.total for run in runs), default=1),
            "seconds": max((run.seconds for run in runs), default=0.0),
            "problem": f"The run has ended: {self.problem}" if self.problem else "",
        }

    def words(self) -> str:
        if self.problem:
            return f"<b>The run has ended</b>: {html.escape(self.problem)}"
        if self._phase == "ready":
            return "<i>start</i> trains, <i>stop</i> ends it after the current step."
        if self.running:
            return "It trains. The notebook stays free; the run so far is <code>panel.run</code>."
        end = "Stopped" if self._phase == "stopped" else "Done"
        runs = [
            f"{name} – {run!r}".removeprefix(" – ") for name, run in self.runs.items()
        ]
        kept = "Kept in <code>panel.runs</code>, with history and encoder."
        return f"<b>{end}</b>: {html.escape('; '.join(runs))}. {kept}"

    def page_state(self) -> dict[str, Any]:
        """A run that is over, as a film: the page plays it again. ValueError where there is none."""
        if self.running or not self._film.moments:
            raise ValueError(
                "There is no film of a run yet: train, and wait for the end."
            )
        return {"frames": self._film.for_page(), "ended": self.words()}

    def figure(self) -> Any:
        """Curves so far; cosines and map of each encoder at the beginning and now."""
        figures, seen = [], {}
        for name, first in self._before.items():
            seen[f"{name}: before".removeprefix(": ")] = first
            if name in self.runs:
                seen[f"{name}: step {self.runs[name].steps}".removeprefix(": ")] = (
                    self._now[name]
                )
        for name, run in self.runs.items():
            if run.rows:
                parts = ["loss", *self.objectives[name].weights]
                figures.append(ck.plots.loss_curves(run.history, parts, title=name))
        if self.pairs:
            cosines = {name: each["cosines"] for name, each in seen.items()}
            figures.append(ck.plots.cosine_histograms(cosines, bins=BINS))
        if self.texts:
            vectors = {name: each["vectors"] for name, each in seen.items()}
            figures.append(ck.plots.embedding_map(vectors, self.labels, "pca"))
        if not figures:
            raise ValueError(self.problem or "There is nothing to draw yet: press start.")
        return joined(*figures)

    def _on_press(self, change):
        does = {
            "start": self.start,
            "stop": self.request_stop,
            "reset encoder": self.reset,
        }
        try:
            does[change["new"][0]]()
        except Exception as error:  # the page is the only place where it would be seen
            self.problem = str(error) or type(error).__name__
            self.draw()


def _sentence(name, error):
    """What ended a run, with the name of the run where there are several."""
    return f"{name}: {error}".removeprefix(": ") if str(error) else type(error).__name__


live_training = LiveTraining
"""The name by which notebooks make the panel."""
