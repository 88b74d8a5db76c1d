"""Packed batches give the states, gradients and folders of padded ones."""

import pytest
import torch
from conftest import make_encoder
from torch.utils._python_dispatch import TorchDispatchMode
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
    q, k, v = (
        torch.randn(1, n, 2, 4, generator=g, dtype=torch.float64) for _ in range(3)
    )
    table = torch.randn(2, 12, 12, generator=g, dtype=torch.float64) if bias else None
    ours = packed.attend(q, k, v, layout, bias=table)
    q, k, v, found = q[0], k[0], v[0], ours[0]
    start = 0
    for length in lengths:  # text by text, as printed: softmax(q k' / sqrt(d) + b) v
        here = slice(start, start + length)
        scores = torch.einsum("ihd,jhd->hij", q[here], k[here]) / 2
        scores = scores if table is None else scores + table[:, :length, :length]
        expected = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v[here])
        assert torch.allclose(found[here], expected, atol=1e-12)
        start += length
    monkeypatch.setattr("contrast_kit.fast.packed.LONG", 0)
    one_length_each = Layout.of(mask)
    assert torch.allclose(
        packed.attend(q[None], k[None], v[None], one_length_each, bias=table),
        ours,
        atol=1e-12,
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


class Flash:
    """What a GPU's kernels for many texts compute, for torch's own operator to find on the CPU; `called` counts."""

    def __init__(self):
        self.called = 0
        self.library = torch.library.Library("aten", "IMPL")
        self.library.impl("_flash_attention_forward", self.forward, "CPU")
        self.library.impl("_flash_attention_backward", self.backward, "CPU")

    def texts(self, ends, *rows):
        """The rows of each text, [H, t, d] in float64, with its weights W = softmax(q k' / sqrt(d))."""
        for x in zip(
            *(x.double().split(ends.diff().tolist()) for x in rows), strict=True
        ):
            q, k, *rest = (part.transpose(0, 1) for part in x)
            scale = q.shape[-1] ** -0.5
            yield (q @ k.mT * scale).softmax(-1), q * scale, k * scale, *rest

    def forward(self, q, k, v, ends, *more, **options):
        """W v."""
        self.called += 1
        out = torch.cat([w @ v for w, _, _, v in self.texts(ends, q, k, v)], 1)
        none = torch.zeros(0)
        out = out.transpose(0, 1).contiguous()
        return out.to(q.dtype), none, none, none, none

    def backward(self, grad, q, k, v, out, lse, ends, *more, **options):
        """dW = g v', and through the softmax dS = W (dW - sum W dW): dq = dS k, dk = dS' q, dv = W' g."""
        found = []
        for w, q_, k_, v_, g in self.texts(ends, q, k, v, grad):
            to_w = g @ v_.mT
            to_s = w * (to_w - (w * to_w).sum(-1, keepdim=True))
            found.append((to_s @ k_, to_s.mT @ q_, w.mT @ g))
        return tuple(
            torch.cat(x, 1).transpose(0, 1).contiguous().to(q.dtype)
            for x in zip(*found, strict=True)
        )


@pytest.fixture
def gpu(monkeypatch):
    """Packing computes as on a GPU."""
    monkeypatch.setattr(packed, "on_gpu", lambda x: True)
    monkeypatch.setattr(packed, "compiled_by_shape", lambda x: False)
    flash = Flash()
    yield flash
    flash.library._destroy()


@pytest.mark.parametrize("name", ENCODERS)
def test_on_a_gpu_states_and_gradients_are_those_of_the_padded_batch(
    name, tokenizer, batch, gpu
):
    """By the kernel in half precision; in float32, and with a bias, which it has not, attention alone is padded."""
    for dtype, limit in ((torch.float32, 1e-5), (torch.bfloat16, 4e-2)):
        encoder = ENCODERS[name](tokenizer).train()
        gpu.called = 0
        with torch.autocast("cpu", torch.bfloat16, dtype == torch.bfloat16):
            padded, expected = states_and_gradient(encoder, batch)
            encoder.use_packing()
            states, ours = states_and_gradient(encoder, batch)
        by_kernel = dtype == torch.bfloat16 and name == "roberta"
        assert gpu.called == 2 * by_kernel  # once a layer
        assert (states - padded).abs().max() < limit
        scale = max(g.abs().max() for g in expected.values())
        assert max((ours[n] - expected[n]).abs().max() for n in expected) < limit * scale


def test_on_a_gpu_dropout_of_attentions_weights_is_drawn(tokenizer, batch, gpu):
    encoder = make_encoder(tokenizer, dropout=0.1).train()
    encoder.use_packing()
    with torch.autocast("cpu", torch.bfloat16):
        assert not torch.equal(encoder(batch), encoder(batch)) and gpu.called == 0
        assert torch.equal(encoder.eval()(batch), encoder(batch)) and gpu.called == 2


class Counted(TorchDispatchMode):
    """Counts operations; views launch nothing."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += not operation.is_view
        return operation(*args, **kwargs or {})


def test_a_packed_step_has_the_operations_of_a_dense_one(tokenizer, batch, gpu):
    counts = []
    whole = torch.ones_like(batch["attention_mask"])
    for mask, packing in ((whole, False), (batch["attention_mask"], True)):
        encoder = make_encoder(tokenizer, num_hidden_layers=12)
        encoder.use_packing(packing)
        with torch.autocast("cpu", torch.bfloat16), Counted() as seen:
            encoder(batch | {"attention_mask": mask}).sum().backward()
        counts.append(seen.count)
    assert gpu.called == 12 and counts[1] == pytest.approx(counts[0], rel=0.05)
