"""The picture of a panel that is stored beside its widget, and shown where the widget cannot be: after reopening.

A notebook keeps a widget's name, not the widget: opened again without the kernel that had it, JupyterLab would say
"model not found". So a panel is two outputs: its figure, which hides itself while the panel is alive on the page, and
the widget, whose place is left empty while it is not.
"""

import base64
import html
import os
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contrast_kit.explore._panel import Panel

SHOWN = "CONTRAST_KIT_PANELS"  # in the environment: "static" stores figures only

PAGE = """<div class="ck-still ck-still-{name}">
<img class="{look}" alt="{words}" style="max-width: 100%" src="data:image/png;base64,{png}">
<p style="margin: 2px 0"><small>This picture was stored; run the cell to touch the panel.</small></p></div>
<style>
body:has(.ck-live-{name}) .ck-still-{name}, body:has(.ck-live-{name}) .jp-OutputArea-child:has(.ck-still-{name}),
.jp-OutputArea-child:has(.ck-still-{name}) + .jp-OutputArea-child:not(:has(.ck-live-{name})) {{ display: none; }}
[data-jp-theme-light=false] .ck-turned {{ filter: invert(.93) hue-rotate(180deg); }}
[data-jp-theme-light=false] .ck-dimmed {{ filter: brightness(.8); }}
</style>"""


class Still:
    """The stored picture of one panel."""

    def __init__(self, panel: "Panel"):
        self.panel, self.name, self.handle = panel, uuid.uuid4().hex[:12], None
        panel.widget.add_class(f"ck-live-{self.name}")

    def show(self) -> None:
        """Display the picture, and after it the widget."""
        from IPython.display import display

        bundle = self.panel._repr_mimebundle_()
        png = bundle.pop("image/png", None)
        if png is not None:
            self.handle = display(self._page(png), raw=True, display_id=True)
        display(bundle, raw=True)

    def update(self, draw: Callable[[], bytes]) -> None:
        """Put another picture in its place, if it has been shown; else nothing is drawn."""
        if self.handle is not None:
            self.handle.update(self._page(draw()), raw=True)

    def _page(self, png: bytes) -> dict[str, Any]:
        words = html.escape(f"{type(self.panel).__name__}: the panel as a picture")
        data = base64.b64encode(png).decode()
        kind = f"{type(self.panel).__name__} (run this cell to touch it)"
        return {
            "text/html": PAGE.format(name=self.name, look=self.panel.in_the_dark, words=words, png=data),
            "text/plain": kind,
        }


def wanted() -> bool:
    """False where only figures are to be stored."""
    return os.environ.get(SHOWN) != "static"
