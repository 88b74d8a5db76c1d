"""Is the built site whole? python docs/check.py [FOLDER], in a real browser without a network.

Checked on every page: no warning while it was built, no request that leaves the site, no error in the console, every
formula set, no dead link inside the site, words for every figure, live panels, no sideways scrolling at 1,000 pixels or
on a telephone.
"""

import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

WIDTHS = (1000, 390)
LARGEST = 32e6
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ASKED = """() => {
    const figures = [...document.querySelectorAll('article img, main img')];
    const links = [...document.querySelectorAll('a[href]')].map(a => a.href);
    const own = new Set([...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name));
    const raw = [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'));
    const panels = [...document.querySelectorAll('.ck-page')];
    return {
        links, own: [...own], formulas: document.querySelectorAll('mjx-container').length,
        raw: raw.map(e => e.textContent.slice(0, 60)),
        wrong: [...document.querySelectorAll('mjx-merror, [data-mjx-error]')].map(e => e.textContent.slice(0, 60)),
        wordless: figures.filter(i => !i.hasAttribute('alt') || !(i.alt.trim() || i.closest('.ck-course')))
            .map(i => i.src),
        figures: figures.length, weak: figures.filter(i => /^Figure of the section/.test(i.alt)).length,
        dead: panels.filter(p => !p.querySelector('.ck-panel')).map(p => p.id), panels: panels.length,
    };
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site; says nothing."""

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder at an address of this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield "http:" + f"//127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def complaints(folder: Path, chromium: str) -> tuple[list[str], dict[str, int]]:
    """What is wrong with the site, one line each, and what was counted."""
    from playwright.sync_api import sync_playwright

    html, found = folder / "html", []
    found += [f"warning: {line}" for line in (folder / "warnings.txt").read_text("utf-8").splitlines()]
    size = sum(path.stat().st_size for path in html.rglob("*") if path.is_file())
    if size > LARGEST:
        found.append(f"the site has {size / 1e6:.1f} MB; {LARGEST / 1e6:.0f} are the limit")
    names = sorted(path.relative_to(html).as_posix() for path in html.rglob("*.html") if "_static" not in path.parts)
    seen: dict[str, dict] = {}
    with served(html) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_context(viewport={"width": WIDTHS[0], "height": 900}).new_page()
        page.set_default_timeout(120_000)  # machines that build sites are slow and shared
        now = [""]
        page.on("request", lambda asked: asked.url.startswith((address, "data:", "blob:"))
                or found.append(f"{now[0]}: asks for {asked.url}"))  # fmt: skip
        page.on("requestfailed", lambda asked: "ABORTED" in str(asked.failure)  # the next page was opened meanwhile
                or found.append(f"{now[0]}: not there: {asked.url}"))  # fmt: skip
        page.on("response", lambda got: got.status < 400 or found.append(f"{now[0]}: {got.status} for {got.url}"))
        page.on("pageerror", lambda error: found.append(f"{now[0]}: {error}"))
        page.on("console", lambda said: said.type == "error" and found.append(f"{now[0]}: {said.text}"))
        for name in names:
            now[0] = name
            seen[name] = look(page, address, name, found)
        browser.close()
    for name, what in seen.items():
        found += [f"{name}: dead link {link}" for link in dead(name, what["links"], seen, html, address)]
    counts = {key: sum(what[key] for what in seen.values()) for key in ("formulas", "figures", "weak", "panels")}
    return found, {"pages": len(names), **counts, "bytes": size}


def look(page: Any, address: str, name: str, found: list[str]) -> dict[str, Any]:
    """Open a page, wait until its formulas are set, and examine it."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(address + name)
    if page.evaluate("() => !!document.querySelector('.math')"):
        page.wait_for_function("() => window.MathJax?.startup?.promise", timeout=60_000)
        page.evaluate("() => MathJax.startup.promise")
    what = page.evaluate(ASKED)
    for key, words in {"raw": "a formula that is not set", "wrong": "a formula that cannot be read",
                       "wordless": "a figure without words", "dead": "a panel that does not live"}.items():  # fmt: skip
        found += [f"{name}: {words}: {each}" for each in what[key]]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if (needs := page.evaluate("() => document.documentElement.scrollWidth")) > width:
            found.append(f"{name}: {needs} pixels wide in a window of {width}")
    return what


def dead(name: str, links: list[str], seen: dict[str, dict], html: Path, address: str) -> list[str]:
    """Links inside the site that lead to no page, no file or no place of a page."""
    found = []
    for link in dict.fromkeys(links):
        if not link.startswith(address):
            continue
        path, place = urldefrag(link.removeprefix(address))
        path = unquote(path.split("?")[0]) or "index.html"
        there = path in seen and (not place or unquote(place) in seen[path]["own"])
        if not there and (path in seen or not (html / path).is_file()):
            found.append(link.removeprefix(address))
    return found


def main(folder: Path) -> int:
    """Print what is wrong with the site, and what was counted."""
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if chromium is None:
        print("The site was not checked: there is no Chromium here.")
        return 0
    found, counts = complaints(folder, chromium)
    for line in found:
        print(line)
    said = (
        "{pages} pages, {formulas} formulas, {figures} figures ({weak} named by their section alone), {panels} panels"
    )
    print(f"{said.format(**counts)}, {counts['bytes'] / 1e6:.1f} MB: {len(found)} complaints")
    return bool(found)


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[1]
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else root / "build" / "site").resolve()))
