"""A real JupyterLab in a real browser: panels are moved, dragged, hovered, lassoed, stopped."""

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
    labels = [("<img src=x onerror=alert(1)>", "two", "three")[len(text) % 3] for text in texts]
    encode = {"encoder": encoder, "noise": lambda given: noise[:1]}
    maps = ck.explore.embedding_map(spaces, texts, labels, encode=encode); maps
    """,
    """
    objective = ck.objectives.MLM(encoder)
    facts = dict(texts=texts[:50], labels=labels[:50], pairs=toyshop.probe_pairs(20))
    run = ck.explore.live_training(objective, texts, steps=100_000, batch_size=16, every=0.2, **facts); run
    """,
    "two = ck.explore.two_networks(encoder, texts[0], texts[1:5], p_m=0.5); two",
    """
    from contrast_kit.data import scenes
    shelves = [scenes.scene(number) for number in scenes.image_ids("test")[:120]]
    draw = torch.Generator().manual_seed(0)
    pictures = ck.data.stack_pictures([{"image_id": s.image_id, "boxes": scenes.boxes(s),
        "regions": torch.randn(len(s.toys), 6, generator=draw)} for s in shelves])
    seeing = ck.CrossModalEncoder.tiny(tokenizer, features=6, objects=4, attributes=4, max_length=32)
    answer = ck.vision.Answer(seeing, answers=3)
    kinds = sorted(ck.explore.shelf(answer, ["red", "blue", "yes"], pictures, toys={}).sorts)
    shelf = ck.explore.shelf(answer, ["red", "blue", "yes"], pictures, "what colour?", {"top_1": kinds[0]}); shelf
    """,
]

SCROLLS = """() => [...document.querySelectorAll('.jp-OutputArea-output, .jp-OutputArea-output *')].filter(part =>
    part.clientWidth > 50 && part.scrollWidth > part.clientWidth + 1 && !part.closest('.ck-map-lists, pre')
    && /auto|scroll/.test(getComputedStyle(part).overflowX)).map(part => part.className)"""
PRESSED = """name => {
    const [button] = [...document.querySelectorAll('.ck-live button')].filter(each => each.textContent === name);
    button.click();
    return document.querySelector('.ck-live-status').textContent;
}"""
pytestmark = jupyter_page.MARKS


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab with a notebook of panels, and a Chromium."""
    home = tmp_path_factory.mktemp("lab")
    (home / "notebooks").mkdir()
    (home / "notebooks" / "panels.ipynb").write_text(
        json.dumps(jupyter_page.notebook(*PANELS))
    )
    alone = jupyter_page.notebook(f"import contrast_kit as ck\n{PANELS[2]}")
    (home / "notebooks" / "restarted.ipynb").write_text(json.dumps(alone))
    with jupyter_page.lab(home) as address, jupyter_page.browser() as chromium:
        yield address, chromium


@pytest.fixture(scope="module")
def page(lab):
    """All panels in one page; what it complains of, whichever test made it, is an error at the end."""
    page, complaints = jupyter_page.opened(*lab, "panels.ipynb")
    jupyter_page.tall(page)
    yield page
    assert not complaints, complaints


def test_a_panel_without_its_kernel_says_what_to_do(lab):
    page, _ = jupyter_page.opened(*lab, "restarted.ipynb")
    left = page.get_by_text("run this cell again")
    assert page.locator(".ck-panel").first.is_visible() and not left.is_visible()
    page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    page.evaluate(f"() => {jupyter_page.KERNEL}.restart()")
    eventually(page, left.is_visible, "the advice after a restart", 60)
    assert not page.locator(".ck-panel").first.is_visible()
    page.reload()
    page.wait_for_function(jupyter_page.IDLE)
    eventually(page, left.is_visible, "the advice in a notebook opened again")
    assert not page.get_by_text("model not found").is_visible()
    assert page.locator(".jp-OutputArea img").bounding_box()["width"] > 300
    page.close()


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
    eventually(
        page,
        lambda: picture.evaluate("one => one.outerHTML") != before,
        "another picture",
    )
    assert ask(page, state) > value


