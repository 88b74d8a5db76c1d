"""The schematics: one for each method, readable everywhere, and true: who is whose negative is asked of the losses."""

import xml.etree.ElementTree as ElementTree

import jupyter_page
import pytest
import torch

import contrast_kit as ck
from contrast_kit.objectives import METHODS
from contrast_kit.plots.schematics import FILES

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", FILES)
def test_each_is_a_picture_that_needs_nothing_and_says_its_content(name):
    drawing = ck.plots.schematic(name)
    root = ElementTree.fromstring(drawing._repr_html_())
    assert (
        root.tag == f"{SVG}svg"
        and root.get("role") == "img"
        and root.get("aria-label") == drawing.alt
    )
    assert (
        root.find(f"{SVG}title").text == drawing.title
        and repr(drawing) == f"{drawing.title}: {drawing.alt}"
    )
    assert (
        "<script" not in drawing.svg and drawing.svg.count("://") == 1
    )  # the name of the format
    assert (
        "currentColor" in drawing.svg
        and "#000" not in drawing.svg
        and "prefers-color-scheme:dark" in drawing.svg
    )
    assert len(drawing.alt) > 100 and drawing.alt.endswith(".")


def test_every_method_that_pre_trains_is_drawn():
    assert set(METHODS) - {"fine-tune"} <= set(FILES)
    assert {"lxmert", "capt-pairs", "three-steps"} <= set(FILES)


# ---- who is whose negative: the drawn roles against what the library's losses do


def matrix(name):
    """The signs of the matrix in a drawing, row by row: the words that stand in its cells."""
    root = ElementTree.fromstring(ck.plots.schematic(name).svg)
    squares = [
        each
        for each in root.iter(f"{SVG}rect")
        if each.get("width") == each.get("height") == "17"
    ]
    cells = sorted((float(each.get("y")), float(each.get("x"))) for each in squares)
    signs = {}
    for text in root.iter(f"{SVG}text"):
        signs[float(text.get("y")) - 13, float(text.get("x")) - 8.5] = text.text
    rows = {}
    for y, x in cells:
        rows.setdefault(y, []).append(signs.get((y, x), "."))
    return ["".join(row).replace("−", "-") for row in rows.values()]


def roles_of(loss, rows, columns):
    """Signs of how each anchor's term changes when it moves towards a candidate: + is pulled, - pushed, . neither."""
    told = []
    for i in range(rows):
        similarity = torch.zeros(rows, columns, requires_grad=True)
        (slope,) = torch.autograd.grad(loss(similarity, i), similarity)
        told.append(
            "".join(
                "+" if s < -1e-6 else "-" if s > 1e-6 else "." for s in slope[i].tolist()
            )
        )
    return told


def term(loss, n, **kw):
    """An anchor's own term as a function of chosen similarities: vectors are built so that their products are these."""

    def of(similarity, i):
        candidates = similarity.shape[1]
        basis = torch.eye(candidates + 1, dtype=torch.float64)
        row = 0.1 * similarity[i].double()
        anchor = torch.cat(
            [row, (1 - (row**2).sum()).sqrt()[None]]
        )  # length 1; its product with basis j is row j
        return loss(anchor, basis[:candidates], i, **kw)

    return of


def test_one_direction_has_the_other_texts_second_views():
    def info_nce(anchor, candidates, i):
        anchors = torch.eye(5, dtype=torch.float64)[:4].roll(1, 0).clone()
        anchors[i] = anchor
        return ck.losses.info_nce(anchors, candidates, 0.5)

    assert (
        roles_of(term(info_nce, 4), 4, 4)
        == matrix("cmlm")
        == matrix("simcse")
        == matrix("cssl")
    )


@pytest.mark.parametrize(
    ("name", "n", "queue"), [("coco-lm", 3, 0), ("capt", 2, 3), ("capt-pairs", 2, 3)]
)
def test_both_ways_has_everyone_else_and_the_queue(name, n, queue):
    """The gradient of an anchor's own term, from the library, along each candidate."""
    width = 16
    x = torch.nn.functional.normalize(
        torch.randn(2 * n + queue, width, dtype=torch.float64), dim=1
    )
    x = torch.linalg.qr(
        x.T
    ).Q.T  # orthogonal: a product with a candidate is that candidate's share
    a, b, old = x[:n], x[n : 2 * n], x[2 * n :] if queue else None
    told = []
    for first, second, order in (
        (a, b, list(range(2 * n))),
        (b, a, [*range(n, 2 * n), *range(n)]),
    ):
        slope = ck.losses.nt_xent_anchor_gradient(first, second, 0.5, queue=old)  # [n, D]
        shares = (
            slope @ x[order + list(range(2 * n, 2 * n + queue))].T
        )  # the library's order: own view, other, queue
        back = torch.empty_like(shares)
        back[:, order + list(range(2 * n, 2 * n + queue))] = shares
        told += [
            "".join("+" if s < -1e-9 else "-" if s > 1e-9 else "." for s in row)
            for row in back.tolist()
        ]
    assert told == matrix(name)


def test_labels_choose_the_positives():
    labels = torch.tensor([0, 1, 0, 1])
    x = torch.eye(4, dtype=torch.float64, requires_grad=True)

    def of_anchor(i):
        """The change of the whole loss along each pair; the loss is symmetric in a pair's two members."""
        (slope,) = torch.autograd.grad(
            ck.losses.sup_con(x, labels, 0.5, reduction="sum"), x
        )
        return "".join(
            "." if j == i else "+" if slope[i, j] < -1e-9 else "-" for j in range(4)
        )

    assert [of_anchor(i) for i in range(4)] == matrix("scl")


# ---- legible: nothing is written outside its box

OUTSIDE = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const [, , width, height] = svg.getAttribute('viewBox').split(' ').map(Number);
  const out = [];
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBBox()]);
  for (const [words, b] of texts)
    if (b.x < 0 || b.y < 0 || b.x + b.width > width || b.y + b.height > height) out.push(words + ' leaves the picture');
  for (const r of svg.querySelectorAll('rect[rx="5"], rect[rx="12"]')) {
    const box = r.getBBox();
    for (const [words, b] of texts) {
      const inside = b.y + b.height / 2 > box.y && b.y + b.height / 2 < box.y + box.height
        && b.x + b.width / 2 > box.x && b.x + b.width / 2 < box.x + box.width;
      if (inside && (b.x < box.x + 1 || b.x + b.width > box.x + box.width - 1)) out.push(words + ' leaves its box');
    }
  }
  texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
    const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
    const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
    if (one && other && wide > 1 && high > 3) out.push(one + ' over ' + other);
  }));
  return out.map(line => svg.querySelector('title').textContent + ': ' + line);
})"""


@pytest.mark.browser
@pytest.mark.full
@pytest.mark.skipif(
    jupyter_page.CHROMIUM is None,
    reason="no Chromium found (on Debian: apt install chromium)",
)
def test_nothing_is_written_over_an_edge_or_over_other_words():
    drawings = "".join(ck.plots.schematic(name).svg for name in FILES)
    with jupyter_page.browser() as chromium:
        page = chromium.new_page(viewport={"width": 1100, "height": 800})
        page.set_content(f"<body style='width:1040px'>{drawings}</body>")
        assert page.evaluate(OUTSIDE) == []
        page.close()
