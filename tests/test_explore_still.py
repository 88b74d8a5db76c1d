"""The stored picture of a panel, and where a sentence is placed on a map."""

import base64
import re

import numpy as np
import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import plots
from contrast_kit.explore._panel import Panel, slider, widgets

pytest.importorskip("anywidget")

WIDGET = "application/vnd.jupyter.widget-view+json"


class Dots(Panel):
    """A panel that is redrawn as a figure at each move, as the shelf is."""

    def __init__(self):
        self.picture = widgets().Image(format="png")
        self.assemble({"height": slider("height", 0.5, 0, 1)}, ["height", self.picture])

    def show(self):
        self.picture.value = self.figure()._repr_png_()
        self.update_stored(lambda: self.picture.value)

    def figure(self):
        return plots.embedding_map(
            [[0.0, 1.0], [1.0, self.height.value + 1]],
            points=[[0, 1], [1, self.height.value]],
        )


@pytest.fixture
def displayed(monkeypatch):
    """What a panel puts on the page, in order, and what replaces it later."""
    import IPython.display

    class Handle:
        def update(self, data, raw):
            shown.append(("update", data))

    shown = []

    def display(data, raw, display_id=None):
        shown.append(("display", data))
        return Handle() if display_id else None

    monkeypatch.setattr(IPython.display, "display", display)
    return shown


def png(bundle):
    return base64.b64decode(re.search(r"base64,([^\"]+)", bundle["text/html"])[1])


def test_the_picture_stands_before_the_widget_and_hides_while_it_lives(displayed):
    panel = ck.explore.temperature_and_queue()
    panel._ipython_display_()
    (_, still), (_, widget) = displayed
    name = re.search(r"ck-still-(\w+)", still["text/html"])[1]
    assert (
        f"ck-live-{name}" in panel.widget._dom_classes
        and f"body:has(.ck-live-{name})" in still["text/html"]
    )
    assert (
        WIDGET in widget
        and "image/png" not in widget
        and png(still).startswith(b"\x89PNG")
    )


def test_the_stored_picture_follows_the_controls_and_a_run(displayed, tokenizer, texts):
    panel = Dots()
    panel.set(height=0.4)
    assert not displayed  # not on a page yet
    panel._ipython_display_()
    panel.set(height=0.9)
    kind, bundle = displayed[-1]
    assert kind == "update" and png(bundle) == panel.picture.value
    live = ck.explore.live_training(
        ck.objectives.MLM(make_encoder(tokenizer)), texts, texts=texts[:20], steps=2
    )
    live._ipython_display_()
    before = len(displayed)
    live.start().wait()
    assert [kind for kind, _ in displayed[before:]] == ["update"]
    assert png(displayed[-1][1]) != png(displayed[before - 2][1])


def test_what_fails_while_a_control_moves_is_said_on_the_panel(monkeypatch):
    panel = ck.explore.loss_playground()
    monkeypatch.setattr(panel, "words", lambda: 1 / 0)
    panel.view.anchor = 2
    assert "ZeroDivisionError" in panel.line.value


# --- a sentence of one's own on the map ---


def spaces(n=60, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(n, 5, generator=draw) * torch.tensor([4.0, 3, 1, 1, 1]) + 2


def test_on_principal_components_a_sentence_is_projected_as_the_others():
    x = spaces()
    encode = dict(zip(map(str, range(60)), x, strict=True)).get
    panel = ck.explore.embedding_map(
        {"a": x[:50], "b": -x[:50]}, [str(i) for i in range(50)],
        encode={"a": lambda texts: encode(texts[0])[None], "b": lambda texts: -encode(texts[0])[None]},
    )  # fmt: skip
    at = np.frombuffer(panel.view.xy, dtype=np.float32).reshape(2, 50, 2)
    assert panel.place("7")["a"] == pytest.approx(at[0, 7], abs=1e-5)
    unit = torch.nn.functional.normalize(x, dim=1).double().numpy()
    mean = unit[:50].mean(axis=0)
    _, _, axes = np.linalg.svd(unit[:50] - mean, full_matrices=False)
    plane = (unit - mean) @ axes[:2].T
    scale = np.linalg.norm(plane[0] - plane[1]) / np.linalg.norm(at[0, 0] - at[0, 1])
    gaps = np.linalg.norm(at[0] - panel.place("55")["a"], axis=1)
    assert np.linalg.norm(plane[:50] - plane[55], axis=1) == pytest.approx(
        scale * gaps, abs=1e-3
    )
    panel.view.query = "55"
    assert panel.view.placed.keys() == {"a", "b"} and panel.view.near.keys() == {"a", "b"}
    panel.view.query = ""
    assert panel.view.placed == {}


def test_elsewhere_it_stands_among_its_nearest():
    x, texts = spaces(), [str(i) for i in range(60)]
    points = torch.rand(60, 2, generator=torch.Generator().manual_seed(1))
    panel = ck.explore.embedding_map(
        x, texts, points=points, encode=lambda given: x[[int(given[0].strip("!"))]], k=3
    )
    near = panel.neighbours("9!", k=3)[""]
    weights = torch.tensor([cosine for _, cosine in near]).div(0.05).softmax(0).numpy()
    expected = weights @ panel.at[""][[int(text) for text, _ in near]]
    assert panel.place("9!")[""] == pytest.approx(expected, abs=1e-4)
    only = ck.explore.embedding_map(
        {"a": x, "b": x}, texts, encode={"a": lambda given: x[:1]}
    )
    only.view.query = "new"
    assert "give encode= for 'b'" in only.view.problem and only.view.placed == {}
