"""Milliseconds that the page of a panel takes for a frame, in a real Chromium, without a notebook around it."""

import base64
import shutil
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

# A model of the few methods that a widget's script needs, the panel, and its slider moved once a frame. What is timed
# is the script's own work (it says so itself), and the time from one frame to the next.
PLAY = """async ({ script, state, bytes, frames }) => {
    for (const [name, data] of Object.entries(bytes)) {
        state[name] = new DataView(Uint8Array.from(atob(data), c => c.charCodeAt(0)).buffer);
    }
    const set = (name, value) => { state[name] = value; };
    const model = { get: name => state[name], set, on() {}, save_changes() {} };
    const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
    (await import(url)).default.render({ model, el: document.body });
    [...document.querySelectorAll('button')].find(each => each.textContent === 'before ↔ after').click();
    const [slider, canvas] = ['input', 'canvas'].map(part => document.querySelector(`.ck-map-between ${part}`));
    const drawn = [], apart = [];
    let last = 0;
    for (let k = 0; k < frames; k++) {
        const now = await new Promise(requestAnimationFrame);
        if (last) apart.push(now - last);
        last = now;
        slider.value = 0.5 - 0.5 * Math.cos(k / 15);
        slider.dispatchEvent(new Event('input'));
        if (canvas.dataset.ms) drawn.push(Number(canvas.dataset.ms));
    }
    return { drawn, apart };
}"""


def of_the_morph(panel: Any, frames: int = 180) -> dict[str, list[float]]:
    """Milliseconds of drawing, and between frames, while a map of two encoders moves from one to the other.

    Raises an ImportError or a RuntimeError where there is no browser to ask.
    """
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise RuntimeError("There is no Chromium on this machine: frames are not timed.")
    widget = panel.map
    names = [name for name, trait in widget.traits(sync=True).items() if not name.startswith("_")]
    state = {name: getattr(widget, name) for name in names if name not in ("layout", "tooltip", "tabbable", "xy")}
    asked = {"script": str(widget._esm), "state": state, "bytes": {"xy": base64.b64encode(widget.xy).decode()}}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto("data:text/html,<!doctype html><body></body>")
        seen = page.evaluate(PLAY, asked | {"frames": frames})
        browser.close()
    return seen
