"""The plan says what the step then does: negatives counted, memory kept, nothing trained on the way."""

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from conftest import make_encoder
from objectives import OBJECTIVES, ONE_EACH

import contrast_kit as ck
from contrast_kit.planning import estimate, measure
from contrast_kit.planning.measure import most_kept
from contrast_kit.training.gradient import gradient

pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")


COSTS = ("chunk_size", "state_bytes", "activation_bytes", "whole_bytes", "contrast_bytes", "available_bytes")
COSTS += ("largest_chunk", "seconds", "sent_bytes")


def kept_by_a_step(objective, batch, chunk_size):
    with most_kept(objective) as kept:
        parts, _ = gradient(objective, [batch], torch.Generator().manual_seed(0), chunk_size=chunk_size)
    return kept.most, parts


@pytest.mark.parametrize("name", OBJECTIVES)
def test_memory_is_that_of_a_chunk_and_the_value_that_of_the_whole(name, tokenizer, wordings):
    """96 texts in chunks of 4: what is kept for the backward pass is nearer to 4 texts' than to 96 texts'."""
    batch = wordings.batch([i % 60 for i in range(96)])
    batch |= {"label": torch.arange(96) % 4, "text_id": torch.arange(96)}
    objective = OBJECTIVES[name](make_encoder(tokenizer)).double().train()
    small, _ = kept_by_a_step(objective, {key: value[:4] for key, value in batch.items()}, None)
    whole, expected = kept_by_a_step(objective, batch, None)
    cut, parts = kept_by_a_step(objective, batch, 4)
    assert {key: value.item() for key, value in parts.items()} == pytest.approx(
        {key: value.item() for key, value in expected.items()}, rel=1e-10
    )
    assert whole > 12 * small
    assert cut < whole / 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_EACH)
def test_two_thousand_texts_are_trained_on_at_once_with_the_memory_of_few(name, tokenizer, wordings):
    """`batch_size=2048, chunk_size=64`: less is kept than by 512 texts encoded whole."""
    batch = wordings.batch([i % 60 for i in range(2048)])
    batch |= {"label": torch.arange(2048) % 4, "text_id": torch.arange(2048)}
    objective = OBJECTIVES[name](make_encoder(tokenizer)).train()
    few, _ = kept_by_a_step(objective, {key: value[:512] for key, value in batch.items()}, None)
    cut, parts = kept_by_a_step(objective, batch, 64)
    assert cut < few
    assert all(value.isfinite() for value in parts.values())


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda e: ck.objectives.CMLM(e, contrast="info_nce"), 11),
        (lambda e: ck.objectives.CMLM(e, contrast="nt_xent"), 22),
        (lambda e: ck.objectives.CMLM(e), None),
        (lambda e: ck.objectives.SimCSE(e), 11),
        (lambda e: ck.objectives.SimCSE(e, contrast="nt_xent"), 22),
        (lambda e: ck.objectives.CSSL(e), 11),
        (lambda e: ck.objectives.CAPT(e, queue=50), 72),
        (lambda e: ck.objectives.COCOLM(e), 22),
        (lambda e: ck.objectives.COCOLM(e, contrast_weight=None), None),
        (lambda e: ck.objectives.MLM(e), None),
    ],
)
def test_negatives_are_counted(make, expected, encoder, batch):
    assert make(encoder).negatives(batch) == expected


def test_a_queue_is_planned_full_and_left_as_it_was(encoder, texts):
    objective = ck.objectives.CAPT(encoder, queue=4000)
    objective.queue.push(torch.eye(3, encoder.width), torch.tensor([7, 8, 9]))
    plan = ck.plan(objective, texts, batch_size=16, steps=1)
    without = ck.plan(ck.objectives.CAPT(encoder, queue=0), texts, batch_size=16, steps=1)
    cosines = 32 * 4000 * 4  # bytes, of 32 anchors with all of it
    assert plan.contrast_bytes > without.contrast_bytes + cosines
    assert plan.state_bytes >= without.state_bytes + 4000 * encoder.width * 4
    assert objective.queue.ids.tolist() == [7, 8, 9]
    assert torch.equal(objective.queue.vectors, torch.eye(3, encoder.width))


