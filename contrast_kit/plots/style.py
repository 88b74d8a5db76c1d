"""What all pictures share: colours, type sizes, a grid of panels, and the way numbers are read in."""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from contrast_kit import arguments, checks
from contrast_kit.plots.settings import checked, one

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = TypeVar("Draw", bound=Callable[..., "Figure"])

# Okabe & Ito 2008: told apart by readers with any of the common colour-vision deficiencies. Their eighth, a yellow, is
# too faint on white; indigo, in its place, is Tol's (2021).
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#555555", "#332288")
LINES = ("-", "--", ":", "-.")
HATCHES = ("", "///", "...", "xxx")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
OTHER_SCRIPTS = (
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic"),
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
    *("Noto Sans Devanagari", "Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Nirmala UI", "Leelawadee UI"),
    *("Arial Unicode MS", "Unifont"),
)
"""Fonts for letters that matplotlib's own lacks, of macOS, Windows and Linux. Which of them are there is looked up."""
INK, FAINT = "#333333", "#BBBBBB"
WIDTH = 9.0  # inches, the width of a notebook's output

STYLE = {
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.8,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "xtick.color": "#888888",
    "ytick.color": "#888888",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,  # a "$" in a text is a dollar
}


def styled(draw: Draw) -> Draw:
    """Decorator: draw under the kit's style, and leave the reader's own matplotlib settings alone.

    Settings are checked first (`settings.checked`). Letters that the reader's font lacks come from `other_scripts`.
    """
    draw = checked(draw)

    @functools.wraps(draw)
    def inside(*args: Any, **kw: Any) -> Any:
        import matplotlib

        fonts = [*matplotlib.rcParams["font.family"], *other_scripts()]
        with matplotlib.rc_context(STYLE | {"font.family": fonts}):
            return draw(*args, **kw)

    return inside  # type: ignore[return-value]


@functools.cache
def other_scripts() -> list[str]:
    """The fonts of `OTHER_SCRIPTS` that are installed."""
    from matplotlib import font_manager

    there = set(font_manager.get_font_names())
    return [name for name in OTHER_SCRIPTS if name in there]


