"""The panels without a page: sliders moved from Python, and what they then say and show."""

import math
import time

import numpy as np
import pytest
import torch
from conftest import make_encoder
from matplotlib.figure import Figure

import contrast_kit as ck
from contrast_kit.explore import _page
from contrast_kit.explore.loss_playground import LOSSES, contrast

pytest.importorskip("anywidget")

WIDGET = "application/vnd.jupyter.widget-view+json"
SENTENCES = [
    "a red kite",
    "the blue kite",
    "a small drum",
    "the loud drum",
    "an old bear",
    "a bear",
]
CLASSES = torch.tensor([0, 0, 1])


def vectors(n=6, width=4, seed=0):
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def every_panel(tokenizer, texts):
    return {
        "mask_explorer": ck.explore.mask_explorer(tokenizer, texts[0]),
        "loss_playground": ck.explore.loss_playground(),
        "temperature_and_queue": ck.explore.temperature_and_queue(),
        "embedding_map": ck.explore.embedding_map(vectors(), SENTENCES, [text.split()[-1] for text in SENTENCES]),
        "live_training": ck.explore.live_training(
            ck.objectives.MLM(make_encoder(tokenizer)), texts, texts=texts[:20], labels=[0, 1] * 10, steps=2
        ),
    }  # fmt: skip


# --- what holds for all of them ---


def test_each_panel_is_a_widget_and_a_figure(every_panel, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda it, **_: shown.append(it))
    for name, panel in every_panel.items():
        assert isinstance(panel.figure(), Figure)
        panel._ipython_display_()
        live, left = shown[-2:]
        assert live is panel.widget and WIDGET in live._repr_mimebundle_()
        assert "run this cell again" in left.data, name
        assert f"{live._dom_classes[0]}-left" in left.data
        assert left.data.count("data:image/png;base64,iVBOR") == 1, name
        assert panel.words() in panel.line.value and len(panel.words()) > 20
    monkeypatch.setenv("CONTRAST_KIT_PANELS", "static")  # a page that can show no widget
    for name, panel in every_panel.items():
        lives = set() if name == "live_training" else {_page.KIND}
        panel._ipython_display_()
        assert shown[-1].keys() == {"image/png", "text/plain"} | lives


def test_what_fails_while_a_control_moves_is_said_on_the_panel(monkeypatch):
    panel = ck.explore.loss_playground()
    monkeypatch.setattr(panel, "words", lambda: 1 / 0)
    panel.view.anchor = 2
    assert "division by zero" in panel.line.value


# --- masks ---


def test_moving_a_slider_hides_more_and_never_both(tokenizer, texts):
    panel = ck.explore.mask_explorer(tokenizer, " ".join(texts[:3]))
    picture = panel.view.seen
    panel.p_c.value = 1.0  # as a hand would
    assert panel.view.seen != picture
    _, maskable, view0, view1 = panel.views()
    assert torch.equal(view0.selected ^ view1.selected, maskable)
    fewer = panel.set(p_m=0.2).views()[2].selected
    more = panel.set(p_m=0.5).views()[2].selected
    assert (fewer <= more).all() and fewer.sum() < more.sum()
    assert "none is hidden in both" in panel.words()
    panel.set(masker="two random masks", p_c=0.9)
    assert "hidden in both</b>" in panel.words()
    assert not torch.equal(panel.again().views()[2].selected, more)


