"""Make the website of the course from what is stored: python docs/build.py [FOLDER]. Nothing is run, nothing fetched.

The pages are written to FOLDER/source (course.py, api.py, pages.py), and Sphinx makes FOLDER/html of them. Its warnings
go to FOLDER/warnings.txt; check.py demands that there be none. FOLDER is build/site by default.
"""

import json
import shutil
import sys
import time
from pathlib import Path

import api
import course
import lean
import pages

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def write_source(source: Path) -> None:
    """All pages as Sphinx reads them."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    stored = course.read(ROOT / "notebooks")
    course.write(stored, source)
    api.write(source / "api")
    pages.write(stored, ROOT, source)
    (source / "alternatives.json").write_text(json.dumps(course.alternatives(stored)), encoding="utf-8")


def main(folder: Path) -> int:
    """Write the pages, let Sphinx build them, say how long it took and how large it is."""
    from sphinx.cmd.build import main as sphinx

    start, source, html = time.perf_counter(), folder / "source", folder / "html"
    write_source(source)
    shutil.rmtree(html, ignore_errors=True)
    made = ["-q", "-b", "html", "-c", DOCS, "-d", folder / "doctrees", "-w", folder / "warnings.txt", "-j", "2"]
    code = sphinx([str(part) for part in (*made, "-E", source, html)])
    for path in (ROOT / "notebooks").glob("*.ipynb"):  # a download is the notebook itself, not the page's version
        shutil.copy(path, html / "_sources" / "notebooks" / path.name)
    for path in html.rglob("*.map"):  # for people who work on the theme's own scripts
        path.unlink()
    lean.without_ballast(html)
    megabytes = sum(path.stat().st_size for path in html.rglob("*") if path.is_file()) / 1e6
    print(f"{html / 'index.html'}: {megabytes:.1f} MB in {time.perf_counter() - start:.0f} s")
    return code


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()))
