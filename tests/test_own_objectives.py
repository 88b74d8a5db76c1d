"""What a reader writes himself on top of `Objective`: projectors, averaged teachers, learned weights, own facts."""

import copy
import pickle
import sys
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from conftest import make_encoder
from objectives import OBJECTIVES
from test_step import EXACT, gradients, largest_difference, one_step

import contrast_kit as ck
from contrast_kit.objectives import (
    COCOLM,
    ELECTRA,
    MLM,
    SCL,
    AllTokenMLM,
    FineTune,
    MemoryQueue,
)
from contrast_kit.objectives.base import Objective
from contrast_kit.training.gradient import gradient

QUIET = dict(progress=False, warmup=0.0)
pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")


@dataclass(frozen=True)
class OwnConfig:
    momentum: float = 0.9
    tau: float = 0.1


CONTRASTIVE = (
    "cmlm info_nce",
    "cmlm simsiam",
    "coco_lm",
    "capt",
    "scl",
    "cssl",
    "simcse",
)


@pytest.mark.parametrize("name", CONTRASTIVE)
def test_a_projector_below_any_method_is_trained_whole_and_in_chunks(
    name, tokenizer, batch
):
    """Every method makes its vectors in `vectors`, so one override reaches the contrast, however the batch is cut."""
    objective = OBJECTIVES[name](make_encoder(tokenizer, dropout=0.0)).double().eval()
    width = objective.encoder.width
    for weight in objective.encoder.model.base_model.encoder.parameters():
        torch.nn.init.normal_(
            weight, std=0.5
        )  # new weights give nearly one vector to all texts
    objective.projector = torch.nn.Linear(width, width).double()

    class Projected(type(objective)):
        def vectors(self, name, hidden, view):
            made = super().vectors(name, hidden, view)
            return {head: self.projector(rows) for head, rows in made.items()}

    plain, _ = one_step(objective, [batch])
    objective.__class__ = Projected
    (whole, of_whole), (pieces, of_pieces) = (
        one_step(objective, [batch], chunk_size=size) for size in (None, 3)
    )
    assert largest_difference(of_pieces, of_whole) < EXACT
    assert of_whole["projector.weight"].abs().sum() > 0
    contrast = "scl" if name == "scl" else "contrast"
    assert abs(whole[contrast] - plain[contrast]) > 1e-6
    assert whole[contrast] == pytest.approx(pieces[contrast], rel=1e-9)


class MoCo(Objective):
    """Keys from an averaged encoder, and a queue of them."""

    Config, weights = OwnConfig, {"contrast": 1.0}

    def build(self):
        self.keys = copy.deepcopy(self.encoder).requires_grad_(False)
        self.queue, self.seen = MemoryQueue(8, self.encoder.width), []

    def views(self, batch, generator=None):
        return {"query": batch, "key": batch}

    def states(self, name, view):
        return (self.keys if name == "key" else self.encoder)(view)

    def vectors(self, name, hidden, view):
        return {"h": self.encoder.pool(hidden, view)}

    def contrast(self, vectors, facts):
        pair = vectors["query"]["h"], vectors["key"]["h"].detach()
        return {
            "contrast": ck.losses.info_nce(
                *pair, self.config.tau, negatives=self.queue.vectors
            )
        }

    def set_progress(self, step, total):
        with torch.no_grad():
            for mean, weight in zip(
                self.keys.parameters(), self.encoder.parameters(), strict=True
            ):
                mean.lerp_(weight, 1 - self.config.momentum)

    def after_step(self, vectors, facts):
        self.seen.append(torch.is_grad_enabled() or vectors["key"]["h"].requires_grad)
        self.queue.push(vectors["key"]["h"], facts["text_id"])


