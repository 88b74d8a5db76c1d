"""Vectors for probes: those of `encode`, encoded once, with a bar where there are many texts."""

import pytest
import torch

import contrast_kit as ck
from contrast_kit.tasks import vectors
from contrast_kit.tasks.vectors import vectors_of


@pytest.fixture(scope="module")
def data():
    return ck.tasks.load("toyshop/sst2")


@pytest.fixture
def encoder(data):
    vectors.forget()
    tokenizer = ck.data.train_tokenizer(data.train["sentence"][:500], vocab_size=300)
    return ck.Encoder.tiny(tokenizer, pooling="mean")


@pytest.fixture
def calls(monkeypatch):
    """How many texts an encoder was asked to encode."""
    counted, encode = [], ck.Encoder.encode

    def counting(encoder, texts, *args, **options):
        counted.append(len(texts))
        return encode(encoder, texts, *args, **options)

    monkeypatch.setattr(ck.Encoder, "encode", counting)
    return counted


def test_they_are_those_of_encode_in_the_order_of_the_texts(encoder, data):
    texts = list(data.train["sentence"][:150])
    torch.testing.assert_close(vectors_of(encoder, texts), encoder.encode(texts).cpu(), rtol=0, atol=1e-6)


def test_portions_make_the_batches_that_one_call_makes(encoder, data, monkeypatch):
    monkeypatch.setattr(vectors, "PORTION", 64)
    texts = list(data.train["sentence"][:150])
    assert torch.equal(vectors_of(encoder, texts), encoder.encode(texts).cpu())


def test_two_probes_of_one_encoder_encode_once(encoder, calls, data):
    ck.tasks.probe(encoder, data, limit=100, strength=1.0)
    assert sum(calls) == 200  # training and validation rows
    ck.tasks.probe(encoder, data, "knn", limit=100)
    assert sum(calls) == 200


def test_other_weights_texts_or_pooling_are_encoded_anew(encoder, calls):
    one = vectors_of(encoder, ["a red kite", "a drum"])
    vectors_of(encoder, ["a drum", "a red kite"])
    assert sum(calls) == 4
    with torch.no_grad():
        encoder.model.get_input_embeddings().weight.mul_(1.5)
    other = vectors_of(encoder, ["a red kite", "a drum"])
    assert sum(calls) == 6 and not torch.equal(one, other)
    encoder.pooling = "first"
    assert not torch.equal(vectors_of(encoder, ["a red kite", "a drum"]), other) and sum(calls) == 8


def test_what_a_reader_does_to_vectors_is_not_done_to_the_next_ones(encoder, calls):
    one, two = (vectors_of(encoder, ["a red kite", "a drum"]) for _ in range(2))
    kept = one.clone()
    for found in (one, two):  # the first was encoded, the second was kept
        found.sub_(found.mean(0))
        assert torch.equal(vectors_of(encoder, ["a red kite", "a drum"]), kept)
    assert sum(calls) == 2


def test_a_pair_is_not_its_two_texts(encoder, calls):
    vectors_of(encoder, ["a red kite", "a drum"])
    assert vectors_of(encoder, [("a red kite", "a drum")]).shape == (1, 128)
    assert calls == [2, 1]


def test_what_is_kept_stays_small_and_the_oldest_goes_first(encoder, calls, monkeypatch):
    monkeypatch.setattr(vectors, "KEPT", 2 * 128 * 4)  # two vectors
    for text in ("a kite", "a drum", "a kite", "a train", "a kite", "a drum"):
        vectors_of(encoder, [text])
    assert calls == [1, 1, 1, 1]  # kite, drum, (kite), train, (kite), drum again


def test_a_control_is_asked_each_time(encoder):
    bag = ck.tasks.scoreboard.WordCounts(encoder.tokenizer)
    assert vectors_of(bag, ["a red kite"]).shape == (1, len(encoder.tokenizer))


