"""The course as a website: what its pages are made of, and where its extra is installed the site itself."""

import html
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import jupyter_page
import nbformat
import pandas
import pytest
import torch

import contrast_kit as ck
from contrast_kit.data import toyshop

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXTRA = all(
    importlib.util.find_spec(name)
    for name in ("sphinx", "myst_nb", "sphinx_book_theme", "latex2mathml")
)


ANSWER = """console.log(JSON.stringify([0, 2, 4].map(i => new TinyEncoder(TYPE_MODEL, i))
    .map(encoder => [texts.map(text => encoder.pieces(text)), texts.map(text => encoder.encode(text))])))"""


@pytest.fixture(scope="module")
def docs():
    """The modules of docs/, which stand in no package."""
    sys.path.insert(0, str(DOCS))
    try:
        import api
        import check
        import course
        import lean
        import pages

        yield {module.__name__: module for module in (api, check, course, lean, pages)}
    finally:
        sys.path.remove(str(DOCS))


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=list(cells))


def figure_cell(source, png="iVBORw0KGgo=", metadata=None, **cell):
    output = nbformat.v4.new_output(
        "display_data", {"image/png": png}, metadata=metadata or {}
    )
    return nbformat.v4.new_code_cell(source, outputs=[output], metadata=cell)


# --- words for figures ---


def test_a_figure_says_what_is_written_on_it():
    history = pandas.DataFrame(
        {"step": [0, 1], "mlm": [3.0, 2.0], "contrast": [2.0, 1.0]}
    )
    figure = ck.plots.loss_curves(history, title="A short run")
    said = figure.described()
    assert said.startswith("Figure. A short run; mlm; step") and "contrast" in said
    data, metadata = figure._repr_mimebundle_()
    assert (
        data["image/png"].startswith(b"\x89PNG") and metadata["image/png"]["alt"] == said
    )
    figure.alt = "Two losses that fall."
    assert figure.described() == "Two losses that fall."


# --- notebooks as pages ---


def test_solutions_and_answers_are_folded_and_panels_live(docs, monkeypatch):
    monkeypatch.setenv("CONTRAST_KIT_PANELS", "static")
    pytest.importorskip("anywidget")
    bundle = ck.explore.loss_playground()._repr_mimebundle_()
    bundle["image/png"] = "iVBORw0KGgo="
    panel = nbformat.v4.new_code_cell(
        "panel",
        outputs=[
            nbformat.v4.new_output("execute_result", json.loads(json.dumps(bundle)))
        ],
    )
    solved = nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["solution"]})
    asked = nbformat.v4.new_code_cell(
        "y = 2", metadata={"jupyter": {"outputs_hidden": True}}
    )
    given = notebook(nbformat.v4.new_markdown_cell("# 1"), panel, solved, asked)
    page = docs["course"].as_page(given, "01_x")
    assert page.cells[2].metadata["tags"] == ["solution", "hide-cell"]
    assert page.cells[3].metadata["tags"] == [
        "hide-output"
    ]  # a closed <details> on the page
    (data,) = [output["data"] for output in page.cells[1].outputs]
    assert data.keys() == {"text/html"} and 'id="panel-01_x-1"' in data["text/html"]
    assert (
        "nt_xent = " in data["text/html"]
    )  # the words of the picture, where scripts are off
    assert given.cells[2].metadata["tags"] == [
        "solution"
    ]  # the notebook is left as it was


# --- docstrings as pages ---


def test_words_lead_to_the_glossary_of_the_site(docs):
    cell = nbformat.v4.new_markdown_cell(
        "a [view](glossary.md#view), [InfoNCE](glossary.md#InfoNCE)"
    )
    page = docs["course"].as_page(notebook(cell), "00_a")
    assert (
        page.cells[0].source
        == "a [view](../glossary.md#view), [InfoNCE](../glossary.md#infonce)"
    )
    words = docs["pages"].glossary(ROOT)
    assert "[InfoNCE](#infonce)" in words and "(notebooks/08_capt.ipynb)" in words
    assert "{py:obj}`ck.geometry.alignment <contrast_kit.geometry.alignment>`" in words


