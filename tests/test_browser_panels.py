"""The panels in a real JupyterLab in a real browser: moved, dragged, hovered, lassoed, stopped by a hand."""

import json

import jupyter_page
import pytest
from jupyter_page import ask, eventually

# One panel a cell, so small that all of them run in seconds.
PANELS = [
    """
    import numpy, torch
    import contrast_kit as ck
    from contrast_kit.data import toyshop
    texts = toyshop.corpus(200, seed=1)
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    shape = dict(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64)
    encoder = ck.Encoder.tiny(tokenizer, pooling="mean", **shape)
    """,
    "masks = ck.explore.mask_explorer(tokenizer, texts[0]); masks",
    "losses = ck.explore.loss_playground(); losses",
    "weights = ck.explore.temperature_and_queue(); weights",
    """
    noise = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
    spaces = {"encoder": encoder.encode(texts), "noise": noise}
    labels = [len(text) % 3 for text in texts]
    maps = ck.explore.embedding_map(spaces, texts, labels, encode={"encoder": encoder}); maps
    """,
    """
    run = ck.explore.live_training(ck.objectives.MLM(encoder), texts, texts=texts[:50], steps=100_000, every=0.5); run
    """,
]

pytestmark = jupyter_page.MARKS


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """All panels in one page; what it complains of, whichever test made it, is an error at the end."""
    home = tmp_path_factory.mktemp("lab")
    (home / "notebooks").mkdir()
    (home / "notebooks" / "panels.ipynb").write_text(json.dumps(jupyter_page.notebook(*PANELS)))
    with jupyter_page.lab(home) as address, jupyter_page.browser() as chromium:
        page, complaints = jupyter_page.opened(address, chromium, "panels.ipynb")
        jupyter_page.tall(page)
        yield page
        assert not complaints, complaints


def cell(page, number: int):
    return page.locator(".jp-CodeCell").nth(number)


def middle(box) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize(
    ("number", "handle", "state", "drawn"),
    [
        (1, 1, "masks.state['p_c']", ".ck-masks-text"),
        (3, 0, "weights.state['tau']", ".ck-temperature svg"),
    ],
)
def test_a_slider_moved_changes_the_picture(page, number, handle, state, drawn):
    picture = cell(page, number).locator(drawn).first
    before, value = picture.evaluate("one => one.outerHTML"), ask(page, state)
    cell(page, number).locator(".noUi-handle").nth(handle).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    eventually(page, lambda: picture.evaluate("one => one.outerHTML") != before, "another picture")
    assert ask(page, state) > value


def test_a_point_dragged_changes_the_loss(page):
    before, angles = ask(page, "losses.seen().value"), ask(page, "losses.state['angles']")
    point = cell(page, 2).locator(".ck-point").nth(5)
    x, y = middle(point.locator(".ck-hit").bounding_box())
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 10, y + 60, steps=4)
    page.mouse.up()
    eventually(page, lambda: abs(ask(page, "losses.seen().value") - before) > 0.01, "another loss")
    assert ask(page, "losses.state['anchor']") == 5
    assert [i for i, a in enumerate(ask(page, "losses.state['angles']")) if a != angles[i]] == [5]
    eventually(page, lambda: ask(page, "f'{losses.seen().value:.3f}'") in cell(page, 2).inner_text(), "its words")
    point.focus()
    page.keyboard.press("ArrowLeft")
    turned = ask(page, "losses.state['angles'][5]")
    eventually(page, lambda: point.get_attribute("aria-valuenow") == str(round(turned)), "the arrow key")
    cell(page, 2).get_by_role("button", name="let go").click()
    eventually(page, lambda: ask(page, "losses.seen().value") < before - 0.2, "the points at rest")


def test_hover_reads_a_sentence_and_a_lasso_lists_some(page):
    page.evaluate("() => document.querySelector('.ck-map').scrollIntoView()")
    top = cell(page, 4).locator(".ck-map-one").first.locator("canvas").nth(1)
    box = top.bounding_box()
    fitted = ask(page, "[float(v) for v in numpy.frombuffer(maps.map.xy, 'float32')[34:36]]")  # sentence 17
    half = box["width"] / 2
    x, y = box["x"] + half + fitted[0] * (half - 22), box["y"] + half - fitted[1] * (half - 22)
    page.mouse.move(x - 40, y)
    page.mouse.move(x, y, steps=3)
    eventually(page, lambda: ask(page, "maps.state['hovered']") >= 0, "a sentence under the pointer")
    sentence = ask(page, "texts[maps.state['hovered']]")
    assert sentence in cell(page, 4).locator(".ck-map-tip:visible").inner_text()

    page.mouse.move(x - 60, y - 60)
    page.mouse.down()
    for corner in [(x + 60, y - 60), (x + 60, y + 60), (x - 60, y + 60), (x - 60, y - 58)]:
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    chosen = eventually(page, lambda: ask(page, "maps.chosen_texts"), "chosen sentences")
    assert sentence in chosen and len(chosen) < 200
    listed = eventually(page, lambda: cell(page, 4).locator(".ck-map-lists li").all_inner_texts(), "a list")
    assert len(listed) == len(chosen) and all(map(str.startswith, listed, chosen))


def test_a_typed_sentence_finds_its_neighbours(page):
    box = cell(page, 4).locator("input[type=search]")
    box.fill(ask(page, "texts[5]"))
    box.press("Enter")
    near = eventually(page, lambda: ask(page, "maps.map.near"), "neighbours")
    assert near.keys() == {"encoder", "noise"} and all(len(found) == 8 for found in near.values())
    words = ask(page, f"texts[{near['noise'][0][0]}]")
    eventually(page, lambda: words in cell(page, 4).locator(".ck-map-lists").inner_text(), "their list")


def test_the_stop_button_keeps_the_run(page):
    picture = cell(page, 5).locator("img.widget-image")
    before = picture.get_attribute("src")
    cell(page, 5).get_by_role("button", name="start").click()
    eventually(
        page,
        lambda: picture.get_attribute("src") != before and ask(page, "run.bar.value") > 2,
        "a run that grows",
    )
    cell(page, 5).get_by_role("button", name="stop").click()
    eventually(page, lambda: not ask(page, "run.running"), "its end")
    assert ask(page, "run.run.interrupted") and ask(page, "len(run.run.history) == run.run.steps > 2")
    assert ask(page, "bool(run.run.encoder.encode(texts[:2]).isfinite().all())")
    eventually(page, lambda: "Stopped" in cell(page, 5).inner_text(), "the panel says so")
