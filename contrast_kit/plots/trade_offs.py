"""Two goals at once: where each setting of each method lies."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from contrast_kit.plots.style import array, colour, legend_entries, level_lines, marker, named, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def trade_off(
    methods: Mapping[str, Mapping[str, tuple[float, float]]],
    x_label: str,
    label: str,
    *,
    levels: Mapping[str, float] | None = None,
    corner: str = "better",
    title: str | None = None,
) -> "Figure":
    """A point for each setting, its name beside it, and a line through the settings of each method.

    For two things of which more is wanted, so that the upper right corner is the best.

    * `methods`: {"one rate": {"p = 0.1": (x, y), "p = 0.2": …}, "two rates": …}; a setting named "" gets no words.
    * `x_label`, `label`: the two goals. `levels`: dashed lines across, {"chance": 4.16}.
    * `corner`: the word at an arrow to the upper right; "" draws none, where more is not always better.

    Returns the figure. Raises a ValueError for a point that is not two finite numbers.

    >>> from contrast_kit import plots
    >>> figure = plots.trade_off({"one dial": {"low": (0.9, 0.1), "high": (0.2, 0.8)}}, "context", "contrast")
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['low', 'high']
    """
    figure, (panel,) = panels(1, height=3.7, title=title)
    for i, (name, settings) in enumerate(named(methods, "methods").items()):
        places = list(named(settings, f"methods[{name!r}]").values())
        points = array(places, f"methods[{name!r}]", 2)  # [S, 2]
        if points.shape[1] != 2:
            raise ValueError(f"methods[{name!r}] must have (x, y) for each setting.")
        look = {"color": colour(i), "marker": marker(i), "markersize": 6, "linewidth": 1.8}
        panel.plot(*points.T, label=name, **look)
        for word, at in zip(settings, points, strict=True):
            shift: Any = {"xytext": (-6, -4), "ha": "right", "va": "top", "textcoords": "offset points"}
            panel.annotate(word, at, color=colour(i), fontsize=9, **shift)
    panel.set(xlabel=x_label, ylabel=label)
    panel.margins(0.1)
    panel.grid()
    level_lines(panel, levels or {})
    if corner:
        arrow = {"arrowstyle": "-|>", "color": "#888888", "linewidth": 1.4}
        panel.annotate("", (0.985, 0.87), (0.93, 0.76), xycoords="axes fraction", arrowprops=arrow)
        panel.text(0.92, 0.75, corner, transform=panel.transAxes, color="#777777", fontsize=9.5, ha="right", va="top")
    figure.legend(*legend_entries(panel), loc="outside lower center", ncols=min(4, len(methods)))
    return figure
