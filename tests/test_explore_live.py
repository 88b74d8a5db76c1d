"""Live training: two runs side by side, the weights brought back, what the page gets, and the sphere."""

import math

import numpy as np
import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.explore._film import measured, on_sphere

pytest.importorskip("anywidget")

SETTINGS = dict(steps=6, batch_size=8)


@pytest.fixture
def two(tokenizer, texts):
    objectives = {
        "MLM": ck.objectives.MLM(make_encoder(tokenizer)),
        "CMLM": ck.objectives.CMLM(make_encoder(tokenizer)),
    }
    return ck.explore.live_training(
        objectives, texts, pairs=list(zip(texts[:8], texts[8:16], strict=True)), texts=texts[:20],
        labels=[0, 1] * 10, every=0.0, **SETTINGS,
    )  # fmt: skip


def test_each_of_two_runs_gives_the_numbers_of_a_run_alone(two, tokenizer, texts):
    alone = {
        "MLM": ck.fit(
            ck.objectives.MLM(make_encoder(tokenizer)), texts, progress=False, **SETTINGS
        ),
        "CMLM": ck.fit(
            ck.objectives.CMLM(make_encoder(tokenizer)), texts, progress=False, **SETTINGS
        ),
    }
    torch.manual_seed(7)
    random = torch.get_rng_state()
    two.start().wait()
    assert torch.equal(random, torch.get_rng_state())
    for name, run in alone.items():
        assert two.runs[name].history["loss"].tolist() == run.history["loss"].tolist()
        assert two.view.curves[list(alone).index(name)]["loss"] == pytest.approx(
            run.history["loss"], rel=1e-4
        )
    assert two.run is two.runs["MLM"] and "MLM" in two.words() and "CMLM" in two.words()


def test_reset_brings_the_first_weights_back(two):
    encoder = two.objectives["CMLM"].encoder
    first = {name: value.clone() for name, value in encoder.state_dict().items()}
    two.start().wait()
    assert any(
        not torch.equal(first[name], value)
        for name, value in encoder.state_dict().items()
    )
    losses = two.runs["CMLM"].history["loss"].tolist()
    two.view.pressed = ["reset encoder", 1]  # as a hand would
    assert all(
        torch.equal(first[name], value) for name, value in encoder.state_dict().items()
    )
    assert (
        two.view.now["phase"] == "ready"
        and two.view.curves == [{}, {}]
        and two.run is None
    )
    two.view.pressed = ["start", 2]
    two.wait()
    assert two.runs["CMLM"].history["loss"].tolist() == losses


def test_one_that_fails_lets_the_other_go_on(two):
    def broken(*_):
        raise FloatingPointError("<b>not finite</b>")

    two.objectives["MLM"].views = broken
    two.start().wait()
    assert two.runs["CMLM"].steps == 6 and "MLM" not in two.runs
    assert (
        two.view.now["phase"] == "failed"
        and "MLM: <b>not finite" in two.view.now["problem"]
    )  # as text
    assert "&lt;b&gt;not finite" in two.words()


@pytest.mark.parametrize("shown", ["texts", "pairs"])
@pytest.mark.full
@pytest.mark.parametrize("every", [0.0, 99.0])
def test_a_run_that_diverges_is_over_and_can_be_reset(tokenizer, texts, shown, every):
    """Its vectors are NaN: measured in the thread, they left a panel that trained for ever and refused a reset."""
    sound, bad = (ck.objectives.MLM(make_encoder(tokenizer)) for _ in range(2))
    first = {name: value.clone() for name, value in bad.encoder.state_dict().items()}
    bad.after_step = lambda *_: (
        bad.encoder.model.get_input_embeddings().weight.data.fill_(math.nan)
    )
    options = {
        shown: texts[:4]
        if shown == "texts"
        else [(texts[0], texts[1]), (texts[2], texts[3])]
    }
    panel = ck.explore.live_training(
        {"sound": sound, "bad": bad}, texts, steps=4, batch_size=4, every=every, **options
    )
    panel.start().wait()
    assert panel.view.now["phase"] == "failed" and not panel.running and not panel._going
    assert (
        panel.runs["sound"].steps == 4
        and panel.problem.startswith("bad: ")
        and panel.view.frames
    )
    panel.figure()
    panel.reset()
    assert all(
        torch.equal(first[name], value)
        for name, value in bad.encoder.state_dict().items()
    )


# --- the sphere ---


def test_the_sphere_keeps_angles_where_the_space_has_three_directions():
    x = torch.nn.functional.normalize(
        torch.randn(30, 3, generator=torch.Generator().manual_seed(0)), dim=1
    ).numpy()
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0][
        :3
    ]  # three directions of five
    seen = on_sphere(7 * x @ turned)
    assert seen.share == pytest.approx(1) and on_sphere(np.eye(4)).share == pytest.approx(
        3 / 4
    )
    assert seen.points @ seen.points.T == pytest.approx(x @ x.T, abs=1e-6)


def test_random_pairs_are_of_two_texts(tokenizer, texts):
    encoder = make_encoder(tokenizer)
    a, b = encoder.encode(texts[:4]), encoder.encode(texts[4:8])
    similar, random = measured(encoder, [texts[:4], texts[4:8]], None)["cosines"]
    all_of = ck.geometry.random_pair_cosines(
        torch.cat([a, b]), groups=torch.arange(4).repeat(2)
    )
    assert (
        torch.allclose(random, all_of) and len(random) == 24
    )  # 28 pairs, less the four that mean the same
    assert torch.allclose(similar, ck.geometry.pair_cosines(a, b))
