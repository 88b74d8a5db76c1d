"""Any architecture of transformers with a masked-LM head gives, packed, the same vectors, or is refused by name."""

import warnings

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as NAMES
from transformers.utils import logging

import contrast_kit as ck
from contrast_kit.encoder import mlm_head
from contrast_kit.fast import last_layer, packed

PACKED = ("albert", "bert", "camembert", "data2vec-text", "electra", "ernie", "mobilebert", "mpnet", "roberta")
PACKED += ("xlm-roberta",)
REFUSED = ("big_bird", "convbert", "deberta", "deberta-v2", "distilbert", "esm", "flaubert", "fnet", "layoutlm")
REFUSED += ("megatron-bert", "modernbert", "nomic_bert", "rembert", "roberta-prelayernorm", "roformer", "xlm", "xmod")
TWO_WIDTHS = ("albert", "convbert", "electra", "mobilebert")
"""Word vectors of another width than the states."""
TEXTS = ["a red kite", "a small drum flies over the hill", "drum", "the red drum over a hill a red kite"]


@pytest.fixture(scope="module")
def words():
    logging.set_verbosity_error()
    return ck.data.train_tokenizer(TEXTS, vocab_size=60)


def tiny(kind, tokenizer):
    """An encoder of this architecture with random weights."""
    sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    ids = dict(pad_token_id=tokenizer.pad_token_id, bos_token_id=2, eos_token_id=3, cls_token_id=2)
    more = {"embedding_size": 8} if kind in TWO_WIDTHS else {}
    if kind == "rembert":
        more = {"input_embedding_size": 8, "output_embedding_size": 24}
    if kind == "xmod":
        more = {"default_language": "en_XX"}
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), max_position_embeddings=64, **sizes, **ids, **more)
    torch.manual_seed(0)
    return ck.Encoder(AutoModelForMaskedLM.from_config(config), tokenizer).eval()


def test_the_lists_hold_architectures_of_transformers():
    assert set(packed.RIGHT) == {*PACKED, "contrast_kit_relative"} and {*PACKED, *REFUSED} <= set(NAMES)


@pytest.mark.parametrize("kind", PACKED)
def test_packed_vectors_are_the_unpacked_ones(kind, words):
    encoder = tiny(kind, words)
    view = encoder.view_of(TEXTS)
    with torch.no_grad():
        expected = encoder(view)
        encoder.use_packing()
        found = encoder(view)
    real = view["attention_mask"].bool()
    assert (found - expected)[real].abs().max() < 1e-5 * expected[real].abs().max()
    assert (expected[real].std(0) > 0).any()  # the comparison can fail: states differ from token to token


@pytest.mark.parametrize("kind", PACKED)
def test_the_last_layer_leaves_out_what_is_not_read(kind, words):
    """Of BERT's relatives; loss and gradients are those of padded texts for all, to float64."""
    encoder = tiny(kind, words).double()
    objective, batch = ck.objectives.MLM(encoder, p_m=0.3), ck.data.Texts(TEXTS, words).batch(range(len(TEXTS)))
    found = {}
    for packing in (False, True):
        encoder.use_packing(packing)
        objective.zero_grad()
        loss = objective(batch, torch.Generator().manual_seed(3))["loss"]
        loss.backward()
        slopes = {name: weight.grad.clone() for name, weight in encoder.named_parameters() if weight.grad is not None}
        found[packing] = {"loss": loss.detach(), **slopes}
    assert found[True].keys() == found[False].keys()
    assert all(torch.allclose(found[True][name], value, atol=1e-12) for name, value in found[False].items())

    whole, read = encoder(batch), torch.zeros_like(batch["input_ids"], dtype=torch.bool)
    read[0, 1:3], read[3, 0] = True, True  # nothing of the others
    states = encoder({**batch, "read": read})
    assert torch.allclose(states[read], whole[read], atol=1e-12)
    assert bool(states[~read].isnan().all()) == (kind in last_layer.WHERE)


@pytest.mark.parametrize("kind", REFUSED)
def test_others_are_refused_by_name_and_go_on_as_they_were(kind, words):
    encoder = tiny(kind, words)
    before = encoder.encode(TEXTS)
    with pytest.raises(ValueError, match=f"{type(encoder.model).__name__} cannot run without padding here"):
        encoder.use_packing()
    assert torch.equal(encoder.encode(TEXTS), before)


def test_a_decoder_is_refused(words):
    config = AutoConfig.for_model("bert", vocab_size=len(words), hidden_size=16, num_attention_heads=2, is_decoder=True)
    config.num_hidden_layers = 1
    with pytest.raises(ValueError, match="BertForMaskedLM cannot run without padding"):
        ck.Encoder(AutoModelForMaskedLM.from_config(config), words).use_packing()


