"""The mask heatmap: which tokens a masking took, and what it put there."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from contrast_kit._util import choose
from contrast_kit.plots.style import (
    FAINT,
    INK,
    WIDTH,
    by_panel,
    draw_cells,
    panels,
    single,
    styled,
)

# Dark, middle and light, so that the kinds differ in a grey print too. (fill, ink, legend)
KINDS = {
    "untouched": ("#F4F4F4", INK, "not selected"),
    "selected": ("#0072B2", "#FFFFFF", "selected"),
    "mask": ("#0072B2", "#FFFFFF", "selected: [MASK]"),
    "random": ("#F3C15C", "#000000", "selected: random token"),
    "kept": ("#7FCDB4", "#000000", "selected: kept as it is"),
    "special": ("#B0B0B0", "#333333", "never selected (special, padding)"),
}
# Inches around a token, inches a row is high, points, and inches a letter of that size is wide.
PADDING, LINE, TYPE, LETTER = 0.16, 0.3, 8.5, 0.0715
FEW = 30  # rows; more are numbered, not named


def mask_kinds(
    tokens: Sequence[str],
    original: Sequence[str],
    selected,
    mask_token: str = "[MASK]",
    special: Collection[str] = ("[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>"),
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
    >>> [text.get_text() for text in figure.axes[0].texts[1:4]]
    ['the', '[MASK]', 'ball']
    """
    words = {kind: label for kind, (_, _, label) in KINDS.items()} | (legend or {})
    if tokens is None:
        boards = {name: _coded(board) for name, board in by_panel(_rows(kinds)).items()}
        return _draw_cells(boards, words, columns, title)
    rows = _rows(tokens)
    kinds = kinds if isinstance(kinds, Mapping) else dict(zip(rows, kinds, strict=True))
    return _draw_words(rows, _coded(kinds), words, title)


def _rows(rows):
    """Rows by their names."""
    if isinstance(rows, Mapping):
        return rows
    return {f"view {i}": row for i, row in enumerate(rows)}


def _coded(rows):
    """The kind of each token, where True and False are "selected" and "untouched"."""
    return {name: [_kind(mark) for mark in row] for name, row in rows.items()}


def _kind(mark):
    if isinstance(mark, str):
        choose(KINDS, mark, "kind of token")
        return mark
    return "selected" if mark else "untouched"


def _draw_words(rows, codes, words, title):
    left = LETTER * max(map(len, rows)) + 0.2  # inches, like all lengths here
    columns = zip(*rows.values(), strict=True)
    widths = [LETTER * max(2, *map(len, column)) + PADDING for column in columns]
    lines = _wrap(widths, WIDTH - left - 0.1)
    pitch = LINE * len(rows) + 0.16  # from one line of the text to the next, with a gap
    height = pitch * len(lines)
    figure, axes = single(height + 0.5, title)
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    look = {"va": "center", "fontsize": TYPE, "family": "monospace"}
    for n, positions in enumerate(lines):
        ends = left + np.cumsum([widths[t] for t in positions])
        for k, (name, row) in enumerate(rows.items()):
            y = n * pitch + (k + 0.5) * LINE
            axes.text(left - 0.1, y, name, ha="right", **look)
            for t, end in zip(positions, ends, strict=True):
                fill, ink, _ = KINDS[codes[name][t]]
                axes.barh(y, -widths[t], LINE, end, color=fill, edgecolor=FAINT)
                middle = end - widths[t] / 2
                axes.text(middle, y, row[t], ha="center", color=ink, **look)
    _legend(figure, codes.values(), words)
    return figure


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


def _legend(figure, codes, words):
    """A patch for each kind that occurs."""
    from matplotlib.patches import Patch

    handles = []
    for kind, (fill, _, _) in KINDS.items():
        if any(kind in row for row in codes):
            handles.append(Patch(facecolor=fill, edgecolor=FAINT, label=words[kind]))
    figure.legend(handles=handles, loc="outside lower left", ncols=3)


def _draw_cells(boards, words, columns, title):
    """A panel for each board of small cells, side by side; rows and cells are separated by fine white lines."""
    from matplotlib.colors import to_rgb

    fills = {kind: to_rgb(fill) for kind, (fill, _, _) in KINDS.items()}
    rows = max(map(len, boards.values()))
    height = 1.2 + rows * (0.08 if rows > FEW else 0.22)
    figure, drawn = panels(boards, height, title=title, sharey=True)
    for panel, _, board in drawn:
        cells = [[fills[kind] for kind in row] for row in board.values()]  # [R, T, 3]
        draw_cells(panel, cells, 0.5, "auto")
        panel.set_xlabel("token position")
        if columns is not None:
            panel.set_xticks(range(len(columns)), columns, rotation=60)
        if rows <= FEW:
            panel.set_yticks(range(rows), list(board))
    _legend(figure, sum((list(board.values()) for board in boards.values()), []), words)
    return figure
