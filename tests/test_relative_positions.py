"""T5's relative positions: the buckets against a loop, the fused attention against transformers', the saved folder."""

import math

import pytest
import torch
from conftest import make_encoder
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

import contrast_kit as ck
from contrast_kit.encoder.relative_positions import RelativePositions, bias, bucket

SIZES = [(32, 128), (64, 128), (128, 256)]  # COCO-LM, table 6
OTHER = RelativePositions(64, 256)


def t5_bucket(distance, buckets, max_distance):
    """Raffel et al.: for one distance j − i, in plain Python."""
    half = buckets // 2
    start = half if distance > 0 else 0
    n, exact = abs(distance), half // 2
    if n < exact:
        return start + n
    wide = exact + int(
        math.log(n / exact) / math.log(max_distance / exact) * (half - exact)
    )
    return start + min(wide, half - 1)


@pytest.mark.parametrize(("buckets", "max_distance"), SIZES)
def test_bucket_tables(buckets, max_distance):
    distances = range(-300, 301)
    positions = RelativePositions(buckets, max_distance)
    ours = bucket(torch.tensor(distances), positions).tolist()
    assert ours == [t5_bucket(distance, buckets, max_distance) for distance in distances]
    assert min(ours) == 0 and max(ours) < buckets


def test_bias_is_the_table_looked_up_at_every_pair():
    torch.manual_seed(0)
    positions, table = RelativePositions(), torch.nn.Embedding(32, 3)
    square = bias(table, 7, positions)  # [H, T, T]
    for i in range(7):
        for j in range(7):
            expected = table.weight[t5_bucket(j - i, 32, 128)]
            assert torch.equal(square[:, i, j], expected)
    assert bias(table, 1, positions).shape == (3, 1, 1)


def relative(tokenizer, positions=True, **options):
    """An encoder whose weights are large enough for differences to show, and whose table is not flat."""
    encoder = make_encoder(
        tokenizer, relative_positions=positions, num_hidden_layers=3, **options
    )
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
        encoder.model.base_model.encoder.relative_attention_bias.weight.normal_()
    return encoder.eval()


def as_transformers_has_it(encoder):
    """The same weights in transformers' own classes, with its step-by-step attention."""
    plain = AutoModelForMaskedLM.from_config(encoder.model.config).eval()
    plain.load_state_dict(encoder.model.state_dict())
    assert type(plain.mpnet.encoder).__name__ == "MPNetEncoder"
    return plain


def test_fused_attention_and_its_gradients_equal_transformers(tokenizer, batch):
    encoder = relative(tokenizer, num_attention_heads=4)
    plain = as_transformers_has_it(encoder)
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask")}
    real = batch["attention_mask"].bool()
    ours, theirs = encoder(batch)[real], plain.mpnet(**inputs).last_hidden_state[real]
    assert torch.allclose(ours, theirs, atol=1e-5)
    with torch.no_grad():  # another kernel on a CPU
        assert torch.allclose(encoder(batch)[real], theirs, atol=1e-5)

    target = torch.randn(ours.shape, generator=torch.Generator().manual_seed(0))
    slopes = []
    for states, model in ((ours, encoder.model), (theirs, plain)):
        (states * target).sum().backward()
        slopes.append(model.mpnet.encoder.relative_attention_bias.weight.grad)
    assert torch.allclose(*slopes, rtol=1e-3, atol=1e-4 * slopes[1].abs().max().item())
    used = slopes[0].abs().sum(1) > 0
    assert used.any() and not used[16]  # T5 never uses this row

    more = dict(output_attentions=True, output_hidden_states=True)
    shown, wanted = (
        encoder.model.base_model(**inputs, **more),
        plain.mpnet(**inputs, **more),
    )
    for name in ("attentions", "hidden_states"):
        assert len(shown[name]) == len(wanted[name]) >= 3
        for layer, other in zip(shown[name], wanted[name], strict=True):
            assert torch.allclose(layer, other, atol=1e-4)


@pytest.mark.parametrize("positions", [True, OTHER])
def test_padding_changes_nothing(tokenizer, batch, positions):
    encoder = relative(tokenizer, positions)
    wider = {
        key: torch.nn.functional.pad(batch[key], (0, 9), value=value)
        for key, value in {
            "input_ids": tokenizer.pad_token_id,
            "attention_mask": 0,
        }.items()
    }
    real, length = batch["attention_mask"].bool(), batch["input_ids"].shape[1]
    assert torch.allclose(
        encoder(batch)[real], encoder(wider)[:, :length][real], atol=1e-5
    )


@pytest.mark.parametrize("packing", [False, True])
def test_dropout_falls_on_the_weights_of_attention_while_it_trains(
    packing, tokenizer, batch
):
    encoder = make_encoder(tokenizer, relative_positions=True)  # and nowhere else
    for layer in encoder.model.base_model.encoder.layer:
        layer.attention.attn.dropout.p = 0.5
    encoder.use_packing(packing)
    same = [
        torch.equal(encoder.train(mode)(batch), encoder(batch)) for mode in (True, False)
    ]
    assert same == [False, True]


@pytest.mark.parametrize(
    ("positions", "kind"), [(True, "mpnet"), (OTHER, "contrast_kit_relative")]
)
def test_a_saved_folder_opens_in_transformers(
    tokenizer, texts, tmp_path, positions, kind
):
    """Other tables under a type of their own: transformers' MPNet would read them with 32 T5 buckets, silently."""
    encoder = relative(tokenizer, positions)
    vectors = encoder.encode(texts[:5])
    folder = encoder.save_pretrained(tmp_path / "encoder")
    assert AutoConfig.from_pretrained(folder).model_type == kind
    view = tokenizer(texts[:5], padding=True, return_tensors="pt")
    hidden = (
        AutoModel.from_pretrained(folder)
        .eval()(**view, return_dict=True)
        .last_hidden_state
    )
    assert torch.allclose(hidden[:, 0], vectors, atol=1e-5)
    again = ck.Encoder.from_pretrained(folder)
    assert torch.equal(again.encode(texts[:5]), vectors) and again.max_length == 64
    assert type(again.model.mpnet.encoder).__name__ == "RelativeEncoder"
    if positions is OTHER:
        encoder.model.config.relative_attention_max_distance = 40
        assert not torch.allclose(encoder.encode(texts[:5]), vectors, atol=1e-2)
