"""Chunks = whole, and accumulation, which is not. (Several processes = one: test_processes.py.)"""

from functools import partial

import pytest
import torch
from conftest import make_encoder
from objectives import OBJECTIVES

import contrast_kit as ck
from contrast_kit.objectives.base import cut
from contrast_kit.training.gradient import gradient

# Whether chunks equal the whole is asked without dropout: that SimCSE then has no noise does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")


EXACT = 1e-10
"""What float64 leaves of an equality, of the largest gradient. SimCSE's two equal views have gradients that nearly
cancel: 1.1e-11 was seen on a CPU without AVX-512."""


def gradients(objective):
    """The gradient of every parameter, in float64 for comparing."""
    return {
        name: p.grad.double().clone()
        for name, p in objective.named_parameters()
        if p.grad is not None
    }


def largest_difference(a, b):
    """Of two sets of gradients, relative to the largest gradient."""
    scale = max(value.abs().max().item() for value in b.values())
    zero = torch.zeros(())  # of a parameter that one of the two never touched
    return (
        max(
            (a.get(name, zero) - b.get(name, zero)).abs().max().item()
            for name in a.keys() | b.keys()
        )
        / scale
    )


def one_step(objective, batches, **options):
    objective.zero_grad()
    parts, _ = gradient(objective, batches, torch.Generator().manual_seed(7), **options)
    return {name: value.item() for name, value in parts.items()}, gradients(objective)


@pytest.fixture(params=OBJECTIVES, ids=lambda name: name.replace(" ", "-"))
def objective(request, tokenizer):
    return OBJECTIVES[request.param](make_encoder(tokenizer)).double().train()


def test_whole_step_is_the_definition(objective, batch):
    parts, ours = one_step(objective, [batch])
    objective.zero_grad()
    definition = objective(batch, torch.Generator().manual_seed(7))
    definition["loss"].backward()
    assert parts == pytest.approx(
        {name: value.item() for name, value in definition.items()}, abs=1e-12
    )
    assert largest_difference(ours, gradients(objective)) < EXACT


@pytest.mark.parametrize("chunk_size", [1, 5, 12, 100])
def test_chunks_give_the_loss_and_gradient_of_the_whole(objective, batch, chunk_size):
    whole, expected = one_step(objective, [batch])
    chunked, ours = one_step(objective, [batch], chunk_size=chunk_size)
    assert chunked == pytest.approx(whole, rel=1e-12)
    assert largest_difference(ours, expected) < EXACT


@pytest.mark.parametrize("name", OBJECTIVES)
def test_with_dropout_the_replay_repeats_every_mask(name, tokenizer, batch):
    """Cached gradients equal one graph over the same chunks with the same dropout masks."""
    objective = OBJECTIVES[name](make_encoder(tokenizer, dropout=0.3)).double().train()
    for module in objective.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.3  # in the heads too
    torch.manual_seed(3)
    parts, ours = one_step(objective, [batch], chunk_size=5)

    torch.manual_seed(3)
    objective.zero_grad()
    with torch.no_grad():
        views = objective.views(batch, torch.Generator().manual_seed(7))
    vectors, sums, counts = {}, {}, {}
    seeds = [
        int(torch.randint(2**62, ())) for view in views.values() for _ in cut(view, 5)
    ]
    for view_name, view in views.items():
        chunks = []
        for chunk in cut(view, 5):
            torch.manual_seed(seeds.pop(0))
            chunks.append(objective.encode(view_name, chunk))
        heads = chunks[0].vectors
        vectors[view_name] = {
            head: torch.cat([chunk.vectors[head] for chunk in chunks]) for head in heads
        }
        for chunk in chunks:
            ck.objectives.base.add(sums, chunk.sums)
        ck.objectives.base.add(counts, objective.term_counts(view_name, view))
    local = {part: value / counts[part] for part, value in sums.items()}
    total = objective.total(
        local | objective.contrast(vectors, objective.facts(batch, views))
    )
    total.backward()
    assert parts["loss"] == pytest.approx(total.item(), rel=1e-12)
    assert largest_difference(ours, gradients(objective)) < EXACT


def test_accumulation_averages_the_gradients_of_the_contrasts(tokenizer, batch):
    objective = ck.objectives.CMLM(
        make_encoder(tokenizer), contrast="info_nce", mlm=False
    ).double()
    halves = [
        {key: value[rows] for key, value in batch.items()}
        for rows in (slice(0, 5), slice(5, 10))
    ]
    generator = torch.Generator().manual_seed(7)
    found = []
    for which in halves:
        objective.zero_grad()
        gradient(objective, [which], generator)
        found.append(gradients(objective))
    objective.zero_grad()
    gradient(objective, halves, torch.Generator().manual_seed(7))
    mean = {name: (found[0][name] + found[1][name]) / 2 for name in found[0]}
    assert largest_difference(gradients(objective), mean) < EXACT