def test_a_momentum_encoder_follows_once_a_step_and_the_queue_once_a_batch(
    tokenizer, texts
):
    objective = MoCo(make_encoder(tokenizer, dropout=0.0))
    before = [weight.clone() for weight in objective.keys.parameters()]
    run = ck.fit(objective, texts, steps=4, batch_size=2, accumulate=3, lr=1e-3, **QUIET)
    assert run.steps == 4 and objective.seen == [False] * 12 and len(objective.queue) == 8
    assert any(
        not torch.equal(*pair)
        for pair in zip(before, objective.keys.parameters(), strict=True)
    )
    assert all(
        weight.grad_fn is None and not weight.requires_grad
        for weight in objective.keys.parameters()
    )
    pickle.loads(pickle.dumps(objective))


def test_in_chunks_a_momentum_encoder_gives_the_same_gradient(tokenizer, batch):
    objective = MoCo(make_encoder(tokenizer, dropout=0.0)).double().eval()
    (_, whole), (_, pieces) = (
        one_step(objective, [batch], chunk_size=size) for size in (None, 3)
    )
    assert largest_difference(pieces, whole) < EXACT
    assert not any(name.startswith("keys.") for name in whole)


class Learned(ck.objectives.CMLM):
    """Weights of the parts that are learned: exp(-s), and the terms s that hold them back as a part of their own."""

    def build(self):
        super().build()
        self.s = torch.nn.ParameterDict(
            {name: torch.nn.Parameter(torch.tensor(0.3)) for name in ("mlm", "contrast")}
        )

    @property
    def weights(self):
        return {name: torch.exp(-s) for name, s in self.s.items()} | {"held": 1.0}

    def contrast(self, vectors, facts):
        return super().contrast(vectors, facts) | {"held": sum(self.s.values())}


def test_weights_of_the_parts_may_be_learned(tokenizer, batch):
    objective = (
        Learned(make_encoder(tokenizer, dropout=0.0), contrast="info_nce").double().eval()
    )
    loss = objective(batch, torch.Generator().manual_seed(7))["loss"]
    loss.backward()
    defined = gradients(objective)
    for size, times in ((None, 1), (3, 1), (1, 1)):
        parts, found = one_step(objective, [batch] * times, chunk_size=size)
        assert largest_difference(found, defined) < EXACT
        assert parts["loss"] == pytest.approx(loss.item())
    assert not gradient(objective, [batch])[0]["loss"].requires_grad
    _, twice = one_step(objective, [{key: value[:4] for key, value in batch.items()}] * 2)
    _, once = one_step(objective, [{key: value[:4] for key, value in batch.items()}])
    assert twice["s.mlm"].sign() == once["s.mlm"].sign()


class Held(MLM):
    """A learned weight beside a local loss: its term stands in a contrast that looks at no vectors."""

    contrastive = True

    def build(self):
        self.s = torch.nn.Parameter(torch.tensor(0.3))

    @property
    def weights(self):
        return {"mlm": torch.exp(-self.s), "held": 1.0}

    def contrast(self, vectors, facts):
        return {"held": self.s * 1.0}


def test_a_contrast_without_vectors_is_trained_too(tokenizer, batch):
    objective = Held(make_encoder(tokenizer, dropout=0.0)).double().eval()
    loss = objective(batch, torch.Generator().manual_seed(7))["loss"]
    loss.backward()
    defined = gradients(objective)
    for size in (None, 3):
        parts, found = one_step(objective, [batch], chunk_size=size)
        assert largest_difference(found, defined) < EXACT
        assert parts["loss"] == pytest.approx(loss.item())


def test_a_contrast_without_vectors_counts_on_the_first_process_alone(
    tokenizer, batch, monkeypatch
):
    """Gradients of processes are added up, and it is the same on all."""
    module, found = sys.modules[gradient.__module__], []
    plain = vars(module.distributed)
    objective = Held(make_encoder(tokenizer, dropout=0.0)).double().eval()
    for rank in (0, 1):
        monkeypatch.setattr(
            module,
            "distributed",
            SimpleNamespace(**plain | {"rank": lambda rank=rank: rank}),
        )
        found.append(one_step(objective, [batch])[1]["s"].item())
    assert found[0] - found[1] == pytest.approx(1)


