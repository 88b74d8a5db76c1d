"""The mask heatmap: which tokens a masking took, and what it put there."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contrast_kit import arguments, checks
from contrast_kit.plots.style import FAINT, INK, WIDTH, styled, texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dark, middle and light, so that the kinds differ in a grey print too. (fill, ink, legend)
KINDS = {
    "untouched": ("#FFFFFF", INK, "not selected"),
    "mask": ("#0072B2", "#FFFFFF", "selected: [MASK]"),
    "random": ("#F3C15C", "#000000", "selected: random token"),
    "kept": ("#7FCDB4", "#000000", "selected: kept as it is"),
    "special": ("#E4E4E4", "#777777", "never selected (special, padding)"),
}
PADDING, LINE, TYPE = 0.16, 0.3, 9.5  # inches around a token, inches a row is high, points
FEW = 30  # rows; more are numbered, not named


def mask_kinds(
    tokens: Sequence[str],
    original: Sequence[str],
    selected: Any,
    mask_token: str = "[MASK]",
    special: Sequence[str] = ("[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>"),
) -> list[str]:
    """What a masking did to each token: "untouched", "mask", "random", "kept" or "special".

    `tokens` is the view as strings, `original` the text before, `selected` T booleans (not just where
    `[MASK]` stands: under 80/10/10 a selected token may be replaced or kept). `special` tokens that are not
    selected are told apart from ordinary ones. Returns T names, the `kinds` of `mask_heatmap`.
    Raises a ValueError when the three differ in length.

    >>> from contrast_kit import plots
    >>> plots.mask_kinds(["[CLS]", "[MASK]", "red", "ball"], ["[CLS]", "a", "big", "ball"], [0, 1, 1, 1])
    ['special', 'mask', 'random', 'kept']
    """
    tokens, original, selected = _row("tokens", tokens), _row("original", original), _row("selected", selected)
    special = [special] if isinstance(special, str) else arguments.listed("special", special, "tokens")
    if not len(tokens) == len(original) == len(selected):
        lengths = f"{len(tokens)}, {len(original)} and {len(selected)}"
        raise ValueError(f"tokens, original and selected must have one entry a token, but have {lengths}.")
    kinds = []
    for now, before, taken in zip(tokens, original, selected, strict=True):
        if not _is_taken(taken):
            kinds.append("special" if now in special else "untouched")
        elif now == mask_token:
            kinds.append("mask")
        else:
            kinds.append("kept" if now == before else "random")
    return kinds


@styled
def mask_heatmap(
    tokens: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None,
    kinds: Sequence[Sequence[Any]] | Mapping[str, Any],
    *,
    columns: Sequence[str] | None = None,
    legend: Mapping[str, str] | None = None,
    title: str | None = None,
) -> "Figure":
    """One row per view, each token written in its cell; the colour says what the masking did there.

    * `tokens`: K rows of T strings, as a list, or as a dict whose keys name the rows ("view 0", …). A text wider than
      the page continues below, all rows together. `None` writes nothing and draws one small cell per token: for many
      rows or long texts (what 15 % looks like).
    * `kinds`: for each row T names from `mask_kinds`, or T booleans (selected or not); as a list in the order of
      `tokens`, or as a dict with the same names. Without tokens also a dict of
      such dicts, {"static": {"epoch 1": […], …}, "dynamic": …}, for boards side by side; `columns` are then the words
      below each.
    * `legend` puts other words to the colours, such as {"random": "sampled by the auxiliary model"}.

    Returns the figure. Raises a ValueError when rows differ in length or a kind is unknown.

    >>> from contrast_kit import plots
    >>> rows = {"view 0": ["the", "[MASK]", "ball"], "view 1": ["the", "red", "[MASK]"]}
    >>> figure = plots.mask_heatmap(rows, [[0, 1, 0], [0, 0, 1]])
    >>> [text.get_text() for text in figure.axes[0].texts[:3]]
    ['the', '[MASK]', 'ball']
    """
    for kind in legend or ():
        arguments.known(kind, [*KINDS, "selected"], "kind of token", "for a legend")
    words = {kind: label for kind, (_, _, label) in KINDS.items()} | dict(legend or {})
    if tokens is None:
        boards = {name: _rows(None, board) for name, board in _boards(kinds).items()}
        coded = {name: (rows, _codes(cells)) for name, (rows, cells) in boards.items()}
        return _draw_cells(coded, words, columns, title)
    kinds = _by_name(tokens, kinds)
    names, cells = _rows(tokens, kinds)
    return _draw_words(names, cells, _codes(_row_values("kinds", kinds)), words, title)


def _row(name: str, values: Any, what: str = "entries, one per token") -> list[Any]:
    return list(values) if isinstance(values, str) else arguments.listed(name, values, what)


def _row_values(name: str, rows: Any) -> list[list[Any]]:
    rows = list(rows.values()) if isinstance(rows, Mapping) else _row(name, rows, "rows")
    return [_row(f"Each row of {name}", row) for row in rows]


def _by_name(tokens: Any, kinds: Any) -> Any:
    """`kinds` in the order of `tokens`, where both name their rows."""
    if not (isinstance(tokens, Mapping) and isinstance(kinds, Mapping)):
        return kinds
    if tokens.keys() != kinds.keys():
        raise ValueError(
            f"tokens and kinds must name the same rows, but tokens has {checks.shown(list(tokens))} "
            f"and kinds has {checks.shown(list(kinds))}."
        )
    return {name: kinds[name] for name in tokens}


def _rows(tokens: Any, kinds: Any) -> tuple[list[str], list[list[Any]]]:
    """The names and the strings of the rows, after checking that everything has one shape."""
    named = tokens if isinstance(tokens, Mapping) else kinds if isinstance(kinds, Mapping) else None
    marks = _row_values("kinds", kinds)
    cells = marks if tokens is None else _row_values("tokens", tokens)
    if not cells or not cells[0]:
        raise ValueError("tokens and kinds are empty, so there is nothing to draw.")
    if [len(row) for row in cells] != [len(row) for row in marks] or len({len(row) for row in cells}) > 1:
        raise ValueError(
            f"tokens and kinds must be rows of one length, but have {[len(row) for row in cells]} "
            f"and {[len(row) for row in marks]}."
        )
    names = [str(name) for name in named] if named is not None else [f"view {i}" for i in range(len(cells))]
    return names, cells if tokens is None else [[str(cell) for cell in row] for row in cells]


def _boards(kinds: Any) -> dict[str, Any]:
    boards = isinstance(kinds, Mapping) and all(isinstance(board, Mapping) for board in kinds.values())
    return dict(kinds) if boards and kinds else {"": kinds}


def _codes(cells: list[list[Any]]) -> list[list[str]]:
    return [[_kind(kind) for kind in row] for row in cells]


def _kind(kind: Any) -> str:
    if isinstance(kind, str):
        arguments.known(kind, KINDS, "kind of token")
        return kind
    return "selected" if _is_taken(kind) else "untouched"


def _is_taken(mark: Any) -> bool:
    try:
        return bool(mark)
    except (RuntimeError, ValueError):  # of several numbers
        raise TypeError(f"A token is selected or not, True or False, not {checks.shown(mark)}.") from None


def _style(code: str, words: Mapping[str, str]) -> tuple[str, str, str]:
    """Fill, ink and legend of a kind of token; one known only as "selected" looks like a mask."""
    if code == "selected":
        return *KINDS["mask"][:2], words.get("selected", "selected")
    return *KINDS[code][:2], words[code]


def _draw_words(names: list[str], cells: list, codes: list, words: Mapping, title: str | None) -> "Figure":
    from matplotlib.patches import Rectangle

    left = max(_widths_in_inches(names)) + 0.2  # inches, like all lengths here
    widths = [max(0.16, *_widths_in_inches(column)) + PADDING for column in zip(*cells, strict=True)]  # K rows -> T
    lines = _wrap(widths, WIDTH - left - 0.1)
    pitch = LINE * len(names) + 0.16  # from one line of the text to the next, with a gap
    figure, axes = _page(pitch * len(lines), codes, words, title)
    type_ = {"va": "center", "fontsize": TYPE}
    for number, columns in enumerate(lines):
        for k, name in enumerate(names):
            x, y = left, number * pitch + k * LINE
            for t in columns:
                fill, ink, _ = _style(codes[k][t], words)
                axes.add_patch(Rectangle((x, y), widths[t], LINE, facecolor=fill, edgecolor=FAINT, linewidth=0.7))
                middle = (x + widths[t] / 2, y + LINE / 2 + 0.01)
                axes.text(*middle, cells[k][t], ha="center", va="center", color=ink, fontsize=TYPE, gid="token")
                x += widths[t]
            axes.text(left - 0.1, y + LINE / 2, name, gid="row name", **type_, ha="right")
    return figure


def _widths_in_inches(words: Sequence[str]) -> list[float]:
    """How wide each word will be written."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=TYPE)
    return [text_to_path.get_text_width_height_descent(word, font, ismath=False)[0] / 72 for word in words]