def test_accumulation_adds_no_negatives(tokenizer, batch):
    objective = ck.objectives.CMLM(
        make_encoder(tokenizer), contrast="info_nce", tau=10.0, mlm=False
    ).double()
    whole, _ = one_step(objective, [batch])
    halves, _ = one_step(objective, cut(batch, 6))
    # At a high temperature the loss is close to the log of the number of candidates: 12 against 6.
    assert whole["contrast"] == pytest.approx(
        torch.log(torch.tensor(12.0)).item(), abs=0.1
    )
    assert halves["contrast"] == pytest.approx(
        torch.log(torch.tensor(6.0)).item(), abs=0.1
    )


def test_a_row_without_a_selected_token_is_no_nan(tokenizer, batch):
    for mean in ("tokens", "sequences"):
        objective = ck.objectives.MLM(make_encoder(tokenizer), p_m=0.0, mlm_mean=mean)
        parts, _ = one_step(objective, [batch])
        assert parts == {"loss": 0.0, "mlm": 0.0}


def test_a_contrast_that_is_only_logged_is_no_loss(encoder, batch):
    class Watched(ck.objectives.MLM):
        contrastive = True

        def encode(self, name, view):
            return (
                super()
                .encode(name, view)
                ._replace(vectors={"h": self.encoder.pool(self.encoder(view), view)})
            )

        def contrast(self, vectors, facts):
            return {"cone": ck.geometry.anisotropy(vectors["T0"]["h"])}

    for chunk_size in (None, 5):
        parts, ours = one_step(Watched(encoder).double(), [batch], chunk_size=chunk_size)
        _, expected = one_step(
            ck.objectives.MLM(encoder).double(), [batch], chunk_size=chunk_size
        )
        assert 0 < parts["cone"] <= 1 and parts["loss"] == parts["mlm"]
        assert largest_difference(ours, expected) < EXACT


@pytest.mark.parametrize("chunk_size", [None, 5])
def test_the_contrast_is_told_what_only_the_views_know(chunk_size, encoder, batch):
    """Here how many tokens of each text were masked."""

    class Counted(ck.objectives.CMLM):
        def facts(self, batch, views):
            return super().facts(batch, views) | {
                "masked": views["T0"]["selected"].sum(1)
            }

        def contrast(self, vectors, facts):
            return super().contrast(vectors, facts) | {
                "masked": facts["masked"].double().mean()
            }

    objective = Counted(encoder, p_m=0.4)
    selected = objective.views(batch, torch.Generator().manual_seed(7))["T0"]["selected"]
    parts, _ = one_step(objective, [batch], chunk_size=chunk_size)
    assert parts["masked"] == pytest.approx(selected.sum().item() / len(selected))
    assert (
        objective(batch, torch.Generator().manual_seed(7))["masked"].item()
        == parts["masked"]
    )


@pytest.mark.parametrize("chunk_size", [None, 5])
def test_all_is_encoded_in_the_precision_asked_for_and_the_contrast_is_not(
    chunk_size, encoder, batch
):
    """Words of an auxiliary model and the first of two passes, too: else the second has other vectors."""
    objective, found = ck.objectives.CMLM(encoder, contrast="info_nce"), set()

    def watch(name, of):
        setattr(
            objective,
            name,
            lambda *given: (
                found.add((name, torch.is_autocast_enabled("cpu"))) or of(*given)
            ),
        )

    for name in ("views", "encode", "contrast"):
        watch(name, getattr(objective, name))
    bf16 = partial(torch.autocast, "cpu", dtype=torch.bfloat16)
    gradient(objective, [batch], None, chunk_size=chunk_size, autocast=bf16)
    assert found == {("views", True), ("encode", True), ("contrast", False)}


@pytest.mark.parametrize("chunk_size", [None, 64, 7, 1])
def test_right_answers_are_counted_exactly_in_half_precision(tokenizer, chunk_size):
    """In bfloat16 a sum of ones stops at 256: the logged accuracy of 400 right answers would be 0.64."""
    objective = ck.objectives.FineTune(make_encoder(tokenizer, dropout=0.0)).eval()
    with torch.no_grad():
        objective.head.out.weight.zero_()
        objective.head.out.bias.copy_(torch.tensor([0.0, 5.0]))
    rows = [{"text": "a red ball", "label": 1}] * 400
    batch = ck.data.Texts(rows, tokenizer).batch(range(400))
    bf16 = partial(torch.autocast, "cpu", dtype=torch.bfloat16)
    parts, _ = gradient(objective, [batch], None, chunk_size=chunk_size, autocast=bf16)
    assert float(parts["accuracy"]) == 1