def test_the_state_is_weights_gradients_and_two_moments(encoder, texts):
    objective = ck.objectives.MLM(encoder)
    frozen = next(objective.parameters()).requires_grad_(False).numel()  # has none of the last three
    expected = 16 * sum(p.numel() for p in objective.parameters()) - 12 * frozen
    found = ck.plan(objective, texts, batch_size=4, steps=1).state_bytes
    assert found == expected + sum(b.numel() * b.element_size() for b in objective.buffers())


def test_time_is_that_of_every_batch_of_a_step(encoder, texts, monkeypatch):
    monkeypatch.setattr(estimate, "measure_contrast", lambda *a: (0, 100.0, 0))
    monkeypatch.setattr(estimate, "optimizer_seconds", lambda objective: 1000.0)
    plan = ck.plan(ck.objectives.SimCSE(encoder), texts, batch_size=8, steps=1, accumulate=3)
    assert 1300 < plan.seconds < 1330


@pytest.mark.parametrize(
    "settings",
    [dict(epochs=1), dict(epochs=3, accumulate=4), dict(epochs=0.6), dict(steps=3, accumulate=2), {}, dict(epochs=2)],
)
def test_passes_and_time_are_of_the_texts_that_come(settings, encoder, monkeypatch):
    """The last batch of a pass may be short, and the last step of a run may have fewer batches."""
    monkeypatch.setattr(estimate, "_cost", lambda *a: dict.fromkeys(COSTS, 100))

    class Watched(ck.objectives.MLM):
        def views(self, batch, generator=None):
            seen.append(len(batch["text_id"]))
            return super().views(batch, generator)

    rows, seen = [f"There are {n} kites." for n in range(20)], []
    plan = ck.plan(Watched(encoder), rows, batch_size=8, **settings)
    ck.fit(Watched(encoder), rows, batch_size=8, progress=False, **settings)
    assert plan.seen == sum(seen) and f": {sum(seen) / 20:.3g} pass" in str(plan)
    whole = sum(seen) / 8 / settings.get("accumulate", 1)
    assert f", {measure.in_seconds(100 * whole)} in all" in str(plan)


def test_a_large_contrast_is_extrapolated_from_two_sizes(encoder, monkeypatch):
    """Bytes in proportion to N and seconds to N² grow so from 4,096 to 32,768 vectors, too."""
    monkeypatch.setattr(
        measure, "_contrast_of", lambda o, like, facts: (10.0 * (n := len(facts["text_id"])), n**2 / 1e6)
    )
    vectors, n = {"a": {"h": torch.ones(2, 8)}}, 2**15
    objective = ck.objectives.SimCSE(encoder)
    kept, seconds, sent = measure.measure_contrast(objective, vectors, {"text_id": torch.arange(n)})
    assert sent == n * 8 * 4 and kept == 10 * n + 2 * sent
    assert seconds == pytest.approx(n**2 / 1e6)


@pytest.mark.parametrize("grouped", [True, False])
def test_memory_is_of_the_longest_texts_and_time_of_those_that_a_batch_has(grouped, encoder, monkeypatch):
    """Ninety texts of 5 tokens and ten of 60, by a step that keeps 1,000 bytes and takes 1 ms for each token."""

    def step(rows, chunk=None):
        of = lengths[rows]
        return 1000 * int(of.max()) * min(chunk or len(rows), len(rows)), of.sum().item() / 1000, {}

    lengths = torch.tensor([5, 60] * 10 + [5] * 80)
    monkeypatch.setattr(measure, "_Step", lambda *given: step)
    training = ck.Training(group_by_length=grouped)
    for chunked in (False, True):
        found = measure.Encoding.measure(None, SimpleNamespace(lengths=lengths), training, chunked=chunked)
        assert found.bytes_at(4) == 4 * 60_000 and found.largest(300_000) == 5
        assert (found.seconds_at(100) == pytest.approx(0.5)) == grouped
        assert 0.5 <= found.seconds_at(100) < 2