def _wrap(widths: list[float], room: float) -> list[list[int]]:
    """Token positions line by line, none wider than `room` inches (a single longer token gets its own)."""
    lines, used = [[]], 0.0
    for t, width in enumerate(widths):
        if lines[-1] and used + width > room:
            lines.append([])
            used = 0.0
        lines[-1].append(t)
        used += width
    return lines


def _page(height: float, codes: list, words: Mapping, title: str | None) -> tuple["Figure", Any]:
    """A figure whose axes are measured in inches from the upper left, with the legend below."""
    from contrast_kit.plots.figure import Figure

    handles = _handles(codes, words)
    legend = sum(_widths_in_inches([handle.get_label() for handle in handles])) + 0.62 * len(handles)
    rows = math.ceil(legend / WIDTH)
    above, below = 0.4 if title else 0.05, 0.14 + 0.22 * rows
    total = height + above + below
    figure = Figure(figsize=(WIDTH, total))
    axes = figure.add_axes((0, below / total, 1, height / total), xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    if title:
        figure.text(0.01, 1 - 0.12 / total, title, va="top", fontsize=12)
    figure.legend(handles=handles, loc="lower left", ncols=math.ceil(len(handles) / rows), bbox_to_anchor=(0, 0))
    return figure, axes


def _handles(codes: list, words: Mapping[str, str]) -> list[Any]:
    """A legend entry for each kind that occurs."""
    from matplotlib.patches import Patch

    present = [kind for kind in ("untouched", "selected", *KINDS) if any(kind in row for row in codes)]
    looks = [_style(kind, words) for kind in dict.fromkeys(present)]
    return [Patch(facecolor=fill, edgecolor="#999999", linewidth=0.7, label=label) for fill, _, label in looks]


def _draw_cells(boards: dict[str, tuple[list[str], list]], words: Mapping, columns: Any, title: str | None) -> "Figure":
    """A panel for each board of small cells, side by side; rows and cells are separated by fine white lines."""
    from matplotlib.colors import to_rgb

    from contrast_kit.plots.style import panels

    rows = max(len(codes) for _, codes in boards.values())
    everything = [row for _, codes in boards.values() for row in codes]
    # White cells would leave no edge to see where a row ends.
    fills = {code: "#EFEFEF" if code == "untouched" else _style(code, words)[0] for row in everything for code in row}
    height = 0.9 + rows * (0.08 if rows > FEW else 0.22) + 0.5 * (columns is not None)
    figure, axes = panels(len(boards), height=height, title=title)
    for panel, (name, (names, codes)) in zip(axes, boards.items(), strict=True):
        panel.imshow([[to_rgb(fills[code]) for code in row] for row in codes], aspect="auto", interpolation="none")
        panel.set_title(name)
        _cell_lines(panel, len(codes), len(codes[0]))
        if columns is not None:
            panel.set_xticks(range(len(codes[0])), texts(columns, "columns", len(codes[0])), rotation=60)
        else:
            panel.set_xlabel("token position")
        if len(codes) > FEW:
            panel.set_ylabel("row")
        else:
            repeated = panel is not axes[0] and names == next(iter(boards.values()))[0]  # the names of the first board
            panel.set_yticks(range(len(names)), [""] * len(names) if repeated else names)
        panel.tick_params(length=0, which="both")
    handles = _handles(everything, words)
    for handle in handles:
        if handle.get_label() == words["untouched"]:
            handle.set_facecolor(fills["untouched"])
    figure.legend(handles=handles, loc="outside lower left", ncols=5)
    return figure


def _cell_lines(panel: Any, rows: int, tokens: int) -> None:
    """White lines between the cells, unless there are so many that the lines would hide the cells."""
    if rows <= 3 * FEW:
        panel.set_yticks([k + 0.5 for k in range(rows - 1)], minor=True)
        panel.grid(axis="y", which="minor", color="white", linewidth=0.6 if rows > FEW else 2)
    if tokens <= 2 * FEW:
        panel.set_xticks([t + 0.5 for t in range(tokens - 1)], minor=True)
        panel.grid(axis="x", which="minor", color="white", linewidth=0.6 if rows > FEW else 1)
    panel.spines[["left", "bottom"]].set_visible(False)