def test_a_subclass_that_encodes_otherwise_gets_no_vectors_of_the_plain_encoder(encoder):
    class Doubled(ck.Encoder):
        def encode(self, texts, **options):
            return 2 * super().encode(texts, **options)

    plain = vectors_of(encoder, ["a red kite"])
    doubled = Doubled(encoder.model, encoder.tokenizer, encoder.pooling)
    assert torch.equal(vectors_of(doubled, ["a red kite"]), 2 * plain)
    assert vectors.encoder_hash(doubled) != vectors.encoder_hash(encoder)  # nor does a folder go on with it


def test_what_a_hook_does_to_an_encoder_is_done_to_its_vectors(encoder):
    plain = vectors_of(encoder, ["a red kite"])
    layer = encoder.model.get_input_embeddings()
    hook = layer.register_forward_hook(lambda module, given, out: 2 * out)
    assert not torch.equal(vectors_of(encoder, ["a red kite"]), plain)
    hook.remove()
    assert torch.equal(vectors_of(encoder, ["a red kite"]), plain)


def other_pool(encoder):
    encoder.pool = lambda hidden, view: hidden[:, 1]


def other_forward(encoder):
    layer = encoder.model.base_model.encoder.layer[0].output.dense
    layer.forward = lambda x: 3 * type(layer).forward(layer, x)


def other_layer(encoder):
    encoder.model.base_model.encoder.layer[0].intermediate.intermediate_act_fn = torch.nn.ReLU()


@pytest.mark.parametrize("change", [other_pool, other_forward, other_layer])
def test_an_encoder_that_was_changed_without_its_weights_is_asked_anew(encoder, change):
    texts = ["the red kite flies", "a small drum"]
    before = vectors_of(encoder, texts)
    change(encoder)
    now = vectors_of(encoder, texts)
    assert torch.equal(now, encoder.encode(texts).cpu()) and not torch.allclose(now, before, atol=1e-6)


def test_vectors_made_in_half_precision_are_not_those_of_float32(encoder):
    texts = ["the red kite flies", "a small drum"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        vectors_of(encoder, texts)
    assert torch.equal(vectors_of(encoder, texts), encoder.encode(texts).cpu())


def test_many_texts_show_a_bar(encoder, monkeypatch, capsys):
    monkeypatch.setattr(vectors, "MANY", 3)
    vectors_of(encoder, ["a kite", "a drum"])
    assert capsys.readouterr().err == ""
    vectors_of(encoder, ["a kite", "a drum", "a train"])
    assert "encoding" in capsys.readouterr().err


def test_no_text_is_refused_as_encode_refuses_it(encoder):
    with pytest.raises(ValueError, match="text"):
        vectors_of(encoder, [])


def test_saving_and_opening_changes_nothing_that_a_vector_depends_on(encoder, tmp_path):
    before = vectors.encoder_hash(encoder)
    folder = encoder.save_pretrained(tmp_path)
    assert vectors.encoder_hash(encoder) == before == vectors.encoder_hash(ck.Encoder.from_pretrained(folder))


def test_encoders_of_equal_weights_that_compute_otherwise_have_vectors_of_their_own(encoder):
    """Heads, positions and tokenizer are no weights, and new encoders of one seed have the same."""
    tokenizer, texts = encoder.tokenizer, ["a red kite", "the drum of a small shop"]
    other = ck.data.train_tokenizer(texts * 40, vocab_size=len(tokenizer), kind="bpe")
    other.add_tokens([f"filler{i}" for i in range(len(tokenizer) - len(other))])
    positions = [ck.encoder.RelativePositions(64, distance) for distance in (128, 20)]
    for one, two in (
        [ck.Encoder.tiny(tokenizer, num_attention_heads=heads) for heads in (2, 4)],
        [ck.Encoder.tiny(tokenizer), ck.Encoder.tiny(other)],
        [ck.Encoder.tiny(tokenizer, relative_positions=each) for each in positions],
    ):
        assert vectors.weights_hash(one) == vectors.weights_hash(two)
        assert vectors.encoder_hash(one) != vectors.encoder_hash(two)
        torch.testing.assert_close(vectors_of(one, texts), one.encode(texts), rtol=0, atol=1e-6)
        torch.testing.assert_close(vectors_of(two, texts), two.encode(texts), rtol=0, atol=1e-6)
