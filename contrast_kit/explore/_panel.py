"""What every panel has: controls, a state that Python reads and sets, a static figure, a page without Python."""

import html
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from contrast_kit._util import choose, shown
from contrast_kit.data.texts import special_ids
from contrast_kit.explore import _page

STATIC = "CONTRAST_KIT_PANELS"  # in the environment: "static" stores figures only
TEMPERATURES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)


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
    * `panel.to_html("circle.html")` writes a page for a lecture: it needs neither Python nor a network. Only panels
      whose class names a `script` (the picture) and a `stand_in` (what Python computes, again) can live there.

    A subclass makes its controls and its `view`, calls `assemble`, and implements `show()`, `words()` and `figure()`.
    """

    script: tuple[str, ...] = ()
    """The files that draw, after shared.js; the widget made of them is `self.view`."""
    stand_in = ""
    """The file that computes in a page what Python computes in a notebook."""
    view: Any = None

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
        self._setting = False
        w = widgets()
        self.line = w.HTML()
        parts = []
        for row in rows:
            items = [controls[item] if isinstance(item, str) else item for item in row]
            layout = w.Layout(flex_flow="row wrap", overflow="visible")
            parts.append(w.HBox(items, layout=layout))
        if self.view is not None:
            parts.append(self.view)
        layout = w.Layout(width="100%", max_width="960px", overflow="visible")
        self.widget = w.VBox([*parts, self.line], layout=layout)
        self.draw()
        for widget, trait in self.handles.values():
            widget.observe(self._on_move, names=trait)

    def figure(self) -> Any:
        """The static figure of the current state."""

    def show(self) -> None:
        """Send the numbers of the current state to the view. A ValueError (half-typed input) keeps the last ones."""

    def words(self) -> str:
        """A sentence (HTML) with the numbers of the picture."""

    def page_state(self) -> dict[str, Any]:
        """What a page needs beside the controls and the traits of the view."""
        return {}

    def draw(self) -> None:
        """Redraw the panel for the current state; what fails is said on it, since nobody would see it elsewhere."""
        try:
            self.show()
            words = self.words()
        except Exception as error:
            words = html.escape(str(error) or type(error).__name__)
        self.line.value = f"<div aria-live='polite'>{words}</div>"

    def to_html(self, path: str | Path) -> None:
        """Write the panel as it stands into one HTML file, to be opened or sent without Python.

        >>> import tempfile
        >>> from contrast_kit.explore import loss_playground
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     loss_playground().to_html(f"{folder}/circle.html")
        """
        panel = _page.fragment(_page.stored(self), "panel")
        page = _page.PAGE.format(title=type(self).__name__, panel=panel)
        Path(path).write_text(page, encoding="utf-8")

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

    def _on_move(self, _):
        if not self._setting:
            self.draw()

    def _ipython_display_(self) -> None:
        """The widget, and below it what takes its place where its kernel is gone."""
        from IPython.display import HTML, display

        bundle = self._repr_mimebundle_()
        if os.environ.get(STATIC) == "static":
            display(bundle, raw=True)
            return
        name = f"ck-{self.widget.model_id}"
        self.widget.add_class(name)
        display(self.widget)
        display(HTML(_page.left_behind(name, bundle.get("image/png"))))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """The figure, and what a website needs to bring the panel to life."""
        bundle = {"text/plain": f"{type(self).__name__} (run this cell to touch it)"}
        with suppress(ValueError):  # there may be nothing to draw yet, or to keep alive
            bundle["image/png"] = self.figure()._repr_png_()
            if self.stand_in and os.environ.get(STATIC) == "static":
                bundle[_page.KIND] = _page.stored(self)
        return bundle


# -- widgets -----------------------------------------------------------------------------------------------------------


def view_of(scripts: Sequence[str], **traits: Any) -> Any:
    """A widget that these scripts draw in the page, with traits that Python and the page share: its `shared` ones."""
    widgets()
    import anywidget
    import traitlets

    synced = {name: traitlets.Any(value).tag(sync=True) for name, value in traits.items()}
    synced |= {"_esm": _page.scripts("shared", *scripts), "shared": tuple(traits)}
    return type("View", (anywidget.AnyWidget,), synced)()


def control(
    kind: str, name: str, value: Any, width: str = "340px", **options: Any
) -> Any:
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
    return control("FloatSlider", name, value, min=low, max=high, step=0.01)


def draw_number(value: int) -> Any:
    """A field for the number to draw by."""
    return control("BoundedIntText", "draw", value, "170px", min=0, max=10**6)


def button(words: str, does: Callable[[], Any]) -> Any:
    """A button that calls `does()`."""
    made = widgets().Button(description=words, layout=widgets().Layout(width="auto"))
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