def test_a_plan_measures_in_the_precision_of_the_run(encoder, texts, monkeypatch):
    monkeypatch.setattr("contrast_kit.fast.kernels.bfloat16_speed", lambda: 2.0)
    objective, seen = ck.objectives.MLM(encoder), set()
    plain = objective.encode
    objective.encode = lambda *given: seen.add(torch.is_autocast_enabled("cpu")) or plain(*given)
    ck.plan(objective, texts, batch_size=4, steps=1, precision="bf16")
    assert seen == {True}


def test_the_largest_chunk_fills_nine_tenths_of_the_memory(encoder, texts, monkeypatch):
    """Beside the weights, and the 1,000 bytes that are kept for any number of texts."""
    asked = []

    def measured(*given, chunked):
        asked.append(chunked)
        return measure.Encoding(1000.0, 500.0, 0.0, 0.001, {})

    monkeypatch.setattr(estimate.Encoding, "measure", measured)
    monkeypatch.setattr(estimate, "optimizer_seconds", lambda objective: 0.0)
    objective = ck.objectives.MLM(encoder)
    state = ck.plan(objective, texts, batch_size=4, steps=1).state_bytes
    monkeypatch.setattr(estimate, "_available", lambda device: int((state + 1000 + 500 * 10) / 0.9) + 2)
    asked.clear()
    whole, fits, more, shared = (
        ck.plan(objective, texts, batch_size=32, steps=1, **options)
        for options in ({}, dict(chunk_size=10), dict(chunk_size=11), dict(processes=5))
    )
    assert asked == [False, False, True, False, True, False]  # in chunks, too, where there are any
    assert {plan.largest_chunk for plan in (whole, fits, more)} == {10} and "chunk_size=10 would fit" in str(whole)
    assert [plan.fits for plan in (whole, fits, more, shared)] == [False, True, False, True]
    assert [plan.activation_bytes for plan in (whole, fits, shared)] == [17_000, 6000, 4500]  # 7 texts
    assert fits.whole_bytes == 17_000 and shared.seconds == pytest.approx(0.007)


def test_what_is_kept_twice_counts_once_and_parameters_do_not():
    x, layer = torch.ones(256, requires_grad=True), torch.nn.Linear(256, 256)
    with most_kept() as kept:
        y = x.exp()  # keeps its result,
        z = y * y.view(256)  # and this the same again, two times
    assert kept.most == kept.now == 1024
    del y, z
    assert kept.most == 1024 and kept.now == 0
    with most_kept(layer) as kept:
        layer(x[None])
    assert kept.most == 1024  # the input alone


def test_a_process_sends_its_gradients_and_its_share_of_the_vectors(encoder, texts):
    objective = ck.objectives.CMLM(encoder, contrast="nt_xent")
    plan = ck.plan(objective, texts, batch_size=32, steps=1, processes=4)
    assert plan.sent_bytes == 4 * plan.parameters + 2 * 32 * encoder.width * 4 // 4  # two views of float32
    objective.requires_grad_(False)
    assert measure.optimizer_seconds(objective) == 0


def test_sizes_and_times_are_printed_in_units_that_a_reader_knows():
    assert [measure.in_bytes(n) for n in (2**19, 3.25 * 2**20, 2**30, 2**41)] == [
        "0.5 MiB", "3.25 MiB", "1 GiB", "2,048 GiB",
    ]  # fmt: skip
    times = [measure.in_seconds(s) for s in (0.0035, 0.035, 2.1, 120, 12_600)]
    assert times == ["3.5 ms", "35 ms", "2.1 s", "2 min", "3.5 h"]


