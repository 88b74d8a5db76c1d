"""The mask heatmap: which tokens a masking took, and what it put there."""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from contrast_kit._util import choose
from contrast_kit.plots.style import FAINT, INK, WIDTH, by_panel, panels, styled

# Dark, middle and light, so that the kinds differ in a grey print too. (fill, ink, legend)
KINDS = {
    "untouched": ("#FFFFFF", INK, "not selected"),
    "selected": ("#0072B2", "#FFFFFF", "selected"),
    "mask": ("#0072B2", "#FFFFFF", "selected: [MASK]"),
    "random": ("#F3C15C", "#000000", "selected: random token"),
    "kept": ("#7FCDB4", "#000000", "selected: kept as it is"),
    "special": ("#E4E4E4", "#777777", "never selected (special, padding)"),
}
WHITE_CELL = "#EFEFEF"  # in a board without words, where white cells would leave no edge to see where a row ends
PADDING, LINE, TYPE = (
    0.16,
    0.3,
    9.5,
)  # inches around a token, inches a row is high, points
FEW = 30  # rows; more are numbered, not named


def mask_kinds(
    tokens: Sequence[str],
    original: Sequence[str],
    selected,
    mask_token: str = "[MASK]",
    special: Collection[str] = (
        "[CLS]",
        "[SEP]",
        "[PAD]",
        "<s>",
        "</s>",
        "<pad>",
    ),
) -> list[str]:
    """What a masking did to each token: "untouched", "mask", "random", "kept" or "special".

    `tokens` is the view as strings, `original` the text before, `selected` T booleans (not just where
    `[MASK]` stands: under 80/10/10 a selected token may be replaced or kept). `special` tokens that are not
    selected are told apart from ordinary ones. Returns T names, the `kinds` of `mask_heatmap`.

    >>> from contrast_kit import plots
    >>> plots.mask_kinds(["[CLS]", "[MASK]", "red", "ball"], ["[CLS]", "a", "big", "ball"], [0, 1, 1, 1])
    ['special', 'mask', 'random', 'kept']
    """
    kinds = []
    for now, before, taken in zip(tokens, original, selected, strict=True):
        if not taken:
            kinds.append("special" if now in special else "untouched")
        elif now == mask_token:
            kinds.append("mask")
        else:
            kinds.append("kept" if now == before else "random")
    return kinds


@styled
def mask_heatmap(
    tokens: dict | list | None,
    kinds: dict | list,
    *,
    columns: Sequence[str] | None = None,
    legend: dict | None = None,
    title: str = "",
):
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
    words = {kind: label for kind, (_, _, label) in KINDS.items()} | (legend or {})
    if tokens is None:
        boards = by_panel(_rows(kinds))
        return _draw_cells(
            {name: _coded(board) for name, board in boards.items()},
            words,
            columns,
            title,
        )
    if isinstance(tokens, Mapping) and isinstance(kinds, Mapping):
        kinds = {name: kinds[name] for name in tokens}
    return _draw_words(_rows(tokens), list(_coded(_rows(kinds)).values()), words, title)


def _rows(rows):
    """Rows by their names."""
    return rows if isinstance(rows, Mapping) else {f"view {i}": row for i, row in enumerate(rows)}


def _coded(rows):
    """The kind of each token, where True and False are "selected" and "untouched"."""
    return {str(name): [_kind(mark) for mark in row] for name, row in rows.items()}


def _kind(mark):
    if isinstance(mark, str):
        choose(KINDS, mark, "kind of token")
        return mark
    return "selected" if mark else "untouched"


