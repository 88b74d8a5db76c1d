"""Live training: the weights brought back, a run that diverges, what the page gets, and the sphere."""

import math

import numpy as np
import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.explore._film import measured, on_sphere

pytest.importorskip("anywidget")

SETTINGS = dict(steps=6, batch_size=8)


def test_reset_brings_the_first_weights_back_and_the_run_is_that_of_fit(tokenizer, texts):
    alone = ck.objectives.CMLM(make_encoder(tokenizer))
    losses = ck.fit(alone, texts, progress=False, **SETTINGS).history["loss"].tolist()
    encoder = make_encoder(tokenizer)
    first = {name: value.clone() for name, value in encoder.state_dict().items()}
    panel = ck.explore.live_training(
        ck.objectives.CMLM(encoder), texts, texts=texts[:20], every=0.0, **SETTINGS
    )
    run = panel.start().wait()
    assert run.history["loss"].tolist() == losses
    assert panel.view.curves["loss"] == pytest.approx(losses, rel=1e-4)
    assert len(panel.view.frames) > 3 and panel.view.frames[0]["step"] == 0
    after = encoder.state_dict()
    assert any(not torch.equal(value, after[name]) for name, value in first.items())
    panel.view.pressed = ["reset encoder", 1]  # as a hand would
    now = encoder.state_dict()
    assert all(torch.equal(value, now[name]) for name, value in first.items())
    assert panel.view.now["phase"] == "ready" and panel.run is None
    assert panel.view.curves == {} and panel.view.frames == []
    panel.view.pressed = ["start", 2]
    assert panel.wait().history["loss"].tolist() == losses


@pytest.mark.full
@pytest.mark.parametrize("shown", ["texts", "pairs"])
@pytest.mark.parametrize("every", [0.0, 99.0])
def test_a_run_that_diverges_is_over_and_can_be_reset(tokenizer, texts, shown, every):
    """Its vectors are NaN: measured in the thread, they left a panel that trained for ever and refused a reset."""
    bad = ck.objectives.MLM(make_encoder(tokenizer))
    first = {name: value.clone() for name, value in bad.encoder.state_dict().items()}
    bad.after_step = lambda *_: (
        bad.encoder.model.get_input_embeddings().weight.data.fill_(math.nan)
    )
    pairs = [(texts[0], texts[1]), (texts[2], texts[3])]
    options = {shown: texts[:4] if shown == "texts" else pairs}
    panel = ck.explore.live_training(
        bad, texts, steps=4, batch_size=4, every=every, **options
    )
    panel.start().wait()
    assert panel.view.now["phase"] == "failed" and not panel.running and panel.problem
    panel.figure()
    panel.reset()
    now = bad.encoder.state_dict()
    assert all(torch.equal(value, now[name]) for name, value in first.items())


# --- the sphere ---


def test_the_sphere_keeps_angles_where_the_space_has_three_directions():
    x = torch.nn.functional.normalize(
        torch.randn(30, 3, generator=torch.Generator().manual_seed(0)), dim=1
    ).numpy()
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0][
        :3
    ]  # three directions of five
    points, share = on_sphere(7 * x @ turned)
    assert share == pytest.approx(1)
    assert on_sphere(np.eye(4))[1] == pytest.approx(3 / 4)
    assert points @ points.T == pytest.approx(x @ x.T, abs=1e-6)


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