def test_a_containers_share_of_the_memory_is_what_there_is(encoder, texts, monkeypatch, tmp_path):
    limits = [tmp_path / "memory.max", tmp_path / "older"]
    monkeypatch.setattr(estimate, "LIMITS", limits)
    objective = ck.objectives.MLM(encoder)
    limits[0].write_text("max\n")
    assert ck.plan(objective, texts, batch_size=4, steps=1).available_bytes > 2**20
    limits[0].write_text("65536\n")
    plan = ck.plan(objective, texts, batch_size=4, steps=1)
    assert plan.available_bytes == 2**16 and not plan.fits and "TOO MUCH" in str(plan)


def test_negatives_are_those_of_the_loss(encoder, batch):
    """At a temperature so high that all candidates weigh the same, the loss is the log of their number."""
    batch["text_id"][:2] = 77  # one text twice
    for of in (
        partial(ck.objectives.CMLM, contrast="info_nce"),
        partial(ck.objectives.CMLM, contrast="nt_xent"),
        partial(ck.objectives.CAPT, queue=0),
        ck.objectives.SimCSE,
        ck.objectives.COCOLM,
    ):
        for ignore in (True, False):
            objective = of(encoder, tau=1e6, ignore_duplicates=ignore)
            found = math.exp(objective(batch)["contrast"].item())
            assert found == pytest.approx(1 + objective.negatives(batch), rel=0.003), (of, ignore)


def test_negatives_of_classes_are_texts_of_other_classes(encoder, batch):
    label = batch["label"]
    by_hand = (label[:, None] != label[None, :]).sum(1).float().mean().item()
    assert ck.objectives.SCL(encoder, classes=4).negatives(batch) == pytest.approx(by_hand)


def test_a_plan_leaves_everything_as_it_was(tokenizer, texts):
    objective = ck.objectives.CAPT(make_encoder(tokenizer, dropout=0.1), queue=32).eval()
    before = {name: value.clone() for name, value in objective.state_dict().items()}
    state = torch.get_rng_state()
    ck.plan(objective, texts, steps=3, batch_size=16, chunk_size=4)
    assert all(torch.equal(before[name], value) for name, value in objective.state_dict().items())
    assert torch.equal(state, torch.get_rng_state()) and not objective.training
    assert all(parameter.grad is None for parameter in objective.parameters())


class Scheduled(ck.objectives.SimCSE):
    """What changes along a run is set, moved or frozen by `set_progress` alone, as `fit` calls it."""

    def build(self):
        super().build()
        self.calls, self.mean = [], torch.nn.Linear(3, 3)

    def set_progress(self, step, total):
        self.calls.append((step, total, self.training))
        self.share = 1 - step / total
        self.mean.requires_grad_(False).weight.mul_(0.9)
        self.encoder.model.config.step = step

    def contrast(self, vectors, facts):
        return {"contrast": self.share * super().contrast(vectors, facts)["contrast"]}

    def negatives(self, facts):
        self.told(*self.calls)
        return self.share * super().negatives(facts)


def test_what_only_set_progress_sets_is_planned_as_at_the_first_step_and_taken_back(tokenizer, texts):
    objective, told = Scheduled(make_encoder(tokenizer, dropout=0.1)).eval(), []
    objective.told = lambda *calls: told.extend(calls)
    attributes, weight = dict(vars(objective)), objective.mean.weight.detach().clone()
    assert ck.plan(objective, texts, steps=7, batch_size=16).negatives == 15
    assert set(told) == {(0, 7, True)}
    assert vars(objective) == attributes and objective.calls == [] and not objective.training
    assert torch.equal(objective.mean.weight, weight) and objective.mean.weight.requires_grad
    assert not hasattr(objective.encoder.model.config, "step")
    assert ck.fit(objective, texts, steps=1, batch_size=4, progress=False).steps == 1


@pytest.mark.parametrize("name", ["capt by id", "coco_lm", "electra"])
def test_a_plan_leaves_settings_as_they_were(name, tokenizer, texts):
    objective = OBJECTIVES[name](make_encoder(tokenizer))
    config, tau = vars(objective.encoder.model.config).copy(), getattr(objective, "tau", None)
    ck.plan(objective, texts, steps=3, batch_size=4)
    assert vars(objective.encoder.model.config) == config and getattr(objective, "tau", None) == tau


