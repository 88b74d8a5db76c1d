"""What every panel has: controls, a state that Python reads and sets, a static figure, a page without Python."""

import functools
import html
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from contrast_kit import arguments, checks
from contrast_kit.data.gc_paused import gc_paused
from contrast_kit.explore import _page, _still
from contrast_kit.explore._page import scripts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = "960px"
_DRAWING = threading.RLock()  # all threads share matplotlib's settings, and one panel trains in its own


def widgets() -> Any:
    """The module ipywidgets, or an ImportError that says how to install it."""
    try:
        import anywidget  # noqa: F401
        import ipywidgets
    except ImportError as error:
        raise ImportError(
            f"The panels of ck.explore need ipywidgets and anywidget ({error.name} is missing): "
            "pip install 'contrast-kit[notebooks]', then restart the kernel."
        ) from None
    return ipywidgets


class Panel:
    """Interactive controls in a notebook, with a static figure for pages that show no widget.

    A subclass calls `assemble` with its `handles`, name -> (widget, trait), and implements `figure()`, `words()` and,
    where its picture is more than that figure, `draw()`.

    * To use it, make the panel the last line of a cell.
    * `panel.set(tau=0.1)` moves a slider from Python, `panel.state` reads them all.
    * `panel.figure()` is the picture for the current state, made by `ck.plots`; it is also stored beside the widget, so
      that a page that cannot show widgets shows it. With `CONTRAST_KIT_PANELS=static` in the environment, the figure is
      all that is shown: this is how the notebooks of the course are stored.
    * `panel.to_html("circle.html")` writes a page for a lecture: it needs neither Python nor a network. A panel whose
      subclass names a `script` (the picture) and a `stand_in` (what Python computes, again) is live there; for the
      others the page holds the figure.
    """

    script: tuple[str, ...] = ()
    """The files that draw, after shared.js; the widget made of them is `self.view`."""
    stand_in = ""
    """The file that computes in a page what Python computes in a notebook."""
    view: Any = None
    in_the_dark = "ck-turned"
    """What a dark theme does to the picture: light and dark change places, or "ck-dimmed", where colours matter."""

    def assemble(self, handles: Mapping[str, tuple[Any, str]], *rows: Any) -> None:
        """Stack the rows of widgets with the sentence below them, and redraw whenever a control moves."""
        w = widgets()
        self.handles, self._setting = dict(handles), False
        self.line = w.HTML()
        self.line.add_class("ck-words")
        layout = w.Layout(width="100%", max_width=WIDE, overflow="visible")
        self.widget = w.VBox([*rows, self.line], layout=layout)
        self.still = _still.Still(self)
        self.draw()
        for widget, trait in self.handles.values():
            widget.observe(self._on_move, names=trait)

    def figure(self) -> "Figure":
        """The static figure of the current state."""
        raise NotImplementedError

    def words(self) -> str:
        """A sentence (HTML) with the numbers of the picture."""
        return ""

    def draw(self) -> None:
        """Redraw the panel for the current state."""
        self.line.value = f"<div style='line-height:1.5' aria-live='polite'>{self.words()}</div>"

    def page_state(self) -> dict[str, Any]:
        """What a page needs beside the controls and the traits of the view."""
        return {}

    def to_html(self, path: str | Path, title: str | None = None) -> Path:
        """Write the panel as it stands into one HTML file, to be opened or sent without Python. Returns its path.

        >>> import tempfile
        >>> from contrast_kit.explore import loss_playground
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = loss_playground().to_html(f"{folder}/circle.html", title="Who pulls whom")
        ...     "<h1>Who pulls whom</h1>" in page.read_text()
        True
        """
        path = arguments.path("path", path, "the page to write")
        path.write_text(_page.document(self, title), encoding="utf-8")
        return path

    @property
    def state(self) -> dict[str, Any]:
        """The value of every control, by name."""
        return {name: getattr(widget, trait) for name, (widget, trait) in self.handles.items()}

    def set(self, **values: Any) -> Self:
        """Set controls from Python, as if by hand; the picture is redrawn once, at the end. Returns the panel.

        Raises a ValueError for a control that is not there, or a value that it cannot take.
        """
        for name in values:
            arguments.known(name, self.handles, "control")
        self._setting = True
        try:
            for name, value in values.items():
                self._set_control(name, value)
        finally:
            self._setting = False
            self.draw()
        return self

    def _set_control(self, name: str, value: Any) -> None:
        widget, trait = self.handles[name]
        from traitlets import TraitError

        try:
            setattr(widget, trait, value)
        except TraitError:
            allowed = getattr(widget, "options", None)
            allowed = [str(one[0] if isinstance(one, tuple) else one) for one in allowed or ()]
            hint = f"one of {', '.join(allowed)}" if allowed else "another kind of value"
            raise ValueError(f"{name} must be {hint}, not {checks.shown(value)}.") from None
        low, high = getattr(widget, "min", None), getattr(widget, "max", None)
        if low is not None and getattr(widget, trait) != value:  # a slider stops at its ends
            raise ValueError(f"{name} must lie between {low:g} and {high:g}, not {checks.shown(value)}.")

    def _on_move(self, change: Any) -> None:
        if self._setting:
            return
        try:
            self.draw()
        except Exception as error:  # raised in answer to the page, it would be seen by nobody
            self.line.value = f"<b>{type(error).__name__}</b>: {html.escape(str(error))}"

    def _ipython_display_(self) -> None:
        if not _still.wanted():
            raise NotImplementedError  # IPython then asks for the bundle
        self.still.show()

    def _repr_mimebundle_(self, **kw: Any) -> dict[str, Any]:
        bundle = {"text/plain": f"{type(self).__name__} (run this cell to touch it)"}
        if _still.wanted():
            bundle |= self.widget._repr_mimebundle_(**kw)
        elif self.stand_in:
            with suppress(ValueError):  # there may be nothing to keep alive yet
                bundle[_page.KIND] = _page.stored(self)
        try:
            return bundle | {"image/png": self.figure()._repr_png_()}
        except ValueError:  # there is nothing to draw yet
            return bundle