def _draw_words(rows, codes, words, title):
    from matplotlib.patches import Rectangle

    left = max(map(_inches, rows)) + 0.2  # inches, like all lengths here
    widths = [
        max(0.16, *map(_inches, column)) + PADDING for column in zip(*rows.values(), strict=True)
    ]
    lines = _wrap(widths, WIDTH - left - 0.1)
    pitch = LINE * len(rows) + 0.16  # from one line of the text to the next, with a gap
    height = pitch * len(lines)
    figure, (axes,) = panels(1, height + 0.4, title=title)
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    for n, positions in enumerate(lines):
        for k, (name, row, kinds) in enumerate(zip(rows, rows.values(), codes, strict=True)):
            x, y = left, n * pitch + k * LINE
            for t in positions:
                fill, ink, _ = KINDS[kinds[t]]
                cell = Rectangle(
                    (x, y),
                    widths[t],
                    LINE,
                    facecolor=fill,
                    edgecolor=FAINT,
                    linewidth=0.7,
                )
                axes.add_patch(cell)
                _write(
                    axes,
                    x + widths[t] / 2,
                    y,
                    row[t],
                    "token",
                    ha="center",
                    color=ink,
                )
                x += widths[t]
            _write(axes, left - 0.1, y, name, "row name", ha="right")
    _legend(figure, codes, words)
    return figure


def _write(axes, x, y, word, gid, **look):
    axes.text(
        x,
        y + LINE / 2 + 0.01,
        word,
        gid=gid,
        va="center",
        fontsize=TYPE,
        **look,
    )


def _inches(word):
    """How wide a word will be written."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return (
        text_to_path.get_text_width_height_descent(word, FontProperties(size=TYPE), ismath=False)[0]
        / 72
    )


def _wrap(widths, room):
    """Token positions line by line, none wider than `room` inches (a single longer token gets its own)."""
    lines = [[]]
    used = 0.0
    for t, width in enumerate(widths):
        used += width
        if lines[-1] and used > room:
            lines.append([])
            used = width
        lines[-1].append(t)
    return lines


def _legend(figure, codes, words, white=KINDS["untouched"][0]):
    """A patch for each kind that occurs, in as many rows as they need."""
    from matplotlib.patches import Patch

    handles = []
    for kind, (fill, _, _) in KINDS.items():
        if any(kind in row for row in codes):
            fill = white if kind == "untouched" else fill
            handles.append(
                Patch(
                    facecolor=fill,
                    edgecolor="#999999",
                    linewidth=0.7,
                    label=words[kind],
                )
            )
    inches = sum(_inches(handle.get_label()) + 0.62 for handle in handles)
    columns = math.ceil(len(handles) / math.ceil(inches / WIDTH))
    figure.legend(handles=handles, loc="outside lower left", ncols=columns)


def _draw_cells(boards, words, columns, title):
    """A panel for each board of small cells, side by side; rows and cells are separated by fine white lines."""
    from matplotlib.colors import to_rgb

    fills = {kind: to_rgb(fill) for kind, (fill, _, _) in KINDS.items()} | {
        "untouched": to_rgb(WHITE_CELL)
    }
    rows = max(map(len, boards.values()))
    height = 0.9 + rows * (0.08 if rows > FEW else 0.22) + 0.5 * (columns is not None)
    figure, axes = panels(len(boards), height, title=title, sharey=True)
    for panel, (name, board) in zip(axes, boards.items(), strict=True):
        cells = np.array(
            [[fills[kind] for kind in row] for row in board.values()]
        )  # [rows, tokens, 3]
        panel.imshow(cells, aspect="auto", interpolation="none")
        panel.set_title(name)
        _cell_lines(panel, *cells.shape[:2])
        if columns is None:
            panel.set_xlabel("token position")
        else:
            panel.set_xticks(range(len(columns)), columns, rotation=60)
        if rows > FEW:
            panel.set_ylabel("row")
        else:
            panel.set_yticks(range(rows), list(board))
    _legend(
        figure,
        [row for board in boards.values() for row in board.values()],
        words,
        WHITE_CELL,
    )
    return figure


def _cell_lines(panel, rows, tokens):
    """White lines between the cells, unless there are so many that the lines would hide the cells."""
    few = rows <= FEW
    if rows <= 3 * FEW:
        panel.set_yticks(np.arange(0.5, rows - 1), minor=True)
        panel.grid(axis="y", which="minor", color="white", linewidth=2 if few else 0.6)
    if tokens <= 2 * FEW:
        panel.set_xticks(np.arange(0.5, tokens - 1), minor=True)
        panel.grid(axis="x", which="minor", color="white", linewidth=1 if few else 0.6)
    panel.tick_params(length=0, which="both")
    panel.spines[["left", "bottom"]].set_visible(False)
