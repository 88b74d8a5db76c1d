"""The figure that every plot returns. Loads matplotlib, so the plots import it only when they draw."""

from io import BytesIO

from matplotlib.figure import Figure as MatplotlibFigure

MOST = 500  # the most letters of one figure that a screen reader should have to read


class Figure(MatplotlibFigure):
    """A matplotlib figure that pyplot does not keep and that shows itself as a PNG in a notebook.

    `%matplotlib inline` teaches notebooks to show figures only once pyplot has been loaded; this
    one brings its picture along, and is never shown a second time at the end of the cell.
    """

    alt = ""
    """Words for a reader who cannot see it: `figure.alt = "…"`. Without them it describes itself."""

    def _repr_png_(self) -> bytes:
        from PIL import Image

        drawn, small = BytesIO(), BytesIO()
        self.savefig(drawn, format="png", dpi=self.dpi)
        # 256 colours are as good to the eye here (this method keeps each within a few shades), and a third of the
        # bytes: notebooks with many figures stay small.
        picture = Image.open(drawn).convert("RGB")
        few = picture.quantize(
            256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        few.save(small, format="png", optimize=True)
        return small.getvalue()

    def _repr_mimebundle_(self, **_):
        """The picture, and its words where notebooks keep them."""
        return {"image/png": self._repr_png_()}, {"image/png": {"alt": self.described()}}

    def described(self) -> str:
        """`alt`, or what is written on the figure: titles, axes and legends, panel by panel."""
        words = [self.get_suptitle()]
        for panel in self.axes:
            words += [panel.get_title(), panel.get_xlabel(), panel.get_ylabel()]
        for legend in self.legends:
            words += [text.get_text() for text in legend.get_texts()]
        written = "; ".join(
            " ".join(each.split()) for each in dict.fromkeys(words) if each
        )
        return self.alt or f"Figure. {written}"[:MOST]
