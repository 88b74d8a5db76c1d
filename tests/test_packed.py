"""Packed batches give the states, gradients and folders of padded ones."""

import math
from contextlib import nullcontext

import pytest
import torch
from conftest import make_encoder
from transformers import (
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    ElectraConfig,
    ElectraForMaskedLM,
)

import contrast_kit as ck
from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.fast import dropout as quick
from contrast_kit.fast import packed
from contrast_kit.fast.dropout import QuickDropout
from contrast_kit.fast.layout import Layout

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)


def bert(tokenizer):
    config = BertConfig(vocab_size=len(tokenizer), hidden_dropout_prob=0, attention_probs_dropout_prob=0, **SMALL)
    return ck.Encoder(BertForMaskedLM(config), tokenizer)


def electra(tokenizer):
    options = dict(vocab_size=len(tokenizer), embedding_size=16, **SMALL)
    config = ElectraConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0, **options)
    return ck.Encoder(ElectraForMaskedLM(config), tokenizer)


SYMMETRIC = RelativePositions(64, 128, "symmetric")
ENCODERS = {
    "roberta": lambda t: make_encoder(t, num_hidden_layers=2),
    "mpnet": lambda t: make_encoder(t, num_hidden_layers=2, relative_positions=True),
    "symmetric": lambda t: make_encoder(t, num_hidden_layers=2, relative_positions=SYMMETRIC),
    "bert": bert,
    "electra": electra,
}


def states_and_gradient(encoder, view):
    encoder.zero_grad()
    real = view["attention_mask"].bool()
    states = encoder(view)[real]
    states.pow(3).sum().backward()
    return states.detach(), {n: p.grad.clone() for n, p in encoder.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_states_and_gradients_are_those_of_the_padded_batch(name, dtype, limit, tokenizer, batch):
    torch.manual_seed(0)
    encoder, places = ENCODERS[name](tokenizer).to(dtype), torch.arange(batch["input_ids"].shape[1])
    batch["token_type_ids"] = (places > 3).long().expand_as(batch["input_ids"])  # pairs, to those that read types
    padded, expected = states_and_gradient(encoder, batch)
    encoder.use_packing()
    states, ours = states_and_gradient(encoder, batch)
    assert (states - padded).abs().max() < limit
    assert expected.keys() == ours.keys()
    scale = max(g.abs().max() for g in expected.values())
    assert max((ours[n] - expected[n]).abs().max() for n in expected) < limit * scale
    assert encoder(batch)[~batch["attention_mask"].bool()].abs().sum() == 0


def test_layers_run_on_real_tokens_only(encoder, batch):
    encoder.use_packing()
    seen = []
    for module in encoder.model.base_model.encoder.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[:2]))
    encoder(batch)
    assert set(seen) == {(1, int(batch["attention_mask"].sum()))}


@pytest.mark.parametrize("name", ENCODERS)
def test_in_half_precision_rows_are_filled_up_to_few_shapes(name, tokenizer, batch, monkeypatch):
    """A product is compiled for each shape there; what fills up changes neither states nor gradients."""
    torch.manual_seed(0)
    encoder = ENCODERS[name](tokenizer)
    real = batch["attention_mask"].bool()
    monkeypatch.setattr("contrast_kit.fast.layout.ROUND", int(real.sum()))  # four times as many rows as there are
    found, seen = {}, []
    for layer in encoder.model.base_model.encoder.layer:
        layer.output.dense.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[1]))
    with torch.autocast("cpu", torch.bfloat16):
        for way in ("padded", "packed"):
            encoder.use_packing(way == "packed")
            found[way] = states_and_gradient(encoder, batch)
    assert seen == 2 * [real.shape[1]] + 2 * [4 * int(real.sum())]
    (states, gradient), (ours, of_ours) = found["padded"], found["packed"]
    assert torch.allclose(ours.float(), states.float(), atol=0.05)
    for weight, slope in gradient.items():
        assert (of_ours[weight] - slope).norm() < 0.03 * slope.norm() + 1e-3, weight


def test_word_scores_come_from_few_shapes_in_half_precision(encoder):
    seen = []
    encoder.model.get_output_embeddings().register_forward_hook(lambda m, inputs, output: seen.append(len(inputs[0])))
    states = torch.randn(70, encoder.width, requires_grad=True)
    whole = encoder.mlm_logits(states)
    (slope,) = torch.autograd.grad(whole.square().mean(), states)
    with torch.autocast("cpu", torch.bfloat16):
        half = encoder.mlm_logits(states)
        assert encoder.mlm_logits(states[:64]).shape[0] == 64 and encoder.mlm_logits(states[:0]).shape[0] == 0
    assert seen == [70, 128, 64, 0]
    assert half.shape == whole.shape and torch.allclose(half.float(), whole, atol=0.05)
    (ours,) = torch.autograd.grad(half.float().square().mean(), states)
    assert (ours - slope).norm() < 0.05 * slope.norm()


