"""One name, many numbers: the formulas that notebooks 02b and 07 print for other libraries are what these compute."""

from pathlib import Path

import nbformat
import pytest
import torch
from torch.nn.functional import normalize

import contrast_kit as ck
from contrast_kit import losses

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def cells_of(notebook, tag):
    """What the notebook's own cells define, so that what the reader sees is what is compared here."""
    scope = {"ck": ck, "torch": torch, "losses": losses, "normalize": normalize}
    for cell in nbformat.read(NOTEBOOKS / notebook, as_version=4).cells:
        if tag in cell.metadata.get("tags", []):
            exec(cell.source, scope)
    return scope


@pytest.fixture(scope="module")
def scope():
    return cells_of("02b_losses_in_practice.ipynb", "names-by-formula")


def numbers(scope, tau):
    noise = torch.Generator().manual_seed(3)
    a, b = torch.randn(2, 3, 4, generator=noise, dtype=torch.float64)
    queue = torch.randn(2, 4, generator=noise, dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 0, 0, 2])
    tables = {
        "NT-Xent": scope["called_nt_xent"](a, b, labels, tau),
        "InfoNCE": scope["called_info_nce"](a, b, queue, tau),
    }
    values = {
        f"{name} | {how}": value
        for name, rows in tables.items()
        for how, value in rows.items()
    }
    return (
        a,
        b,
        labels,
        lambda words: next(
            value for name, value in values.items() if words in name
        ).item(),
    )


@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_the_table_of_names_agrees_with_pytorch_metric_learning(scope, tau):
    pml = pytest.importorskip("pytorch_metric_learning.losses")
    a, b, labels, value_of = numbers(scope, tau)
    both = torch.cat([a, b])
    partners = torch.arange(3).repeat(2)
    about = lambda loss: pytest.approx(loss.item(), abs=1e-6)  # noqa: E731
    assert value_of("NT-Xent | nt_xent") == about(
        pml.NTXentLoss(temperature=tau)(both, partners)
    )
    assert value_of("NTXentLoss, with these labels") == about(
        pml.NTXentLoss(temperature=tau)(both, labels)
    )


@pytest.mark.full
@pytest.mark.filterwarnings(
    "ignore:The MultipleNegativesSymmetricRankingLoss is deprecated"
)
@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_the_table_of_names_agrees_with_sentence_transformers(scope, tau):
    module = pytest.importorskip("sentence_transformers.losses")
    a, b, _, value_of = numbers(scope, tau)

    def theirs(name):
        loss = getattr(module, name)(torch.nn.Identity(), scale=1 / tau)
        return pytest.approx(
            loss.compute_loss_from_embeddings([a, b], None).item(), abs=1e-6
        )

    assert value_of("InfoNCE | info_nce") == theirs("MultipleNegativesRankingLoss")
    assert value_of("MultipleNegativesSymmetricRankingLoss") == theirs(
        "MultipleNegativesSymmetricRankingLoss"
    )


def test_the_table_of_names_holds_its_fixed_ratios(scope):
    *_, value_of = numbers(scope, 0.5)
    assert value_of("released code") == pytest.approx(2 * value_of("NT-Xent | nt_xent"))
    assert value_of("CAPT") == pytest.approx(6 * value_of("NT-Xent | nt_xent"))
    assert value_of("NT-Xent | CAPT eq. 4: a sum") == pytest.approx(
        6 * value_of("NT-Xent | nt_xent")
    )
    assert value_of("MoCo") > 0


@pytest.fixture(scope="module")
def codes():
    return cells_of("07_scl.ipynb", "four-libraries")["IMPLEMENTATIONS"]


@pytest.mark.parametrize(
    "labels", [[0, 0, 0, 0, 1, 1, 1, 2], [0, 1, 2, 3, 0, 1, 2, 3], [5] * 8]
)
@pytest.mark.parametrize("tau", [0.07, 0.5])
def test_the_notebooks_formula_for_pytorch_metric_learning_is_what_it_computes(
    codes, labels, tau
):
    pml = pytest.importorskip("pytorch_metric_learning.losses")
    noise = torch.Generator().manual_seed(1)
    x = torch.randn(8, 5, generator=noise, dtype=torch.float64)
    labels = torch.tensor(labels)
    theirs = pml.SupConLoss(temperature=tau)(x, labels)
    assert torch.allclose(
        codes["pytorch-metric-learning"](x, labels, tau), theirs.to(x), atol=1e-10
    )
    if len(labels.unique()) > 1:
        assert theirs > 0


def test_the_notebooks_other_formulas(codes):
    noise = torch.Generator().manual_seed(2)
    x = torch.randn(7, 4, generator=noise, dtype=torch.float64)
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 2])
    tau = 0.2
    itself = torch.eye(7, dtype=torch.bool)
    scores = normalize(x) @ normalize(x).T / tau
    positive = (labels[:, None] == labels) & ~itself
    p = scores.masked_fill(itself, -torch.inf).softmax(1)
    terms = [
        -p[i][positive[i]].log().mean() if positive[i].any() else p.new_zeros(())
        for i in range(7)
    ]
    assert torch.allclose(codes["SCL, eq. 3"](x, labels, tau), sum(terms))
    assert torch.allclose(
        codes["SupContrast"](x, labels, tau), tau / 0.07 * sum(terms) / 7
    )
    assert torch.allclose(codes["lightly"](x, labels, tau), tau * sum(terms) / 7)
    outside = sum(-p[i][positive[i]].mean().log() for i in range(6))
    assert torch.allclose(codes["log outside"](x, labels, tau), outside)
    assert outside < sum(terms)  # Jensen: the log of a mean is above the mean of logs
