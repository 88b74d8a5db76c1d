"""Is the built site whole? python docs/check.py [FOLDER], in a real browser without a network.

Checked on every page: no warning while it was built, no request that leaves the site, no error in the console, every
formula set and none cut off, no dead link inside the site, words for every figure, live panels, at most 600 kB, and no
sideways scrolling at 1,280 pixels, at 1,000, or on a telephone.
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

WIDTHS = (1280, 1000, 390)
LARGEST = 32e6
HEAVIEST = 600e3
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ASKED = """() => {
    const figures = [...document.querySelectorAll('article img, main img')];
    const links = [...document.querySelectorAll('a[href]')].map(a => a.href);
    const own = new Set([...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name));
    const formulas = [...document.querySelectorAll('math')];
    const cut = [...document.querySelectorAll('div.math')].filter(e => e.scrollWidth > e.clientWidth + 1);
    const panels = [...document.querySelectorAll('.ck-page')];
    return {
        links, own: [...own], formulas: formulas.length,
        raw: formulas.filter(e => /[\\\\]/.test(e.textContent) || !e.getBoundingClientRect().width && e.offsetParent)
            .map(e => e.textContent.slice(0, 60)),
        cut: cut.map(e => e.textContent.slice(0, 60)),
        wordless: figures.filter(i => !i.hasAttribute('alt') || !(i.alt.trim() || i.closest('.ck-course')))
            .map(i => i.src),
        silent: [...document.querySelectorAll('div.highlight-ipython3')].filter(e => !e.querySelector('.ck-copy'))
            .map(e => e.textContent.slice(0, 40)),
        figures: figures.length, weak: figures.filter(i => /^Figure of the section/.test(i.alt)).length,
        weight: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
            .filter(e => e.initiatorType !== 'img').reduce((sum, e) => sum + e.decodedBodySize, 0)
            - [...document.querySelectorAll('.ck-page + script')].reduce((sum, e) => sum + e.textContent.length, 0),
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
        page.on("request", lambda asked: asked.url.startswith((address, html.as_uri(), "data:", "blob:"))
                or found.append(f"{now[0]}: asks for {asked.url}"))  # fmt: skip
        page.on("requestfailed", lambda asked: "ABORTED" in str(asked.failure)  # the next page was opened meanwhile
                or found.append(f"{now[0]}: not there: {asked.url}"))  # fmt: skip
        page.on("response", lambda got: got.status < 400 or found.append(f"{now[0]}: {got.status} for {got.url}"))
        page.on("pageerror", lambda error: found.append(f"{now[0]}: {error}"))
        page.on("console", lambda said: said.type == "error" and found.append(f"{now[0]}: {said.text}"))
        for name in names:
            now[0] = name
            seen[name] = look(page, address, name, found)
        now[0] = "ledger.html"
        found += [f"the wall of claims: {line}" for line in wall(page, address)]
        now[0] = "type.html"
        found += [f"the typed sentence: {line}" for line in typed(page, address)]
        now[0] = "the search of a folder"
        page.goto((html / "search.html").as_uri() + "?q=temperature")
        page.wait_for_function("() => document.querySelectorAll('#search-results li').length > 5")
        browser.close()
    for name, what in seen.items():
        found += [f"{name}: dead link {link}" for link in dead(name, what["links"], seen, html, address)]
    counts = {key: sum(what[key] for what in seen.values()) for key in ("formulas", "figures", "weak", "panels")}
    return found, {"pages": len(names), **counts, "bytes": size}


def look(page: Any, address: str, name: str, found: list[str]) -> dict[str, Any]:
    """Open a page, wait until its formulas are set, and examine it."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(address + name)
    page.evaluate("() => document.fonts.ready")
    what = page.evaluate(ASKED)
    for key, words in {"raw": "a formula that is not set", "cut": "a formula that is cut off",
                       "silent": "code without a copy button",
                       "wordless": "a figure without words", "dead": "a panel that does not live"}.items():  # fmt: skip
        found += [f"{name}: {words}: {each}" for each in what[key]]
    if what["weight"] > HEAVIEST:
        found.append(f"{name}: {what['weight'] / 1e3:.0f} kB without figures and panels")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if (needs := page.evaluate("() => document.documentElement.scrollWidth")) > width:
            found.append(f"{name}: {needs} pixels wide in a window of {width}")
    return what


def wall(page: Any, address: str) -> Iterator[str]:
    """What is wrong with the wall of claims: tiles, filters, forest plots."""
    page.goto(address + "ledger.html")
    rows = page.evaluate("() => JSON.parse(document.querySelector('.ck-wall script').textContent).rows")
    tiles = page.locator(".ck-wall-grid > button")
    if tiles.count() != len(rows):
        yield f"{tiles.count()} tiles for {len(rows)} rows"
    tiles.nth(next(i for i, row in enumerate(rows) if row["low"] and row["printed"])).click()
    for part in ("circle", ".ck-zero", ".ck-printed"):
        if not page.locator(f".ck-wall-detail svg {part}").count():
            yield f"a forest plot without {part}"
    page.get_by_role("button", name=f"{rows[-1]['paper']} ", exact=False).first.click()
    shown = page.locator(".ck-wall-grid > button:visible").count()
    if shown != sum(row["paper"] == rows[-1]["paper"] for row in rows):
        yield f"{shown} tiles of {rows[-1]['paper']}"


def typed(page: Any, address: str) -> Iterator[str]:
    """What is wrong with the page on which one types a sentence: its maps must answer, and ask nobody."""
    page.goto(address + "type.html")
    before, after = page.locator(".ck-type figcaption").all_inner_texts()
    if "✗ the trap" not in before or "✓ the paraphrase" not in after:
        yield f"the first example shows no learning: {before}; {after}"
    page.locator(".ck-type input[type=text]").nth(1).fill("a small drum")
    if page.locator(".ck-type figcaption").nth(1).inner_text() == after:
        yield "another sentence changes nothing"
    page.locator(".ck-type input[type=range]").fill("0")
    titles = page.locator(".ck-type h4").all_inner_texts()
    if len(set(titles)) != 1 or len(set(page.locator(".ck-type figcaption").all_inner_texts())) != 1:
        yield f"at step 0 the two maps differ: {titles}"


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