def test_layout_goes_there_and_back():
    mask = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1]])
    layout = Layout.of(mask)
    assert layout.lengths == [2, 3, 3, 3]
    x = torch.randn(4, 4, 5)
    assert torch.equal(layout.pack(x)[0, :2], x[1, :2])  # the shortest text first
    assert torch.equal(layout.unpack(layout.pack(x)), x * mask[:, :, None])


def test_texts_of_like_length_attend_together(monkeypatch):
    mask = torch.arange(300) < torch.tensor([0, 290, 5, 36, 37, 9, 300, 300])[:, None]
    groups = [group.real.sum(1).tolist() for group in Layout.of(mask).groups]
    assert groups == [[5, 9, 36], [37], [290], [300, 300]]
    monkeypatch.setattr("contrast_kit.fast.layout.ALIKE", 1)
    assert [len(group.real) for group in Layout.of(mask).groups] == [1, 1, 1, 1, 1, 2]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("alike", [1, 5, 32])
@pytest.mark.parametrize("bias", [False, True])
def test_every_way_of_attending_agrees(bias, alike, monkeypatch):
    monkeypatch.setattr("contrast_kit.fast.layout.ALIKE", alike)
    g = torch.Generator().manual_seed(0)
    lengths = [3, 7, 7, 12]
    mask = torch.arange(12) < torch.tensor(lengths)[:, None]
    layout, n = Layout.of(mask), sum(lengths)
    q, k, v = (torch.randn(n, 2, 4, generator=g, dtype=torch.float64) for _ in range(3))
    table = torch.randn(2, 12, 12, generator=g, dtype=torch.float64) if bias else None
    ours = packed.attend(q, k, v, layout, bias=table)
    start = 0
    for length in lengths:  # text by text, as printed: softmax(q k' / sqrt(d) + b) v
        here = slice(start, start + length)
        scores = torch.einsum("ihd,jhd->hij", q[here], k[here]) / 2
        scores = scores if table is None else scores + table[:, :length, :length]
        expected = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v[here])
        assert torch.allclose(ours[here], expected, atol=1e-12)
        start += length
    for name in ("layout", "packed"):
        monkeypatch.setattr(f"contrast_kit.fast.{name}.LONG", 0)
    one_length_each = Layout.of(mask)
    assert torch.allclose(packed.attend(q, k, v, one_length_each, bias=table), ours, atol=1e-12)
    if not bias:
        assert torch.allclose(packed._attend_on_gpu(q, k, v, layout, 0.0, 0.5), ours, atol=1e-12)


def test_dropout_falls_on_attention_and_is_repeated_by_the_seed(tokenizer, batch):
    encoder = make_encoder(tokenizer, dropout=0.3).train()
    encoder.use_packing()
    torch.manual_seed(1)
    first = encoder(batch)
    torch.manual_seed(1)
    assert torch.equal(encoder(batch), first) and not torch.equal(encoder(batch), first)


@pytest.mark.parametrize("chunk_size", [None, 5])
def test_a_step_packed_is_a_step(chunk_size, tokenizer, batch):
    from contrast_kit.training.gradient import gradient

    found = []
    for packing in (False, True):
        objective = ck.objectives.CMLM(make_encoder(tokenizer), contrast="info_nce").double().train()
        objective.encoder.use_packing(packing)
        parts, _ = gradient(objective, [batch], torch.Generator().manual_seed(0), chunk_size=chunk_size)
        found.append({name: value.item() for name, value in parts.items()})
    assert found[0] == pytest.approx(found[1], rel=1e-11)


def test_a_folder_does_not_know_of_packing(encoder, tmp_path, batch):
    encoder.eval().use_packing()
    encoder.save_pretrained(tmp_path)
    again = AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert packed.NAME not in (tmp_path / "config.json").read_text()
    states = again.base_model(batch["input_ids"], batch["attention_mask"]).last_hidden_state
    real = batch["attention_mask"].bool()
    assert torch.allclose(states[real], encoder(batch)[real], atol=1e-6)


