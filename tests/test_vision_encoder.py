"""The encoder of words and pictures: folders that open elsewhere, what it must not see, and what it refuses."""

import pytest
import torch
from pairs import make_encoder, make_pairs
from transformers import AutoModel, AutoModelForPreTraining, LxmertForQuestionAnswering

import contrast_kit as ck
from contrast_kit.vision.noise import MaskRegions


@pytest.fixture
def pairs(texts, tokenizer):
    return make_pairs(texts, tokenizer)


@pytest.fixture
def batch(pairs):
    return pairs.batch(range(12))


@pytest.fixture
def encoder(tokenizer):
    return make_encoder(tokenizer).eval()


def for_transformers(batch):
    """A batch under transformers' names."""
    names = {
        "regions": "visual_feats",
        "boxes": "visual_pos",
        "region_mask": "visual_attention_mask",
    }
    keys = ("input_ids", "attention_mask", "token_type_ids", *names)
    return {names.get(key, key): batch[key] for key in keys if key in batch}


def test_a_saved_folder_opens_elsewhere_with_the_same_numbers(encoder, batch, tmp_path):
    torch.nn.init.normal_(encoder.hidden_region)
    folder = encoder.save_pretrained(tmp_path / "saved")
    states = encoder.states(batch)
    again = ck.CrossModalEncoder.from_pretrained(folder)
    assert again.pretrained and not encoder.pretrained  # `fit` then has the smaller rate
    assert all(
        torch.equal(a, b) for a, b in zip(again.states(batch), states, strict=True)
    )
    assert torch.equal(again.hidden_region, encoder.hidden_region)

    inputs = for_transformers(batch)
    theirs = AutoModelForPreTraining.from_pretrained(folder).eval()(**inputs)
    assert torch.equal(theirs.prediction_logits, encoder.mlm_logits(states.words))
    assert torch.equal(
        theirs.cross_relationship_score, encoder.match_logits(states.words)
    )
    answering = LxmertForQuestionAnswering.from_pretrained(folder).eval()(**inputs)
    assert torch.equal(
        answering.question_answering_score, encoder.answer_logits(states.words)
    )
    body = AutoModel.from_pretrained(folder).eval()(**inputs)
    assert torch.equal(body.language_output, states.words) and torch.equal(
        body.vision_output, states.regions
    )


def test_the_order_of_regions_says_nothing(encoder, batch):
    order = torch.randperm(
        batch["regions"].shape[1], generator=torch.Generator().manual_seed(0)
    )
    moved = batch | {
        key: batch[key][:, order] for key in ("regions", "boxes", "region_mask")
    }
    a, b = encoder.states(batch), encoder.states(moved)
    assert torch.allclose(a.words, b.words, atol=1e-5)
    assert torch.allclose(a.regions[:, order], b.regions, atol=1e-5)


def test_padding_is_not_read(encoder, batch):
    padding = ~batch["region_mask"]
    assert padding.any()
    noise = torch.randn(batch["regions"].shape)
    other = batch | {"regions": torch.where(padding[..., None], noise, batch["regions"])}
    other["boxes"] = torch.where(
        padding[..., None], torch.tensor([0.1, 0.1, 0.5, 0.5]), batch["boxes"]
    )
    wider = batch | {
        key: torch.nn.functional.pad(batch[key], (0, 0, 0, 3))
        for key in ("regions", "boxes")
    }
    wider["region_mask"] = torch.nn.functional.pad(batch["region_mask"], (0, 3))
    for view in (other, wider):
        assert torch.allclose(encoder(view), encoder(batch), atol=1e-5)
    blind = {"region_mask": torch.ones_like(batch["region_mask"])}
    assert not torch.allclose(
        encoder(other | blind), encoder(batch), atol=1e-3
    )  # it would have been read


def test_a_hidden_region_is_not_seen_and_its_vector_is_learned(encoder, batch):
    view = MaskRegions(p=0.5)(batch, torch.Generator().manual_seed(0))
    hidden = view["region_hidden"][..., None]
    leaky = view | {"regions": torch.where(hidden, batch["regions"], view["regions"])}
    assert torch.equal(encoder(view), encoder(leaky))
    encoder(view).square().sum().backward()
    assert encoder.hidden_region.grad.abs().sum() > 0


def gradient_norm(encoder, view, learned=True):
    encoder.zero_grad()
    with torch.no_grad():
        encoder.hidden_region.mul_(1.0 if learned else 0.0)
    objective = ck.vision.LXMERT(encoder, mismatch=0.0)
    objective.total(objective.encode("noisy", view).sums).backward()
    return torch.nn.utils.get_total_norm(
        [p.grad for p in encoder.parameters() if p.grad is not None]
    ).item()


def test_the_first_gradient_of_a_masked_picture_is_no_larger_than_of_a_whole_one(
    tokenizer, batch
):
    """LXMERT's vector of zeros makes it thousands of times larger."""
    batch = batch | {"matched": torch.ones(12, dtype=torch.long)}
    view = MaskRegions(p=0.5, split=(1.0, 0.0, 0.0))(
        batch, torch.Generator().manual_seed(0)
    )
    whole = MaskRegions(p=0.5, split=(0.0, 0.0, 1.0))(
        batch, torch.Generator().manual_seed(0)
    )
    masked, unmasked = (
        gradient_norm(make_encoder(tokenizer, seed=1), v) for v in (view, whole)
    )
    assert 1 / 3 < masked / unmasked < 3
    assert (
        gradient_norm(make_encoder(tokenizer, seed=1), view, learned=False) / unmasked
        > 100
    )


def test_vectors_of_pairs_stand_in_their_order(encoder, pairs, batch):
    vectors = encoder.train().encode(pairs, batch_size=5)
    assert encoder.training and vectors.shape == (12, 32)
    assert torch.allclose(vectors, encoder.eval()(batch)[:, 0], atol=1e-5)
    assert torch.allclose(
        encoder.encode(pairs, normalize=True).norm(dim=1), torch.ones(12)
    )


def test_attention_says_where_each_word_looks(encoder, batch):
    weights = encoder.attention(batch)
    words, regions = batch["input_ids"].shape[1], batch["regions"].shape[1]
    assert weights.shape == (12, 1, 2, words, regions)
    assert torch.allclose(weights.sum(-1), torch.ones(12, 1, 2, words))
    padding = ~batch["region_mask"][:, None, None, None, :].expand_as(weights)
    assert (weights[padding] == 0).all()
