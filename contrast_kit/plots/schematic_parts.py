"""What the schematics have in common: their columns, and the pieces that several of them show."""

from collections.abc import Callable, Sequence

from contrast_kit.plots.drawing import Drawing, Place

WIDE = 1020
TEXT, VIEW, NET, OUT, LOSS, WHO = 16, 262, 500, 634, 690, 876  # where the columns begin
DRAWN: dict[str, Callable[[], Drawing]] = {}
"""The schematics by name."""


def drawn(name: str) -> Callable[[Callable[[], Drawing]], Callable[[], Drawing]]:
    """Decorator of a function that draws a method: it goes into `DRAWN` under this name."""

    def register(draw: Callable[[], Drawing]) -> Callable[[], Drawing]:
        DRAWN[name] = draw
        return draw

    return register


def sheet(title: str, alt: str, height: float) -> Drawing:
    """An empty drawing with the headings of its columns."""
    drawing = Drawing(title, alt, WIDE, height)
    for x, heading in ((VIEW, "views"), (NET, "networks"), (LOSS, "losses")):
        drawing.words(x, 16, heading, anchor="start", size=12, style="faint")
    return drawing


def views(drawing: Drawing, source: Place | None, *strips: tuple[float, Sequence[str], str]) -> list[Place]:
    """Strips in the column of views, each with an arrow from the text."""
    places = []
    for y, tokens, label in strips:
        place = drawing.strip(VIEW, y, tokens, label=label)
        if source is not None:
            middle = (source.right[0] + VIEW) / 2
            drawing.arrow(source.right, (middle, source.right[1]), (middle, place.left[1]), (VIEW - 2, place.left[1]))
        places.append(place)
    return places


def read_by(drawing: Drawing, network: Place, *strips: Place) -> None:
    """An arrow from each strip into the network."""
    for place in strips:
        drawing.arrow(place.right, (network.x - 2, place.right[1]))


def two_vectors(drawing: Drawing, network: Place, rows: Sequence[float], names: Sequence[str], loss: Place) -> None:
    """From a network read twice, two vectors; from both of them, arrows to the contrast between them."""
    for y, name in zip(rows, names, strict=True):
        drawing.arrow((network.right[0], y), (OUT - 2, y))
        vector = drawing.vector(OUT, y, name)
        drawing.arrow((vector.right[0], y), (loss.x - 2, loss.left[1] + (-8 if y < loss.left[1] else 8)))


def denominator(drawing: Drawing, x: float, y: float, title: str, *lines: str) -> None:
    """In place of a matrix: what stands in the denominator where no other text does."""
    drawing.words(x, y, title, anchor="start", size=12, style="bold")
    for i, line in enumerate(lines):
        drawing.words(x, y + 18 * (i + 1), line, anchor="start", size=12)


def partner(n: int) -> list[str]:
    """Roles of n anchors among the n candidates of the other view."""
    return ["".join("+" if i == j else "-" for j in range(n)) for i in range(n)]


def both_ways(n: int, queue: int = 0) -> list[str]:
    """Roles of 2n anchors among all 2n vectors, and a queue: all but the anchor itself; its partner is the positive."""
    signs = {0: ".", n: "+"}
    return ["".join(signs.get(abs(i - j), "-") for j in range(2 * n)) + "-" * queue for i in range(2 * n)]


def by_label(labels: str) -> list[str]:
    """Roles among labelled texts: those with the anchor's label are positives, all others negatives."""
    n = len(labels)
    return ["".join("." if i == j else "+" if labels[i] == labels[j] else "-" for j in range(n)) for i in range(n)]


def queue(d: Drawing, x: float, y: float, loss: Place) -> None:
    """The memory queue of CAPT: vectors of earlier steps, read by the contrast, filled after each step."""
    for i in range(6):
        d.vector(x + 17 * i, y, "")
    d.words(x + 110, y - 4, "queue: Q vectors of earlier", anchor="start", size=11.5)
    d.words(x + 110, y + 11, "steps; these enter it next", anchor="start", size=11.5)
    d.arrow((x + 55, y - 18), (x + 55, loss.bottom[1] + 2), dashed=True)
