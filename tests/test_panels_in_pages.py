"""Panels without Python: what JavaScript computes in a page is what Python computes in a notebook."""

import json
import math
import random
import shutil
import subprocess

import jupyter_page
import pytest
import torch
from byte_pairs import byte_pairs

import contrast_kit as ck
from contrast_kit.explore import _page
from contrast_kit.explore._panel import TEMPERATURES
from contrast_kit.explore.loss_playground import LOSSES
from contrast_kit.explore.mask_explorer import MASKERS, SPLITS
from contrast_kit.explore.temperature_and_queue import BATCHES, QUEUES

pytest.importorskip("anywidget")
NODE = shutil.which("node")
SENTENCES = [
    "The red kite flies over the old bear's shelf, doesn't it?",
    "A  small\tdrum – déjà vu; 3 boxes (blue)",
    "unknowable zebras & [MASK] kites",
    "kite",
]


@pytest.fixture(scope="module")
def chromium():
    if jupyter_page.CHROMIUM is None:
        pytest.skip("Chromium is not installed.")
    pytest.importorskip("playwright")
    with jupyter_page.browser() as made:
        yield made


def javascript(code: str, given: object) -> object:
    """What a function of JavaScript, `given => …`, returns."""
    if NODE is None:
        pytest.skip("Node.js is not installed.")
    program = f"console.log(JSON.stringify(({code})(JSON.parse(require('fs').readFileSync(0, 'utf8')))))"
    ran = subprocess.run(
        [NODE, "-e", program], input=json.dumps(given), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def in_a_page(panel, states: list[dict], *names: str) -> list[dict]:
    """What the stand-in makes of the panel's state with these changes: `seen`, sentence, moves, and more by name."""
    given = _page.exported(panel)
    code = f"""({{ base, states, names }}) => {{
        {_page.scripts("shared", "page")}
        const numbers = (() => {{ {_page._inside(*given["scripts"][1])} }})();
        base = decoded(base);
        return states.map(change => {{
            const state = {{ ...base, ...change }};
            try {{ Object.assign(state, numbers.compute(state)); }}
            catch (error) {{ return {{ problem: error.message }}; }}
            const actions = Object.entries(numbers.actions ?? {{}});
            const moved = Object.fromEntries(actions.map(([name, act]) => [name, act(state)]));
            const more = Object.fromEntries(names.map(name => [name, state[name]]));
            return {{ seen: state.seen, words: numbers.words(state), moved, ...more }};
        }});
    }}"""
    return javascript(code, {"base": given["state"], "states": states, "names": names})


def same(found: object, expected: object, tolerance: float) -> None:
    """Numbers within the tolerance, absolute and relative; everything else alike."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            same(found[name], expected[name], tolerance)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, tolerance)
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance), (
            found,
            expected,
        )
    else:
        assert found == expected


# --- JavaScript is Python ---


def test_losses_on_the_circle_are_those_of_python():
    draw, panel = random.Random(0), ck.explore.loss_playground(classes=(0, 0, 1))
    states = [
        {
            "loss": LOSSES[i % 4],
            "tau": draw.choice(TEMPERATURES),
            "angles": [draw.uniform(0, 360) for _ in range(6)],
            "anchor": draw.randrange(6),
        }
        for i in range(60)
    ]
    for state, found in zip(states, in_a_page(panel, states), strict=True):
        panel.set(**state)
        # A force at τ = 0.02 is a difference of numbers of the size of 1/τ.
        same(found["seen"], panel.view.seen, 1e-13 / min(1, state["tau"]))
        assert found["words"] == panel.words()
        same(found["moved"]["one step"]["angles"], panel.let_go(1).state["angles"], 1e-10)


@pytest.fixture
def lengths_by_inversion(monkeypatch):
    """Lengths of spans as the page draws them: torch's own way differs between kinds of processor."""

    def drawn(weights, count, replacement, generator):
        assert count == 1 and replacement
        rest, length = (
            torch.rand(1, generator=generator).double().item()
            * sum(0.8**i for i in range(len(weights))),
            0,
        )
        while length < len(weights) - 1 and rest >= 0.8**length:
            rest, length = rest - 0.8**length, length + 1
        return torch.tensor([length])

    monkeypatch.setattr(torch, "multinomial", drawn)


def test_masks_are_those_of_python_token_by_token(texts, lengths_by_inversion):
    """The same tokens, the same random numbers, the same masks, the same sentence below."""
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    panel, draw = ck.explore.mask_explorer(tokenizer, texts[0]), random.Random(1)
    states = [
        {
            "sentence": draw.choice([*SENTENCES, *texts[:20]]),
            "p_m": round(draw.random(), 2),
            "p_c": round(draw.random(), 2),
            "masker": MASKERS[i % 3],
            "split": draw.choice(list(SPLITS)),
            "seed": draw.randrange(10**6),
        }
        for i in range(60)
    ]
    for state, found in zip(states, in_a_page(panel, states), strict=True):
        panel.set(**state)
        assert found["seen"] == panel.view.seen, state
        assert found["words"] == panel.words(), state
        assert found["moved"]["draw again"] == {"seed": state["seed"] + 1}


def test_a_tokenizer_of_another_kind_stays_a_picture(texts):
    bpe = byte_pairs(texts, 400)
    with pytest.raises(ValueError, match="splits words as BERT does"):
        _page.exported(ck.explore.mask_explorer(bpe, texts[0]))


def test_weights_on_negatives_are_those_of_python():
    draw, panel = random.Random(2), ck.explore.temperature_and_queue()
    states = [
        {
            "tau": draw.choice(TEMPERATURES),
            "positive": round(draw.uniform(-1, 1), 2),
            "batch": draw.choice(BATCHES),
            "queue": draw.choice(QUEUES),
        }
        for _ in range(60)
    ]
    for state, found in zip(states, in_a_page(panel, states), strict=True):
        panel.set(**state)
        same(found["seen"], panel.view.seen, 1e-11)
        assert found["words"] == panel.words()


def test_neighbours_on_the_map_are_those_of_python_up_to_half_precision(texts):
    draw = torch.Generator().manual_seed(4)
    spaces = {name: torch.randn(200, 48, generator=draw) for name in ("before", "after")}
    texts = [
        text + " " * (i % 3) for i, text in enumerate(texts)
    ]  # a blank at the end is no other sentence
    panel = ck.explore.embedding_map(spaces, texts, k=5)
    unlike = "a sentence that is nowhere"
    states = [{"query": text} for text in texts] + [{"query": ""}, {"query": unlike}]
    found = in_a_page(panel, states, "near", "problem")
    for state, page in zip(states[:-1], found, strict=False):
        near = panel.set(**state).view.near
        assert (
            page["near"].keys() == near.keys()
            and page["words"] == panel.words()
            and not page["problem"]
        )
        for name in near:
            same(
                [cosine for _, cosine in page["near"][name]],
                [cosine for _, cosine in near[name]],
                1e-3,
            )
            clear = [i for i, cosine in near[name] if cosine > near[name][-1][1] + 2e-3]
            assert set(clear) <= {i for i, _ in page["near"][name]}
    assert found[-1]["near"] == {} and "not on the map" in found[-1]["problem"]


@pytest.fixture(scope="module")
def trained(texts, tokenizer):
    """A short run that is over."""
    from conftest import make_encoder

    pairs = list(zip(texts[:10], texts[10:20], strict=True))
    facts = {"pairs": pairs, "texts": texts[:20], "every": 0.0}
    objective = ck.objectives.MLM(make_encoder(tokenizer))
    panel = ck.explore.live_training(objective, texts, steps=12, batch_size=8, **facts)
    with pytest.raises(ValueError, match="no film of a run yet"):
        _page.exported(panel)
    panel.start().wait()
    return panel


# --- a page in a browser ---

MOVES = {
    "loss_playground": lambda page: page.get_by_role("button", name="let go").click(),
    "mask_explorer": lambda page: page.get_by_role("button", name="draw again").click(),
    "temperature_and_queue": lambda page: page.get_by_role("slider").first.press(
        "ArrowRight"
    ),
}


@pytest.mark.browser
@pytest.mark.full
@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 390)])
def test_a_page_lives_without_python_and_without_a_network(
    name, scheme, width, chromium, tokenizer, texts, tmp_path
):
    arguments = (tokenizer, texts[0]) if name == "mask_explorer" else ()
    panel = getattr(ck.explore, name)(*arguments)
    context = chromium.new_context(
        offline=True, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(error.stack))
    panel.to_html(tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    line = page.locator(".ck-line")
    before = line.inner_html()
    assert page.evaluate("html => { const d = document.createElement('p'); d.innerHTML = html; return d.innerHTML; }",
                         panel.words()) == before  # fmt: skip
    picture = page.locator(".ck-page").screenshot()
    MOVES[name](page)
    jupyter_page.eventually(page, lambda: line.inner_html() != before, "another sentence")
    page.wait_for_timeout(1800 if name == "loss_playground" else 50)  # its path is played
    assert page.locator(".ck-page").screenshot() != picture
    assert page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    ground, ink = (page.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}")
                   for where, what in (("body", "backgroundColor"), (".ck-panel", "color")))  # fmt: skip
    bright = [sum(map(int, colour[4:-1].split(","))) for colour in (ground, ink)]
    assert (
        (bright[0] > bright[1] + 300)
        if scheme == "light"
        else (bright[1] > bright[0] + 300)
    ), (
        ground,
        ink,
    )
    assert not complaints, complaints
    context.close()


