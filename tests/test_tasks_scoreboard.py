"""The scoreboard: controls stand where theory puts them, and asking changes nothing."""

import math

import pytest
import torch

import contrast_kit as ck
from contrast_kit import geometry
from contrast_kit.tasks import scoreboard


@pytest.fixture(scope="module")
def suite():
    return scoreboard.EvalSuite.toyshop(pairs=80, rows=200)


@pytest.fixture(scope="module")
def tokenizer(suite):
    return ck.data.train_tokenizer(
        [text for pair in suite.pairs for text in pair], vocab_size=400
    )


def test_hard_pairs_share_few_words_and_mean_the_same(suite):
    from contrast_kit.data.toyshop import record_of
    from contrast_kit.tasks.pairs import overlap

    assert all(overlap(a, b) <= 1 / 3 and a != b for a, b in suite.hard)
    assert overlap("!", "?") == 0  # neither has a word
    assert all(record_of(a) == record_of(b) for a, b in suite.hard + suite.pairs)


def test_suites_of_two_splits_share_no_graded_pair(suite):
    practice = scoreboard.EvalSuite.toyshop(
        pairs=20, rows=200, split="train", seed=2, tasks=()
    )
    assert not set(practice.graded) & set(suite.graded)
    assert not practice.probes


def test_counting_words_is_blind_to_order_and_to_special_tokens(tokenizer):
    bag = scoreboard.WordCounts(tokenizer)
    a, b = bag.encode(["the kite is red", "is the red kite"])
    assert torch.equal(a, b)
    assert a[tokenizer.all_special_ids].sum() == 0
    assert a.sum() == len(
        tokenizer("the kite is red", add_special_tokens=False)["input_ids"]
    )


def test_a_constant_encoder_scores_as_collapsed(suite, tokenizer):
    """Collapse: perfect alignment, worst uniformity, one direction, and no order among pairs."""

    class Constant(scoreboard.WordCounts):
        def encode(self, texts):
            return torch.ones(len(texts), 8)

    row = scoreboard.measure(Constant(tokenizer), suite)
    assert row["alignment"] == row["uniformity"] == pytest.approx(0, abs=1e-6)
    assert row["effective_rank"] == pytest.approx(1)
    assert row["auc"] == row["auc_hard"] == pytest.approx(0.5)
    assert row["sts"] == 0 and "noise" not in row
    still = ck.Encoder.tiny(tokenizer, initializer_range=1e-9)
    assert math.isnan(scoreboard.measure(still, suite)["noise"])


def test_measuring_leaves_the_encoder_as_it_was(suite, tokenizer):
    encoder = ck.Encoder.tiny(tokenizer, pooling="mean").train()
    before = ck.tasks.weights_hash(encoder)
    first, second = (scoreboard.measure(encoder, suite) for _ in range(2))
    assert (
        first == second and encoder.training and ck.tasks.weights_hash(encoder) == before
    )
    one, other = (encoder.encode([pair[side] for pair in suite.pairs]) for side in (0, 1))
    assert first["alignment"] == pytest.approx(geometry.alignment(one, other).item())
    assert first["uniformity"] == pytest.approx(geometry.uniformity(one).item())
    assert first["effective_rank"] == pytest.approx(geometry.effective_rank(one).item())
    names = "sts sst2 cola auc auc_hard alignment uniformity effective_rank noise"
    assert list(first) == names.split()


def test_centring_opens_the_cone_and_keeps_distances(suite, tokenizer):
    encoder = ck.Encoder.tiny(tokenizer, pooling="mean")
    texts = [text for pair in suite.pairs for text in pair]
    centred = scoreboard.Centred(encoder, texts)
    assert torch.allclose(
        centred.encode(texts).mean(0), torch.zeros(encoder.width), atol=1e-6
    )
    differences = [e.encode(texts[:2]).cpu().diff(dim=0) for e in (encoder, centred)]
    assert torch.allclose(*differences, atol=1e-6)
    before, after = (scoreboard.measure(e, suite) for e in (encoder, centred))
    assert after["uniformity"] < before["uniformity"] - 1


@pytest.mark.parametrize("name", [*scoreboard.CONTESTANTS])
def test_each_contestant_is_made_with_its_settings(name, tokenizer):
    encoder = ck.Encoder.tiny(tokenizer, dropout=0.1)
    assert scoreboard.CONTESTANTS[name](encoder).weights


def test_simcse_beside_masked_lm_is_both_losses(tokenizer):
    encoder = ck.Encoder.tiny(tokenizer, dropout=0.1)
    objective = scoreboard.CONTESTANTS["SimCSE + MLM"](encoder)
    batch = ck.data.Texts(["the red kite", "a small drum"], tokenizer).batch([0, 1])
    parts = objective(batch, torch.Generator().manual_seed(0))
    assert torch.equal(parts["loss"], parts["contrast"] + parts["mlm"])


def test_a_suite_is_drawn_by_its_seed_and_measured_by_definition():
    one, other = (
        scoreboard.EvalSuite.toyshop(pairs=30, rows=100, seed=seed) for seed in (1, 2)
    )
    assert one.pairs != other.pairs and one.hard != other.hard
    texts = [text for pair in one.pairs for text in pair]
    tokenizer = ck.data.train_tokenizer(texts, vocab_size=300)
    encoder = ck.Encoder.tiny(tokenizer, pooling="mean")
    row = scoreboard.measure(encoder, one)
    for name, pairs in {"auc": one.pairs, "auc_hard": one.hard}.items():
        a, b = (encoder.encode(list(side)) for side in zip(*pairs, strict=True))
        cosines = geometry.pair_cosines(a, b), geometry.random_pair_cosines(a)
        assert row[name] == pytest.approx(geometry.separation(*cosines).item())
    for name, data in one.probes.items():
        found = ck.tasks.linear_probe(
            encoder, data.train, data.validation, task=name, strength=1.0
        )
        assert row[name] == found[data.task.metrics[0]]
        whole = ck.tasks.load(f"toyshop/{name}").validation["sentence"]
        assert data.validation["sentence"] == whole[:100]
    texts = list(dict.fromkeys(pair[0] for pair in one.pairs))
    batch = ck.data.Texts(texts, tokenizer).batch(range(len(texts)))
    generator = torch.Generator().manual_seed(0)
    hidden = ck.masking.noise.Mask()(batch, generator, encoder.vocabulary)
    with torch.no_grad():
        views = [encoder.eval().pool(encoder(view), view) for view in (batch, hidden)]
    assert row["noise"] == pytest.approx(
        geometry.noise_sensitivity(*views).item(), rel=1e-4
    )
