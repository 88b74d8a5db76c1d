"""How a temperature spreads the push over the negatives, and what the number of candidates does to the loss."""

from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit import checks
from contrast_kit.plots.settings import one
from contrast_kit.plots.style import INK, array, panels, plain_ticks, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COUNT, WEIGHT, POSITIVE = "#999999", "#D55E00", "#0072B2"
DASHED = (0, (4, 3))


@styled
def negative_weights(
    negatives: Any, tau: float, positive: float, *, more: Any = None, title: str | None = None
) -> "Figure":
    """Which negatives push at this temperature, and the loss beside what it can be at best and by chance.

    One anchor. Left: the share of its negatives in each tenth of a cosine, grey, and their share of the softmax
    weight, which is their share of the push, orange: at a small τ a few hard negatives do it all. Right: the loss
    log(1 + Σ e^{(c − c⁺)/τ}) when only the first candidates are there, up to all of them; dashed, log(candidates), the
    loss of vectors that are all equal; dotted, the loss of a perfect positive among negatives at right angles.

    * `negatives` [M]: cosines of the anchor with its negatives, batch and queue, in any order.
    * `tau`: the temperature; `positive`: the cosine c⁺ with its positive.
    * `more` [Q]: further negatives, which the right panel goes on to count but the anchor does not have.

    Returns the figure. Raises a ValueError for numbers that are not cosines, or a temperature that is not above 0.

    >>> from contrast_kit import plots
    >>> figure = plots.negative_weights([0.5, 0.0, -0.5], tau=0.1, positive=0.8)
    >>> figure.axes[0].get_title().splitlines()[1]
    'half of it from 1 of 3'
    """
    negatives = _cosines(negatives, "negatives")
    later = negatives[:0] if more is None else _cosines(more, "more")
    positive = float(_cosines([positive], "positive")[0])
    checks.temperature(tau := one(tau))
    figure, (left, right) = panels(2, height=3.4, columns=2, title=title)
    _draw_weights(left, negatives, tau, positive)
    _draw_loss(right, negatives, later, tau, positive)
    # Axes, titles and legend never move, so their places are set: laying them out would take as long as the drawing.
    figure.set_layout_engine(None)
    top = 0.85 - 0.07 * bool(title)
    figure.subplots_adjust(left=0.065, right=0.985, bottom=0.335, top=top, wspace=0.17)
    figure.legend(loc="lower center", ncols=3, handlelength=1.8)
    return figure


def _cosines(values: Any, name: str) -> np.ndarray:
    values = array(values, name, 1)
    if np.abs(values).max() > 1 + 1e-3:
        raise ValueError(f"{name} holds numbers outside -1 … 1, which are not cosines.")
    return values.clip(-1, 1)


def count_for_half(weights: np.ndarray) -> int:
    """How many of the largest weights make half of their sum."""
    running = np.cumsum(np.sort(weights)[::-1])
    return int(np.searchsorted(running, running[-1] / 2 * (1 - 1e-9))) + 1


def _draw_weights(panel: "Axes", negatives: np.ndarray, tau: float, positive: float) -> None:
    weights = np.exp((negatives - negatives.max()) / tau)
    weights /= weights.sum()
    bins = np.linspace(-1, 1, 21)
    even = np.full(len(negatives), 1 / len(negatives))
    panel.hist(negatives, bins, weights=even, color=COUNT, alpha=0.55, label="share of the negatives")
    panel.hist(
        negatives,
        bins,
        weights=weights,
        histtype="step",
        color=WEIGHT,
        linewidth=2.2,
        label="share of the push",
    )
    panel.axvline(positive, color=POSITIVE, linewidth=2, label="the positive")
    panel.set(
        xlim=(-1, 1),
        ylim=(0, 1),
        xticks=np.linspace(-1, 1, 5),
        yticks=np.linspace(0, 1, 5),
        xlabel="cosine with the anchor",
        ylabel="share in each tenth",
    )
    panel.set_title(f"who pushes at τ = {tau:g}\nhalf of it from {count_for_half(weights):,} of {len(negatives):,}")
    panel.grid(axis="y")


def _draw_loss(panel: "Axes", negatives: np.ndarray, later: np.ndarray, tau: float, positive: float) -> None:
    exponents = (np.concatenate([negatives, later]) - positive) / tau
    running = np.logaddexp.accumulate(np.concatenate([[0.0], exponents]))  # log of the denominator, less the positive
    candidates = np.arange(1, len(running) + 1)
    here = len(negatives)
    panel.plot(
        candidates,
        np.log(candidates),
        color=INK,
        linestyle=DASHED,
        linewidth=1.3,
        label="all equal: log(candidates)",
    )
    at_best = np.log1p((candidates - 1) * np.exp(-1 / tau))
    panel.plot(
        candidates,
        at_best,
        color=INK,
        linestyle=":",
        linewidth=1.5,
        label="perfect positive, the rest at 90°",
    )
    panel.plot(candidates, running, color=WEIGHT, linewidth=2, label="the loss")
    panel.plot(candidates[here], running[here], "o", color=WEIGHT, markersize=9, markeredgecolor="white")
    panel.set_xscale("log", base=2)
    powers = 2 ** np.arange(1, 1 + int(np.log2(max(4, len(running)))))
    panel.set_xticks(powers[:: 1 + len(powers) // 8])
    panel.minorticks_off()
    plain_ticks(panel.xaxis)
    panel.set(xlim=(2, max(4, len(running))), ylim=(0, 1.08 * max(np.log(len(running)), running[1:].max())))
    panel.set(xlabel="candidates: the positive and its negatives", ylabel="loss of the anchor")
    chance = np.log(candidates[here])
    panel.set_title(f"loss {running[here]:.2f}\nall equal: log {candidates[here]:,} = {chance:.2f}")
    panel.grid(axis="y")
