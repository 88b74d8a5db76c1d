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


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_a_saved_folder_opens_everywhere_with_the_same_numbers(
    tokenizer, tmp_path, pooling
):
    from sentence_transformers import SentenceTransformer

    encoder = make_encoder(tokenizer, pooling=pooling)
    folder = encoder.save_pretrained(tmp_path / "encoder")
    vectors = encoder.encode(SENTENCES)
    again = ck.Encoder.from_pretrained(folder)
    assert again.pooling == pooling and torch.equal(again.encode(SENTENCES), vectors)
    theirs = SentenceTransformer(str(folder), device="cpu").encode(SENTENCES)
    assert torch.allclose(torch.from_numpy(theirs), vectors, atol=1e-6)

    options = dict(model=str(folder), tokenizer=str(folder), top_k=len(tokenizer))
    text = f"a small {tokenizer.mask_token} train"
    filled = {
        row["token"]: row["score"] for row in pipeline("fill-mask", **options)(text)
    }
    view = tokenizer(text, return_tensors="pt")
    masked = view["input_ids"] == tokenizer.mask_token_id
    ours = encoder.eval().mlm_logits(encoder(view)[masked]).softmax(-1)[0]
    assert max(abs(ours[token].item() - score) for token, score in filled.items()) < 1e-6


@pytest.mark.parametrize(("theirs", "ours"), [("mean", "mean"), ("cls", "first")])
def test_a_folder_of_sentence_transformers_opens_with_its_pooling_and_length(
    tokenizer, tmp_path, theirs, ours
):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    start = make_encoder(tokenizer).save_pretrained(tmp_path / "start")
    body = Transformer(str(start), max_seq_length=10)
    model = SentenceTransformer(
        modules=[body, Pooling(32, pooling_mode=theirs)], device="cpu"
    )
    model.save(str(tmp_path / "theirs"))
    encoder = ck.Encoder.from_pretrained(tmp_path / "theirs")
    assert (encoder.pooling, encoder.max_length) == (ours, 10)
    texts = [*SENTENCES, " ".join(SENTENCES)]
    assert torch.allclose(
        model.encode(texts, convert_to_tensor=True), encoder.encode(texts), atol=1e-6
    )


@pytest.mark.parametrize(
    "kind", [BertForMaskedLM, BertModel]
)  # with its head, or without one
def test_a_bert_saved_by_transformers_opens_with_its_vectors_and_trains(kind, tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *" ".join(SENTENCES).split()]
    (tmp_path / "vocab.txt").write_text("\n".join(dict.fromkeys(words)))
    tokenizer = BertTokenizerFast.from_pretrained(tmp_path)
    torch.manual_seed(0)
    shape = dict(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    model = kind(BertConfig(vocab_size=len(tokenizer), **shape)).eval()
    model.save_pretrained(tmp_path / "bert")
    tokenizer.save_pretrained(tmp_path / "bert")

    encoder = ck.Encoder.from_pretrained(tmp_path / "bert")
    assert (encoder.pooling, encoder.max_length) == ("first", 512)
    pair = [("a drum", "the red kite")]  # the second text has token type 1
    body = model.bert if kind is BertForMaskedLM else model
    inputs = tokenizer(pair, return_tensors="pt")
    assert inputs["token_type_ids"].any()
    assert torch.allclose(
        encoder.encode(pair), body(**inputs).last_hidden_state[:, 0], atol=1e-6
    )
    rows = [{"sentence1": a, "sentence2": b} for a in SENTENCES for b in SENTENCES]
    run = ck.fit(
        ck.objectives.CMLM(encoder), rows, steps=3, batch_size=9, lr=1e-2, progress=False
    )
    assert run.history["mlm"].iloc[-1] < run.history["mlm"].iloc[0]


def test_a_head_that_cannot_be_taken_apart_is_said(encoder, tmp_path, monkeypatch):
    folder = encoder.save_pretrained(tmp_path)
    plain = RobertaForMaskedLM.forward

    def scaled(self, *args, **kwargs):
        output = plain(self, *args, **kwargs)
        output.logits = output.logits * 2
        return output

    monkeypatch.setattr(RobertaForMaskedLM, "forward", scaled)
    with pytest.raises(ValueError, match="makes its word scores in a way not known"):
        ck.Encoder.from_pretrained(folder)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_padding_changes_nothing_on_either_side(tokenizer, batch, pooling):
    encoder = make_encoder(copy.deepcopy(tokenizer), pooling=pooling).eval()
    wider = {
        key: torch.nn.functional.pad(batch[key], (0, 16), value=value)
        for key, value in {
            "input_ids": tokenizer.pad_token_id,
            "attention_mask": 0,
        }.items()
    }
    states = [encoder.pool(encoder(view), view) for view in (batch, wider)]
    assert torch.allclose(*states, atol=1e-6)
    vectors = encoder.encode(SENTENCES)
    encoder.tokenizer.padding_side = "left"
    assert torch.equal(encoder.encode(SENTENCES), vectors)


def test_encode_keeps_order_and_mode(encoder):
    encoder.train()
    together = encoder.encode(SENTENCES, batch_size=2)
    assert encoder.training
    for row, sentence in zip(together, SENTENCES, strict=True):
        assert torch.allclose(row, encoder.encode(sentence)[0], atol=1e-6)
    assert torch.allclose(
        encoder.encode(SENTENCES, normalize=True).norm(dim=1), torch.ones(3)
    )


def test_shapes_have_the_published_sizes(tokenizer):
    small = ck.Encoder.small(tokenizer)
    config = small.model.config
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (
        6,
        256,
        4,
    )
    assert config.intermediate_size == 1024
    # RoBERTa's, not the class's defaults
    assert (config.layer_norm_eps, config.type_vocab_size) == (1e-5, 1)
    assert ck.encoder.SHAPES["base"]["num_hidden_layers"] == 12
    assert small.max_length == 512
    assert small.encode("kite " * 600).shape == (1, 256)  # cut, not an index error


def test_what_would_be_silently_wrong_is_refused(tokenizer):
    with pytest.raises(TypeError, match="did you mean 'num_hidden_layers'"):
        ck.Encoder.tiny(tokenizer, num_layers=3)  # transformers would ignore it
    for name in ("mask", "pad"):
        lacking = copy.deepcopy(tokenizer)
        setattr(lacking, f"{name}_token", None)
        with pytest.raises(ValueError, match=f"no {name} token"):
            ck.Encoder.tiny(lacking)
    with pytest.raises(FileNotFoundError, match="Encoder.tiny"):
        ck.Encoder.from_pretrained("nobody/nothing")


def test_a_masked_lm_refuses_the_head_that_coco_lm_left(encoder, batch, tmp_path):
    """One encoder for two objectives to compare: the second would train other word scores without a word."""
    ck.objectives.COCOLM(encoder)
    for other in (ck.objectives.MLM, ck.objectives.CMLM, ck.objectives.CAPT):
        with pytest.raises(
            ValueError, match="took the projection from this encoder's word scores"
        ):
            other(encoder)(batch)
    again = ck.Encoder.from_pretrained(encoder.save_pretrained(tmp_path))
    assert ck.objectives.MLM(again)(batch)["loss"] > 0