PLAYED = """async () => {
    const button = name => [...document.querySelectorAll("button")].find(each => each.textContent === name);
    const status = () => document.querySelector(".ck-live-status").textContent, seen = new Set();
    button("start").click();
    for (let i = 0; i < 60 && seen.size < 3; i++) {
        await new Promise(done => setTimeout(done, 30));
        seen.add(status());
    }
    button("stop").click();
    return [[...seen], status()];
}"""


@pytest.mark.browser
@pytest.mark.full
def test_a_map_and_a_film_live_in_a_page(chromium, texts, trained, tmp_path):
    context = chromium.new_context(offline=True, viewport={"width": 1000, "height": 900})
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(error.stack))
    spaces = {name: torch.randn(200, 16) for name in ("before", "after")}
    ck.explore.embedding_map(spaces, texts, k=3).to_html(tmp_path / "map.html")
    page.goto((tmp_path / "map.html").as_uri())
    page.locator("input[type=search]").fill(texts[3])
    page.locator("input[type=search]").press("Enter")
    jupyter_page.eventually(
        page,
        lambda: page.locator(".ck-map-lists li").count() == 6,
        "neighbours in both spaces",
    )
    trained.to_html(tmp_path / "film.html")
    page.goto((tmp_path / "film.html").as_uri())
    assert "step 12 of 12" in page.locator(".ck-live-status").inner_text()
    # In one go inside the page, so that the film cannot end while a slow machine finds the next button.
    seen, end = page.evaluate(PLAYED)
    assert len(seen) >= 3 and "stopped" in end, (seen, end)
    page.get_by_role("button", name="reset encoder").click()
    jupyter_page.eventually(
        page,
        lambda: "press start" in page.locator(".ck-live-status").inner_text(),
        "its beginning",
    )
    assert not complaints, complaints
    context.close()
