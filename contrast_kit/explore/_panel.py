"""What every panel has: controls, a state that Python reads and sets, a static figure, a page without Python."""

import base64
import html
import io
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from contrast_kit._util import choose, shown
from contrast_kit.data.texts import special_ids
from contrast_kit.explore import _page

STATIC = "CONTRAST_KIT_PANELS"  # in the environment: "static" stores figures only
TEMPERATURES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)

STORED = """<div class="ck-still ck-still-{name}">
<img class="{look}" alt="{words}" style="max-width: 100%" src="data:image/png;base64,{png}">
<p style="margin: 2px 0"><small>This picture was stored; run the cell to touch the panel.</small></p></div>
<style>
body:has(.ck-live-{name}) .ck-still-{name}, body:has(.ck-live-{name}) .jp-OutputArea-child:has(.ck-still-{name}),
.jp-OutputArea-child:has(.ck-still-{name}) + .jp-OutputArea-child:not(:has(.ck-live-{name})) {{ display: none; }}
[data-jp-theme-light=false] .ck-turned {{ filter: invert(.93) hue-rotate(180deg); }}
[data-jp-theme-light=false] .ck-dimmed {{ filter: brightness(.8); }}
</style>"""


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

    * To use it, make the panel the last line of a cell.
    * `panel.set(tau=0.1)` moves a slider from Python, `panel.state` reads them all.
    * `panel.figure()` is the picture for the current state, made by `ck.plots`; it is also stored beside the widget, so
      that a page that cannot show widgets shows it. With `CONTRAST_KIT_PANELS=static` in the environment, the figure is
      all that is shown: this is how the notebooks of the course are stored.
    * `panel.to_html("circle.html")` writes a page for a lecture: it needs neither Python nor a network. A panel whose
      class names a `script` (the picture) and a `stand_in` (what Python computes, again) is live there; for the
      others the page holds the figure.

    A subclass makes its controls and its `view`, calls `assemble`, and implements `show()`, `words()` and `figure()`.
    """

    script: tuple[str, ...] = ()
    """The files that draw, after shared.js; the widget made of them is `self.view`."""
    stand_in = ""
    """The file that computes in a page what Python computes in a notebook."""
    view: Any = None
    in_the_dark = "ck-turned"
    """What a dark theme does to the picture: light and dark change places, or "ck-dimmed", where colours matter."""

    def assemble(
        self,
        controls: Mapping[str, Any],
        *rows: Sequence[Any],
        traits: Sequence[str] = (),
    ) -> None:
        """Stack the rows of widgets and the view, with a sentence below, and redraw whenever a control moves.

        Args:
            controls: the widgets whose `value` is part of the state, by name; each becomes an attribute of the panel.
            rows: what stands side by side, above the view: names of controls, or other widgets.
            traits: those of the view that are part of the state.
        """
        vars(self).update(controls)
        self.handles = {name: (widget, "value") for name, widget in controls.items()}
        self.handles |= {name: (self.view, name) for name in traits}
        self.name = uuid.uuid4().hex[:12]
        self._stored = None  # the figure beside the widget, once it is on a page
        self._setting = False
        w = widgets()
        self.line = w.HTML()
        self.line.add_class("ck-words")
        parts = []
        for row in rows:
            layout = w.Layout(flex_flow="row wrap", overflow="visible")
            items = [controls[item] if isinstance(item, str) else item for item in row]
            parts.append(w.HBox(items, layout=layout))
        if self.view is not None:
            parts.append(self.view)
        layout = w.Layout(width="100%", max_width="960px", overflow="visible")
        self.widget = w.VBox([*parts, self.line], layout=layout)
        self.widget.add_class(f"ck-live-{self.name}")
        self.draw()
        for widget, trait in self.handles.values():
            widget.observe(self._on_move, names=trait)

    def figure(self) -> Any:
        """The static figure of the current state."""

    def show(self) -> None:
        """Send the numbers of the current state to the view. A ValueError (half-typed input) keeps the last ones."""

    def words(self) -> str:
        """A sentence (HTML) with the numbers of the picture."""
        return ""

    def page_state(self) -> dict[str, Any]:
        """What a page needs beside the controls and the traits of the view."""
        return {}

    def draw(self) -> None:
        """Redraw the panel for the current state."""
        try:
            self.show()
            self._say(self.words())
        except ValueError as error:
            self.line.value = html.escape(str(error))

    def to_html(self, path: str | Path, title: str | None = None) -> Path:
        """Write the panel as it stands into one HTML file, to be opened or sent without Python. Returns its path.

        >>> import tempfile
        >>> from contrast_kit.explore import loss_playground
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = loss_playground().to_html(f"{folder}/circle.html", title="Who pulls whom")
        ...     "<h1>Who pulls whom</h1>" in page.read_text()
        True
        """
        path = Path(path).expanduser()
        path.write_text(_page.document(self, title), encoding="utf-8")
        return path

    @property
    def state(self) -> dict[str, Any]:
        """The value of every control, by name."""
        return {
            name: getattr(widget, trait) for name, (widget, trait) in self.handles.items()
        }

    def set(self, **values: Any) -> Self:
        """Set controls from Python, as if by hand; the picture is redrawn once, at the end. Returns the panel.

        Raises a ValueError for a control that is not there, or a value that it cannot take.
        """
        self._setting = True
        try:
            for name, value in values.items():
                widget, trait = choose(self.handles, name, "control")
                setattr(widget, trait, value)
                if getattr(widget, trait) != value:  # a slider stops at its ends
                    raise ValueError(f"{name} cannot be {shown(value)}.")
        finally:
            self._setting = False
            self.draw()
        return self

    def _on_move(self, change):
        if not self._setting:
            try:
                self.draw()
            except (
                Exception
            ) as error:  # raised in answer to the page, it would be seen by nobody
                self._say(f"<b>{type(error).__name__}</b>: {html.escape(str(error))}")

    def _say(self, words):
        self.line.value = f"<div style='line-height:1.5' aria-live='polite'>{words}</div>"

    # -- in a notebook: a stored figure, which hides itself while the panel is alive on the page, and the widget. For a
    # notebook keeps a widget's name only: opened again without its kernel, JupyterLab would say "model not found".

    def _ipython_display_(self):
        if _static():
            raise NotImplementedError  # IPython then asks for the bundle
        from IPython.display import display

        bundle = self._repr_mimebundle_()
        png = bundle.pop("image/png", None)
        if png is not None:
            self._stored = display(self._as_stored(png), raw=True, display_id=True)
        display(bundle, raw=True)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = {"text/plain": f"{type(self).__name__} (run this cell to touch it)"}
        if not _static():
            bundle |= self.widget._repr_mimebundle_(**options)
        with suppress(ValueError):  # there may be nothing to draw yet, or to keep alive
            bundle["image/png"] = self.figure()._repr_png_()
            if _static() and self.stand_in:
                bundle[_page.KIND] = _page.stored(self)
        return bundle

    def update_stored(self, draw: Callable[[], bytes]) -> None:
        """Put another figure in the place of the stored one, if that is on a page; else nothing is drawn."""
        if self._stored is not None:
            self._stored.update(self._as_stored(draw()), raw=True)

    def _as_stored(self, png):
        kind = type(self).__name__
        picture = base64.b64encode(png).decode()
        words = f"{kind}: the panel as a picture"
        page = STORED.format(
            name=self.name, look=self.in_the_dark, words=words, png=picture
        )
        return {"text/html": page, "text/plain": f"{kind} (run this cell to touch it)"}


def _static():
    return os.environ.get(STATIC) == "static"


# -- widgets -----------------------------------------------------------------------------------------------------------


def view_of(scripts: Sequence[str], **traits: Any) -> Any:
    """A widget that these scripts draw in the page, with traits that Python and the page share."""
    widgets()
    import anywidget
    import traitlets

    synced = {name: traitlets.Any(value).tag(sync=True) for name, value in traits.items()}
    synced["_esm"] = _page.scripts("shared", *scripts)
    return type("View", (anywidget.AnyWidget,), synced)()


def _control(kind, name, value, width, **options):
    """A control of ipywidgets with its name beside it."""
    layout = widgets().Layout(width=width, max_width="calc(100% - 4px)")
    look = {"style": {"description_width": "initial"}, "layout": layout}
    return getattr(widgets(), kind)(value=value, description=name, **options, **look)


def slider(name: str, value: float, low: float, high: float) -> Any:
    """A slider with its number beside it."""
    if not low <= value <= high:
        raise ValueError(
            f"{name} must lie between {low:g} and {high:g}, not {shown(value)}."
        )
    limits = {"min": low, "max": high, "step": 0.01, "readout_format": ".2f"}
    return _control("FloatSlider", name, value, "340px", **limits)


def stepped_slider(
    name: str, values: Sequence[float], value: float, width: str = "340px"
) -> Any:
    """A slider that stops only at the given values, evenly spaced whatever their size."""
    options = [(f"{each:g}", each) for each in values]
    return _control("SelectionSlider", name, value, width, options=options)


def choice(name: str, options: Sequence[str], value: str, width: str = "260px") -> Any:
    """A drop-down list."""
    choose(dict.fromkeys(options), value, name)
    return _control("Dropdown", name, value, width, options=options)


def sentence_line(name: str, value: str) -> Any:
    """A line to type in."""
    return _control("Text", name, value, "700px")


def draw_number(value: int) -> Any:
    """A field for the number to draw by."""
    return _control("BoundedIntText", "draw", value, "170px", min=0, max=10**6)


def button(words: str, does: Callable[[], Any], tip: str = "") -> Any:
    """A button that calls `does()`."""
    made = widgets().Button(
        description=words, tooltip=tip, layout=widgets().Layout(width="auto")
    )
    made.on_click(lambda _: does())
    return made


def maskable_in(tokenizer: Any, sentence: str, most: int) -> tuple[Tensor, Tensor]:
    """The ids [1, T] of a typed sentence, and which of them are words. ValueError: there is none, or no room."""
    ids = torch.tensor([tokenizer(sentence)["input_ids"]])
    words = ~torch.isin(ids, torch.tensor(special_ids(tokenizer)))
    if not words.any():
        raise ValueError("Type a sentence: there is no token yet that could be masked.")
    if ids.shape[1] > most:
        raise ValueError(
            f"There is room for {most} tokens and this text has {ids.shape[1]}: take a sentence of it."
        )
    return ids, words


def joined(*figures: Any, across: bool = False) -> Any:
    """Several figures in one, below or beside one another; each keeps its size."""
    from PIL import Image

    from contrast_kit.plots.figure import Figure

    pictures = []
    for figure in figures:
        png = io.BytesIO(figure._repr_png_())
        pictures.append(np.asarray(Image.open(png).convert("RGB")))  # [H, W, 3]
    largest = np.max([picture.shape for picture in pictures], axis=0)
    axis = int(across)
    for i, picture in enumerate(pictures):
        missing = largest - picture.shape
        missing[axis] = 0
        pictures[i] = np.pad(picture, [(0, n) for n in missing], constant_values=255)
    page = np.concatenate(pictures, axis)
    height, width, _ = page.shape
    whole = Figure(figsize=(width / 110, height / 110), dpi=110)
    # Not figimage: a notebook shows no figure without axes.
    axes = whole.add_axes((0, 0, 1, 1))
    axes.imshow(page, interpolation="none")
    axes.axis("off")
    return whole
