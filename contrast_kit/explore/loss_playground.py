"""Points to drag on a circle, and what a contrastive loss does with them: weights, forces, its value.

Letters: B texts, N = 2B vectors (view 0 of every text, then view 1).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

import contrast_kit as ck
from contrast_kit.explore._panel import TEMPERATURES, Panel, button, control, view_of

LOSSES = ("info_nce", "nt_xent", "sup_con", "simsiam")
# Degrees. A's views are far apart, B's are close, and C's second view has strayed among A's: a hard negative.
START = (60.0, 175.0, 290.0, 115.0, 200.0, 20.0)
STEP, REST = 0.25, 0.02


@dataclass(frozen=True)
class Contrast:
    """One loss on N vectors."""

    value: float
    weights: Tensor
    """[N, N]: the softmax over the candidates of the anchor in that row; NaN where there is no term."""
    roles: list[list[str]]
    """[N][N]: "positive" and "negative" stand in the anchor's denominator, "numerator" in none, "out" is left out."""
    forces: Tensor
    """[N, D]: minus the gradient of the loss, along the sphere."""


def contrast(loss: str, x: Tensor, tau: float, classes: Tensor) -> Contrast:
    """The loss (mean over anchors), its pair weights and its forces.

    Args:
        loss: one of `LOSSES`. For "simsiam" the predictor is the identity, so its prediction is the vector itself.
        x: [N, D], view 0 of B texts, then view 1 in the same order.
        tau: the temperature; "simsiam" has none.
        classes: [B], the class of each text; only "sup_con" uses it.

    Example:
        >>> import torch
        >>> from contrast_kit.explore.loss_playground import contrast
        >>> seen = contrast("nt_xent", torch.eye(2).repeat(2, 1), tau=0.5, classes=torch.tensor([0, 1]))
        >>> seen.weights[0]  # of e^2, 1 and 1: the partner, and two at right angles
        tensor([   nan, 0.1065, 0.7870, 0.1065])
        >>> seen.roles[0]
        ['out', 'negative', 'positive', 'negative']
    """
    x = x.detach().requires_grad_()
    a, b = x.chunk(2)  # [N, D] -> two of [B, D]
    n = len(x)
    itself = torch.eye(n, dtype=torch.bool)
    # [N, N]: the positives of the anchor in each row,
    positive = itself.roll(n // 2, dims=0)
    candidate = ~itself  # and everything in its denominator
    if loss == "info_nce":
        value = ck.losses.info_nce(a, b, tau)
        first = torch.arange(n) < n // 2
        # Anchors are view 0, candidates view 1.
        candidate = first[:, None] & ~first[None, :]
        positive = positive & candidate
    elif loss == "nt_xent":
        value = ck.losses.nt_xent(a, b, tau)
    elif loss == "sup_con":
        labels = classes.repeat(2)  # [B] -> [N]
        value = ck.losses.sup_con(x, labels, tau, reduction="mean")
        positive = (labels[:, None] == labels[None, :]) & ~itself
    else:
        value = ck.losses.simsiam(a, a, b, b)
        candidate = torch.zeros_like(itself)
    (slope,) = torch.autograd.grad(value, x)
    scores = (ck.losses.cosine_matrix(x.detach()) / tau).masked_fill(
        ~candidate, -torch.inf
    )
    weights = scores.softmax(dim=1).masked_fill(~candidate, torch.nan)  # [N, N]
    kinds = (2 * candidate.long() + positive.long()).tolist()
    names = ("out", "numerator", "negative", "positive")
    roles = [[names[kind] for kind in line] for line in kinds]
    return Contrast(value.item(), weights, roles, -slope)


class LossPlayground(Panel):
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
        ValueError: angles and classes that do not fit each other. TraitError: a loss or temperature that is no choice.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> panel = ck.explore.loss_playground("nt_xent", tau=0.5)
        >>> before = panel.seen().value
        >>> panel.let_go().seen().value < before
        True
    """

    script, stand_in = ("loss_playground",), "loss_numbers"

    def __init__(
        self,
        loss: str = "nt_xent",
        tau: float = 0.5,
        angles: Sequence[float] = START,
        classes: Sequence[int] = (0, 0, 1),
    ):
        if len(angles) != 2 * len(classes):
            raise ValueError(
                f"angles must hold two views of each of {len(classes)} texts, not {len(angles)} points."
            )
        letters = "ABCDE"[: len(classes)]
        self.names = [f"{letter}{view}" for view in "₀₁" for letter in letters]
        self.classes = torch.tensor(classes)
        self.start = [float(angle) for angle in angles]
        state = {"angles": self.start, "names": self.names, "anchor": 0}
        self.view = view_of(self.script, **state, seen={}, path=[])
        moves = [
            button("one step", lambda: self.let_go(1)),
            button("let go", self.let_go),
            button("start again", self.again),
        ]
        controls = {
            "loss": control("Dropdown", "loss", loss, options=LOSSES),
            "tau": control("SelectionSlider", "τ", tau, options=TEMPERATURES),
        }
        self.assemble(controls, ["loss", "tau", *moves], traits=("angles", "anchor"))

    def seen(self) -> Contrast:
        """The loss at the present state: its value, pair weights [N, N], roles and forces [N, 2]."""
        return self._contrast(_points(self.view.angles))

    def _contrast(self, x):
        return contrast(self.loss.value, x, self.tau.value, self.classes)

    def let_go(self, steps: int = 60) -> Self:
        """Gradient descent on the points themselves: `steps` small moves along the forces."""
        path = [list(self.view.angles)]
        for _ in range(steps):
            path.append(self._moved_along(path[-1]))
        # What the page plays, before it shows the end.
        self.view.path = path[:: max(1, steps // 30)]
        return self.set(angles=path[-1])

    def again(self) -> Self:
        """Put the points back where they began."""
        return self.set(angles=self.start)

    def page_state(self) -> dict[str, Any]:
        return {"classes": self.classes.tolist(), "start": self.start}

    def _moved_along(self, angles):
        """One step: forces grow as 1/τ, so the step is τ times as long, and large forces are capped."""
        x = _points(angles)
        forces = self._contrast(x).forces
        # [N], the force along the circle
        turn = x[:, 0] * forces[:, 1] - x[:, 1] * forces[:, 0]
        scale = 1.0 if self.loss.value == "simsiam" else self.tau.value
        turn = (turn * STEP * scale * len(x) / 2).clamp(-0.15, 0.15)
        return [
            angle + math.degrees(by)
            for angle, by in zip(angles, turn.tolist(), strict=True)
        ]

    def show(self) -> None:
        seen = self.seen()
        weights = seen.weights.numpy().astype(object)
        weights[seen.weights.isnan().numpy()] = None  # JSON knows no NaN
        shown = {"forces": seen.forces.tolist(), "weights": weights.tolist()}
        self.view.seen = shown | {"roles": seen.roles, "value": seen.value}

    def words(self) -> str:
        seen = self.seen()
        force = seen.forces.norm(dim=1).max()
        loss = f"<b>{self.loss.value} = {seen.value:.3f}</b> at τ = {self.tau.value:.3g}"
        return f"{loss}. The strongest force is {force:.2f}."

    def figure(self) -> Any:
        """The circle with its forces, which are left out at rest: what is left of them would look like a storm."""
        seen, b = self.seen(), len(self.classes)
        moves = seen.forces.norm(dim=1).max() > REST
        said = [self.loss.value, f"τ = {self.tau.value:.3g}", f"loss {seen.value:.3f}"]
        if self.loss.value == "simsiam":
            del said[1]  # it has no temperature
        return ck.plots.circle(
            _points(self.view.angles),
            [name[0] for name in self.names],
            names=self.names,
            forces=seen.forces if moves else None,
            pairs=[[i, i + b] for i in range(b)],
            title=", ".join(said),
        )


def _points(angles):
    turn = torch.deg2rad(torch.tensor(angles, dtype=torch.float64))
    return torch.stack([turn.cos(), turn.sin()], dim=1)  # [N] -> [N, 2]


loss_playground = LossPlayground
"""The name by which notebooks make the panel."""