# --- losses on a circle ---


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_and_forces_are_those_of_the_loss(loss):
    x, tau = torch.nn.functional.normalize(vectors().double(), dim=1), 0.3
    seen = contrast(loss, x, tau, CLASSES)
    a, b = x[:3], x[3:]
    expected = {
        "info_nce": lambda: ck.losses.info_nce(a, b, tau),
        "nt_xent": lambda: ck.losses.nt_xent(a, b, tau),
        "sup_con": lambda: ck.losses.sup_con(x, CLASSES.repeat(2), tau, reduction="mean"),
        "simsiam": lambda: ck.losses.simsiam(a, a, b, b),
    }[loss]()
    assert seen.value == pytest.approx(expected.item())
    positive = torch.tensor([[role == "positive" for role in row] for row in seen.roles])
    out = torch.tensor(
        [[role in ("out", "numerator") for role in row] for row in seen.roles]
    )
    assert torch.equal(seen.weights.isnan(), out)
    if loss != "simsiam":  # the loss from the weights: -log p at the positives
        log_p = seen.weights.log().masked_fill(~positive, 0).sum(1) / positive.sum(
            1
        ).clamp(min=1)
        assert -log_p[positive.any(1)].mean().item() == pytest.approx(seen.value)
        assert seen.weights[positive.any(1)].nansum(1).tolist() == pytest.approx(
            [1.0] * int(positive.any(1).sum())
        )
    assert (seen.forces * x).sum(1).abs().max() < 1e-12  # along the sphere
    moved = torch.nn.functional.normalize(x + 1e-4 * seen.forces, dim=1)
    assert contrast(loss, moved, tau, CLASSES).value < seen.value


def test_let_go_meets_and_spreads(every_panel):
    panel = every_panel["loss_playground"].set(loss="nt_xent", tau=0.5)
    before = panel.seen().value
    panel.let_go(200)
    x = torch.deg2rad(torch.tensor(panel.state["angles"]))
    assert torch.cos(x[:3] - x[3:]).min() > 0.99  # pairs meet
    assert torch.cos(x[:3] - x[:3].roll(1)).max() < -0.4  # three texts at 120 degrees
    assert panel.seen().value < before
    assert panel.again().seen().value == pytest.approx(before)
    near = (
        panel.set(loss="simsiam", angles=[0.0, 5.0, 10.0, 3.0, 8.0, 13.0])
        .let_go(200)
        .state["angles"]
    )
    assert max(near) - min(near) < 15  # nothing spreads them


# --- temperature and queue ---


def test_what_the_temperature_s_charts_draw():
    panel = ck.explore.temperature_and_queue(tau=0.1, batch=16, queue=64, seed=3)
    seen, n = panel.seen(), 2 * 16 - 2 + 64
    equal = ck.explore.temperature_and_queue([0.7], 0.7, batch=8).numbers()
    assert equal["loss"] == pytest.approx(math.log(15), abs=1e-6)
    assert equal["effective negatives"] == pytest.approx(14)
    mine = panel.negatives[:n].double()
    share = (mine / 0.1).softmax(0)
    assert seen["candidates"] == n + 1 and seen["hardest"] == pytest.approx(
        share.max().item()
    )
    assert seen["effective negatives"] == pytest.approx(
        math.exp(-(share * share.log()).sum())
    )
    ordered = share.sort(descending=True).values
    assert (
        ordered[: seen["half of the push"]].sum()
        >= 0.5
        > ordered[: seen["half of the push"] - 1].sum()
    )
    count, push = (
        np.histogram(mine, np.linspace(-1, 1, 21), weights=w)[0]
        for w in (torch.full((n,), 1 / n), share)
    )
    assert seen["count"] == pytest.approx(count) and seen["push"] == pytest.approx(push)
    for candidates, loss in seen["curve"][::9]:
        exponents = (
            panel.negatives[: candidates - 1].double() - panel.positive.value
        ) / 0.1
        assert loss == pytest.approx(
            torch.nn.functional.softplus(exponents.logsumexp(0)).item()
        )
    (panel,) = ck.plots.negative_weights(mine, 0.1, 0.7).axes
    heights = [patch.get_path().vertices[:, 1].max() for patch in panel.patches[20:]]
    assert heights == [pytest.approx(max(push))]
    assert f"loss {seen['loss']:.2f}" in panel.get_title()


# --- maps ---