def test_another_architecture_is_refused(tokenizer):
    config = DistilBertConfig(vocab_size=len(tokenizer), dim=32, hidden_dim=64, n_layers=1, n_heads=2)
    encoder = ck.Encoder(DistilBertForMaskedLM(config), tokenizer)
    with pytest.raises(ValueError, match="without padding"):
        encoder.use_packing()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_quick_dropout_is_dropout(dtype, p):
    torch.manual_seed(0)
    x = torch.ones(401, 501, dtype=dtype, requires_grad=True)  # an odd number of elements
    with QuickDropout():
        y = torch.nn.Dropout(p)(x)
    kept = (y > 0).double()  # [400, 501]
    sure = 5 * (p * (1 - p) / x.numel()) ** 0.5
    assert kept.mean().item() == pytest.approx(1 - p, abs=sure)
    assert y.max().item() == pytest.approx(1 / (1 - p), rel=4e-3 if dtype == torch.bfloat16 else 1e-4)
    noise = kept - kept.mean()
    for near in (1, 2, 3, 4, 501):  # no element tells of another, not even of one that shares its number
        shifted = noise.flatten()[near:] * noise.flatten()[:-near]
        assert abs(shifted.mean().item()) < 5 * p * (1 - p) / x.numel() ** 0.5
    y.sum().backward()
    assert torch.equal(x.grad, y)  # zeroed and divided as the values are
    assert y.dtype == dtype


def test_quick_dropout_draws_anew_and_leaves_the_rest_alone():
    x, dropout = torch.randn(50, 40), torch.nn.Dropout(0.2)
    with QuickDropout():
        torch.manual_seed(0)
        first, second = dropout(x), dropout(x)
        torch.manual_seed(0)
        assert torch.equal(dropout(x), first) and not torch.equal(first, second)
        assert torch.equal(dropout.eval()(x), x)
        assert torch.equal(torch.nn.functional.dropout(x, 0.0), x)
        assert not torch.nn.functional.dropout(x, 1.0).any()
        for wrong in (1.5, math.nan):
            with pytest.raises((ValueError, RuntimeError), match="between 0 and 1"):
                torch.nn.functional.dropout(x, wrong)
        assert dropout(x[:0]).shape == (0, 40)
        assert torch.allclose(torch.nn.functional.gelu(x), x * 0.5 * (1 + torch.erf(x / 2**0.5)), atol=1e-6)
    torch.manual_seed(0)
    assert not torch.equal(dropout.train()(x), first)  # outside, torch's own


def test_a_packed_step_draws_all_its_dropout_quickly(tokenizer, batch, monkeypatch):
    encoder, drawn = make_encoder(tokenizer, dropout=0.3).train(), []
    monkeypatch.setattr(quick, "_sixteen_bits", lambda n, draw=quick._sixteen_bits: drawn.append(n) or draw(n))
    encoder(batch)
    assert not drawn
    encoder.use_packing()
    encoder(batch)
    groups = len(Layout.of(batch["attention_mask"]).groups)
    assert len(drawn) == 1 + encoder.model.config.num_hidden_layers * (2 + groups)
    encoder.eval()(batch)
    assert len(drawn) == 1 + encoder.model.config.num_hidden_layers * (2 + groups)


def gradient_of(objective, batch, chunk_size=None):
    from contrast_kit.training.gradient import gradient

    torch.manual_seed(1)
    objective.zero_grad()
    gradient(objective, [batch], torch.Generator().manual_seed(0), chunk_size=chunk_size)
    return torch.cat([p.grad.flatten() for p in objective.parameters() if p.grad is not None])


def test_a_second_pass_meets_the_dropout_of_the_first(tokenizer, batch):
    """Of chunks, and of activations that are made again in the backward pass."""
    objective = ck.objectives.CMLM(make_encoder(tokenizer, dropout=0.3), contrast="info_nce").double().train()
    objective.encoder.use_packing()
    whole = gradient_of(objective, batch)
    assert torch.allclose(gradient_of(objective, batch, chunk_size=len(batch["text_id"])), whole, atol=1e-12)
    objective.encoder.model.gradient_checkpointing_enable()
    again = gradient_of(objective, batch)  # with torch's own dropout
    objective.encoder.model.gradient_checkpointing_disable()
    objective.encoder.use_packing(False)
    assert not torch.allclose(again, whole) and torch.isfinite(again).all()


@pytest.mark.parametrize("own", ["eager", "sdpa"])
def test_without_packing_again_the_model_attends_as_it_did(tokenizer, batch, own):
    encoder = make_encoder(tokenizer)
    encoder.model.set_attn_implementation(own)
    before = encoder(batch)
    encoder.use_packing()
    encoder.use_packing()
    assert encoder.model.config._attn_implementation == packed.NAME
    encoder.use_packing(False)
    assert encoder.model.config._attn_implementation == own and torch.equal(encoder(batch), before)


def test_checkpointed_activations_give_the_gradient_of_kept_ones(tokenizer, batch, monkeypatch):
    monkeypatch.setattr(quick, "QuickDropout", nullcontext)  # torch's own dropout in both
    objective = ck.objectives.MLM(make_encoder(tokenizer, dropout=0.3)).double().train()
    objective.encoder.use_packing()
    kept = gradient_of(objective, batch)
    monkeypatch.undo()
    objective.encoder.model.gradient_checkpointing_enable()
    assert torch.allclose(gradient_of(objective, batch), kept, atol=1e-12)
