import pytest
import torch
from conftest import make_encoder

from contrast_kit.objectives import SimCSE


@pytest.fixture
def encoder(tokenizer):
    """Its dropout is the noise."""
    return make_encoder(tokenizer, dropout=0.1)


def test_the_papers_setting_is_the_default():
    paper = SimCSE.paper()
    assert paper == SimCSE.Config()
    assert (paper.tau, paper.projector) == (0.05, True)


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
