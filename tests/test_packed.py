"""Packed batches give the states, gradients and folders of padded ones."""

import pytest
import torch
from conftest import make_encoder
from transformers import (
    AutoModelForMaskedLM,
)

from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.fast import packed
from contrast_kit.fast.packed import Layout

SMALL = dict(
    hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
)


LARGE = RelativePositions(64, 256)
ENCODERS = {
    "roberta": lambda t: make_encoder(t, num_hidden_layers=2),
    "mpnet": lambda t: make_encoder(t, num_hidden_layers=2, relative_positions=True),
    "mpnet, larger table": lambda t: make_encoder(
        t, num_hidden_layers=2, relative_positions=LARGE
    ),
}


def states_and_gradient(encoder, view):
    encoder.zero_grad()
    real = view["attention_mask"].bool()
    states = encoder(view)[real]
    states.pow(3).sum().backward()
    return states.detach(), {
        n: p.grad.clone() for n, p in encoder.named_parameters() if p.grad is not None
    }


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(
    ("dtype", "limit"), [(torch.float64, 1e-12), (torch.float32, 1e-5)]
)
def test_states_and_gradients_are_those_of_the_padded_batch(
    name, dtype, limit, tokenizer, batch
):
    torch.manual_seed(0)
    encoder, places = (
        ENCODERS[name](tokenizer).to(dtype),
        torch.arange(batch["input_ids"].shape[1]),
    )
    batch["token_type_ids"] = (
        (places > 3).long().expand_as(batch["input_ids"])
    )  # pairs, to those that read types
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
            module.register_forward_hook(
                lambda module, inputs, output: seen.append(inputs[0].shape[:2])
            )
    encoder(batch)
    assert set(seen) == {(1, int(batch["attention_mask"].sum()))}


@pytest.mark.parametrize("alike", [1, 5, 32])
@pytest.mark.parametrize("bias", [False, True])
def test_every_way_of_attending_agrees(bias, alike, monkeypatch):
    monkeypatch.setattr("contrast_kit.fast.packed.ALIKE", alike)
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
    monkeypatch.setattr("contrast_kit.fast.packed.LONG", 0)
    one_length_each = Layout.of(mask)
    assert torch.allclose(
        packed.attend(q, k, v, one_length_each, bias=table), ours, atol=1e-12
    )


def test_a_folder_does_not_know_of_packing(encoder, tmp_path, batch):
    encoder.eval().use_packing()
    encoder.save_pretrained(tmp_path)
    again = AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert packed.NAME not in (tmp_path / "config.json").read_text()
    states = again.base_model(
        batch["input_ids"], batch["attention_mask"]
    ).last_hidden_state
    real = batch["attention_mask"].bool()
    assert torch.allclose(states[real], encoder(batch)[real], atol=1e-6)