def test_a_view_outside_the_contrast_is_not_among_its_vectors(tokenizer, batch):
    class Pair(ck.objectives.CMLM):
        def views(self, batch, generator=None):
            return {"apart": dict(batch)} | super().views(batch, generator)

        def contrasted(self, name):
            return name != "apart"

    objective = (
        Pair(make_encoder(tokenizer, dropout=0.0), contrast="info_nce").double().eval()
    )
    whole = objective(batch, torch.Generator().manual_seed(7))
    parts, _ = one_step(objective, [batch], chunk_size=3)
    assert parts["contrast"] == pytest.approx(whole["contrast"].item())


@pytest.mark.parametrize("method", [FineTune, ck.tasks.Span])
def test_predictions_read_the_same_states_as_the_loss(method, tokenizer, batch):
    class Earlier(method):
        def states(self, name, view):
            return super().states(name, view) * 0

    given = batch | {"answerable": torch.ones_like(batch["input_ids"], dtype=torch.bool)}
    plain, own = (
        kind(make_encoder(tokenizer, dropout=0.0), dropout=0.0).eval()
        for kind in (method, Earlier)
    )
    assert not torch.allclose(plain.logits(given), own.logits(given))
    assert own.logits(given).std(0).max() < 1e-6  # of nothing


def test_in_chunks_no_two_dropouts_draw_the_same_numbers(tokenizer, batch, monkeypatch):
    """A head draws in the second pass only: what it draws there is not what the next chunk drew in the first."""
    objective = SCL(make_encoder(tokenizer, dropout=0.1), classes=4, dropout=0.1).train()
    states, plain = [], torch.nn.functional.dropout

    def watched(x, p=0.5, training=True, inplace=False):
        if torch.is_grad_enabled():  # the second pass, which is the one that trains
            states.append(hash(torch.get_rng_state().numpy().tobytes()))
        return plain(x, p, training, inplace)

    monkeypatch.setattr(torch.nn.functional, "dropout", watched)
    gradient(objective, [batch], torch.Generator().manual_seed(0), chunk_size=3)
    assert len(states) > 8 and len(set(states)) == len(states)


def test_a_total_of_ones_own_is_refused_where_the_parts_are_summed_piece_by_piece(
    tokenizer, batch
):
    class Kendall(MLM):
        def total(self, parts):
            return sum(parts.values()) + 1

    objective = Kendall(make_encoder(tokenizer))
    assert objective(batch)["loss"] > 1  # whole, it is right
    with pytest.raises(TypeError, match="give `weights` in place of a `total`"):
        ck.fit(objective, ["the red kite"] * 4, steps=1, progress=False)


def test_a_diagnostic_that_is_not_finite_stops_no_run(tokenizer, texts, tmp_path):
    class Diagnosed(MLM):
        def local_sums(self, name, hidden, view):
            return super().local_sums(name, hidden, view) | {
                "spread": hidden.new_tensor(float("nan"))
            }

        def term_counts(self, name, view):
            return super().term_counts(name, view) | {"spread": torch.tensor(1)}

    go = dict(batch_size=4, folder=tmp_path, **QUIET)
    run = ck.fit(Diagnosed(make_encoder(tokenizer)), texts, steps=2, **go)
    assert run.history["spread"].isna().all() and run.history["loss"].notna().all()
    again = ck.fit(Diagnosed(make_encoder(tokenizer)), texts, steps=2, resume=True, **go)
    assert again.history["spread"].isna().all()


def test_what_a_callback_draws_does_not_move_the_run(tokenizer, texts):
    held = make_encoder(tokenizer).view_of(texts[:3])

    def weights(callback):
        objective = MLM(make_encoder(tokenizer, dropout=0.1))
        ck.fit(objective, texts, steps=4, batch_size=4, callback=callback, **QUIET)
        return objective.state_dict()

    drawing = weights(
        lambda run: (run.encoder(held.to(run.encoder.device)), torch.rand(3))
    )
    assert all(torch.equal(value, drawing[name]) for name, value in weights(None).items())


