"""What the stored notebooks look like to someone who reads them on a plain web page, without running them.

That they also run is `make test`'s last step (nbval); what is checked here would pass there unnoticed.
"""

import operator
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

import contrast_kit as ck

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@cache  # no test changes what it reads
def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request) -> nbformat.NotebookNode:
    return read(request.param)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.source.strip()
    ]


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def has_image(output: nbformat.NotebookNode) -> bool:
    return "image/png" in output.get("data", {})


def test_is_valid(notebook):
    nbformat.validate(notebook)


def test_stored_run_is_one_run_from_top_to_bottom(notebook):
    cells = [cell for cell in code_cells(notebook) if "nbval-skip" not in tags(cell)]
    assert cells and outputs(notebook)
    counts = [cell.execution_count for cell in cells]
    assert None not in counts, f"never run: {cells[counts.index(None)].source[:80]!r}"
    assert counts == sorted(set(counts)) and counts[0] == 1, f"run out of order: {counts}"


def test_no_stored_error_but_the_announced_ones(notebook):
    for cell in code_cells(notebook):
        errors = [
            output.ename for output in cell.outputs if output.output_type == "error"
        ]
        announced = "raises-exception" in tags(cell)
        assert bool(errors) == announced, (
            f"{errors or 'no error'} stored below {cell.source[:80]!r}"
        )


def test_panels_are_stored_as_their_figures(notebook):
    """A widget is gone with its kernel: a page would say "model not found" where `make notebooks` leaves a picture."""
    for cell in code_cells(notebook):
        shown = [kind for output in cell.outputs for kind in output.get("data", {})]
        told = f"store it with CONTRAST_KIT_PANELS=static: {cell.source[:80]!r}"
        assert "application/vnd.jupyter.widget-view+json" not in shown, told


def test_checked_cells_have_something_to_check(notebook):
    checked = [
        cell for cell in code_cells(notebook) if "nbval-check-output" in tags(cell)
    ]
    assert checked, (
        "no cell is compared with its stored output: nothing would notice a changed number"
    )
    for cell in checked:
        # nbval does not compare pictures or streams to stderr: a checked cell needs text.
        texts = [
            o
            for o in cell.outputs
            if o.get("name") == "stdout" or "text/plain" in o.get("data", {})
        ]
        assert texts, f"no stored text to compare with: {cell.source[:80]!r}"


def test_figures_are_stored_as_png(notebook):
    draws = [
        cell
        for cell in code_cells(notebook)
        if re.search(r"\bplots\.\w+\(|\bplt\.\w+\(", cell.source)
    ]
    assert not draws or any(map(has_image, outputs(notebook))), (
        "figures are drawn but none is stored"
    )
    for output in outputs(notebook):
        drawn = output.get("data", {}).get("image/svg+xml", "")
        assert not drawn or 'aria-label="' in drawn, (
            "figures are PNG, and schematics say in words what they show"
        )


def test_first_code_cell_announces_the_speed(notebook):
    first = code_cells(notebook)[0].source
    assert re.search(r'^SPEED = .*"tour"', first, re.MULTILINE), (
        "the first code cell sets SPEED, stored as tour"
    )


def test_code_fits_a_screen(notebook):
    for cell in code_cells(notebook):
        lines = cell.source.splitlines()
        assert len(lines) <= 16, f"{len(lines)} lines: {cell.source[:80]!r}"
        assert max(map(len, lines)) <= 88, max(lines, key=len)


def test_no_widget_state_is_stored(notebook):
    assert "widgets" not in notebook.metadata, (
        "hundreds of KB that no page shows: strip metadata.widgets"
    )


def test_tags_are_lower_case(notebook):
    for cell in notebook.cells:
        for tag in tags(cell):
            # nbval silently ignores the upper-case form of its own tags.
            assert re.fullmatch(r"[a-z]+(-[a-z]+)*", tag), (
                f"tag {tag!r} of {cell.source[:60]!r}"
            )


def test_words_link_to_the_glossary_and_are_there(notebook):
    page = (NOTEBOOKS[0].parent / "glossary.md").read_text("utf-8")
    # JupyterLab's name of a heading keeps its letters and has hyphens for spaces.
    words = {
        heading.replace(" ", "-")
        for heading in re.findall(r"^### (.+)$", page, re.MULTILINE)
    }
    text = "\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )
    linked = re.findall(r"\]\(glossary\.md#([^)]*)\)", text)
    assert linked and set(linked) <= words
    assert len(linked) == len(set(linked)), "a word is linked where it is met first"


def test_the_glossary_leads_somewhere():
    folder = NOTEBOOKS[0].parent
    page = (folder / "glossary.md").read_text("utf-8")
    words = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert len(words) == len(set(words)) and words == sorted(words, key=str.lower)
    for link in re.findall(r"\]\(([^)]+)\)", page):
        name, _, word = link.partition("#")
        assert (
            (folder / name).is_file()
            if name
            else word in {heading.replace(" ", "-") for heading in words}
        ), link
    for name in re.findall(r"`ck\.([\w.]+)`", page):
        assert operator.attrgetter(name)(ck), name