def test_a_docstring_becomes_markdown(docs):
    text = docs["api"].markdown(
        """One line with `nt_xent` and a < b.

            L = -log p

        Args:
            x: vectors [N, D],
                of any length.

        Example:
            >>> 1 + 1
            2
        """
    )
    assert "{py:obj}`nt_xent <contrast_kit.losses.nt_xent>` and a \\< b." in text
    assert (
        "```text\nL = -log p\n```" in text
        and "- `x`: vectors [N, D],\n  of any length." in text
    )
    assert "```python\n>>> 1 + 1\n2\n```" in text


def test_every_public_name_has_its_entry(docs):
    api = docs["api"]
    for room in ("contrast_kit.losses", "contrast_kit.masking"):
        page = api.page(room)
        for name in api.public(room):
            assert f"}} {room}.{name}" in page, name
    assert "docs/api.py" not in page and "contrast_kit/masking/masks.py, line" in page


# --- the index of equations ---


def test_every_equation_names_code_tests_and_pictures_that_exist(docs, tmp_path):
    pages, course = docs["pages"], docs["course"].read(ROOT / "notebooks")
    given = tomllib.loads((DOCS / "equations.toml").read_text("utf-8"))["equation"]
    text = pages.equations(course, ROOT, tmp_path)
    assert text.count("\n## ") == len(given) >= 20 and text.count("$$") == 2 * len(given)
    papers = " ".join(each["paper"] for each in given)
    assert all(paper in papers for paper in ("CMLM", "COCO-LM", "SCL", "CAPT", "SimCSE"))
    for paper, last, left_out in (
        ("CMLM", 14, {5}),
        ("COCO-LM", 4, set()),
        ("SCL", 4, set()),
        ("CAPT", 6, set()),
    ):
        numbers = re.findall(
            rf"(?<![\w-]){paper}, eq\. (\d+)(?: (and|to) (\d+))?", papers
        )
        shown = {
            n
            for a, how, b in numbers
            for n in (
                [int(a), int(b)] if how == "and" else range(int(a), int(b or a) + 1)
            )
        }
        assert shown == set(range(1, last + 1)) - left_out, paper
    printed = " ".join(each["latex"] for each in given)
    assert (
        all(f"{name}}}}}" in printed for name in ("{RTD", "{LM", "{copy"))
        and "CMLM's eq. 5" in text
    )
    for change, message in (
        (dict(code=["contrast_kit.losses.nothing"]), "does not have"),
        (dict(tests=["test_masking.py::test_nothing"]), "no test"),
        (dict(picture=["01_masking", "99 · Nowhere"]), "does not have"),
    ):
        with pytest.raises(ValueError, match=message):
            pages.equation(given[0] | change, course, ROOT, tmp_path)


def test_the_equations_of_a_function_stand_on_its_page(docs):
    page = docs["api"].page("contrast_kit.losses")
    entry = page.split("{py:function} contrast_kit.losses.nt_xent")[1]
    assert (
        r"*COCO-LM, eq. 3; CAPT, eq. 2 to 4; SCL, eq. 4*:" in entry and "$$L = -" in entry
    )
    plain = page.split("L_SCL = -E(")[0]  # what the docstring writes is folded
    assert plain.endswith("as help() writes it</summary>\n\n```text\n")


# --- what keeps a page small ---


def test_a_formula_is_set_without_a_script(docs):
    pytest.importorskip("latex2mathml")
    made = docs["lean"].numbered(r"a = \mathrm{sim}(b) \tag{CMLM 8}")
    assert "<mi>sim</mi>" in made and '<span class="ck-tag">(CMLM 8)</span>' in made
    two = docs["lean"].formula(r"\begin{aligned} a &= b \\ c &= d \end{aligned}")
    assert two.count("<mtr>") == 2 and "&#x00026;" not in two
    with pytest.raises(ValueError, match=r"\\nonsense"):
        docs["lean"].formula(r"\nonsense{a}")


