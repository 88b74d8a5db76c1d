"""Animations: frames turned onto one another, drawn as a sheet, a GIF and a player that plays."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

from contrast_kit import plots

RNG = np.random.default_rng(0)
BASE, DRIFT = RNG.normal(size=(2, 30, 8))
FRAMES = {f"step {10 * k}": BASE + 0.4 * k * DRIFT for k in range(6)}
LABELS = ["visit", "stock", "opinion"] * 10
MEASURES = {"alignment": np.linspace(1, 0, 6), "uniformity": torch.linspace(-1, -2, 6)}
CHROMIUM = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])),
    None,
)


def film(**kw):
    return plots.animation(FRAMES, LABELS, measures=MEASURES, **kw)


def turn(angle, mirror):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ np.diag([1, -1 if mirror else 1])


def data_of(animation):
    """The numbers that the player gets."""
    script = animation._repr_html_()
    return json.loads(
        re.search(r'\}\)\((\{.*\}), "[0-9a-f]{12}"\);', script, re.DOTALL)[1]
    )


def test_aligning_stretches_nothing_and_is_the_best_of_all_turns():
    points, reference = RNG.normal(size=(2, 40, 2))
    aligned = plots.align(points, reference)
    distances = [np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (points, aligned)]
    assert np.allclose(*distances)
    assert np.allclose(aligned.mean(0), reference.mean(0))
    moved = reference @ turn(0.7, True).T
    assert np.allclose(plots.align(moved, reference, center=False), reference)
    centred, target = points - points.mean(0), reference - reference.mean(0)
    best = np.linalg.norm(aligned - reference)
    for angle in np.linspace(0, 2 * np.pi, 200):
        for mirror in (False, True):
            assert np.linalg.norm(centred @ turn(angle, mirror).T - target) >= best - 1e-9


def test_without_alignment_the_same_space_would_seem_to_move():
    """Principal components of a turned copy come out turned or mirrored; the frames do not show it."""
    spun, _ = np.linalg.qr(RNG.normal(size=(8, 8)))
    frames = {"a": BASE, "b": BASE @ spun, "c": -BASE, "cone": BASE + 20}
    first, second, third, cone = plots.animation(frames).maps.values()
    assert np.allclose(first, second, atol=1e-9) and np.allclose(first, third, atol=1e-9)
    assert first.std() > 5 * cone.std()  # one scale for all


def test_the_player_gets_the_numbers_of_the_maps():
    animation = film(pairs=[[0, 1]])
    data = data_of(animation)
    assert data["names"] == list(FRAMES) and data["pairs"] == [[0, 1]]
    assert data["measures"]["alignment"] == [1.0, 0.8, 0.6, 0.4, 0.2, 0.0]
    assert [data["words"][i] for i in data["kind"]] == LABELS
    maps = np.array(list(animation.maps.values()))
    half = 1.15 * np.abs(maps).max()
    assert np.allclose(np.array(data["frames"]) / 1000 * half, maps, atol=half / 1000)


def test_a_label_can_be_no_script():
    page = plots.animation(FRAMES, ["</script><b>", "x", "y"] * 10)._repr_html_()
    assert page.count("</script>") == 1 and "<b>" not in page


@pytest.mark.browser
@pytest.mark.full
@pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium found (on Debian: apt install chromium)"
)
def test_the_player_plays_pauses_and_slides_in_a_browser(tmp_path):
    from playwright.sync_api import sync_playwright

    page_file = tmp_path / "space.html"
    page_file.write_text(f"<!doctype html>{film()._repr_html_()}")
    problems = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(error.stack))
        page.goto(page_file.as_uri())
        canvas, button, slider = (
            page.locator("canvas"),
            page.locator("button"),
            page.locator("input"),
        )
        assert canvas.get_attribute("aria-label") == "animation, step 0"
        first = canvas.screenshot()
        page.evaluate(
            "document.addEventListener('keydown', () => { window.escaped = true; })"
        )
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert canvas.get_attribute("aria-label") == "animation, step 10"
        assert not page.evaluate("window.escaped"), (
            "the notebook around it never sees the arrow keys"
        )
        assert canvas.screenshot() != first
        button.click()
        assert "pause" in button.inner_text()
        page.wait_for_selector("canvas[aria-label='animation, step 50']", timeout=20_000)
        page.wait_for_function(
            "document.querySelector('button').textContent.includes('play')"
        )
        assert slider.input_value() == "5"
        browser.close()
    assert problems == []
