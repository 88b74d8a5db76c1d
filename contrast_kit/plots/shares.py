"""A whole cut into parts, a bar for each whole."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.plots.settings import real
from contrast_kit.plots.style import INK, array, colour, hatch, legend_entries, named, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACE = real("a place on the bars")
LEGEND = 5  # parts named in one row
WRITTEN = 0.035  # of the whole: a smaller part has no room for its number


@styled
def shares(
    wholes: Mapping[str, Mapping[str, float]],
    label: str = "share",
    *,
    colours: Sequence[str] | None = None,
    points: Mapping[str, float] | None = None,
    title: str | None = None,
) -> "Figure":
    """One bar from 0 to 1 per row, cut into parts that lie end to end, those from 3.5 % on with their share in them.

    * `wholes`: {"one mask": {"readable": 0.85, "hidden": 0.15}, …}, the parts of every row, in the same order and
      colours; their sum is 1.
    * `label`: what they are shares of. `colours`: one for each part; by default the palette's, with a pattern once they
      begin again.
    * `points`: {"word": 0.23, …}, places on the bars' common scale, marked above the first bar with their names.

    Returns the figure. Raises a ValueError for rows whose parts differ or do not sum to 1.

    >>> from contrast_kit import plots
    >>> figure = plots.shares({"first": {"seen": 0.25, "hidden": 0.75}})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['25 %', '75 %']
    """
    rows = {name: named(parts, f"wholes[{name!r}]") for name, parts in named(wholes, "wholes").items()}
    parts = list(next(iter(rows.values())))
    patterns = [hatch(i) if colours is None else "" for i in range(len(parts))]
    colours = [colour(i) for i in range(len(parts))] if colours is None else _colours(colours)
    points = {} if points is None else arguments.mapping("points", points, "from words to their places")
    _check(rows, parts, colours)
    legend_rows = -(-len(parts) // LEGEND)
    height = 0.42 * len(rows) + 0.85 + 0.6 * bool(points) + 0.2 * max(0, legend_rows - 2)
    figure, (panel,) = panels(1, height=height, title=title)
    for i, part in enumerate(parts):
        widths = np.array([row[part] for row in rows.values()])  # [rows]
        left = np.array([sum(row[p] for p in parts[:i]) for row in rows.values()])
        look = {"color": colours[i], "hatch": patterns[i], "edgecolor": "white", "linewidth": 0}
        panel.barh(range(len(rows)), widths, left=left, height=0.7, label=part, **look)
        for y, (x, width) in enumerate(zip(left, widths, strict=True)):
            if width >= WRITTEN:
                at = {"ha": "center", "va": "center", "color": _ink(colours[i])}
                box = {"bbox": {"facecolor": colours[i], "linewidth": 0, "pad": 1}} if patterns[i] else {}
                panel.text(x + width / 2, y, f"{round(100 * width)} %", **at, **box)
    panel.set(xlim=(0, 1), ylim=(len(rows) - 0.55, -0.45), xlabel=label)
    panel.set_yticks(range(len(rows)), list(rows))
    panel.spines["left"].set_visible(False)
    panel.tick_params(axis="y", length=0)
    for word, place in points.items():
        place = PLACE(f"points[{word!r}]", place)
        panel.plot(place, -0.42, "v", color=INK, markersize=6, clip_on=False, gid="point")
        panel.annotate(word, (place, -0.42), (-3, 7), textcoords="offset points", rotation=45, annotation_clip=False)
    figure.legend(*legend_entries(panel), loc="outside lower center", ncols=LEGEND)
    return figure


def _check(rows: Mapping[str, Mapping[str, float]], parts: list[str], colours: list[str]) -> None:
    if len(colours) < len(parts):
        raise ValueError(f"{len(parts)} parts need a colour each; there are {len(colours)}.")
    for name, row in rows.items():
        if list(row) != parts:
            raise ValueError(f"Every row has the same parts in one order: {parts}; {name!r} has {list(row)}.")
        total = array(list(row.values()), f"wholes[{name!r}]", 1).sum()
        if abs(total - 1) > 1e-3 or min(row.values()) < 0:
            raise ValueError(f"Parts make up a whole, so the shares of {name!r} must sum to 1, not {total:.3f}.")


def _colours(given: Sequence[str]) -> list:
    from matplotlib.colors import is_color_like

    colours = arguments.listed("colours", given, "colours")
    for each in colours:
        if not is_color_like(each):
            raise ValueError(f"{checks.shown(each)} is no colour to matplotlib: write it as 'red' or '#d55e00'.")
    return colours


def _ink(fill: str) -> str:
    """White on dark colours, dark on light ones."""
    from matplotlib.colors import to_rgb

    return "white" if np.dot(to_rgb(fill), (0.299, 0.587, 0.114)) < 0.5 else INK