@pytest.mark.parametrize("kind", (*PACKED, *REFUSED))
def test_word_scores_are_the_models_own(kind, words):
    encoder = tiny(kind, words)
    mlm_head.check(encoder.model, dict(words("[MASK] red", return_tensors="pt")))
    hidden = torch.randn(3, encoder.width, generator=torch.Generator().manual_seed(0))
    scores = encoder.mlm_logits(hidden)
    assert scores.shape == (3, encoder.model.config.vocab_size)
    if found := encoder.word_layer(hidden):  # what losses in blocks read
        assert torch.allclose(found[1](found[0]), scores, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*lr=")
@pytest.mark.parametrize(("kind", "reads"), [("bert", False), ("roberta", False), ("fnet", True)])
def test_a_model_that_reads_padding_is_told_when_it_is_opened(kind, reads, words, tmp_path):
    tiny(kind, words).save_pretrained(tmp_path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ck.Encoder.from_pretrained(tmp_path)
    assert any("reads padding" in str(warning.message) for warning in said) == reads


@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_models_that_name_no_word_at_a_mask_are_refused(kind, words):
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    config = AutoConfig.for_model(kind, vocab_size=len(words), pad_token_id=words.pad_token_id, **sizes)
    auto = {"gpt2": AutoModelForCausalLM, "bert": AutoModelForSequenceClassification}[kind]
    with pytest.raises(ValueError, match="is not a masked language model of transformers"):
        ck.Encoder(auto.from_config(config), words)


def test_another_padding_token_than_the_tokenizers_is_refused(words):
    """RoBERTa counts positions from it: each [UNK], its default 1, would have shifted all that follow."""
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    config = AutoConfig.for_model("roberta", vocab_size=len(words), **sizes)
    with pytest.raises(
        ValueError, match="counts positions from its padding, token 1, and the tokenizer pads with token 0"
    ):
        ck.Encoder(AutoModelForMaskedLM.from_config(config), words)


def test_a_model_that_counts_no_positions_from_padding_takes_the_tokenizers(words):
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, pad_token_id=9)
    model = AutoModelForMaskedLM.from_config(AutoConfig.for_model("bert", vocab_size=len(words), **sizes))
    ck.objectives.MLM(ck.Encoder(model, words))(ck.data.Texts(TEXTS, words).batch(range(4)))["loss"].backward()
    gradient = model.get_input_embeddings().weight.grad
    assert model.get_input_embeddings().padding_idx == words.pad_token_id and gradient[9].any()


@pytest.mark.parametrize("kind", ["distilbert", "modernbert"])
def test_coco_lm_refuses_at_once_what_it_could_not_save(kind, words):
    with pytest.raises(ValueError, match="could not be saved: build the encoder with .* lm_projection=True"):
        ck.objectives.COCOLM(tiny(kind, words))


@pytest.mark.parametrize("kind", [*TWO_WIDTHS, "rembert"])
def test_coco_lm_without_projection_needs_word_vectors_of_the_states_width(kind, words):
    encoder = tiny(kind, words)
    share = {"share": "nothing"} if kind == "rembert" else {}
    with pytest.raises(ValueError, match=f"{type(encoder.model).__name__} has word vectors of width .*lm_projection"):
        ck.objectives.COCOLM(encoder, **share)
    batch = ck.data.Texts(TEXTS, words).batch(range(4))
    loss = ck.objectives.COCOLM(encoder, lm_projection=True, **share)(batch)["loss"]
    loss.backward()
    assert loss.isfinite() and any(p.grad is not None for p in encoder.parameters())


@pytest.mark.parametrize("kind", ["albert", "electra", "convbert", "bert"])
def test_electras_narrow_auxiliary_reads_the_main_models_word_vectors(kind, words):
    encoder = tiny(kind, words)
    batch = ck.data.Texts(TEXTS, words).batch(range(4))
    assert ck.objectives.ELECTRA(encoder)(batch)["loss"].isfinite()


def test_what_no_auxiliary_can_be_built_from_is_named(words):
    batch = ck.data.Texts(TEXTS, words).batch(range(4))
    with pytest.raises(ValueError, match="DistilBertForMaskedLM has no settings to build a narrow auxiliary"):
        ck.objectives.ELECTRA(tiny("distilbert", words))
    with pytest.raises(ValueError, match="RemBertForMaskedLM reads and scores words by vectors of two widths"):
        ck.objectives.COCOLM(tiny("rembert", words), lm_projection=True)
    assert ck.objectives.COCOLM(tiny("distilbert", words), lm_projection=True)(batch)["loss"].isfinite()
