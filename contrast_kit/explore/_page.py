"""A panel as a page of its own, without Python: its state, its scripts and a small model between them."""

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

KIND = "application/vnd.contrast-kit.panel"
"""In a stored notebook: what a website needs to bring the panel to life, as JSON on one line. Programs that do not know
it show the figure."""
HERE = Path(__file__).parent
KINDS = {
    "SelectionSlider": "stops",
    "Dropdown": "choice",
    "FloatSlider": "range",
    "BoundedIntText": "count",
    "Text": "text",
}
"""The controls of ipywidgets, as page.js calls them."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="data:,">
<style>
html {{ color-scheme: light dark; }}
body {{ margin: 0 auto; padding: 20px; max-width: 960px; background: var(--page, white); }}
h1 {{ font: 600 22px system-ui, sans-serif; margin: 0 0 14px; color: var(--pst-color-text-base, #222832); }}
[data-theme=dark] {{ --page: #14181E; --pst-color-text-base: #E4E6E8; }}
</style>
<script>
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => {{ document.documentElement.dataset.theme = dark.matches ? "dark" : "light"; }};
dark.addEventListener("change", follow);
follow();
</script></head>
<body><h1>{title}</h1>
{panel}
</body></html>
"""

LEFT_BEHIND = """<style>
body:has(.{name}:not(.jupyter-widgets-disconnected)) .{name}-left, .{name}.jupyter-widgets-disconnected,
.jp-OutputArea-child:has(+ * .{name}-left) > .jupyter-widgets:not(:has(*)) {{ display: none !important; }}
</style>
<div class="{name}-left">
<p>This panel is a picture now, since its kernel is gone: <b>run this cell again</b>.</p>{picture}
</div>"""
"""Below a live panel, and seen only where the panel is not: after a restart, in a saved notebook opened again."""


def scripts(*names: str) -> str:
    """The text of a panel's scripts: the files of these names, one after the other."""
    return "\n".join((HERE / f"{name}.js").read_text("utf-8") for name in names)


def exported(panel: Any) -> dict[str, Any]:
    """What a page needs from this panel, as JSON can hold it: the names of its scripts, its state, its controls.

    Raises a ValueError for a panel that cannot answer without Python.
    """
    if not panel.stand_in:
        raise ValueError(
            f"{type(panel).__name__} needs Python to answer, so a page can hold only its figure."
        )
    view = panel.view
    controls = []
    for name, (widget, _) in panel.handles.items():
        if widget is not view:
            controls.append({"name": name, **_control(widget)})
    state = {name: getattr(view, name) for name in view.shared} | panel.state
    return {
        "scripts": [list(panel.script), [panel.stand_in]],
        "state": _plain(state | panel.page_state()),
        "controls": controls,
        "words": html.unescape(re.sub(r"<[^>]*>", "", panel.words())),
    }


def stored(panel: Any) -> str:
    """What is kept of a panel in a notebook: `exported`, as one line of text."""
    return json.dumps(exported(panel), ensure_ascii=False, separators=(",", ":"))


def left_behind(name: str, picture: bytes | None) -> str:
    """HTML that a notebook shows in place of the panel whose widget has the class `name`, where that is gone."""
    image = ""
    if picture is not None:
        image = f'<img alt="" src="data:image/png;base64,{base64.b64encode(picture).decode()}">'
    return LEFT_BEHIND.format(name=name, picture=image)


def fragment(kept: str, name: str, still: str = "") -> str:
    """The HTML that lets a `stored` panel live inside a page; `still` stands there where scripts are off."""
    kept = json.loads(kept)
    state = {"state": kept["state"], "controls": kept["controls"]}
    state = json.dumps(state, ensure_ascii=False).replace("<", "\\u003c")
    picture, numbers = (_inside(*files) for files in kept["scripts"])
    script = f"""(() => {{
"use strict";
{scripts("shared", "page")}
const picture = (() => {{ {picture}
}})(), numbers = (() => {{ {numbers}
}})();
alone(document.getElementById("{name}"), picture, numbers, {state});
}})();"""
    # A script ends at the first "</script", wherever it stands.
    script = script.replace("</script", "<\\/script")
    return (
        f'<div class="ck-page" id="{name}">{still}</div>\n<script>\n{script}\n</script>'
    )


def _inside(*names):
    """Scripts as the body of a function that returns what the module exports."""
    return re.sub(r"^export default ", "return ", scripts(*names), flags=re.MULTILINE)


def _plain(value):
    """As JSON can hold it. Arrays go as bytes in base64: float16 as halves, other numbers as float32."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        kind, name = (
            ("<f2", "$halves") if value.dtype == np.float16 else ("<f4", "$floats")
        )
        return {name: base64.b64encode(value.astype(kind).tobytes()).decode()}
    return value


def _control(widget):
    """How the page shows a control of ipywidgets."""
    made = {"label": widget.description, "kind": KINDS[type(widget).__name__]}
    traits = [name for name in ("options", "min", "max", "step") if hasattr(widget, name)]
    return made | {name: _plain(getattr(widget, name)) for name in traits}