class SeenPanel(Panel):
    """A panel whose picture is drawn in the page, from `seen()`."""

    def assemble(self, handles: Mapping[str, tuple[Any, str]], *rows: Any) -> None:
        self.view = _view(*self.script)()
        super().assemble(handles, *rows, self.view)

    def seen(self) -> Any:
        """What the picture shows, as lists and numbers."""
        raise NotImplementedError

    def draw(self) -> None:
        try:
            self.view.seen = self.seen()
            super().draw()
        except ValueError as error:  # half-typed input: the last picture stays
            self.line.value = html.escape(str(error))


@functools.cache
def _view(*script: str) -> type:
    import anywidget
    import traitlets

    class View(anywidget.AnyWidget):
        """The picture in the page."""

        _esm = scripts("shared", *script)
        seen = traitlets.Any([]).tag(sync=True)

    return View


class FigurePanel(Panel):
    """A panel whose picture is its figure, redrawn at every move."""

    def assemble(self, handles: Mapping[str, tuple[Any, str]], *rows: Any) -> None:
        layout = widgets().Layout(max_width="calc(100% - 4px)", align_self="flex-start")
        self.picture = widgets().Image(format="png", layout=layout)
        self.picture.add_class(self.in_the_dark)
        super().assemble(handles, *rows, self.picture)

    def draw(self) -> None:
        try:
            with _DRAWING, gc_paused(then_collect=True):
                self.picture.value = self.figure()._repr_png_()
            self.still.update(lambda: self.picture.value)
            super().draw()
        except ValueError as error:  # half-typed input: the last picture stays
            self.line.value = html.escape(str(error))


def slider(name: str, value: float, low: float, high: float, step: float = 0.01) -> Any:
    """A slider with its number beside it."""
    checks.number(name, value, "a slider's number", low, high)
    return widgets().FloatSlider(
        float(value), min=low, max=high, step=step, description=name, readout_format=".2f", **_layout("340px")
    )


def stepped_slider(name: str, values: Sequence[Any], value: Any, width: str = "340px") -> Any:
    """A slider that stops only at the given values, evenly spaced whatever their size."""
    options = [(f"{each:g}", each) for each in values]
    if not checks.is_number(value) or value not in values:
        words = ", ".join(word for word, _ in options)
        raise ValueError(f"{name} must be one of {words}, not {checks.shown(value)}.")
    return widgets().SelectionSlider(options=options, value=value, description=name, **_layout(width))


TEMPERATURES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)


def choice(name: str, options: Any, value: Any, width: str = "260px") -> Any:
    """A drop-down list."""
    checks.choice(name, value, tuple(options))
    return widgets().Dropdown(options=options, value=value, description=name, **_layout(width))


def sentence_line(name: str, value: str) -> Any:
    """A line to type in."""
    arguments.string(name, value, "what stands in the line")
    layout = widgets().Layout(width="700px", max_width="calc(100% - 4px)")
    return widgets().Text(value, description=name, style={"description_width": "initial"}, layout=layout)


def draw_number(value: int) -> Any:
    """A field for the number to draw by."""
    checks.count("seed", value, "a number to draw by", 0, 10**6)
    return widgets().BoundedIntText(
        int(value), min=0, max=10**6, description="draw", layout=widgets().Layout(width="170px")
    )


def button(words: str, does: Any, tip: str = "") -> Any:
    """A button that calls `does()`."""
    made = widgets().Button(description=words, tooltip=tip, layout=widgets().Layout(width="auto"))
    made.on_click(lambda _: does())
    return made


def row(*items: Any) -> Any:
    """Controls side by side; those that do not fit go to the next line."""
    return widgets().HBox(items, layout=widgets().Layout(flex_flow="row wrap", overflow="visible"))


def beside(*figures: "Figure", columns: int = 2) -> "Figure":
    """Several figures in one, `columns` side by side; each keeps its size."""
    import io

    import numpy as np
    from matplotlib.image import imread

    from contrast_kit.plots.figure import Figure

    pictures = [imread(io.BytesIO(figure._repr_png_())) for figure in figures]  # [height, width, 4] each
    lines = [pictures[i : i + columns] for i in range(0, len(pictures), columns)]
    height = sum(max(picture.shape[0] for picture in line) for line in lines)
    width = max(sum(picture.shape[1] for picture in line) for line in lines)
    page, top = np.ones((height, width, 4), dtype=np.float32), 0
    for line in lines:
        left = 0
        for picture in line:
            high, wide = picture.shape[:2]
            page[top : top + high, left : left + wide] = picture
            left += wide
        top += max(picture.shape[0] for picture in line)
    whole = Figure(figsize=(width / 110, height / 110), dpi=110)
    axes = whole.add_axes((0, 0, 1, 1))  # not figimage: a notebook shows no figure without axes
    axes.imshow(page, interpolation="none")
    axes.axis("off")
    return whole


def _layout(width: str) -> dict[str, Any]:
    return {"style": {"description_width": "initial"}, "layout": widgets().Layout(width=width)}
