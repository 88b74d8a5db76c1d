"""The checkers of notebook 07, and its five codes for "SupCon": right answers pass, usual mistakes get their hint."""

import math
from pathlib import Path

import nbformat
import pytest
import torch
from torch.nn.functional import normalize

import contrast_kit as ck
from contrast_kit import losses
from contrast_kit.exercises import judge, names

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "07_scl.ipynb"


def parts(x, labels, tau):
    """Cosines over tau, who is a positive, and the diagonal: [N, N] each."""
    itself = torch.eye(len(x), dtype=torch.bool)
    return normalize(x) @ normalize(x).T / tau, (labels[:, None] == labels) & ~itself, itself


def right(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    log_p = scores.masked_fill(itself, -torch.inf).log_softmax(1).masked_fill(~positive, 0)
    count = positive.sum(1)
    return -(log_p.sum(1) / count.clamp(min=1)).sum() / (count > 0).sum().clamp(min=1)


def unguarded(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    log_p = scores.masked_fill(itself, -torch.inf).log_softmax(1).masked_fill(~positive, 0)
    return -(log_p.sum(1) / positive.sum(1)).mean()


def with_itself(x, labels, tau):
    scores, positive, _ = parts(x, labels, tau)
    count = positive.sum(1)
    terms = -scores.log_softmax(1).masked_fill(~positive, 0).sum(1) / count.clamp(min=1)
    return terms.sum() / (count > 0).sum()


def itself_a_positive(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    kept = positive.any(1)
    terms = -scores.log_softmax(1).masked_fill(~(positive | itself), 0).sum(1) / (positive | itself).sum(1)
    return terms[kept].mean()


def over_negatives(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    log_p = scores - scores.masked_fill(positive | itself, -torch.inf).logsumexp(1, keepdim=True)
    kept = positive.any(1)
    return -(log_p.masked_fill(~positive, 0).sum(1)[kept] / positive.sum(1)[kept]).mean()


def one_positive(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    negatives = scores.masked_fill(positive | itself, -torch.inf).logsumexp(1, keepdim=True)
    log_p = scores - torch.logaddexp(scores, negatives)
    kept = positive.any(1)
    return -(log_p.masked_fill(~positive, 0).sum(1)[kept] / positive.sum(1)[kept]).mean()


def log_outside(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    p = scores.masked_fill(itself, -torch.inf).softmax(1)
    kept = positive.any(1)
    return -((p * positive).sum(1)[kept] / positive.sum(1)[kept]).log().mean()


def lengths_kept(x, labels, tau):
    itself = torch.eye(len(x), dtype=torch.bool)
    log_p = (x @ x.T / tau).masked_fill(itself, -torch.inf).log_softmax(1)
    positive = (labels[:, None] == labels) & ~itself
    kept = positive.any(1)
    return -(log_p.masked_fill(~positive, 0).sum(1)[kept] / positive.sum(1)[kept]).mean()


def nothing_for_one_class(x, labels, tau):
    return right(x, labels, tau) * (labels != labels[0]).any()


def by_selection(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    log_p = scores.masked_fill(itself, -torch.inf).log_softmax(1).masked_fill(~positive, 0)
    kept = positive.any(1)
    return -(log_p.sum(1)[kept] / positive.sum(1)[kept]).mean()  # the mean of nothing is NaN


def nan_gradient(x, labels, tau):
    scores, positive, itself = parts(x, labels, tau)
    others = scores.exp() * ~itself  # 0 on the diagonal, whose log has an infinite slope
    log_p = (others.log() - others.sum(1, keepdim=True).log()).masked_fill(~positive, 0)
    count = positive.sum(1)
    return -(log_p.sum(1) / count.clamp(min=1)).sum() / (count > 0).sum().clamp(min=1)


def reduced(reduction):
    return lambda x, labels, tau: losses.sup_con(x, labels, tau, reduction=reduction)


def test_right_answers():
    assert judge("07.floor", math.log).right
    for answer in (right, reduced("mean_valid")):
        assert judge("07.sup_con", answer).right, judge("07.sup_con", answer).text

    def in_place(x, labels, tau):
        x /= x.norm(dim=1, keepdim=True)
        return right(x, labels, tau)

    assert judge("07.sup_con", in_place).right, judge("07.sup_con", in_place).text
    assert judge("07.lam", lambda λ, N: λ / (λ + N * (1 - λ))).right
    assert judge("07b.wrong_pairs", lambda q: 2 * q * (1 - q)).right


def test_no_answer_is_not_yet():
    for name in [*names("07"), *names("07b")]:
        assert judge(name, lambda *args: None).right is None


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("07.floor", lambda P: 0.0, "probability 1"),
        ("07.floor", lambda P: math.log(P + 1), "no candidate of its own"),
        ("07.floor", lambda P: P * math.log(P), "not their sum"),
        ("07.floor", lambda P: -math.log(P), "minus"),
        ("07.floor", lambda P: 1 / P, "What is the loss of that"),
        ("07.floor", math.log2, "natural"),
        ("07.floor", lambda P: 0.5, "at best"),
        ("07.sup_con", reduced("sum"), "sum, eq. 3 as printed"),
        ("07.sup_con", reduced("mean"), "divide by N"),
        ("07.sup_con", reduced("none"), "one number"),
        ("07.sup_con", unguarded, "NaN"),
        ("07.sup_con", lengths_kept, "l2-normalised"),
        ("07.sup_con", lambda x, y, tau: right(x, y, 1 / tau), "do not multiply"),
        ("07.sup_con", lambda x, y, tau: right(x, y, 1.0), "tau is missing"),
        ("07.sup_con", lambda x, y, tau: right(x, y, tau * tau), "twice"),
        ("07.sup_con", with_itself, "its own denominator"),
        ("07.sup_con", itself_a_positive, "among its own positives"),
        ("07.sup_con", over_negatives, "positives too"),
        ("07.sup_con", one_positive, "other* positives"),
        ("07.sup_con", log_outside, "logarithm"),
        ("07.sup_con", lambda x, y, tau: -right(x, y, tau), "sign"),
        ("07.sup_con", lambda x, y, tau: right(x, y, tau) * tau / 0.07, "SupContrast"),
        ("07.sup_con", lambda x, y, tau: right(x, y, tau) * tau, "lightly"),
        ("07.sup_con", nothing_for_one_class, "one class only"),
        ("07.sup_con", by_selection, "no two labels agree"),
        ("07.sup_con", lambda x, y, tau: right(x.detach(), y, tau), "no gradient"),
        ("07.sup_con", nan_gradient, "gradient is NaN"),
        ("07.sup_con", lambda x, y, tau: right(x, y, tau) + 1, "Row by row|In each row"),
        ("07.lam", lambda λ, N: λ, "N times"),
        ("07.lam", lambda λ, N: λ * N / (λ * N + 1 - λ), "the other way"),
        ("07.lam", lambda λ, N: λ / N, "no longer 1 - λ"),
        ("07.lam", lambda λ, N: λ * N, "smaller"),
        ("07.lam", lambda λ, N: λ / (1 - λ) / N, "ratio"),
        ("07.lam", lambda λ, N: λ / (λ + N * (1 - λ)) if λ not in (0, 1) else 0.5, "must stay"),
        ("07.lam", lambda λ, N: 0.1, "Solve"),
        ("07b.wrong_pairs", lambda q: q, "wrong *labels*"),
        ("07b.wrong_pairs", lambda q: 2 * q, "of one class again"),
        ("07b.wrong_pairs", lambda q: q * (1 - q), "Either"),
        ("07b.wrong_pairs", lambda q: 1 - (1 - q) ** 2, "at least one"),
        ("07b.wrong_pairs", lambda q: q**2, "both are flipped"),
        ("07b.wrong_pairs", lambda q: (1 - q) ** 2, "neither"),
        ("07b.wrong_pairs", lambda q: (1 - q) ** 2 + q**2, "right* pairs"),
        ("07b.wrong_pairs", lambda q: 0.1, "exactly one"),
    ],
)
def test_each_usual_mistake_gets_its_hint(name, answer, words):
    verdict = judge(name, answer)
    assert verdict.right is False
    assert any(part in verdict.text for part in words.split("|")), verdict.text


@pytest.fixture(scope="module")
def codes():
    """The functions of the notebook's cells "four-libraries", as they stand there."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    scope = {"ck": ck, "torch": torch}
    for cell in cells:
        if "four-libraries" in cell.metadata.get("tags", []):
            exec(cell.source, scope)
    return scope["CODES"]


@pytest.mark.parametrize("labels", [[0, 0, 0, 0, 1, 1, 1, 2], [0, 1, 2, 3, 0, 1, 2, 3], [5] * 8])
@pytest.mark.parametrize("tau", [0.07, 0.5])
def test_the_notebooks_formula_for_pytorch_metric_learning_is_what_it_computes(codes, labels, tau):
    pml = pytest.importorskip("pytorch_metric_learning.losses")
    noise = torch.Generator().manual_seed(1)
    x, labels = torch.randn(8, 5, generator=noise, dtype=torch.float64), torch.tensor(labels)
    theirs = pml.SupConLoss(temperature=tau)(x, labels)
    assert torch.allclose(codes["pytorch-metric-learning"](x, labels, tau), theirs.to(x), atol=1e-10)
    if len(labels.unique()) > 1:
        assert theirs > 0


def test_the_notebooks_other_formulas(codes):
    noise = torch.Generator().manual_seed(2)
    x, labels, tau = (
        torch.randn(7, 4, generator=noise, dtype=torch.float64),
        torch.tensor([0, 0, 0, 1, 1, 1, 2]),
        0.2,
    )
    scores, positive, itself = parts(x, labels, tau)
    p = scores.masked_fill(itself, -torch.inf).softmax(1)
    terms = [-p[i][positive[i]].log().mean() if positive[i].any() else p.new_zeros(()) for i in range(7)]
    assert torch.allclose(codes["SCL, eq. 3"](x, labels, tau), sum(terms))
    assert torch.allclose(codes["SupContrast"](x, labels, tau), tau / 0.07 * sum(terms) / 7)
    assert torch.allclose(codes["lightly"](x, labels, tau), tau * sum(terms) / 7)
    outside = sum(-p[i][positive[i]].mean().log() for i in range(6))
    assert torch.allclose(codes["log outside"](x, labels, tau), outside)
    assert outside < sum(terms)  # Jensen: the log of a mean is above the mean of logs