def test_a_plan_reads_facts_labels_and_buffers_as_the_run_does(tokenizer, texts):
    class Counting(ck.objectives.SimCSE):
        def build(self):
            super().build()
            self.register_buffer("bank", torch.zeros(0, 4))

        def negatives(self, facts):
            return float(facts["source"].sum())

        def contrast(self, vectors, facts):
            self.bank = torch.cat([self.bank, self.bank.new_zeros(2, 4)])
            self.register_buffer("late", torch.ones(3))
            return super().contrast(vectors, facts)

    class Sourced(ck.data.Texts):
        def batch(self, rows):
            return super().batch(rows) | {"source": torch.ones(len(rows))}

    objective = Counting(make_encoder(tokenizer, dropout=0.1))
    plan = ck.plan(
        objective, Sourced(texts, tokenizer), steps=1, batch_size=4, accumulate=3
    )
    assert plan.negatives == 4
    assert objective.bank.shape == (0, 4) and not hasattr(objective, "late")


def test_a_refused_coco_lm_leaves_the_encoder_as_it_was(tokenizer, batch):
    encoder = make_encoder(tokenizer)
    bias = encoder.model.get_output_embeddings().bias
    with torch.no_grad():
        bias.fill_(0.5)
    with pytest.raises(ValueError, match=r"\w"):
        COCOLM(encoder, auxiliary="given")
    assert encoder.projection and bias.requires_grad and bool((bias == 0.5).all())
    assert MLM(encoder)(batch)["loss"].isfinite()


def test_without_biases_the_word_scores_have_none_with_a_projection_either(tokenizer):
    for method in (COCOLM, AllTokenMLM):
        bias = (
            method(make_encoder(tokenizer), lm_projection=True)
            .encoder.model.get_output_embeddings()
            .bias
        )
        assert not bias.requires_grad and not bias.any()


def test_a_masked_lm_may_rest_below_a_method_and_so_may_its_word_bias(tokenizer, batch):
    encoder = make_encoder(tokenizer).requires_grad_(
        False
    )  # its bias is zero, as a new one is
    assert ck.objectives.CMLM(encoder)(batch)["mlm"].isfinite()
    encoder = make_encoder(tokenizer)
    torch.nn.init.ones_(encoder.model.lm_head.bias).requires_grad_(False)
    assert MLM(encoder)(batch)["loss"].isfinite()


def test_words_learned_after_detection_may_be_prompted(tokenizer, texts):
    encoder = make_encoder(tokenizer)
    for method in (ELECTRA, COCOLM):
        ck.fit(method(encoder), texts, steps=1, batch_size=4, **QUIET)
    ck.tasks.Prompt(encoder, words=("the", "a"))


def test_packed_relative_positions_are_pickled_and_copied(tokenizer, batch):
    objective = ck.faster(
        MLM(make_encoder(tokenizer, relative_positions=True, dropout=0.0)), packing=True
    ).eval()
    loss = objective(batch, torch.Generator().manual_seed(0))["loss"]
    for other in (pickle.loads(pickle.dumps(objective)), copy.deepcopy(objective)):
        again = other(batch, torch.Generator().manual_seed(0))["loss"]
        assert torch.equal(again, loss)
        with torch.no_grad():
            next(other.parameters()).add_(1.0)
    assert torch.equal(objective(batch, torch.Generator().manual_seed(0))["loss"], loss)


def test_a_view_that_draws_on_another_device_says_what_to_do(encoder, batch):
    class Elsewhere(ck.objectives.MLM):
        def views(self, batch, generator=None):
            raise RuntimeError("Expected a 'cuda' device type for generator")

    with pytest.raises(RuntimeError) as caught:
        Elsewhere(encoder)(batch)
    assert "device=ids.device" in caught.value.__notes__[0]
