"""Cosines: of similar against random pairs (COCO-LM figures 1 and 5), and as a temperature weighs the negatives."""

import numpy as np
import torch

from contrast_kit import checks, geometry
from contrast_kit.plots.style import (
    DASHED,
    cosines,
    legend,
    panels,
    single,
    styled,
    y_label,
)

RANDOM, SIMILAR, PUSH = "#777777", "#0072B2", "#D55E00"


@styled
def cosine_histograms(pairs: dict, *, bins: int = 60, title: str = ""):
    """How far similar pairs stand apart from random pairs in each encoder: histogram, density and means.

    COCO-LM, figures 1 and 5. `pairs` is {"untrained": (similar, random), …}: for each panel the cosines
    [P] of pairs that mean the same (`geometry.pair_cosines`) and the cosines [Q] of random pairs
    (`geometry.random_pair_cosines`). All panels share the cosine axis. Every histogram has area 1, so numbers of pairs
    need not agree; heights are not shared, because a narrow cone makes a very high peak. The curve is a Gaussian kernel
    density, reflected at −1 and 1, where cosines end. Dashed lines mark the means, and each title gives
    `geometry.separation`: the probability that a similar pair has the higher cosine.

    Returns the figure. Raises a ValueError for anything that is not a cosine.

    >>> from contrast_kit import plots
    >>> figure = plots.cosine_histograms({"an encoder": ([0.9, 0.8, 0.7], [0.1, -0.1, 0.0, 0.2])})
    >>> figure.axes[0].get_title().splitlines()
    ['an encoder', 'AUC 1.00']
    """
    groups = {}
    for name, (similar, random) in pairs.items():
        groups[name] = (
            cosines(similar, f"similar of {name!r}"),
            cosines(random, f"random of {name!r}"),
        )
    everything = np.concatenate(sum(groups.values(), ()))
    low = max(-1.0, np.floor(everything.min() * 10 - 0.5) / 10)
    high = min(1.0, np.ceil(everything.max() * 10 + 0.5) / 10)
    figure, drawn = panels(groups, 2.9, title=title)
    for panel, name, (similar, random) in drawn:
        _draw_pairs(panel, "similar pairs", similar, bins, (low, high), SIMILAR)
        _draw_pairs(panel, "random pairs", random, bins, (low, high), RANDOM)
        auc = geometry.separation(torch.from_numpy(similar), torch.from_numpy(random))
        panel.set_title(f"{name}\nAUC {auc:.2f}")
        panel.set(xlabel="cosine similarity", xlim=(low, high))
        y_label(panel, "density")
    legend(figure, ncols=2)
    return figure


def _draw_pairs(panel, label, values, bins, ends, color):
    look = {"color": color, "alpha": 0.35, "linewidth": 0}
    panel.hist(values, bins, range=ends, density=True, label=label, **look)
    panel.plot(*density(values), color=color)
    panel.axvline(values.mean(), color=color, linewidth=1.2, linestyle=DASHED)


def density(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian kernel density of cosines: its places from −1 to 1, and its height at each.

    The bandwidth is Silverman's 0.9 · sd · n^(−1/5), and at least a cell of 1/1024. What the kernel spreads beyond an
    end is folded back, so that the area inside stays 1.
    """
    from scipy.ndimage import gaussian_filter1d

    heights, edges = np.histogram(values, 2048, (-1, 1), density=True)
    width = max(1.0, 1024 * 0.9 * values.std() * len(values) ** -0.2)  # in cells
    return edges[:-1] + 1 / 2048, gaussian_filter1d(heights, width, mode="reflect")


@styled
def negative_weights(negatives, tau: float, positive: float):
    """Which negatives push at this temperature, and the loss beside that of vectors that are all equal.

    One anchor: the share of its negatives in each tenth of a cosine, grey, and their share of the softmax weight, which
    is their share of the push, orange: at a small τ a few hard negatives do it all. The title gives its loss
    log(1 + Σ e^{(c − c⁺)/τ}), and log(candidates), the loss where all are equal.

    * `negatives` [M]: cosines of the anchor with its negatives, batch and queue, in any order.
    * `tau`: the temperature; `positive`: the cosine c⁺ with its positive.

    Returns the figure. Raises a ValueError for numbers that are not cosines, or a temperature that is not above 0.

    >>> from contrast_kit import plots
    >>> figure = plots.negative_weights([0.5, 0.0, -0.5], tau=0.1, positive=0.8)
    >>> figure.axes[0].get_title().splitlines()[1]
    'loss 0.05; of 4 equal vectors: log 4 = 1.39'
    """
    checks.temperature(tau)
    negatives = cosines(negatives, "negatives")
    weights = np.exp((negatives - negatives.max()) / tau)
    loss = np.logaddexp.reduce([0.0, *(negatives - positive) / tau])
    figure, panel = single(3.4, "")
    bins, n = np.linspace(-1, 1, 21), len(negatives)
    look = {"color": "#999999", "alpha": 0.55, "label": "share of the negatives"}
    panel.hist(negatives, bins, weights=np.full(n, 1 / n), **look)
    look = {"histtype": "step", "color": PUSH, "label": "share of the push"}
    panel.hist(negatives, bins, weights=weights / weights.sum(), **look)
    panel.axvline(positive, color=SIMILAR, label="the positive")
    panel.set(xlim=(-1, 1), ylim=(0, 1))
    panel.set(xlabel="cosine with the anchor", ylabel="share in each tenth")
    equal = f"of {n + 1:,} equal vectors: log {n + 1:,} = {np.log(n + 1):.2f}"
    panel.set_title(f"who pushes at τ = {tau:g}\nloss {loss:.2f}; {equal}")
    panel.grid(axis="y")
    legend(figure, ncols=3)
    return figure
