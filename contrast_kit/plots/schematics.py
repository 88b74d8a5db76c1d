"""Each method as a drawing: its views, its networks, its losses, and who is whose negative.

The drawings are the SVG files in `schematics/`, made to be edited by hand: groups by look, text as text, the words for
readers who cannot see them in `aria-label`. Ink is `currentColor`; alone, as a file, a drawing follows the reader's
light or dark setting.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from contrast_kit._util import choose

FILES = {
    path.stem: path
    for path in sorted((Path(__file__).parent / "schematics").glob("*.svg"))
}
"""The drawings by name."""


class Drawing:
    """A picture in SVG, with words that say the same to those who cannot see it.

    The last line of a cell shows it; `svg` is the text of its file, `alt` holds its words. Inside a page, as in
    notebooks and on the website, it takes the page's text colour; as a file it follows the reader's light or dark
    setting. Nothing in it needs a script, a font or an address.
    """

    def __init__(self, svg: str) -> None:
        root = ElementTree.fromstring(svg)
        self.svg = svg
        self.title = root.findtext("{*}title")
        self.alt = root.get("aria-label")

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"{self.title}: {self.alt}"


def schematic(name: str) -> Drawing:
    """A method as a drawing: views → networks → losses, and beside it who stands in whose denominator.

    Words are `[M]` where they are masked, orange where they were replaced, dashed where they were cut away. Orange
    losses are local: a text needs no other text for them. Blue ones are contrasts: they need the whole batch. Dashed
    arrows carry no gradient back. In the matrix each row is an anchor, + its positive, − a negative of it.

    Args:
        name: "mlm", "electra", "all-token", "cmlm", "coco-lm", "simcse", "cssl", "scl", "capt", "lxmert", "capt-pairs",
            named as on the command line, where they exist there; or "three-steps", what most of them have in common.

    Returns a `Drawing`: SVG that takes the page's text colour, with its content in words as `alt`.

    >>> from contrast_kit import plots
    >>> drawing = plots.schematic("cmlm")
    >>> drawing.title
    'CMLM'
    >>> drawing.alt[:52]
    'Two masked copies of a text: T0 with 15 % masked, T1'
    """
    return Drawing(choose(FILES, name, "schematic").read_text(encoding="utf-8"))
