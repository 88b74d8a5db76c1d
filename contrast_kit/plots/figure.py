"""The figure that every plot returns. Loads matplotlib, so the plots import it only when they draw."""

from io import BytesIO

from matplotlib.figure import Figure as MatplotlibFigure


class Figure(MatplotlibFigure):
    """A matplotlib figure that no pyplot state holds and that shows itself as a PNG in a notebook.

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
