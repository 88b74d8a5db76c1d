"""Two numbers at once, a mark for each method."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from contrast_kit.plots.style import array, colour, legend_entries, marker, named, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def plane(methods: Mapping[str, Any], x_label: str, y_label: str, *, title: str | None = None) -> "Figure":
    """Methods by two numbers that need not agree, such as a score for meaning and one for grammar.

    `methods` is {"MLM": (x, y), …}, or [S, 2] with one row per seed: then each seed is a small mark and the mean a
    large one. Returns the figure. Raises a ValueError for rows that are not pairs, and for NaN.

    >>> from contrast_kit import plots
    >>> figure = plots.plane({"MLM": (0.2, 0.3), "CMLM": [(0.1, 0.2), (0.1, 0.3)]}, "meaning", "grammar")
    >>> figure.axes[0].get_ylabel()
    'grammar'
    """
    figure, (panel,) = panels(1, height=4.2, title=title)
    _draw_marks(panel, {name: _seeds(value, name, "(x, y)") for name, value in named(methods, "methods").items()})
    panel.set_xlabel(x_label)
    panel.set_ylabel(y_label)
    figure.legend(*legend_entries(panel), loc="outside right upper")
    return figure


@styled
def alignment_uniformity_plane(methods: Mapping[str, Any], *, title: str | None = None) -> "Figure":
    """Where each method lies between "positives close" and "everything spread out": lower left is better.

    Wang & Isola 2020; drawn as in the papers that followed, uniformity across and alignment up. `methods` is
    {"MLM": (alignment, uniformity), …}, from `geometry.alignment` and `geometry.uniformity`, or [S, 2] with one row per
    seed: then each seed is a small mark and the mean a large one. Low alignment alone is no merit: a collapsed encoder
    sits at (0, 0), the lower right corner, which is marked.

    Returns the figure. Raises a ValueError for values these measures cannot have.

    >>> from contrast_kit import plots
    >>> figure = plots.alignment_uniformity_plane({"MLM": (0.3, -1.0), "CMLM": [(0.2, -2.0), (0.2, -2.2)]})
    >>> figure.axes[0].get_xlabel()
    'uniformity (lower: more evenly spread)'
    """
    points = {name: _seeds(value, name, "(alignment, uniformity)") for name, value in named(methods, "methods").items()}
    for name, seeds in points.items():
        if (seeds[:, 0] < -1e-6).any() or (seeds[:, 1] > 1e-6).any():
            raise ValueError(f"methods[{name!r}] must be (alignment ≥ 0, uniformity ≤ 0); are the two swapped?")
    figure, (panel,) = panels(1, height=4.2, title=title)
    _draw_marks(panel, {name: seeds[:, ::-1] for name, seeds in points.items()})
    panel.set_xlabel("uniformity (lower: more evenly spread)")
    panel.set_ylabel("alignment (lower: positives closer)")
    panel.plot(0, 0, "x", color="#777777", markersize=8, clip_on=False, gid="collapse")
    panel.annotate("collapse", (0, 0), (-8, 26), textcoords="offset points", ha="right", color="#777777")
    panel.set_ylim(bottom=0)
    panel.set_xlim(right=0)
    arrow = {"arrowstyle": "-|>", "color": "#888888", "linewidth": 1.4}
    panel.annotate("", (0.02, 0.03), (0.11, 0.13), xycoords="axes fraction", arrowprops=arrow)
    panel.text(0.12, 0.14, "better", transform=panel.transAxes, color="#777777", fontsize=9.5)
    figure.legend(*legend_entries(panel), loc="outside right upper")
    return figure


def _draw_marks(panel: Any, points: Mapping[str, np.ndarray]) -> None:
    for i, (name, seeds) in enumerate(points.items()):
        if len(seeds) > 1:
            panel.scatter(*seeds.T, s=22, color=colour(i), marker=marker(i), alpha=0.45, linewidths=0)
        look = {"s": 110, "color": colour(i), "marker": marker(i), "edgecolors": "white", "linewidths": 0.8}
        panel.scatter(*seeds.mean(axis=0), label=name, zorder=3, **look)  # [S, 2] -> [2]
    panel.margins(0.12)
    panel.grid()


def _seeds(value: Any, name: str, pair: str) -> np.ndarray:
    value = array(value, f"methods[{name!r}]", None)
    seeds = array(value[None] if value.ndim == 1 else value, f"methods[{name!r}]", 2)
    if seeds.shape[1] != 2:
        raise ValueError(f"methods[{name!r}] must be {pair}, or such a row for each seed.")
    return seeds