def test_a_style_sheet_keeps_what_is_used(docs):
    sheet = """@import "a.css"; .a .b, .c { x: 1 } .d { no } @media (x) { .d { no } .c { z: 4 } }
    @font-face { no; Awesome } p { w: 5 }"""
    kept = docs["lean"].used(sheet, {"a", "c"})
    assert re.findall(r"import|no|[xzw]: \d", kept) == ["import", "x: 1", "z: 4", "w: 5"]


# --- a sentence typed ---


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_the_encoder_of_the_page_computes_what_torch_does(docs, tmp_path):
    """The pieces and the vectors of 100 sentences, before, while and after it was trained."""
    maker = docs["pages"].type_model
    model, texts = maker.written(), sum(toyshop.triples(32, seed=9), ())
    texts = [*texts, "Éva's café: 3+4 = 7?!", "", "☃ unknown", "not-a-word " * 6]
    code = [
        (DOCS / "static" / f"{name}.js").read_text() for name in ("type_model", "encoder")
    ]
    code += [f"const texts = {json.dumps(texts)};", ANSWER]
    (tmp_path / "page.js").write_text("\n".join(code), "utf-8")
    told = subprocess.run(["node", tmp_path / "page.js"], capture_output=True, check=True)
    for moment, (pieces, vectors) in zip((0, 2, 4), json.loads(told.stdout), strict=True):
        encoder = maker.restored(model, moment)
        assert pieces == [encoder.tokenizer(text).tokens() for text in texts]
        expected = encoder.encode(texts, normalize=True)
        torch.testing.assert_close(torch.tensor(vectors), expected, rtol=0, atol=2e-6)
        assert abs(model["moments"][moment]["share"] - maker.shares(encoder)) < 0.02


def test_the_front_takes_its_words_and_numbers_from_the_readme(docs, tmp_path):
    readme = (ROOT / "README.md").read_text("utf-8")
    course = docs["course"].read(ROOT / "notebooks")
    front = docs["pages"].front(course, ROOT, tmp_path)
    _, before, after = docs["pages"].demo(readme)
    assert f"<span>{before}</span> → <b>{after}</b>" in front and f": 0{before}" in readme
    rows = re.findall(r"\.ipynb\) \| (.*) \| (.*) \| .(.*) \|", readme)
    for level, minutes, said in rows:
        shown = f"{html.escape(said)}.</span><small>{level} · {minutes} min"
        assert shown in front
    assert len(rows) == len(course) and 'id="panel-front"' in front


# --- the wall of claims ---


def test_the_wall_has_every_row_and_knows_every_verdict(docs):
    folder = ROOT / "data" / "recorded"
    page = docs["pages"].ledger(folder)
    wall = json.loads(re.search(r"json\">(.*?)</script>", page)[1])
    assert wall["rows"] == docs["pages"].records(folder / "ledger.csv")
    assert {row["verdict"] for row in wall["rows"]} <= wall["verdicts"].keys()


# --- the whole site ---


@pytest.mark.full
@pytest.mark.browser
@pytest.mark.skipif(not EXTRA, reason="the extra [site] is not installed")
def test_the_site_is_whole(docs, tmp_path):
    """Built without a warning, and nothing to complain of in a browser."""
    if jupyter_page.CHROMIUM is None:
        pytest.skip("Chromium is not installed.")
    import build

    assert build.main(tmp_path) == 0
    found, counts = docs["check"].complaints(tmp_path, jupyter_page.CHROMIUM)
    assert not found, found
    assert counts["formulas"] > 300 and counts["pages"] > 30
