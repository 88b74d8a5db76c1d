"""The figure that every plot returns. Loads matplotlib, so the plots import it only when they draw."""

from io import BytesIO

from matplotlib.figure import Figure as MatplotlibFigure


class Figure(MatplotlibFigure):
    """A matplotlib figure that no pyplot state holds and that shows itself as a PNG in a notebook.

    `%matplotlib inline` teaches notebooks to show figures only once pyplot has been loaded; this
    one brings its picture along, and is never shown a second time at the end of the cell.
    """

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=self.dpi)
        return buffer.getvalue()
