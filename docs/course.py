"""The stored notebooks as pages: solutions and answers folded, panels live, figures with words."""

import base64
import copy
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

import nbformat

from contrast_kit.explore import _page

Notebook = nbformat.NotebookNode
FOLDED = {"solution": "hide-cell"}
"""A tag of the course, and the tag that folds a cell on the page."""
HIDDEN = {"source_hidden": "hide-input", "outputs_hidden": "hide-output"}
"""What JupyterLab folds of a cell, and the tag that folds it on the page: an answer waits until it is asked for."""


def read(folder: Path) -> dict[str, Notebook]:
    """The notebooks of a folder by name, in order."""
    return {path.stem: nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))}


def write(course: dict[str, Notebook], source: Path) -> None:
    """Each notebook as the page's version of it, in source/notebooks."""
    (source / "notebooks").mkdir()
    for name, notebook in course.items():
        nbformat.write(as_page(notebook, name), source / "notebooks" / f"{name}.ipynb")


def as_page(notebook: Notebook, name: str) -> Notebook:
    """A copy in which solutions and hidden outputs are folded, and panels live."""
    page = copy.deepcopy(notebook)
    panels = 0
    for cell in page.cells:
        # The site's anchors are in lower case; JupyterLab's are written like the heading.
        cell.source = re.sub(r"\]\((\w+\.md[#\w-]*)\)", lambda link: f"](../{link[1].lower()})", cell.source)
        tags = cell.metadata.get("tags", [])
        cell.metadata["tags"] = tags + [FOLDED[tag] for tag in tags if tag in FOLDED]
        hidden = cell.metadata.get("jupyter", {})
        cell.metadata["tags"] += [tag for key, tag in HIDDEN.items() if hidden.get(key)]
        for output in cell.get("outputs", []):
            if _page.KIND in output.get("data", {}):
                panels += 1
                output["data"] = {"text/html": living(output, f"panel-{name}-{panels}")}
    return page


def living(output: Notebook, name: str) -> str:
    """The HTML of a stored panel, with its figure where scripts are off."""
    picture, words = output["data"]["image/png"].replace("\n", ""), html.escape(described(output))
    still = f'<noscript><img alt="{words}" src="data:image/png;base64,{picture}"></noscript>'
    return _page.fragment(output["data"][_page.KIND], name, still)


def figures(course: dict[str, Notebook]):
    """Every stored figure: the notebook's name, the section's title, the cell, the output, its place in the cell."""
    for name, notebook in course.items():
        section = ""
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                section = ([section] + re.findall(r"^#+ (.*)", cell.source, re.MULTILINE))[-1]
            shown = [output for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
            for place, output in enumerate(shown):
                yield name, section, cell, output, place


def alternatives(course: dict[str, Notebook]) -> dict[str, str]:
    """The words for each figure where it cannot be seen, by the hash that the page names it with."""
    return {key(output): words(section, cell, output, place) for _, section, cell, output, place in figures(course)}


def key(output: Notebook) -> str:
    """The name that myst-nb gives the file of a picture."""
    return hashlib.sha256(base64.b64decode(output["data"]["image/png"])).hexdigest()


def described(output: Notebook) -> str:
    """What the figure said of itself when it was stored (plots.Figure does, and a panel), or nothing."""
    own = output.get("metadata", {}).get("image/png", {}).get("alt", "")
    return own or json.loads(output["data"].get(_page.KIND, "{}")).get("words", "")


def words(section: str, cell: Notebook, output: Notebook, place: int) -> str:
    """The author's words (`alt` in the cell's metadata: one text, or one for each figure), or the figure's own.

    Where there are neither, what is known of it: the call that drew it and the section it is in.
    """
    given: Any = cell.metadata.get("alt") or described(output)
    if isinstance(given, list):
        given = given[place] if place < len(given) else ""
    if given:
        return str(given)
    calls = re.findall(r"(?:plots|explore)\.(\w+)\(", cell.source)
    drawn = f"drawn by {', '.join(dict.fromkeys(calls))}" if calls else "drawn by the code above it"
    return f"Figure of the section “{section}”, {drawn}."
