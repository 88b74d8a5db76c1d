"""Frames for `animation`: the vectors of the same texts, kept at chosen steps of a training run."""

from collections.abc import Callable, Iterable
from typing import Any

from contrast_kit import arguments, checks


class Camera:
    """Give it to `fit(…, callback=camera)`, and `camera.frames` to `animation`.

    Args:
        look: called without arguments at each chosen step; what it returns is kept, for example the vectors
            `encoder.encode(texts).cpu()`.
        steps: the steps at which to look; step 0, before training, is always kept.

    >>> from contrast_kit import plots
    >>> weight = [0.0]
    >>> camera = plots.Camera(lambda: list(weight), steps=[2])
    >>> from types import SimpleNamespace
    >>> for step in (1, 2, 3):
    ...     weight[0] += 1
    ...     camera(SimpleNamespace(steps=step))
    >>> camera.frames
    {'step 0': [0.0], 'step 2': [2.0]}
    >>> camera.measures(total=sum)
    {'total': [0.0, 2.0]}
    """

    def __init__(self, look: Callable[[], Any], steps: Iterable[int]) -> None:
        if not callable(look):
            raise TypeError(f"look is a function without arguments, returning what to keep, not {checks.shown(look)}.")
        steps = arguments.listed("steps", steps, "numbers of steps")
        for at, step in enumerate(steps):
            checks.number(f"steps[{at}]", step, "a step at which to look")
        self.look, self.steps = look, set(steps)
        self.frames: dict[str, Any] = {"step 0": look()}

    def __call__(self, run: Any) -> None:
        """Keep what `look` returns now, if this step was chosen."""
        if run.steps in self.steps:
            self.frames[f"step {run.steps}"] = self.look()

    def measures(self, **of: Callable[[Any], Any]) -> dict[str, list[float]]:
        """Numbers of each frame, by name: `measures(uniformity=ck.geometry.uniformity)`, as `animation` takes them."""
        return {name: [float(measure(frame)) for frame in self.frames.values()] for name, measure in of.items()}
