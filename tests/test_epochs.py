"""Epochs as the papers count them: every row once a pass, and both numbers, updates and passes, as printed."""

import math

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import papers
from contrast_kit.data.batches import make_batches


def counted(objective):
    """The objective, and a list that grows by the size of each batch that it is trained on."""
    sizes, views = [], objective.views

    def spy(batch, generator=None):
        sizes.append(len(batch["input_ids"]))
        return views(batch, generator)

    objective.views = spy
    return objective, sizes


@pytest.mark.parametrize(
    ("method", "n", "passes", "updates"),
    [("FT", 20, 350, 700), ("FT", 100, 100, 700), ("FT", 1000, 10, 630)]
    + [("CMLM", 20, 200, 600), ("CMLM", 100, 50, 650), ("CMLM", 1000, 5, 625)],
)
def test_cmlms_numbers_of_passes_give_the_updates_of_its_batches(
    method, n, passes, updates
):
    """CMLM 4.3: 350, 100, 10 epochs at batch 16; 200, 50, 5 at batch 8. ⌈n / batch⌉ updates a pass."""
    training = ck.Training(**papers.training(method, n))
    batches = make_batches([9] * n, training)
    assert (training.total_steps(len(batches)), training.epochs) == (updates, passes)
    rows = sum(len(batch) for epoch in range(passes) for batch in batches.epoch(epoch))
    assert rows == passes * n


def test_a_run_by_epochs_trains_every_row_once_a_pass(tokenizer, texts):
    objective, sizes = counted(
        ck.objectives.CMLM(make_encoder(tokenizer), ck.objectives.CMLM.paper())
    )
    settings = papers.training("CMLM", 20) | dict(epochs=3)
    run = ck.fit(objective, texts[:20], **settings, progress=False)
    assert run.steps == 9 and sizes == [8, 8, 4] * 3 and sum(sizes) == 3 * 20


def test_a_run_by_epochs_resumes_to_the_same_weights(tokenizer, texts, tmp_path):
    def go(stop=None, **options):
        objective = ck.objectives.MLM(make_encoder(tokenizer, dropout=0.1))
        callback = (
            (lambda run: run.stop() if run.steps == stop else None) if stop else None
        )
        ck.fit(
            objective,
            texts[:20],
            epochs=2,
            batch_size=8,
            callback=callback,
            progress=False,
            **options,
        )
        return objective.state_dict()

    expected = go()
    go(stop=4, folder=tmp_path)  # in the second pass
    resumed = go(folder=tmp_path, resume=True)
    assert all(torch.equal(resumed[name], expected[name]) for name in expected)


def test_a_last_batch_of_one_text_gives_finite_losses(tokenizer, texts):
    """1,000 rows in batches of 27 leave one: no contrast has a partner then, and none becomes NaN."""
    import warnings

    for method in (
        ck.objectives.CMLM,
        ck.objectives.COCOLM,
        ck.objectives.CAPT,
        ck.objectives.SimCSE,
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = ck.fit(
                method(make_encoder(tokenizer)),
                texts[:9],
                epochs=1,
                batch_size=8,
                progress=False,
            )
        assert run.steps == 2 and math.isfinite(run.rows[-1]["loss"])