def test_what_accumulation_would_not_give(encoder, texts, tokenizer):
    plan = ck.plan(ck.objectives.COCOLM(make_encoder(tokenizer)), texts, steps=5, batch_size=16, accumulate=4)
    assert (plan.negatives, plan.negatives_of_one_batch) == (30, 126)
    assert "accumulate=4 does not change that, batch_size=64 would: 126" in str(plan)
    assert "are the same" in str(ck.plan(ck.objectives.MLM(encoder), texts, accumulate=4))
    assert "only pulls" in str(ck.plan(ck.objectives.CMLM(encoder), texts))


def test_chunks_and_processes_lower_the_memory(encoder, texts):
    objective = ck.objectives.CMLM(encoder, contrast="nt_xent")
    whole, cut, shared = (
        ck.plan(objective, texts, batch_size=160, **options) for options in ({}, dict(chunk_size=8), dict(processes=4))
    )
    assert whole.negatives == cut.negatives == shared.negatives == 318
    assert cut.activation_bytes < whole.activation_bytes / 10
    assert shared.activation_bytes == pytest.approx(whole.activation_bytes / 4, rel=0.2)
    assert "each encodes 40 texts and contrasts all 160" in str(shared)


def test_the_estimated_memory_is_near_the_measured(tokenizer, texts):
    encoder = make_encoder(tokenizer)
    objective = ck.objectives.CMLM(encoder, contrast="nt_xent").train()
    rows = ck.data.Texts([texts[0]] * 128, tokenizer, max_length=64)
    plan = ck.plan(objective, rows, batch_size=128)
    measured, _ = kept_by_a_step(objective, rows.batch(range(128)), None)
    assert plan.activation_bytes + plan.contrast_bytes == pytest.approx(measured, rel=0.25)


def test_lengths_alone_will_do(encoder):
    plan = ck.plan(ck.objectives.CMLM(encoder, contrast="info_nce"), [8, 20, 60] * 20, batch_size=30)
    assert plan.examples == 60 and plan.negatives == 29
    for lengths in (np.array([8, 20, 60]), [*np.array([8, 20, 60])], torch.tensor([8, 20, 60])):
        assert ck.plan(ck.objectives.MLM(encoder), lengths, batch_size=3).examples == 3
    with pytest.raises(ValueError, match="lengths from 3 on"):
        ck.plan(ck.objectives.MLM(encoder), [2, 3])


def test_a_plan_refuses_what_fit_refuses(encoder, texts):
    with pytest.raises(ValueError, match="processes is how many share each batch, at least 1"):
        ck.plan(ck.objectives.MLM(encoder), texts, processes=0)
    with pytest.raises(ValueError, match="processes is how many share each batch, from 1 to 4, not 5"):
        ck.plan(ck.objectives.MLM(encoder), [9] * 20, batch_size=16, epochs=1, processes=5)  # the last has 4
    with pytest.raises(TypeError, match="did you mean 'batch_size'"):
        ck.plan(ck.objectives.MLM(encoder), texts, batchsize=3)
    with pytest.raises(TypeError, match=r"such as .*, not MLM\."):
        ck.plan(ck.objectives.MLM, texts)
    with pytest.raises(TypeError, match="not several|not str|not dict|several splits"):
        ck.plan(ck.objectives.MLM(encoder), {"train": texts})


@pytest.mark.parametrize(("batch_size", "accumulate", "largest"), [(16, 2, "32"), (16, 4, "40, all there are,")])
def test_one_large_batch_has_no_text_twice(batch_size, accumulate, largest, tokenizer):
    simcse = ck.objectives.SimCSE(make_encoder(tokenizer, dropout=0.1))
    plan = ck.plan(simcse, [9] * 40, steps=3, batch_size=batch_size, accumulate=accumulate)
    most = min(batch_size * accumulate, 40)
    assert plan.negatives_of_one_batch == most - 1 and f"batch_size={largest} would: {most - 1}" in str(plan)
