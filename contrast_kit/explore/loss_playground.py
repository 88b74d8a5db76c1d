"""Points to drag on a circle, and what a contrastive loss does with them: weights, forces, its value."""

import functools
import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import torch

from contrast_kit import arguments, checks
from contrast_kit.explore._contrasts import LOSSES, Contrast, contrast
from contrast_kit.explore._panel import (
    TEMPERATURES,
    Panel,
    beside,
    button,
    choice,
    row,
    scripts,
    stepped_slider,
    widgets,
)
from contrast_kit.plots.style import array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Degrees. A's views are far apart, B's are close, and C's second view has strayed among A's: a hard negative.
START = (60.0, 175.0, 290.0, 115.0, 200.0, 20.0)
STEP, REST = 0.25, 0.02


class LossPlayground(Panel):
    """B texts seen twice as points on the unit circle: drag them, choose the loss and τ. See `loss_playground`."""

    script, stand_in = ("loss_playground",), "loss_numbers"

    def __init__(self, loss: str, tau: float, angles: Sequence[float], classes: Sequence[int]):
        angles = array(angles, "angles").tolist()
        classes = arguments.listed("classes", classes, "integers, one for each text")
        if len(angles) % 2 or not 2 <= len(angles) // 2 <= 5:
            raise ValueError(f"angles must hold two views of 2 to 5 texts, so 4 to 10 degrees, not {len(angles)}.")
        if len(classes) != len(angles) // 2:
            raise ValueError(f"classes must name the class of each of {len(angles) // 2} texts, not {len(classes)}.")
        letters = "ABCDE"[: len(classes)]
        self.names = [f"{letter}{view}" for view in "₀₁" for letter in letters]
        self.classes, self.start = checks.integers(classes, None, torch.device("cpu"), "classes"), angles
        self.loss = choice("loss", LOSSES, loss)
        self.tau = stepped_slider("τ", TEMPERATURES, tau)
        self.view = self.circle = _circle_widget()(angles=self.start, names=self.names)
        moves = [
            button("one step", lambda: self.let_go(1), "move every point a little along its force"),
            button("let go", lambda: self.let_go(60), "sixty such steps"),
            button("start again", self.again, "put the points back"),
        ]
        handles = {name: (getattr(self, name), "value") for name in ("loss", "tau")}
        handles |= {name: (self.view, name) for name in ("angles", "anchor")}
        self.assemble(handles, row(self.loss, self.tau, *moves), self.view)

    def seen(self) -> Contrast:
        """The loss at the present state: its value, pair weights [N, N], roles and forces [N, 2]."""
        return contrast(self.loss.value, _points(self.view.angles), self.tau.value, self.classes)

    def let_go(self, steps: int = 60) -> Self:
        """Gradient descent on the points themselves: `steps` small moves along the forces."""
        path = [list(self.view.angles)]
        for _ in range(steps):
            path.append(self._moved_along(path[-1]))
        self.view.path = path[:: max(1, steps // 30)]  # what the page plays, before it shows the end
        return self.set(angles=path[-1])

    def again(self) -> Self:
        """Put the points back where they began."""
        return self.set(angles=self.start)

    def page_state(self) -> dict[str, Any]:
        return {"classes": self.classes.tolist(), "start": self.start}

    def _moved_along(self, angles: list[float]) -> list[float]:
        """One step: forces grow as 1/τ, so the step is τ times as long, and large forces are capped."""
        x = _points(angles)
        seen = contrast(self.loss.value, x, self.tau.value, self.classes)
        turn = x[:, 0] * seen.forces[:, 1] - x[:, 1] * seen.forces[:, 0]  # [N], the force along the circle
        scale = 1.0 if self.loss.value == "simsiam" else self.tau.value
        turn = (turn * STEP * scale * len(x) / 2).clamp(-0.15, 0.15)
        return [angle + math.degrees(by) for angle, by in zip(angles, turn.tolist(), strict=True)]

    def draw(self) -> None:
        seen = self.seen()
        self.view.seen = {
            "forces": seen.forces.tolist(),
            "weights": [[None if math.isnan(p) else p for p in line] for line in seen.weights.tolist()],
            "roles": seen.roles,
            "value": seen.value,
        }
        super().draw()

    def words(self) -> str:
        seen, i = self.seen(), self.view.anchor
        names = [html.escape(name) for name in self.names]
        name, roles = names[i], seen.roles[i]
        push = seen.forces.norm(dim=1)
        sentence = f"<b>{self.loss.value} = {seen.value:.3f}</b>"
        if self.loss.value == "simsiam":
            return f"{sentence} (from 1/e = 0.368 to e): no denominator, so nothing pushes; each view pulls the other."
        sentence += f" at τ = {self.tau.value:.3g}, the mean over its anchors. "
        if set(roles) == {"out"}:
            return sentence + f"{name} is no anchor: info_nce asks view 0 only."
        negatives = [(p, other) for p, other, role in zip(seen.weights[i].tolist(), names, roles, strict=True)
                     if role == "negative"]  # fmt: skip
        if negatives:
            most, hardest = max(negatives)
            share = most / max(sum(p for p, _ in negatives), 1e-30)
            sentence += f"Of what pushes {name}, {share:.0%} comes from {hardest}. "
        return sentence + f"The strongest force, on {names[int(push.argmax())]}, is {push.max():.2f}."

    def figure(self) -> "Figure":
        """The circle with its forces, and beside it each anchor's weights on its candidates."""
        from contrast_kit import plots

        seen, b = self.seen(), len(self.classes)
        tau = "" if self.loss.value == "simsiam" else f", τ = {self.tau.value:.3g}"
        title = f"{self.loss.value}{tau}: {seen.value:.3f}"
        letters = [name[0] for name in self.names]
        pairs = [[i, i + b] for i in range(b)]
        at = _points(self.view.angles)
        # Arrows are drawn relative to the longest: at rest, what is left of the forces would look like a storm.
        forces = seen.forces if seen.forces.norm(dim=1).max() > REST else None
        title += "" if forces is not None else ", at rest"
        circle = plots.circle(at, letters, names=self.names, forces=forces, pairs=pairs, title=title)
        name = "who pulls whom" if self.loss.value == "simsiam" else "pair weights"
        weights = None if self.loss.value == "simsiam" else seen.weights.nan_to_num(0)
        matrix = plots.similarity_matrix(
            weights, seen.roles, rows=self.names, columns=self.names, limits=(-1, 1), title=name
        )
        if weights is not None:
            matrix.axes[-1].set_ylabel("weight")
            matrix.axes[-1].set_ylim(0, 1)
        return beside(circle, matrix)


def loss_playground(
    loss: str = "nt_xent",
    tau: float = 0.5,
    angles: Sequence[float] = START,
    classes: Sequence[int] = (0, 0, 1),
) -> LossPlayground:
    """Drag vectors on a circle and see what a contrastive loss does with them.

    Left, B texts in two views (A₀ and A₁ are positives of each other): an arrow for the force on each vector (minus the
    gradient of the loss); and from the chosen anchor a line to each of its candidates, blue to what pulls it and orange
    to what pushes it, as thick as its share. Right, the softmax weights of all anchors. *Let go* follows the forces:
    pairs meet, texts spread (or, without negatives, only meet).

    Args:
        loss: "info_nce", "nt_xent", "sup_con" or "simsiam" (its predictor the identity here).
        tau: the temperature: one of the slider's values, 0.02, 0.03, 0.05, 0.07, 0.1 … 2.
        angles: degrees of the 2B points, view 0 of each text first, 2 to 5 texts.
        classes: the class of each text, for "sup_con".

    Returns:
        A panel; `set(loss=…, tau=…, angles=…, anchor=…)` moves it from Python, `let_go()` follows the forces,
        `seen()` gives the numbers and `figure()` the picture.

    Raises:
        ValueError: angles and classes that do not fit each other, a loss or a temperature out of range.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> panel = ck.explore.loss_playground("nt_xent", tau=0.5)
        >>> before = panel.seen().value
        >>> panel.let_go().seen().value < before
        True
    """
    widgets()
    return LossPlayground(loss, tau, angles, classes)


def _points(angles: Sequence[float]) -> torch.Tensor:
    turn = torch.deg2rad(torch.tensor(angles, dtype=torch.float64))
    return torch.stack([turn.cos(), turn.sin()], dim=1)  # [N] -> [N, 2]


@functools.cache
def _circle_widget() -> type:
    import anywidget
    import traitlets

    class Circle(anywidget.AnyWidget):
        """The widget in the page: sends angles and the anchor, shows the forces and weights that Python computed."""

        _esm = scripts("shared", "loss_playground")
        names = traitlets.List(traitlets.Unicode()).tag(sync=True)
        angles = traitlets.List(traitlets.Float()).tag(sync=True)
        anchor = traitlets.Int(0).tag(sync=True)
        seen = traitlets.Dict().tag(sync=True)
        path = traitlets.List().tag(sync=True)

        @traitlets.validate("angles")
        def _as_many(self, proposal: Any) -> list[float]:
            if self.names and len(proposal["value"]) != len(self.names):
                raise traitlets.TraitError(f"There are {len(self.names)} points.")
            if not all(map(math.isfinite, proposal["value"])):
                raise traitlets.TraitError("An angle is a finite number of degrees.")
            return proposal["value"]

        @traitlets.validate("anchor")
        def _one_of_them(self, proposal: Any) -> int:
            if not 0 <= proposal["value"] < len(self.names):
                raise traitlets.TraitError(f"There are {len(self.names)} points.")
            return proposal["value"]

    return Circle