def test_a_point_dragged_changes_the_loss(page):
    before, angles = ask(page, "losses.seen().value"), ask(page, "losses.state['angles']")
    point = cell(page, 2).locator(".ck-point").nth(5)
    x, y = middle(point.locator(".ck-hit").bounding_box())
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 10, y + 60, steps=4)
    page.mouse.up()
    eventually(
        page,
        lambda: abs(ask(page, "losses.seen().value") - before) > 0.01,
        "another loss",
    )
    assert ask(page, "losses.state['anchor']") == 5
    assert [
        i for i, a in enumerate(ask(page, "losses.state['angles']")) if a != angles[i]
    ] == [5]
    eventually(
        page,
        lambda: ask(page, "f'{losses.seen().value:.3f}'") in cell(page, 2).inner_text(),
        "its words",
    )
    point.focus()
    page.keyboard.press("ArrowLeft")
    turned = "str(round(losses.state['angles'][5]))"
    eventually(
        page,
        lambda: point.get_attribute("aria-valuenow") == ask(page, turned),
        "the arrow key",
    )
    cell(page, 2).get_by_role("button", name="let go").click()
    eventually(
        page,
        lambda: ask(page, "losses.seen().value") < before - 0.2,
        "the points at rest",
    )


def test_hover_reads_a_sentence_and_a_lasso_lists_some(page):
    page.evaluate("() => document.querySelector('.ck-map').scrollIntoView()")
    top = cell(page, 4).locator(".ck-map-one").first.locator("canvas").nth(1)
    box = top.bounding_box()
    fitted = ask(
        page, "[float(v) for v in numpy.frombuffer(maps.view.xy, 'float32')[34:36]]"
    )  # sentence 17
    half = box["width"] / 2
    x, y = (
        box["x"] + half + fitted[0] * (half - 22),
        box["y"] + half - fitted[1] * (half - 22),
    )
    page.mouse.move(x - 40, y)
    page.mouse.move(x, y, steps=3)
    eventually(
        page,
        lambda: ask(page, "maps.state['hovered']") >= 0,
        "a sentence under the pointer",
    )
    sentence = ask(page, "texts[maps.state['hovered']]")
    assert sentence in cell(page, 4).locator(".ck-map-tip:visible").inner_text()

    page.mouse.move(x - 60, y - 60)
    page.mouse.down()
    for corner in [
        (x + 60, y - 60),
        (x + 60, y + 60),
        (x - 60, y + 60),
        (x - 60, y - 58),
    ]:
        page.mouse.move(*corner, steps=3)
    page.mouse.up()
    chosen = "[texts[i] for i in maps.state['chosen']]"
    chosen = eventually(page, lambda: ask(page, chosen), "chosen sentences")
    assert sentence in chosen and len(chosen) < 200
    listed = eventually(
        page,
        lambda: cell(page, 4).locator(".ck-map-lists li").all_inner_texts(),
        "a list",
    )
    assert len(listed) == len(chosen) and all(map(str.startswith, listed, chosen))


def test_a_sentence_of_ones_own_is_placed_and_everything_cleared(page):
    box = cell(page, 4).locator("input[type=search]")
    box.fill("the very red kite")
    box.press("Enter")
    placed = eventually(page, lambda: ask(page, "maps.view.placed"), "its place")
    near = ask(page, "maps.view.near")
    assert placed.keys() == near.keys() == {"encoder", "noise"}
    words = ask(page, f"texts[{near['noise'][0][0]}]")
    listed = cell(page, 4).locator(".ck-map-lists")
    eventually(page, lambda: words in listed.inner_text(), "their list")
    cell(page, 4).get_by_role("button", name="clear").click()
    eventually(
        page,
        lambda: ask(page, "maps.state") == {"chosen": [], "hovered": -1, "query": ""},
        "nothing chosen",
    )
    assert box.input_value() == "" and not ask(page, "maps.view.placed")