def panels(
    n: int, height: float, columns: int = 3, title: str | None = None, width: float = WIDTH, **shared: Any
) -> tuple["Figure", list["Axes"]]:
    """A figure of n panels, as wide as a notebook, each `height` inches high, at most `columns` side by side."""
    from contrast_kit.plots.figure import Figure

    checks.count("columns", columns, "how many panels stand abreast")
    rows = -(-n // columns)
    columns = -(-n // rows)  # four panels as two and two, not as three and one
    figure = Figure(figsize=(width, height * rows + 0.3 * bool(title)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    axes = list(grid.flat)
    for unused in axes[n:]:
        unused.remove()
    for panel in axes[:n]:  # a shared axis would keep its numbers for the lowest row, which may have gaps
        panel.tick_params(labelbottom=True)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return figure, axes[:n]


def outer_labels(axes: Sequence["Axes"]) -> None:
    """Keep axis labels only at the left of each row and below the last panel of each column."""
    for panel in axes:
        place = panel.get_subplotspec()
        if not place.is_first_col():
            panel.set_ylabel("")
        below = [each.get_subplotspec() for each in axes if each is not panel]
        if any(b.colspan == place.colspan and b.rowspan.start > place.rowspan.start for b in below):
            panel.set_xlabel("")


def in_order(labels: Sequence[str]) -> list[str]:
    """The distinct labels: numbers by size, words as they come."""
    distinct = list(dict.fromkeys(labels))
    try:
        return sorted(distinct, key=float)
    except (TypeError, ValueError):
        return distinct


def colour(i: int) -> str:
    """The i-th colour of the palette, which starts again after the last."""
    return PALETTE[i % len(PALETTE)]


def line_style(i: int) -> str:
    """The style of the i-th line: another one each time the colours start again."""
    return LINES[i // len(PALETTE) % len(LINES)]


def hatch(i: int) -> str:
    """The pattern on the i-th area: another one each time the colours start again."""
    return HATCHES[i // len(PALETTE) % len(HATCHES)]


def marker(i: int) -> str:
    """The i-th marker: it changes with the colour, and differs again when the colours repeat."""
    return MARKERS[(i + i // len(PALETTE)) % len(MARKERS)]


def array(values: Any, name: str, ndim: int | None, missing: bool = False) -> np.ndarray:
    """Numbers from a tensor, an array or a list, as float64 with `ndim` axes (None: any); `missing` lets NaN pass."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values if values.is_complex() else values.double()  # numpy knows no bfloat16
    try:
        numbers = np.asarray(values)
        numbers = None if np.iscomplexobj(numbers) else numbers.astype(float, copy=False)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None:
        raise ValueError(f"{name} must hold numbers in {ndim or 'some'} dimension(s), all rows of equal length.")
    if ndim is not None and numbers.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), not {numbers.ndim} (shape {numbers.shape}).")
    if not numbers.size:
        raise ValueError(f"{name} is empty, so there is nothing to draw.")
    if not missing and not np.isfinite(numbers).all():
        raise ValueError(f"{name} holds NaN or infinite numbers; look for the step that made them.")
    return numbers


def runs(values: Any, name: str) -> np.ndarray:
    """One number per run, or a single number: [S]."""
    return array(np.atleast_1d(array(values, name, None)), name, 1)


def named(values: Any, name: str) -> dict[str, Any]:
    """The mapping as a dict, refused where it is empty or no mapping: each of its names gets a panel or a mark."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a dict from a name to its numbers, not {type(values).__name__}.")
    if not values:
        raise ValueError(f"{name} is empty, so there is nothing to draw.")
    return {str(key): value for key, value in values.items()}


def texts(values: Any, name: str, n: int) -> list[str]:
    """n labels as strings, from a list, an array or a tensor."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != n:
        raise ValueError(f"{name} must be a list of {n} labels, one for each vector or row.")
    return [str(value) for value in values]


def number(value: float, digits: int = 2, sign: bool = False) -> str:
    """A number as figures print it: with a true minus, and none before a zero.

    >>> number(-0.5), number(-0.001), number(0.25, 3, sign=True)
    ('−0.50', '0.00', '+0.250')
    """
    value = round(float(value), digits) + 0.0
    return (f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}").replace("-", "−")


def plain_ticks(axis: Any) -> None:
    """Write the ticks of a logarithmic axis as numbers, 0.01 or 10⁻⁵: math text is off in these figures."""
    axis.set_major_formatter(lambda value, _: _plain(value))
    axis.set_minor_formatter(lambda value, _: "")


def _plain(value: float) -> str:
    digits, _, power = f"{value:g}".partition("e")
    if not power:
        return digits
    power = f"10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
    return power if digits == "1" else f"{digits}·{power}"


def y_label(panel: "Axes", words: str | Mapping[str, str], name: str, default: str = "") -> None:
    """Label the vertical axis: with one text in the first column only, or with each panel's own by its name."""
    if isinstance(words, Mapping):
        panel.set_ylabel(words.get(name, default))
    elif panel.get_subplotspec().is_first_col():
        panel.set_ylabel(words)


def legend_entries(panel: "Axes") -> tuple[list[Any], list[str]]:
    """What a panel's legend shows, and its words; matplotlib's own list leaves out words like "__label__1"."""
    drawn = [each for kind in (panel.lines, panel.collections, panel.containers) for each in kind]
    unnamed = re.compile(r"(_child\d+|_container\d+|_nolegend_)?")  # what matplotlib calls the others
    named = [each for each in drawn if not unnamed.fullmatch(str(each.get_label()))]
    return named, [str(each.get_label()) for each in named]


def level_lines(panel: "Axes", levels: Mapping[str, float]) -> None:
    """Draw dashed lines across the panel, each with its name above it, at the end where the curves leave more room."""
    for words, level in arguments.mapping("levels", levels, "from words to the level at which a line stands").items():
        checks.number(f"levels[{words!r}]", level := one(level), "where a dashed line is drawn")
        if panel.get_yscale() == "log" and level <= 0:
            raise ValueError(f"levels[{words!r}] is {level:g}, and a logarithmic axis begins above 0: leave it out.")
        bottom, top = panel.get_ylim()
        if panel.get_yscale() == "linear" and level > bottom + 0.9 * (top - bottom):
            panel.set_ylim(bottom, bottom + (level - bottom) / 0.9)  # or its words would run into the title
        panel.axhline(level, color="#777777", linewidth=1, linestyle=(0, (4, 3)), gid="level")
        right = _free_height(panel, level, words, right=True) >= _free_height(panel, level, words, right=False)
        at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        box = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1}
        x, shift, side = (1, -2, "right") if right else (0, 4, "left")
        panel.annotate(words, (x, level), (shift, 4), ha=side, fontsize=9, bbox=box, zorder=4, **at)


def _free_height(panel: "Axes", level: float, words: str, right: bool) -> float:
    """The distance of the curves from words just above `level`, as a share of the panel's height, at most a quarter."""
    panel.get_xlim(), panel.get_ylim()  # brings the transform up to date
    grid = panel.get_subplotspec().get_gridspec()
    width = min(0.9, 0.075 * len(words) / (panel.figure.get_figwidth() / grid.ncols))  # inches per letter
    at = np.linspace(1 - width, 1, 20) if right else np.linspace(0, width, 20)
    transform = panel.transData + panel.transAxes.inverted()  # data to fractions of the panel
    middle = transform.transform((1, level))[1] + 0.05
    free = 0.25
    for line in panel.lines:
        points = np.asarray(line.get_xydata(), dtype=float)
        points = points[np.isfinite(points).all(axis=1)]
        if line.get_gid() != "level" and len(points):
            x, y = transform.transform(points).T
            free = min(free, np.abs(np.interp(at, x, y, left=np.inf, right=np.inf) - middle).min())
    return free
