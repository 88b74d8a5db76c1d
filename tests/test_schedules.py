"""The traces of the schedules, step by step."""

import pytest
import torch
from transformers import get_linear_schedule_with_warmup

from contrast_kit.objectives.schedules import inverted_triangle
from contrast_kit.training.settings import Training, learning_rate


@pytest.mark.parametrize("total", [1, 7, 10, 101, 200_000])
def test_triangle_starts_at_055_falls_to_005_half_way_and_rises_again(total):
    expected = {0: 0.55, 0.1: 0.45, 0.25: 0.3, 0.5: 0.05, 0.9: 0.45, 1: 0.55}
    for part, tau in expected.items():
        assert inverted_triangle(part * total, total) == pytest.approx(tau, abs=1e-12)


@pytest.mark.parametrize(("total", "warmup"), [(10, 0), (10, 3), (57, 6), (20, 20)])
def test_learning_rate_trace_is_that_of_transformers(total, warmup):
    """One learning rate for each optimizer update."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=2.0)
    theirs = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=warmup, num_training_steps=total
    )
    for step in range(total):
        expected = learning_rate(step, total, Training(lr=2.0, warmup=warmup / total))
        assert optimizer.param_groups[0]["lr"] == pytest.approx(expected, abs=1e-12)
        optimizer.step()
        theirs.step()
