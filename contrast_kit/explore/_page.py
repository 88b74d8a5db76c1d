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
# Beginnings of the names of ipywidgets' own traits.
KEPT = ("_", "layout", "tooltip", "tabbable", "comm")

CONTROLS = {
    "SelectionSlider": ("stops",),
    "Dropdown": ("choice",),
    "FloatSlider": ("range", "min", "max", "step"),
    "BoundedIntText": ("count", "min", "max"),
    "Text": ("text",),
}
"""The controls that page.js knows, and what it needs of each."""

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
    more = panel.page_state()
    state = (
        {}
        if view is None
        else {name: getattr(view, name) for name in view.traits(sync=True)}
    )
    state = {name: value for name, value in state.items() if not name.startswith(KEPT)}
    controls = []
    for name, (widget, trait) in panel.handles.items():
        if widget is not view:
            state[name] = getattr(widget, trait)
            locked = name in more.get("locked", ())
            controls.append({"name": name, **_control(widget), "locked": locked})
    return {
        "scripts": [list(panel.script), [panel.stand_in]],
        "state": _plain(state | more),
        "controls": controls,
        "words": html.unescape(re.sub(r"<[^>]*>", "", panel.words())),
    }


def stored(panel: Any) -> str:
    """What is kept of a panel in a notebook: `exported`, as one line of text."""
    return json.dumps(exported(panel), ensure_ascii=False, separators=(",", ":"))


def fragment(given: dict[str, Any] | str, name: str, still: str = "") -> str:
    """The HTML that lets an exported panel live inside a page; `still` stands there where scripts are off."""
    given = json.loads(given) if isinstance(given, str) else given
    state = {"state": given["state"], "controls": given["controls"]}
    state = json.dumps(state, ensure_ascii=False).replace("<", "\\u003c")
    defined = ""
    for part, files in zip(("picture", "numbers"), given["scripts"], strict=True):
        defined += f"const {part} = (() => {{\n{_inside(*files)}\n}})();\n"
    start = f'alone(document.getElementById("{name}"), picture, numbers, {state});'
    script = f'(() => {{\n"use strict";\n{scripts("shared", "page")}\n{defined}\n{start}\n}})();'
    # A script ends at the first "</script", wherever it stands.
    script = script.replace("</script", "<\\/script")
    return (
        f'<div class="ck-page" id="{name}">{still}</div>\n<script>\n{script}\n</script>'
    )


def document(panel: Any, title: str | None = None) -> str:
    """A whole page for this panel: a live one, or where that is impossible, its figure and its sentence."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(panel).__name__).capitalize()
    title = html.escape(title or name)
    try:
        shown = fragment(exported(panel), "panel")
    except ValueError:
        picture = base64.b64encode(panel.figure()._repr_png_()).decode()
        image = f'<img alt="{title}" style="max-width:100%" src="data:image/png;base64,{picture}">'
        shown = f"{image}<p>{panel.words()}</p>"
    return PAGE.format(title=title, panel=shown)


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
    kind, *traits = CONTROLS[type(widget).__name__]
    made = {"label": widget.description, "kind": kind}
    if kind in ("stops", "choice"):
        made["options"] = [
            list(each) if isinstance(each, tuple) else [each, each]
            for each in widget.options
        ]
    if kind == "range":
        made["digits"] = 2
    names = {"min": "low", "max": "high", "step": "step"}
    return made | {names[trait]: getattr(widget, trait) for trait in traits}
