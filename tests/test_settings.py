"""The settings of a run: what makes no sense is said, whatever the objective."""

import numpy as np
import pytest

import contrast_kit as ck
from contrast_kit.training.settings import Training, adamw


def test_whole_numbers_of_numpy_are_whole_numbers(encoder, texts, tmp_path):
    for steps in (np.int64(2), 2):  # and a checkpoint knows them by their value
        objective = ck.objectives.MLM(encoder)
        run = ck.fit(
            objective, texts, steps=steps, folder=tmp_path, resume=True, progress=False
        )
        assert run.steps == 2


def test_weight_decay_spares_biases_and_norms(encoder):
    decayed, spared = adamw(ck.objectives.CMLM(encoder), Training()).param_groups
    assert decayed["weight_decay"] == 0.01 and all(p.ndim >= 2 for p in decayed["params"])
    assert spared["weight_decay"] == 0.0 and all(p.ndim < 2 for p in spared["params"])


def test_adamw_has_the_settings_and_every_weight_as_one_at_rest_may_be_set_free(encoder):
    objective = ck.objectives.CMLM(encoder)
    encoder.model.lm_head.dense.weight.requires_grad_(False)
    groups = adamw(
        objective, Training(lr=3e-4, betas=(0.8, 0.95), eps=1e-4, weight_decay=0.3)
    ).param_groups
    assert [group["weight_decay"] for group in groups] == [0.3, 0.0]
    assert all(
        (g["lr"], tuple(g["betas"]), g["eps"]) == (3e-4, (0.8, 0.95), 1e-4)
        for g in groups
    )
    found = [id(p) for group in groups for p in group["params"]]
    assert sorted(found) == sorted(id(p) for p in objective.parameters())


@pytest.mark.parametrize(
    ("training", "batches", "steps"),
    [
        (Training(epochs=1, accumulate=4), 6, 2),  # 1.5
        (Training(epochs=0.5), 5, 3),  # 2.5
        (Training(accumulate=8), 3, 1),
        (Training(epochs=3), 4, 12),
        (Training(steps=5, accumulate=2), 100, 5),
    ],
)
def test_what_is_left_of_a_pass_is_a_step_too(training, batches, steps):
    assert training.total_steps(batches) == steps
