"""Edge cases in which something wrong was answered, or nothing said, until a reader of the whole library met them."""

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.objectives import FineTune


@pytest.mark.parametrize(
    ("epochs", "batches", "steps"), [(1.1, 50, 55), (2.2, 25, 55), (0.5, 3, 2), (1, 7, 7)]
)
def test_epochs_in_fractions_take_no_step_too_many(epochs, batches, steps):
    assert ck.Training(epochs=epochs).total_steps(batches) == steps


def test_small_scores_are_no_constant():
    assert tasks.pearson([1e-8, 2e-8, 3e-8], [1, 2, 3]) == pytest.approx(1)
    assert tasks.pearson([0, 0, 0], [1, 2, 3]) == 0


def test_a_loss_of_labels_is_summed_in_float32(tokenizer):
    objective = FineTune(make_encoder(tokenizer), classes=2)
    scores, label = (
        torch.tensor([[0.1, 0.2]] * 64).bfloat16(),
        torch.zeros(64, dtype=torch.long),
    )
    objective.scores = lambda given, view: given
    halves, whole = (
        objective.local_sums("text", given, {"label": label})["ce"]
        for given in (scores, scores.float())
    )
    assert halves.dtype == torch.float32 and halves == whole
