"""A drawing of boxes, strips of words, arrows and small matrices, as SVG in the ink of its page."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

# Distinct on white and on black, and as greys; ink is `currentColor`, whatever that is on the page.
TONES = {"local": "#D98200", "contrast": "#2A86C7", "network": "#7A7A7A", "good": "#1F9E7A"}
CELL, ROW = 40, 26  # a word's width and height
SIDE = 17  # of a cell of a matrix
SIGNS = {"+": "contrast", "-": "local"}
FONT = "font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12.5px"
# Alone, as a file or an <img>, a picture does not know its page: it brings ink and paper of its own.
ALONE = (
    "<style>svg{color:#222;background:#fff}"
    "@media (prefers-color-scheme:dark){svg{color:#e6e6e6;background:#161616}}</style>"
)


class Place(NamedTuple):
    """Where something stands: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> tuple[float, float]:
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> tuple[float, float]:
        return self.x + self.width, self.y + self.height / 2

    @property
    def top(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y

    @property
    def bottom(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height


class Drawing:
    """A picture in SVG, with words that say the same to those who cannot see it.

    The last line of a cell shows it; `save("cmlm.svg")` writes a file; `alt` holds its words. Inside a page, as in
    notebooks and on the website, it takes the page's text colour; as a file it follows the reader's light or dark
    setting. Nothing in it needs a script, a font or an address.
    """

    def __init__(self, title: str, alt: str, width: float, height: float) -> None:
        self.title, self.alt, self.width, self.height = title, alt, width, height
        self.parts: list[str] = []

    # -- what is drawn -------------------------------------------------------------------------------------------

    def words(
        self, x: float, y: float, text: str, *, anchor: str = "middle", size: float = 12.5, style: str = ""
    ) -> None:
        """A line of text, in which "L_MLM" and "X^MLM" get an index; `style` is "bold", "faint" or both."""
        look = ' font-weight="600"' if "bold" in style else ""
        look += ' opacity="0.7"' if "faint" in style else ""
        look += f' font-size="{size:g}"' if size != 12.5 else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{look}>{_with_indices(escape(text))}</text>'
        )

    def strip(self, x: float, y: float, tokens: Sequence[str], *, label: str = "", cell: float = CELL) -> Place:
        """Words in a row. "[M]" is a mask; "*low" a word that was put there; "~two" one that is left out."""
        if label:
            self.words(x, y - 7, label, anchor="start", size=12)
        for i, token in enumerate(tokens):
            left, fill = x + i * cell, ' fill="none"'
            word = token.lstrip("*~")
            if token == "[M]":
                fill = ' fill="currentColor" fill-opacity="0.28"'
            elif token.startswith("*"):
                fill = f' fill="{TONES["local"]}" fill-opacity="0.4"'
            dash = ' stroke-dasharray="3 3" stroke-opacity="0.5"' if token.startswith("~") else ""
            self._rect(Place(left, y, cell, ROW), f'{fill} stroke="currentColor" stroke-width="1"{dash}')
            if not token.startswith("~"):
                self.words(left + cell / 2, y + 17.5, word, size=12)
        return Place(x, y, cell * len(tokens), ROW)

    def box(self, x: float, y: float, width: float, height: float, *lines: str, tone: str = "network") -> Place:
        """A network or something else that computes; the first line is its name."""
        return self._filled(Place(x, y, width, height), lines, tone, radius=5)

    def loss(self, x: float, y: float, width: float, *lines: str, tone: str = "local") -> Place:
        """A loss: `tone` is "local" or "contrast"."""
        return self._filled(Place(x, y, width, 14 + 16 * len(lines)), lines, tone, radius=12)

    def vector(self, x: float, y: float, name: str) -> Place:
        """A vector of numbers, with its name above it; (x, y) is the middle of its left side."""
        place = Place(x, y - 17, 13, 34)
        self._rect(place, f' fill="{TONES["contrast"]}" fill-opacity="0.18" stroke="currentColor"', radius=3)
        for i in range(3):
            self.parts.append(f'<circle cx="{x + 6.5:g}" cy="{y - 9 + 9 * i:g}" r="2" fill="currentColor"/>')
        self.words(x + 6.5, y - 22, name, size=12)
        return place

    def arrow(self, *points: tuple[float, float], dashed: bool = False, label: str = "") -> None:
        """A line through the points with a head at the last one; dashed where no gradient comes back."""
        path = " ".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(points))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.3"{dash}/>')
        (x0, y0), (x, y) = points[-2:]
        length = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5
        dx, dy = 8 * (x - x0) / length, 8 * (y - y0) / length
        sides = f"{x - dx + dy / 2:g} {y - dy - dx / 2:g} {x - dx - dy / 2:g} {y - dy + dx / 2:g}"
        self.parts.append(f'<path d="M{x:g} {y:g}L{sides}z" fill="currentColor"/>')
        if label:
            self.words((x0 + x) / 2, (y0 + y) / 2 - 6, label, size=11.5)

    def matrix(
        self, x: float, y: float, roles: Sequence[str], rows: Sequence[str], columns: Sequence[str], *, title: str
    ) -> Place:
        """Who stands in whose denominator: a row for each anchor; "+" is its positive, "-" a negative, "." neither."""
        self.words(x - 14, y - 36, title, anchor="start", size=12, style="bold")
        for j, name in enumerate(columns):
            self.words(x + (j + 0.5) * SIDE, y - 6, name, size=11.5)
        for i, (name, line) in enumerate(zip(rows, roles, strict=True)):
            self.words(x - 6, y + i * SIDE + 12.5, name, anchor="end", size=11.5)
            for j, role in enumerate(line):
                tone = SIGNS.get(role)
                fill = (
                    f' fill="{TONES[tone]}" fill-opacity="{0.85 if role == "+" else 0.3}"' if tone else ' fill="none"'
                )
                cell = Place(x + j * SIDE, y + i * SIDE, SIDE, SIDE)
                self._rect(cell, f'{fill} stroke="currentColor" stroke-opacity="0.35"')
                if tone:
                    self.words(cell.x + SIDE / 2, cell.y + 13, "+" if role == "+" else "−", style="bold")
        return Place(x, y, SIDE * len(columns), SIDE * len(rows))

    def _filled(self, place: Place, lines: Sequence[str], tone: str, radius: float) -> Place:
        look = f' fill="{TONES[tone]}" fill-opacity="0.2" stroke="{TONES[tone]}" stroke-width="1.6"'
        self._rect(place, look, radius)
        x, y = place.x + place.width / 2, place.y + place.height / 2 - 8 * (len(lines) - 1) + 4.5
        for i, line in enumerate(lines):
            self.words(x, y + 16 * i, line, size=12 if i else 12.5, style="bold" if not i else "")
        return place

    def _rect(self, place: Place, look: str, radius: float = 0) -> None:
        x, y, width, height = place
        rounded = f' rx="{radius:g}"' if radius else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{rounded}{look}/>')

    # -- how it is shown -----------------------------------------------------------------------------------------

    def svg(self, inside: str = "") -> str:
        """The picture as text; `inside` goes before what is drawn."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escape(self.alt)}" style="width:100%;max-width:{self.width:g}px;height:auto;{FONT}" '
            f'fill="currentColor"><title>{escape(self.title)}</title><desc>{escape(self.alt)}</desc>{inside}'
            f"{''.join(self.parts)}</svg>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file, which follows the reader's light or dark setting."""
        path = Path(path).expanduser()
        path.write_text(self._repr_svg_(), encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return self.svg()

    def _repr_svg_(self) -> str:
        return self.svg(ALONE)

    def __repr__(self) -> str:
        return f"{self.title}: {self.alt}"


def _with_indices(text: str) -> str:
    """L_MLM with its index below the line, X^MLM with it above."""

    def index(match: re.Match) -> str:
        shift = 3 if match[2] == "_" else -4
        return f'{match[1]}<tspan dy="{shift}" font-size="75%">{match[3]}</tspan><tspan dy="{-shift}">\u200b</tspan>'

    return re.sub(r"\b([A-Za-z])([_^])([A-Za-z]+)", index, text)
