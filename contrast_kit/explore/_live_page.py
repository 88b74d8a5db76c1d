"""What the page of `live_training` gets: fixed facts, losses so far, cosines in bins; and its static figure."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from contrast_kit import checks, geometry
from contrast_kit.explore._panel import beside, scripts
from contrast_kit.explore._spheres import on_sphere

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS, MOST_MOMENTS, BINS = 600, 60, 40
MOST_IN_A_PAGE = 24  # moments in a page without Python


def checked(objective: Any, texts: Any, labels: Any, folder: Any) -> dict[str, Any]:
    """The objectives by name, one alone under the name "". TypeError, ValueError: as `live_training` says."""
    from contrast_kit.objectives.base import Objective

    objectives = dict(objective) if isinstance(objective, Mapping) else {"": objective}
    for each in objectives.values():
        if not isinstance(each, Objective):
            kind = type(each).__name__
            raise TypeError(f"objective must be one of ck.objectives, such as CMLM(encoder), not {kind}.")
    if not objectives or len({id(each.encoder) for each in objectives.values()}) < len(objectives):
        raise ValueError("Each objective trains an encoder of its own: build one for each, with the same seed.")
    if len(objectives) > 1 and folder is not None:
        raise ValueError("Two runs never mix in one folder: leave folder= out, or watch one objective at a time.")
    if labels is not None and (texts is None or len(labels) != len(texts)):
        raise ValueError(f"labels has {len(labels)} entries for {len(texts or [])} texts; there must be one for each.")
    return objectives


def facts(
    objectives: Mapping[str, Any], texts: Sequence[str] | None, labels: Any, before: Mapping[str, Any]
) -> dict[str, Any]:
    """What does not change: names, sentences, colours, and the cosines before training."""
    from contrast_kit import plots
    from contrast_kit.plots.style import MARKERS, in_order

    labels = [] if labels is None else [str(each) for each in getattr(labels, "tolist", lambda: labels)()]
    kinds = in_order(labels) if labels else []
    return {
        "names": list(objectives),
        "texts": list(texts or []),
        "kinds": [kinds.index(label) for label in labels],
        "legend": kinds,
        "colours": list(plots.PALETTE),
        "markers": "".join(MARKERS),
        "width": [objective.encoder.width for objective in objectives.values()],
        "before": [hills(seen) for seen in before.values()],
    }


def measured(encoder: Any, pairs: Sequence[list[str]] | None, texts: list[str] | None) -> dict[str, Any]:
    """The cosines of similar and of random pairs, and the vectors of the texts, [N, D]. ValueError: one is NaN."""
    seen = {}
    if pairs is not None:
        a, b = (encoder.encode(side) for side in pairs)  # [P, D] each
        groups = torch.arange(len(a)).repeat(2)
        random = geometry.random_pair_cosines(torch.cat([a, b]).cpu(), groups=groups)
        seen["cosines"] = geometry.pair_cosines(a, b).cpu(), random
    if texts is not None:
        seen["vectors"] = encoder.encode(texts).cpu()
        if not seen["vectors"].isfinite().all():
            raise checks.NotFiniteError("A vector holds NaN or infinity: the model has diverged; lower its lr.")
    return seen


def said(name: str, error: Exception) -> str:
    """What ended a run, with the name of the run where there are several."""
    return f"{name}: {error}".removeprefix(": ") if str(error) else type(error).__name__


class Film:
    """The measurements of a run, as the page gets them: `moments`, at most `MOST_MOMENTS` of them."""

    def __init__(self) -> None:
        self.moments: list[dict[str, Any]] = []
        self._first: dict[str, Any] | None = None
        self._last: dict[str, np.ndarray] = {}

    def moment(self, step: int, now: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Spheres and cosines of all runs as they are now; coordinates in thousandths, which travel faster."""
        spheres: list[dict[str, Any] | None] = []
        for name, seen in now.items():
            if "vectors" not in seen:
                spheres.append(None)
                continue
            found = on_sphere(seen["vectors"].double().numpy(), self._last.get(name))
            self._last[name] = found.points
            spheres.append({"points": (1000 * found.points).round().astype(int).tolist(), "share": found.share})
        made = {"step": step, "spheres": spheres, "hills": [hills(seen) for seen in now.values()]}
        self._first = self._first or made
        return made

    def keep(self, step: int, now: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """As `moment`, and keep it; when the film gets too long, every second moment is dropped."""
        self.moments.append(made := self.moment(step, now))
        if len(self.moments) > MOST_MOMENTS:
            del self.moments[1:-1:2]
        return made

    def for_page(self) -> list[dict[str, Any]]:
        """The moment before training and some of the others, the last among them: for a page without Python."""
        every = -(-len(self.moments) // MOST_IN_A_PAGE)
        return [self._first, *self.moments[: len(self.moments) - 1 : every], self.moments[-1]]


def curve(rows: Sequence[Mapping[str, float]], parts: Iterable[str]) -> dict[str, list[float]]:
    """The columns of a history to draw, at most `MOST_ROWS` rows of each, the last row among them."""
    if not rows:
        return {}
    apart = -(-len(rows) // MOST_ROWS)
    shown = [*rows[: len(rows) - 1 : apart], rows[-1]]
    names = [part for part in parts if part in rows[0]]
    names = ["loss", *(names if len(names) > 1 else [])]
    return {column: [float(f"{row[column]:.5g}") for row in shown] for column in ("step", *names)}


def hills(seen: Mapping[str, Any]) -> dict[str, Any] | None:
    """Cosines of similar and of random pairs, counted in bins from -1 to 1, and their means."""
    if "cosines" not in seen:
        return None
    counted = {}
    for kind, cosines in zip(("similar", "random"), seen["cosines"], strict=True):
        counts, _ = np.histogram(cosines.numpy(), bins=BINS, range=(-1, 1))
        counted[kind] = {"counts": counts.tolist(), "mean": float(cosines.mean())}
    return counted


def picture(
    runs: Mapping[str, Any], weights: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any], labels: Any
) -> "Figure":
    """Curves so far; cosines and maps of each encoder at the beginning and now."""
    from contrast_kit import plots

    parts, seen = [], {}
    for name, first in before.items():
        seen[f"{name}: before".removeprefix(": ")] = first
        if name in runs:
            seen[f"{name}: step {runs[name].steps}".removeprefix(": ")] = now[name]
    for name, run in runs.items():
        if run.rows:
            parts.append(plots.loss_curves(run.history, ["loss", *weights[name]], title=name or None))
    for key in ("cosines", "vectors"):
        found = {name: each[key] for name, each in seen.items() if key in each}
        if found and key == "cosines":
            parts.append(plots.cosine_histograms(found, bins=BINS))
        elif found:
            parts.append(plots.embedding_map(found, labels, "pca"))
    return beside(*parts, columns=1)


@functools.cache
def stage_widget() -> type:
    """The class of the widget; anywidget is imported when the first panel is made."""
    import anywidget
    import traitlets

    class Stage(anywidget.AnyWidget):
        """The widget in the page: draws what Python sends, and sends which button was pressed."""

        _esm = scripts("shared", "canvas", "sphere", "live_training")
        facts = traitlets.Dict().tag(sync=True)
        now = traitlets.Dict({"phase": "ready", "step": 0, "total": 1, "seconds": 0, "problem": ""}).tag(sync=True)
        curves = traitlets.List().tag(sync=True)  # of each run: column -> numbers
        moment = traitlets.Dict().tag(sync=True)  # the last measurement: spheres and cosines of each run
        frames = traitlets.List().tag(sync=True)  # all measurements of a run that is over
        pressed = traitlets.List(["", 0]).tag(sync=True)  # which button, and how often any was pressed

    return Stage
