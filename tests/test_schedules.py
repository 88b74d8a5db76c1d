"""The traces of the schedules, step by step."""

from functools import partial

import pytest
import torch
from transformers import get_linear_schedule_with_warmup

from contrast_kit.objectives.schedules import (
    constant,
    inverted_triangle,
    linear_warmup_linear_decay,
)


@pytest.mark.parametrize("total", [1, 7, 10, 101, 200_000])
def test_triangle_starts_at_055_falls_to_005_half_way_and_rises_again(total):
    expected = {0: 0.55, 0.1: 0.45, 0.25: 0.3, 0.5: 0.05, 0.9: 0.45, 1: 0.55}
    for part, tau in expected.items():
        assert inverted_triangle(part * total, total) == pytest.approx(tau, abs=1e-12)


def test_constant_fits_where_a_schedule_is_expected():
    schedule = partial(constant, value=0.1)
    assert [schedule(t, 10) for t in range(11)] == [0.1] * 11


def test_warmup_and_decay_trace():
    trace = [linear_warmup_linear_decay(t, 8, warmup=4) for t in range(9)]
    assert trace == [0, 0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0]
    assert [linear_warmup_linear_decay(t, 4) for t in range(5)] == [1, 0.75, 0.5, 0.25, 0]
    assert [linear_warmup_linear_decay(t, 2, warmup=2) for t in range(3)] == [0, 0.5, 0]


@pytest.mark.parametrize(("total", "warmup"), [(10, 0), (10, 3), (57, 6), (20, 20)])
def test_learning_rate_trace_is_that_of_transformers(total, warmup):
    """One learning rate for each optimizer update."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=2.0)
    theirs = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=warmup, num_training_steps=total
    )
    for step in range(total):
        expected = 2.0 * linear_warmup_linear_decay(step, total, warmup)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(expected, abs=1e-12)
        optimizer.step()
        theirs.step()
    assert (
        optimizer.param_groups[0]["lr"]
        == 0
        == linear_warmup_linear_decay(total, total, warmup)
    )
