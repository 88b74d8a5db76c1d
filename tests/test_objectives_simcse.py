import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.losses import nt_xent
from contrast_kit.objectives import SimCSE


@pytest.fixture
def encoder(tokenizer):
    """Its dropout is the noise."""
    return make_encoder(tokenizer, dropout=0.1)


def loss_of(objective, batch, seed=0):
    return objective(batch, torch.Generator().manual_seed(seed))


def test_the_papers_setting_is_the_default():
    paper = SimCSE.paper()
    assert paper == SimCSE.Config()
    assert (paper.tau, paper.contrast, paper.projector, paper.mlm_weight) == (
        0.05,
        "info_nce",
        True,
        0.0,
    )


def test_two_passes_of_one_text_differ_by_dropout_alone(encoder, batch):
    objective = SimCSE(encoder).train()
    views = objective.views(batch)
    assert list(views) == ["first", "second"]
    assert torch.equal(views["first"]["input_ids"], views["second"]["input_ids"])
    first, second = (
        objective.encode(name, view).vectors["h"] for name, view in views.items()
    )
    assert not torch.allclose(first, second, atol=1e-3)
    objective.eval()
    first, second = (
        objective.encode(name, view).vectors["h"] for name, view in views.items()
    )
    assert torch.equal(first, second)


def test_equation_4_in_loops(encoder, batch):
    objective = SimCSE(encoder, tau=0.2).double().train()
    first, second = (
        objective.encode(*of).vectors["h"] for of in objective.views(batch).items()
    )
    loss = objective.contrast({"first": {"h": first}, "second": {"h": second}}, {})[
        "contrast"
    ]
    a, b = (torch.nn.functional.normalize(x, dim=1) for x in (first, second))
    total = 0.0
    for i in range(len(a)):
        scores = torch.stack([a[i] @ b[j] / 0.2 for j in range(len(b))])
        total -= (scores[i].exp() / scores.exp().sum()).log().item()
    assert loss.item() == pytest.approx(total / len(a), rel=1e-12)


def test_the_projector_is_one_dense_layer_with_tanh(encoder, batch):
    objective = SimCSE(encoder).eval()
    h = encoder.pool(encoder(batch), batch)
    dense = objective.projector[0]
    assert [tuple(p.shape) for p in objective.projector.parameters()] == [(32, 32), (32,)]
    s = objective.encode("first", dict(batch)).vectors["h"]
    assert torch.allclose(s, torch.tanh(h @ dense.weight.T + dense.bias), atol=1e-6)
    plain = SimCSE(encoder, projector=False).eval()
    assert torch.allclose(plain.encode("first", dict(batch)).vectors["h"], h, atol=1e-6)


def test_masked_lm_is_a_third_pass_and_weighs_what_it_is_told(encoder, batch):
    objective = SimCSE(encoder, mlm_weight=0.1).eval()
    views = objective.views(batch, torch.Generator().manual_seed(0))
    assert list(views) == ["first", "second", "masked"]
    assert objective.encode("first", views["first"]).sums == {}
    assert objective.encode("masked", views["masked"]).vectors == {}
    parts = loss_of(objective, batch)
    assert parts["loss"].item() == pytest.approx(
        (parts["contrast"] + 0.1 * parts["mlm"]).item(), rel=1e-6
    )
    assert set(loss_of(SimCSE(encoder), batch)) == {"loss", "contrast"}
    again = objective.views(batch, torch.Generator().manual_seed(0))["masked"]
    assert torch.equal(again["input_ids"], views["masked"]["input_ids"])
    every = SimCSE(encoder, mlm_weight=0.1, p_m=1.0).views(batch)["masked"]
    assert torch.equal(every["selected"], batch["maskable"])


def test_it_learns(tokenizer, texts):
    encoder = make_encoder(tokenizer, dropout=0.1, pooling="mean")
    run = ck.fit(
        SimCSE(encoder, tau=0.1), texts, steps=40, batch_size=32, lr=2e-3, progress=False
    )
    assert (
        run.history["contrast"].tail(5).mean()
        < 0.7 * run.history["contrast"].head(5).mean()
    )


def test_the_symmetric_form_is_nt_xent(encoder):
    a, b = torch.randn(2, 6, encoder.width, generator=torch.Generator().manual_seed(0))
    objective = SimCSE(encoder, contrast="nt_xent", tau=0.2)
    assert objective.contrast({"first": {"h": a}, "second": {"h": b}}, {})[
        "contrast"
    ] == nt_xent(a, b, 0.2)
