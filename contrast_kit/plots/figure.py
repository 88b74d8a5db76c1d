"""The figure that every plot returns. Loads matplotlib, so the plots import it only when they draw."""

from io import BytesIO
from typing import Any

from matplotlib.figure import Figure as MatplotlibFigure

MOST = 500  # the most letters of one figure that a screen reader should have to read


class Figure(MatplotlibFigure):
    """A matplotlib figure that pyplot does not keep and that shows itself as a PNG in a notebook.

    `%matplotlib inline` teaches notebooks to show figures only once pyplot has been loaded; this
    one brings its picture along, and is never shown a second time at the end of the cell.
    """

    def _repr_png_(self) -> bytes:
        from PIL import Image

        drawn, small = BytesIO(), BytesIO()
        self.savefig(drawn, format="png", dpi=self.dpi)
        # 256 colours are as good to the eye here (this method keeps each within a few shades), and a third of the
        # bytes: notebooks with many figures stay small.
        picture = Image.open(drawn).convert("RGB")
        few = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(small, format="png", optimize=True)
        return small.getvalue()

    alt = ""
    """Words for a reader who cannot see it: `figure.alt = "…"`. Without them it describes itself."""

    def described(self) -> str:
        """`alt`, or what is written on the figure: titles, axes and legends, panel by panel."""
        if self.alt:
            return self.alt
        title = self._suptitle.get_text() if self._suptitle else ""
        panels = [words for axes in self.axes if (words := _written(axes))]
        legends = [text.get_text() for legend in self.legends for text in legend.get_texts()]
        parts = [title, *dict.fromkeys(panels)] + ([f"legend: {', '.join(legends)}"] if legends else [])
        words = "; ".join(" ".join(part.split()) for part in parts if part.strip())
        return f"Figure. {words}"[:MOST] if words else ""

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, bytes], dict[str, dict[str, str]]]:
        """The picture, and its words where notebooks keep them."""
        return {"image/png": self._repr_png_()}, {"image/png": {"alt": self.described()}}


def _written(axes: Any) -> str:
    """What is written around one panel; on a panel without axes, what is written in it."""
    legend = axes.get_legend()
    shown = axes.axison and axes.get_visible()
    drawn = [axes.get_xlabel() and f"x: {axes.get_xlabel()}", axes.get_ylabel() and f"y: {axes.get_ylabel()}"]
    named = legend and f"shows {', '.join(text.get_text() for text in legend.get_texts())}"
    inside = "" if shown else " ".join(text.get_text() for text in axes.texts)
    return ", ".join(filter(None, [axes.get_title(), *(drawn if shown else []), named, inside]))
