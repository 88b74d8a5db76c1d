"""Any architecture of transformers with a masked-LM head gives, packed, the same vectors, or is refused by name."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForMaskedLM
from transformers.utils import logging

import contrast_kit as ck
from contrast_kit.encoder import word_head
from contrast_kit.fast import WordScores

PACKED = """albert bert camembert data2vec-text electra ernie mobilebert mpnet roberta
    xlm-roberta """
REFUSED = """big_bird convbert deberta deberta-v2 distilbert esm flaubert fnet layoutlm megatron-bert
    modernbert nomic_bert rembert roberta-prelayernorm roformer xlm xmod"""
TWO_WIDTHS = ["albert", "convbert", "electra", "mobilebert"]
"""Word vectors of another width than the states."""
TEXTS = ["a red kite", "a small drum flies over the hill", "drum"]
TEXTS += ["the red drum over a hill a red kite"]


@pytest.fixture(scope="module")
def words():
    logging.set_verbosity_error()
    return ck.data.train_tokenizer(TEXTS, vocab_size=60)


def tiny(kind, tokenizer):
    """An encoder of this architecture with random weights."""
    sizes = dict(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    ids = dict(
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=2,
        eos_token_id=3,
        cls_token_id=2,
    )
    more = {"embedding_size": 8} if kind in TWO_WIDTHS else {}
    if kind == "rembert":
        more = {"input_embedding_size": 8, "output_embedding_size": 24}
    if kind == "xmod":
        more = {"default_language": "en_XX"}
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
        **sizes,
        **ids,
        **more,
    )
    torch.manual_seed(0)
    return ck.Encoder(AutoModelForMaskedLM.from_config(config), tokenizer).eval()


@pytest.mark.parametrize("kind", PACKED.split())
def test_packed_vectors_are_the_unpacked_ones(kind, words):
    encoder = tiny(kind, words)
    view = encoder.view_of(TEXTS)
    with torch.no_grad():
        expected = encoder(view)
        encoder.use_packing()
        found = encoder(view)
    real = view["attention_mask"].bool()
    assert (found - expected)[real].abs().max() < 1e-5 * expected[real].abs().max()
    assert (expected[real].std(0) > 0).any()  # the comparison can fail: states differ


@pytest.mark.parametrize("kind", REFUSED.split())
def test_others_are_refused_by_name_and_go_on_as_they_were(kind, words):
    encoder = tiny(kind, words)
    before = encoder.encode(TEXTS)
    with pytest.raises(ValueError, match="cannot run without padding here"):
        encoder.use_packing()
    assert torch.equal(encoder.encode(TEXTS), before)


@pytest.mark.parametrize("kind", (PACKED + REFUSED).split())
def test_word_scores_are_the_models_own(kind, words):
    encoder = tiny(kind, words)
    word_head.check(encoder)
    hidden = torch.randn(3, encoder.width, generator=torch.Generator().manual_seed(0))
    scores = encoder.mlm_logits(hidden)
    assert scores.shape == (3, encoder.model.config.vocab_size)
    encoder.strategy.fixed_shapes = True
    in_blocks = encoder.word_scores(hidden)
    if isinstance(in_blocks, WordScores):  # what losses in blocks read
        in_blocks = in_blocks.full()
    assert torch.allclose(in_blocks, scores, atol=1e-5)


def test_another_padding_token_than_the_tokenizers_is_refused(words):
    """RoBERTa counts positions from it: each [UNK], its default 1, would have shifted all that follow."""
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    config = AutoConfig.for_model("roberta", vocab_size=len(words), **sizes)
    with pytest.raises(ValueError, match="token 1, and the tokenizer pads with 0"):
        ck.Encoder(AutoModelForMaskedLM.from_config(config), words)


@pytest.mark.parametrize("kind", [*TWO_WIDTHS, "rembert"])
def test_coco_lm_without_projection_needs_word_vectors_of_the_states_width(kind, words):
    encoder = tiny(kind, words)
    share = {"share_words": False} if kind == "rembert" else {}
    with pytest.raises(ValueError, match="cannot be h · x"):
        ck.objectives.COCOLM(encoder, **share)
    batch = ck.data.Texts(TEXTS, words).batch(range(4))
    loss = ck.objectives.COCOLM(encoder, lm_projection=True, **share)(batch)["loss"]
    loss.backward()
    assert loss.isfinite() and any(p.grad is not None for p in encoder.parameters())
