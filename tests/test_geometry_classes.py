"""Cosines within and between classes: against all pairs in a loop, and what the two measures claim of themselves."""

import pytest
import torch
from torch.nn.functional import normalize

from contrast_kit import geometry


@pytest.fixture
def x():
    """Twenty vectors of different lengths."""
    noise = torch.Generator().manual_seed(0)
    return (
        torch.randn(20, 5, generator=noise, dtype=torch.float64)
        * torch.linspace(0.1, 9, 20)[:, None]
    )


LABELS = torch.tensor(
    [7, 7, 7, 0, 0, 3, 3, 3, 3, 9] * 2
)  # any integers from 0 on; classes of different sizes


def by_pairs(x, labels):
    cosine = normalize(x) @ normalize(x).T
    within = [
        cosine[i, j] for i in range(len(x)) for j in range(i) if labels[i] == labels[j]
    ]
    between = [
        cosine[i, j] for i in range(len(x)) for j in range(i) if labels[i] != labels[j]
    ]
    return torch.stack(within).mean(), torch.stack(between).mean()


@pytest.mark.parametrize(
    "labels", [LABELS, torch.arange(20) // 2, torch.tensor([0] * 19 + [1])]
)
def test_means_over_all_pairs(x, labels):
    assert torch.allclose(
        torch.stack(geometry.class_cosines(x, labels)), torch.stack(by_pairs(x, labels))
    )
    within, between = by_pairs(x, labels)
    assert torch.allclose(geometry.class_spread(x, labels), (1 - within) / (1 - between))


def test_random_labels_give_one(x):
    noise = torch.Generator().manual_seed(1)
    many = torch.randn(2000, 16, generator=noise)
    assert abs(geometry.class_spread(many, torch.arange(2000) % 4) - 1) < 0.01
    assert (
        geometry.class_spread(many[LABELS.abs()], LABELS) < 1e-5
    )  # every class on one point


def test_a_cone_or_other_lengths_change_nothing():
    noise = torch.Generator().manual_seed(2)
    u, away = (
        torch.randn(40, 6, generator=noise, dtype=torch.float64),
        torch.zeros(6, dtype=torch.float64),
    )
    u[:, 0], away[0] = 0, 1  # so that the cone's axis is at a right angle to all of them
    u, labels = normalize(u), torch.arange(40) % 3
    inside = geometry.class_spread(u + 50 * away, labels)
    assert torch.allclose(inside, geometry.class_spread(u, labels))
    assert geometry.class_cosines(u + 50 * away, labels).within > 0.999
    assert torch.allclose(
        geometry.class_spread(u * torch.rand(40, 1).double().add(0.1), labels), inside
    )


def test_gradients_flow(x):
    few = x[:6].requires_grad_()
    assert torch.autograd.gradcheck(
        lambda v: geometry.class_spread(v, LABELS[3:9]), (few,)
    )


def test_a_collapsed_space_has_no_unit():
    with pytest.raises(ValueError, match="same way"):
        geometry.class_spread(torch.ones(20, 3), LABELS)
