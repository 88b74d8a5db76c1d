"""What a run costs, before it begins; and that chunks keep the memory of a chunk."""

import pytest
import torch
from conftest import make_encoder
from objectives import OBJECTIVES

import contrast_kit as ck
from contrast_kit.training.gradient import gradient
from contrast_kit.training.plan import most_kept

pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")


def kept_by_a_step(objective, batch, chunk_size):
    with most_kept(objective) as kept:
        parts, _ = gradient(
            objective, [batch], torch.Generator().manual_seed(0), chunk_size=chunk_size
        )
    return kept.most, parts


@pytest.mark.full
@pytest.mark.parametrize("name", OBJECTIVES)
def test_memory_is_that_of_a_chunk_and_the_value_that_of_the_whole(
    name, tokenizer, wordings
):
    """96 texts in chunks of 4: what is kept for the backward pass is nearer to 4 texts' than to 96 texts'."""
    batch = wordings.batch([i % 60 for i in range(96)])
    batch |= {"label": torch.arange(96) % 4, "text_id": torch.arange(96)}
    objective = OBJECTIVES[name](make_encoder(tokenizer)).double().train()
    small, _ = kept_by_a_step(
        objective, {key: value[:4] for key, value in batch.items()}, None
    )
    whole, expected = kept_by_a_step(objective, batch, None)
    cut, parts = kept_by_a_step(objective, batch, 4)
    for key, value in parts.items():
        assert value.item() == pytest.approx(expected[key].item(), rel=1e-10)
    assert whole > 12 * small
    assert cut < whole / 5


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda e: ck.objectives.CMLM(e, contrast="info_nce"), 11),
        (lambda e: ck.objectives.CMLM(e, contrast="nt_xent"), 22),
        (lambda e: ck.objectives.CMLM(e), None),
        (lambda e: ck.objectives.SimCSE(e), 11),
        (lambda e: ck.objectives.CSSL(e), 11),
        (lambda e: ck.objectives.CAPT(e, queue=50), 72),
        (lambda e: ck.objectives.COCOLM(e), 22),
        (lambda e: ck.objectives.COCOLM(e, contrast_weight=None), None),
        (lambda e: ck.objectives.MLM(e), None),
    ],
)
def test_negatives_are_counted(make, expected, encoder, batch):
    assert make(encoder).negatives(batch) == expected


def test_what_is_kept_is_counted_once_and_without_parameters():
    layer = torch.nn.Linear(64, 64)
    x = torch.ones(8, 64, requires_grad=True)
    with most_kept(layer) as kept:
        y = layer(x) * layer(x)  # keeps x once, and two results
    assert kept.most == kept.now == 3 * x.numel() * 4
    del y
    assert kept.now == 0


def test_a_plan_changes_nothing(tokenizer, texts):
    objective = ck.objectives.CAPT(make_encoder(tokenizer, dropout=0.1), queue=64)
    before = {name: value.clone() for name, value in objective.state_dict().items()}
    random = torch.get_rng_state()
    ck.plan(objective, texts, batch_size=8, steps=3)
    assert torch.equal(random, torch.get_rng_state()) and len(objective.queue) == 0
    assert all(
        torch.equal(value, before[name]) for name, value in objective.state_dict().items()
    )
    assert all(weight.grad is None for weight in objective.parameters())


def test_a_smaller_chunk_keeps_less_and_accumulation_takes_longer(encoder, texts):
    def plan(**settings):
        objective = ck.objectives.CMLM(encoder, contrast="info_nce")
        return ck.plan(objective, texts, batch_size=64, steps=2, **settings)

    whole, chunked = plan(), plan(chunk_size=4)
    assert (
        chunked.step_bytes < whole.step_bytes / 4
        and chunked.negatives == whole.negatives == 63
    )
    longer = plan(accumulate=2)
    assert (
        longer.negatives == 63
        and "accumulate=2 adds none, batch_size=128 would" in str(longer)
    )


def test_a_plan_says_what_accumulating_changes(encoder, texts):
    assert "are the same" in str(ck.plan(ck.objectives.MLM(encoder), texts, accumulate=4))
    assert "are the same" in str(ck.plan(ck.objectives.CMLM(encoder), texts))