def test_neighbours_are_sought_in_the_space_and_selection_is_read(tokenizer, texts):
    encoder = make_encoder(tokenizer, pooling="mean")
    spaces = {"encoder": encoder.encode(texts), "other": vectors(len(texts), 8)}
    panel = ck.explore.embedding_map(spaces, texts, encode={"encoder": encoder}, k=5)
    near, placed = panel.search(texts[3])
    assert near.keys() == placed.keys() == spaces.keys()
    cosines = ck.losses.cosine_matrix(spaces["encoder"])[3]
    order = cosines.argsort(descending=True)[1:6].tolist()
    assert [row for row, _ in near["encoder"]] == order
    assert near["encoder"][0][1] == pytest.approx(cosines[order[0]].item(), abs=1e-5)
    assert placed["encoder"] == panel.at["encoder"][3].tolist()
    panel.view.query = texts[3]
    assert [i for i, _ in panel.view.near["encoder"]] == order and not panel.view.problem
    panel.view.query = "a sentence that is not there"
    assert panel.view.near == {} and "give encode=" in panel.view.problem
    panel.view.query = ""
    assert panel.view.near == {} and not panel.view.problem


def test_a_sentence_of_ones_own_stands_among_its_nearest(texts):
    x = vectors(len(texts), 5)
    panel = ck.explore.embedding_map(x, texts, encode=lambda _: x[[9]] + 0.1, k=3)
    near, placed = panel.search("a sentence of one's own")
    weights = torch.tensor([cosine for _, cosine in near[""]]).div(0.05).softmax(0)
    expected = weights.numpy() @ panel.at[""][[row for row, _ in near[""]]]
    assert placed[""] == pytest.approx(expected, abs=1e-4)


# --- live training ---


def test_stop_keeps_a_run_that_can_be_used(tokenizer, texts, tmp_path):
    objective = ck.objectives.CMLM(make_encoder(tokenizer), contrast="info_nce")
    pairs = list(zip(texts[:10], texts[10:20], strict=True))
    panel = ck.explore.live_training(
        objective, texts, pairs=pairs, texts=texts[:30], labels=[0, 1, 2] * 10, every=0.0, steps=5000,
        batch_size=16, folder=tmp_path,
    )  # fmt: skip
    assert panel.view.now["phase"] == "ready" and not panel.running
    panel.start()
    assert panel.running and panel.start() is panel  # a second press does nothing
    assert panel.view.now["phase"] in ("starting", "training")  # said at once
    until = time.monotonic() + 60
    while (
        panel.view.moment["step"] == 0 or panel.view.now["step"] < 3
    ) and time.monotonic() < until:
        time.sleep(0.05)
    assert panel.view.moment["step"] > 0  # it was measured while it trained
    run = panel.stop()
    assert not panel.running and run.interrupted and 3 <= run.steps < 5000
    assert (
        len(run.history) == run.steps and run.encoder.encode(["a kite"]).isfinite().all()
    )
    assert not run.encoder.training and panel.view.now["phase"] == "stopped"
    assert (
        panel.view.now["step"] == run.steps and panel.view.curves["step"][-1] == run.steps
    )
    assert "panel.run" in panel.words() and (tmp_path / f"step-{run.steps:08d}").exists()


def test_a_run_that_fails_says_so(tokenizer, texts):
    panel = ck.explore.live_training(
        ck.objectives.MLM(make_encoder(tokenizer)), texts, steps=3, lr=-1.0
    )
    panel.start().wait()
    assert "has ended" in panel.words() and "lr" in panel.words() and not panel.running
    assert (
        panel.view.now["phase"] == "failed"
        and "lr must be a number" in panel.view.now["problem"]
    )
    with pytest.raises(ValueError, match="lr must be a number"):
        panel.figure()


# --- what would lie in silence ---


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: ck.explore.loss_playground().set(temperature=1),
            "no control 'temperature'",
        ),
        (
            lambda: ck.explore.temperature_and_queue(positive=1.5),
            "must lie between -1 and 1",
        ),
        (
            lambda: ck.explore.temperature_and_queue().set(positive=1.5),
            "positive cannot be 1.5",
        ),
        (
            lambda: ck.explore.loss_playground(angles=[0, 1, 2]),
            "two views of each of 3 texts",
        ),
        (
            lambda: ck.explore.embedding_map(vectors(), SENTENCES[:5]),
            "one vector for each of the 5 texts",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
