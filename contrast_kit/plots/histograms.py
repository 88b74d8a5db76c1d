"""Cosines of similar pairs against cosines of random pairs, as in COCO-LM figures 1 and 5."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit.plots.style import array, named, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RANDOM, SIMILAR = "#777777", "#0072B2"
DASHED = (0, (4, 2))


@styled
def cosine_histograms(
    pairs: Mapping[str, tuple[Any, Any]],
    *,
    bins: int = 60,
    range: tuple[float, float] | None = None,
    sharey: bool = False,
    title: str | None = None,
) -> "Figure":
    """How far similar pairs stand apart from random pairs in each encoder: histogram, density and means.

    COCO-LM, figures 1 and 5. `pairs` is {"random encoder": (similar, random), …}: for each panel the cosines
    [P] of pairs that mean the same (`geometry.pair_cosines`) and the cosines [Q] of random pairs
    (`geometry.random_pair_cosines`). All panels share the cosine axis, over `range` (by default all cosines
    given). Every histogram has area 1, what lies outside `range` included, so numbers of pairs need not agree; heights
    are shared only with `sharey`, because a narrow cone makes a very high peak. The curve is a Gaussian kernel density,
    reflected at −1 and 1, where cosines end. Dashed lines mark the means, and each title gives `geometry.separation`:
    the probability that a similar pair has the higher cosine.

    Returns the figure. Raises a ValueError for anything that is not a cosine, and for a `range` without any of them.

    >>> from contrast_kit import plots
    >>> figure = plots.cosine_histograms({"an encoder": ([0.9, 0.8, 0.7], [0.1, -0.1, 0.0, 0.2])})
    >>> figure.axes[0].get_title().splitlines()
    ['an encoder', 'separation 1.00']
    """
    groups = {name: _cosines(value, name) for name, value in named(pairs, "pairs").items()}
    low, high = _limits(groups, range)
    figure, axes = panels(len(groups), height=2.9, title=title, sharex=True, sharey=sharey)
    edges = np.linspace(low, high, bins + 1)
    for panel, (name, (similar, random)) in zip(axes, groups.items(), strict=True):
        for label, cosines, color in (("random pairs", random, RANDOM), ("similar pairs", similar, SIMILAR)):
            # Shares of all pairs, as the curve is; `density=True` would be of those inside the range.
            heights = np.full(len(cosines), bins / (high - low) / len(cosines))
            panel.hist(cosines, edges, weights=heights, color=color, alpha=0.35, linewidth=0, label=label)
            grid, height = density(cosines, low, high)
            panel.plot(grid, height, color=color, linewidth=1.8)
            panel.axvline(cosines.mean(), color=color, linewidth=1.2, linestyle=DASHED, gid=f"mean {label}")
        panel.set_title(f"{name}\nseparation {_separation(similar, random):.2f}")
        panel.set_xlabel("cosine similarity")
        panel.set_xlim(low, high)
        if panel.get_subplotspec().is_first_col():
            panel.set_ylabel("density")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=2)
    return figure


def density(cosines: np.ndarray, low: float, high: float, points: int = 512) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian kernel density of values in [−1, 1], on a grid from `low` to `high`.

    The bandwidth is Silverman's 0.9 · min(sd, iqr/1.34) · n^(−1/5). Values are counted into fine cells first,
    so that half a million pairs cost as much as a hundred.
    """
    quartiles = np.percentile(cosines, [25, 75])
    spreads = [s for s in (cosines.std(), (quartiles[1] - quartiles[0]) / 1.34) if s > 0]
    # Cells as fine as the range that is drawn: the cosines of a narrow cone may differ in the fifth decimal only.
    ends = max(-1.0, min(low, cosines.min())), min(1.0, max(high, cosines.max()))
    cell = (ends[1] - ends[0]) / 2048
    # But no finer than half a bar, or the curve of a cone would tower above its own histogram.
    bandwidth = max(0.9 * min(spreads, default=0) * len(cosines) ** -0.2, 2 * cell, (high - low) / 240)
    counts, edges = np.histogram(cosines, bins=2048, range=ends)
    filled = counts > 0
    centres, weights = (edges[:-1] + cell / 2)[filled], counts[filled] / len(cosines)
    grid = np.linspace(low, high, points)
    # What the kernel spreads beyond an end is folded back, so that the area inside stays 1.
    sources = np.concatenate([centres, -2 - centres, 2 - centres])
    gaps = (grid[:, None] - sources) / bandwidth  # [points, sources]
    kernel = np.exp(-(gaps**2) / 2) / (bandwidth * np.sqrt(2 * np.pi))
    return grid, kernel @ np.tile(weights, 3)


def _cosines(value: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"pairs[{name!r}] must be two lists of cosines: (similar, random).")
    both = array(value[0], f"similar of {name!r}", 1), array(value[1], f"random of {name!r}", 1)
    if max(np.abs(cosines).max() for cosines in both) > 1 + 1e-3:
        raise ValueError(f"pairs[{name!r}] holds numbers outside -1 … 1, which are not cosines.")
    return both[0].clip(-1, 1), both[1].clip(-1, 1)


def _limits(groups: Mapping[str, tuple], range: tuple[float, float] | None) -> tuple[float, float]:
    lowest = min(cosines.min() for both in groups.values() for cosines in both)
    highest = max(cosines.max() for both in groups.values() for cosines in both)
    if range is not None:
        if range[0] > highest or range[1] < lowest:
            raise ValueError(f"range {range} holds no cosine: those given lie from {lowest:.3g} to {highest:.3g}.")
        return range
    return max(-1.0, np.floor(lowest * 10 - 0.5) / 10), min(1.0, np.ceil(highest * 10 + 0.5) / 10)


def _separation(similar: np.ndarray, random: np.ndarray) -> float:
    import torch

    from contrast_kit.geometry import separation

    return separation(torch.from_numpy(similar), torch.from_numpy(random)).item()