def test_keys_walk_choose_and_come_nearer(page):
    top = cell(page, 4).locator(".ck-map-one canvas:visible").nth(1)
    active = "() => document.querySelector('.jp-Notebook .jp-mod-active .jp-InputPrompt').textContent"
    top.focus()
    prompt = page.evaluate(active)
    for key in ("ArrowRight", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    walked = (
        "maps.state['hovered'] >= 0 and maps.state['chosen'] == [maps.state['hovered']]"
    )
    eventually(page, lambda: ask(page, walked), "the sentence that the keys have reached")
    before = top.evaluate("canvas => canvas.previousElementSibling.toDataURL()")
    page.keyboard.press("+")
    after = "canvas => canvas.previousElementSibling.toDataURL()"
    eventually(page, lambda: top.evaluate(after) != before, "a nearer view")
    page.keyboard.press("Escape")
    eventually(page, lambda: ask(page, "maps.state['chosen']") == [], "nothing chosen")
    assert (
        page.evaluate(active) == prompt
    )  # the arrow keys have not moved to another cell


def test_start_is_answered_at_once_and_stop_keeps_the_run(page):
    status, circle = (
        cell(page, 5).locator(".ck-live-status"),
        cell(page, 5).locator("canvas.ck-sphere").first,
    )
    assert page.evaluate(PRESSED, "start").startswith(
        "starting"
    )  # in the same breath, without a word from Python
    eventually(
        page,
        lambda: (
            status.inner_text().startswith("step ") and ask(page, "run.run.steps") > 3
        ),
        "steps",
        60,
    )
    drawn = circle.evaluate("canvas => canvas.toDataURL()")
    eventually(
        page,
        lambda: circle.evaluate("canvas => canvas.toDataURL()") != drawn,
        "a sphere that turns",
    )
    eventually(page, lambda: ask(page, "len(run.moments)") > 3, "measurements")
    assert page.evaluate(PRESSED, "stop").startswith("stopping")
    eventually(page, lambda: not ask(page, "run.running"), "its end", 60)
    assert ask(page, "run.run.interrupted") and ask(
        page, "len(run.run.history) == run.run.steps > 2"
    )
    assert ask(page, "bool(run.run.encoder.encode(texts[:2]).isfinite().all())")
    eventually(
        page, lambda: status.inner_text().startswith("stopped: step"), "the panel says so"
    )
    slider = cell(page, 5).locator(".ck-live-film input")
    assert slider.is_visible() and slider.get_attribute("max") == str(
        ask(page, "len(run.view.frames)") - 1
    )
    slider.focus()
    page.keyboard.press("Home")
    first = ask(page, "run.view.frames[0]['step']")
    eventually(
        page,
        lambda: f"step {first}" in cell(page, 5).locator(".ck-live-film").inner_text(),
        "its first moment",
    )


def test_a_word_pointed_at_tells_what_the_networks_thought(page):
    stacks = cell(page, 6).locator(".ck-two-stack[data-at]")
    words = ask(page, "two.worked().rows[0]")
    assert stacks.count() == len(words) - 2  # without [CLS] and [SEP]
    stacks.nth(1).focus()
    best = ask(page, "two.worked().read[2][0][0]")
    eventually(
        page,
        lambda: best in cell(page, 6).locator(".ck-two-below").inner_text(),
        "its thoughts",
    )
    before = cell(page, 6).locator(".ck-two-stacks").inner_text()
    cell(page, 6).get_by_role("button", name="draw again").click()
    eventually(
        page,
        lambda: cell(page, 6).locator(".ck-two-stacks").inner_text() != before,
        "another draw",
    )


def test_data_is_text_and_nothing_scrolls_sideways(page):
    assert page.locator("img[src=x]").count() == 0
    assert (
        cell(page, 4).locator(".ck-map-key").first.inner_text().strip()
        == "<img src=x onerror=alert(1)>"
    )
    for width in (1400, 900):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)
        assert page.evaluate(SCROLLS) == [], width
    jupyter_page.tall(page)
