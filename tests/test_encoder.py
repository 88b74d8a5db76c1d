import copy

import pytest
import torch
from conftest import make_encoder
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    BertTokenizerFast,
    RobertaForMaskedLM,
    pipeline,
)

import contrast_kit as ck

SENTENCES = [
    "the red kite flies over the shelf",
    "a drum",
    "a small green train stops by the old wooden door",
]


@pytest.fixture(params=["first", "mean"])
def saved(request, tokenizer, tmp_path):
    encoder = make_encoder(tokenizer, pooling=request.param)
    return encoder, encoder.save_pretrained(tmp_path / "encoder")


def test_saved_folder_reopens_bit_equal(saved):
    encoder, folder = saved
    again = ck.Encoder.from_pretrained(folder)
    assert again.pooling == encoder.pooling
    assert torch.equal(again.encode(SENTENCES), encoder.encode(SENTENCES))


def test_saved_folder_opens_in_sentence_transformers_with_the_same_vectors(saved):
    from sentence_transformers import SentenceTransformer

    encoder, folder = saved
    model = SentenceTransformer(str(folder), device="cpu")
    assert torch.allclose(
        model.encode(SENTENCES, convert_to_tensor=True), encoder.encode(SENTENCES), atol=1e-6
    )


@pytest.mark.parametrize(("theirs", "ours"), [("mean", "mean"), ("cls", "first")])
def test_a_folder_of_sentence_transformers_opens_with_its_pooling_and_length(
    tokenizer, tmp_path, theirs, ours
):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    start = make_encoder(tokenizer).save_pretrained(tmp_path / "start")
    body = Transformer(str(start), max_seq_length=10)
    model = SentenceTransformer(modules=[body, Pooling(32, pooling_mode=theirs)], device="cpu")
    model.save(str(tmp_path / "theirs"))
    encoder = ck.Encoder.from_pretrained(tmp_path / "theirs")
    assert (encoder.pooling, encoder.max_length) == (ours, 10)
    texts = [*SENTENCES, " ".join(SENTENCES)]
    assert torch.allclose(
        model.encode(texts, convert_to_tensor=True), encoder.encode(texts), atol=1e-6
    )


@pytest.mark.parametrize("kind", [BertForMaskedLM, BertModel])  # with its head, or without one
def test_a_bert_saved_by_transformers_opens_with_its_vectors_and_trains(kind, tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *" ".join(SENTENCES).split()]
    (tmp_path / "vocab.txt").write_text("\n".join(dict.fromkeys(words)))
    tokenizer = BertTokenizerFast.from_pretrained(tmp_path)
    torch.manual_seed(0)
    shape = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
    model = kind(BertConfig(vocab_size=len(tokenizer), **shape)).eval()
    model.save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")

    encoder = ck.Encoder.from_pretrained(tmp_path / "bert")
    assert (encoder.pooling, encoder.max_length) == ("first", 512)
    pair = [("a drum", "the red kite")]  # the second text has token type 1
    body = model.bert if kind is BertForMaskedLM else model
    inputs = tokenizer(pair, return_tensors="pt")
    assert inputs["token_type_ids"].any()
    assert torch.allclose(encoder.encode(pair), body(**inputs).last_hidden_state[:, 0], atol=1e-6)
    rows = [{"sentence1": a, "sentence2": b} for a in SENTENCES for b in SENTENCES]
    run = ck.fit(ck.objectives.CMLM(encoder), rows, steps=3, batch_size=9, lr=1e-2, progress=False)
    assert run.history["mlm"].iloc[-1] < run.history["mlm"].iloc[0]


def test_a_head_that_cannot_be_taken_apart_is_said(encoder, tmp_path, monkeypatch):
    folder = encoder.save_pretrained(tmp_path)
    plain = RobertaForMaskedLM.forward

    def scaled(self, *args, **kwargs):
        output = plain(self, *args, **kwargs)
        output.logits = output.logits * 2
        return output

    monkeypatch.setattr(RobertaForMaskedLM, "forward", scaled)
    with pytest.raises(
        ValueError, match="RobertaForMaskedLM makes its word scores in a way not known"
    ):
        ck.Encoder.from_pretrained(folder)


def test_saved_folder_fills_masks(saved):
    encoder, folder = saved
    fill = pipeline(
        "fill-mask", model=str(folder), tokenizer=str(folder), top_k=len(encoder.tokenizer)
    )
    text = f"a small {encoder.tokenizer.mask_token} train"
    theirs = {row["token"]: row["score"] for row in fill(text)}
    view = encoder.tokenizer(text, return_tensors="pt")
    at = view["input_ids"] == encoder.tokenizer.mask_token_id
    encoder.eval()
    ours = encoder.mlm_logits(encoder(view)[at]).softmax(-1)[0]
    assert max(abs(ours[token].item() - score) for token, score in theirs.items()) < 1e-6


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_padding_changes_nothing(tokenizer, batch, pooling):
    encoder = make_encoder(tokenizer, pooling=pooling).eval()
    pad = tokenizer.pad_token_id
    wider = {
        "input_ids": torch.nn.functional.pad(batch["input_ids"], (0, 16), value=pad),
        "attention_mask": torch.nn.functional.pad(batch["attention_mask"], (0, 16)),
    }
    assert torch.allclose(
        encoder.pool(encoder(batch), batch), encoder.pool(encoder(wider), wider), atol=1e-6
    )


def test_encode_keeps_order_and_mode(encoder):
    encoder.train()
    together = encoder.encode(SENTENCES, batch_size=2)
    assert encoder.training
    for row, sentence in zip(together, SENTENCES, strict=True):
        assert torch.allclose(row, encoder.encode(sentence)[0], atol=1e-6)
    assert torch.allclose(encoder.encode(SENTENCES, normalize=True).norm(dim=1), torch.ones(3))


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_tokenizer_that_pads_on_the_left_changes_no_vector(tokenizer, pooling):
    encoder = make_encoder(copy.deepcopy(tokenizer), pooling=pooling)
    wanted = encoder.encode(SENTENCES)
    encoder.tokenizer.padding_side = "left"
    assert torch.equal(encoder.encode(SENTENCES), wanted)


def test_shapes_have_the_published_sizes(tokenizer):
    small = ck.Encoder.small(tokenizer)
    config = small.model.config
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (6, 256, 4)
    assert config.intermediate_size == 1024
    assert (config.layer_norm_eps, config.type_vocab_size) == (
        1e-5,
        1,
    )  # RoBERTa's, not the class's defaults
    assert ck.encoder.SHAPES["base"]["num_hidden_layers"] == 12
    assert small.max_length == 512
    assert small.encode("kite " * 600).shape == (
        1,
        256,
    )  # cut to the longest input, not an index error


def test_what_would_be_silently_wrong_is_refused(tokenizer):
    with pytest.raises(
        TypeError, match="A shape has no 'num_layers'; did you mean 'num_hidden_layers'"
    ):
        ck.Encoder.tiny(tokenizer, num_layers=3)  # transformers would ignore it
    for name in ("mask", "pad"):
        lacking = copy.deepcopy(tokenizer)
        setattr(lacking, f"{name}_token", None)
        with pytest.raises(ValueError, match=f"no {name} token"):
            ck.Encoder.tiny(lacking)
    more = copy.deepcopy(tokenizer)
    more.add_tokens(["[NEW]"])
    with pytest.raises(ValueError, match="tokens but the model embeds only"):
        ck.Encoder(make_encoder(tokenizer).model, more)
    with pytest.raises(FileNotFoundError, match="Encoder.tiny"):
        ck.Encoder.from_pretrained("nobody/nothing")
