"""Cosines: of similar against random pairs (COCO-LM figures 1 and 5), and as a temperature weighs the negatives."""

import numpy as np
import torch

from contrast_kit import checks, geometry
from contrast_kit.plots.style import DASHED, INK, cosines, legend, panels, styled, y_label

RANDOM, SIMILAR, PUSH = "#777777", "#0072B2", "#D55E00"


@styled
def cosine_histograms(pairs: dict, *, bins: int = 60, title: str = ""):
    """How far similar pairs stand apart from random pairs in each encoder: histogram, density and means.

    COCO-LM, figures 1 and 5. `pairs` is {"random encoder": (similar, random), …}: for each panel the cosines
    [P] of pairs that mean the same (`geometry.pair_cosines`) and the cosines [Q] of random pairs
    (`geometry.random_pair_cosines`). All panels share the cosine axis. Every histogram has area 1, so numbers of pairs
    need not agree; heights are not shared, because a narrow cone makes a very high peak. The curve is a Gaussian kernel
    density, reflected at −1 and 1, where cosines end. Dashed lines mark the means, and each title gives
    `geometry.separation`: the probability that a similar pair has the higher cosine.

    Returns the figure. Raises a ValueError for anything that is not a cosine.

    >>> from contrast_kit import plots
    >>> figure = plots.cosine_histograms({"an encoder": ([0.9, 0.8, 0.7], [0.1, -0.1, 0.0, 0.2])})
    >>> figure.axes[0].get_title().splitlines()
    ['an encoder', 'separation 1.00']
    """
    groups = {}
    for name, (similar, random) in pairs.items():
        groups[name] = (
            cosines(similar, f"similar of {name!r}"),
            cosines(random, f"random of {name!r}"),
        )
    everything = np.concatenate([values for group in groups.values() for values in group])
    low = max(-1.0, np.floor(everything.min() * 10 - 0.5) / 10)
    high = min(1.0, np.ceil(everything.max() * 10 + 0.5) / 10)
    figure, drawn = panels(groups, 2.9, title=title, sharex=True)
    for panel, name, (similar, random) in drawn:
        _draw_pairs(panel, "similar pairs", similar, bins, (low, high), SIMILAR)
        _draw_pairs(panel, "random pairs", random, bins, (low, high), RANDOM)
        separation = geometry.separation(
            torch.from_numpy(similar), torch.from_numpy(random)
        )
        panel.set_title(f"{name}\nseparation {separation:.2f}")
        panel.set(xlabel="cosine similarity", xlim=(low, high))
        y_label(panel, "density")
    legend(figure, ncols=2)
    return figure


def _draw_pairs(panel, label, values, bins, ends, color):
    look = {"color": color, "alpha": 0.35, "linewidth": 0}
    panel.hist(values, bins, range=ends, density=True, label=label, **look)
    panel.plot(*density(values, *ends), color=color)
    mean = values.mean()
    panel.axvline(mean, color=color, linewidth=1.2, linestyle=DASHED, gid=f"mean {label}")


def density(
    values: np.ndarray, low: float, high: float, points: int = 512
) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian kernel density of cosines, on a grid from `low` to `high`.

    The bandwidth is Silverman's 0.9 · min(sd, iqr/1.34) · n^(−1/5). Values are counted into fine cells first,
    so that half a million pairs cost as much as a hundred.
    """
    lower, upper = np.percentile(values, [25, 75])
    spreads = [spread for spread in (values.std(), (upper - lower) / 1.34) if spread > 0]
    counts, edges = np.histogram(values, 2048)
    # No finer than half a bar, or the curve of a cone would tower above its own histogram.
    bandwidth = max(
        0.9 * min(spreads, default=0) * len(values) ** -0.2, (high - low) / 240
    )
    centres = (edges[:-1] + edges[1:]) / 2
    grid = np.linspace(low, high, points)
    # What the kernel spreads beyond an end is folded back, so that the area inside stays 1.
    sources = np.concatenate([centres, -2 - centres, 2 - centres])
    gaps = (grid[:, None] - sources) / bandwidth  # [points, sources]
    kernel = np.exp(-(gaps**2) / 2) / (bandwidth * np.sqrt(2 * np.pi))
    return grid, kernel @ np.tile(counts / len(values), 3)


@styled
def negative_weights(negatives, tau: float, positive: float, *, more=(), title: str = ""):
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
    checks.temperature(tau)
    negatives = cosines(negatives, "negatives")
    everything = np.concatenate([negatives, cosines(more, "more")])
    figure, [(left, *_), (right, *_)] = panels(
        {"weights": 0, "loss": 1}, 3.4, title=title
    )
    _draw_weights(left, negatives, tau, positive)
    _draw_loss(right, everything, len(negatives), tau, positive)
    legend(figure, ncols=3, handlelength=1.8)
    return figure


def count_for_half(weights: np.ndarray) -> int:
    """How many of the largest weights make half of their sum."""
    running = np.cumsum(np.sort(weights)[::-1])
    return int(np.searchsorted(running, running[-1] / 2 * (1 - 1e-9))) + 1


def _draw_weights(panel, negatives, tau, positive):
    weights = np.exp((negatives - negatives.max()) / tau)
    weights /= weights.sum()
    bins = np.linspace(-1, 1, 21)
    even = np.full(len(weights), 1 / len(weights))
    look = {"color": "#999999", "alpha": 0.55, "label": "share of the negatives"}
    panel.hist(negatives, bins, weights=even, **look)
    look = {
        "histtype": "step",
        "color": PUSH,
        "linewidth": 2.2,
        "label": "share of the push",
    }
    panel.hist(negatives, bins, weights=weights, **look)
    panel.axvline(positive, color=SIMILAR, label="the positive")
    panel.set(xlim=(-1, 1), ylim=(0, 1), xticks=bins[::5], yticks=np.linspace(0, 1, 5))
    panel.set(xlabel="cosine with the anchor", ylabel="share in each tenth")
    half = f"half of it from {count_for_half(weights):,} of {len(negatives):,}"
    panel.set_title(f"who pushes at τ = {tau:g}\n{half}")
    panel.grid(axis="y")


def _draw_loss(panel, negatives, count, tau, positive):
    exponents = np.concatenate([[0.0], (negatives - positive) / tau])
    loss = np.logaddexp.accumulate(exponents)  # log of the denominator, less the positive
    candidates = np.arange(1, len(loss) + 1)
    chance = np.log(candidates)
    best = np.log1p((candidates - 1) * np.exp(-1 / tau))
    panel.plot(
        candidates,
        chance,
        color=INK,
        linestyle=DASHED,
        label="all equal: log(candidates)",
    )
    words = "perfect positive, the rest at 90°"
    panel.plot(candidates, best, color=INK, linestyle=":", label=words)
    panel.plot(candidates, loss, color=PUSH, label="the loss")
    panel.plot(candidates[count], loss[count], "o", color=PUSH, markersize=9)
    last = max(4, len(loss))
    powers = 2 ** np.arange(1, 1 + int(np.log2(last)))
    panel.set_xscale("log", base=2)
    panel.set_xticks(powers[:: 1 + len(powers) // 8])
    panel.minorticks_off()
    panel.xaxis.set_major_formatter("{x:g}")
    panel.set(xlim=(2, last), ylim=(0, 1.08 * max(chance[-1], loss[1:].max())))
    panel.set(
        xlabel="candidates: the positive and its negatives", ylabel="loss of the anchor"
    )
    equal = f"all equal: log {candidates[count]:,} = {chance[count]:.2f}"
    panel.set_title(f"loss {loss[count]:.2f}\n{equal}")
    panel.grid(axis="y")
