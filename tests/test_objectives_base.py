"""What holds for every objective, whatever the method: padding, examples by themselves, half precision, bad input."""

import copy

import pytest
import torch
from conftest import make_encoder
from objectives import OBJECTIVES
from torch.nn.functional import pad

import contrast_kit as ck
from contrast_kit.objectives.base import add
from contrast_kit.training.gradient import gradient
from contrast_kit.training.settings import autocast

CMLM_AND_MLM = [name for name in OBJECTIVES if "mlm" in name]

pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")


def parts_of(objective, views, facts):
    """The loss of given views, by the definition in `Objective.forward`."""
    objective.views = lambda batch, generator=None: views
    return {name: value.item() for name, value in objective(facts).items()}


def padded(view, pad_id, by=16):
    """A view with more padding on the right."""
    fill = {"input_ids": pad_id, "targets": pad_id}
    return {
        key: value if value.ndim == 1 else pad(value, (0, by), value=fill.get(key, 0))
        for key, value in view.items()
    }


@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_more_padding_changes_no_part_of_the_loss(name, pooling, tokenizer, batch):
    objective = OBJECTIVES[name](make_encoder(tokenizer, pooling=pooling)).double().eval()
    with torch.no_grad():
        views = objective.views(batch, torch.Generator().manual_seed(0))
    wider = {at: padded(view, tokenizer.pad_token_id) for at, view in views.items()}
    before, after = (parts_of(objective, some, batch) for some in (views, wider))
    assert len(before) >= 2 and after == pytest.approx(before, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_heads_have_the_number_format_of_their_encoder(name, tokenizer, batch):
    """An encoder in float64 trains as an objective that is made float64 as a whole; one in bfloat16 trains too."""
    before, after = (
        OBJECTIVES[name](make_encoder(tokenizer).double()),
        OBJECTIVES[name](make_encoder(tokenizer)),
    )
    losses = [
        one.eval()(batch, torch.Generator().manual_seed(0))["loss"]
        for one in (before, after.double())
    ]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-6)
    short = OBJECTIVES[name](make_encoder(tokenizer).to(torch.bfloat16))
    short(batch, torch.Generator().manual_seed(0))["loss"].backward()
    assert all(
        p.dtype == torch.bfloat16 for p in short.parameters() if p.ndim
    )  # a learned τ stays in float32


@pytest.mark.parametrize("name", OBJECTIVES)
def test_examples_are_encoded_by_themselves(name, tokenizer, batch):
    """Two halves give the vectors, sums and counts of the whole: what lets the trainer cut a batch anywhere."""
    objective = OBJECTIVES[name](make_encoder(tokenizer)).double().eval()
    with torch.no_grad():
        for at, view in objective.views(batch, torch.Generator().manual_seed(0)).items():
            halves = [
                {key: value[cut] for key, value in view.items()}
                for cut in (slice(0, 5), slice(5, None))
            ]
            whole, encoded = (
                objective.encode(at, view),
                [objective.encode(at, half) for half in halves],
            )
            for head, rows in whole.vectors.items():
                assert torch.allclose(
                    torch.cat([half.vectors[head] for half in encoded]), rows, atol=1e-9
                )
            sums, counts = {}, {}
            for half, result in zip(halves, encoded, strict=True):
                add(sums, result.sums)
                add(counts, objective.term_counts(at, half))
            assert (
                sums.keys() == whole.sums.keys()
                and counts.keys() == objective.term_counts(at, view).keys()
            )
            for part, value in whole.sums.items():
                assert torch.allclose(sums[part].double(), value.double(), rtol=1e-6)
            for part, count in objective.term_counts(at, view).items():
                assert counts[part] == count


@pytest.mark.parametrize(
    "name", [name for name in OBJECTIVES if "learned" not in name]
)  # that is one of one's own
def test_a_contrast_of_the_kit_has_no_parameters(name, tokenizer, batch):
    """Through fixed vectors no parameter gets a gradient: every learnable head stands in `encode`."""
    objective = OBJECTIVES[name](make_encoder(tokenizer))
    with torch.no_grad():
        views = objective.views(batch, torch.Generator().manual_seed(0))
        vectors = {at: objective.encode(at, view).vectors for at, view in views.items()}
    vectors = {
        at: {head: rows.requires_grad_() for head, rows in of.items()}
        for at, of in vectors.items()
    }
    for value in objective.contrast(vectors, objective.facts(batch, views)).values():
        if value.requires_grad:
            value.backward(retain_graph=True)
    assert all(parameter.grad is None for parameter in objective.parameters())


@pytest.mark.parametrize("chunk_size", [None, 5])
@pytest.mark.parametrize("name", CMLM_AND_MLM)
def test_under_bf16_loss_and_gradient_stay_near_and_weights_stay_float32(
    name, chunk_size, tokenizer, texts
):
    batch = ck.data.Texts(texts, tokenizer).batch(range(64))
    found = {}
    for precision in ("float32", "bf16"):
        objective = OBJECTIVES[name](make_encoder(tokenizer)).train()
        cast = autocast(precision, torch.device("cpu"))
        parts, _ = gradient(
            objective,
            [batch],
            torch.Generator().manual_seed(0),
            chunk_size=chunk_size,
            autocast=cast,
        )
        grads = [p.grad.flatten() for p in objective.parameters() if p.grad is not None]
        assert all(
            grad.dtype == torch.float32 and grad.isfinite().all() for grad in grads
        )
        assert all(part.dtype == torch.float32 for part in parts.values())
        found[precision] = (
            {part: value.item() for part, value in parts.items()},
            torch.cat(grads),
        )
    (near, grads), (half, half_grads) = found["float32"], found["bf16"]
    assert half == pytest.approx(near, rel=2e-2) and not torch.equal(grads, half_grads)
    assert torch.cosine_similarity(grads, half_grads, dim=0) > 0.98


@pytest.mark.parametrize("kind", ["CMLM", "COCOLM"])
def test_a_new_method_leaves_the_callers_random_numbers_alone(encoder, kind):
    before = torch.get_rng_state()
    getattr(ck.objectives, kind)(encoder)
    assert torch.equal(torch.get_rng_state(), before)


def test_settings_that_no_paper_fixes_begin_as_their_docstrings_say():
    """Another default would change a reader's runs without a word."""
    told = {
        "CMLM": dict(tau=0.1),
        "CSSL": dict(tau=0.1),
        "FineTune": dict(classes=2, head="linear", dropout=0.1),
        "SCL": dict(lam=0.5, tau=0.3, reduction="mean", dropout=0.1),
    }
    for method, settings in told.items():
        config = getattr(ck.objectives, method).Config()
        assert {name: getattr(config, name) for name in settings} == settings, method
    assert ck.tasks.Span.Config().dropout == 0.1
    prompt = ck.tasks.Prompt.Config(words=("bad", "good"))
    assert (prompt.samples, prompt.max_length) == (16, 128)


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("name", ["SimCSE", "CAPT", "CMLM"])
def test_an_encode_of_ones_own_is_asked_in_chunks_too(name, with_vectors, encoder, batch):
    """Below a method that says its `vectors`: both passes over a chunk must make the same ones."""

    class Doubled(getattr(ck.objectives, name)):
        def encode(self, view_name, view):
            encoded = super().encode(view_name, view)
            return encoded._replace(
                vectors={
                    head: 2 * rows + rows[:, :1] for head, rows in encoded.vectors.items()
                }
            )

    if with_vectors:  # both in one class: `encode` is what counts
        Doubled.vectors = lambda self, *of: super(Doubled, self).vectors(*of)

    settings = {
        "SimCSE": dict(tau=0.3),
        "CAPT": dict(queue=0),
        "CMLM": dict(contrast="info_nce"),
    }[name]
    found = []
    for chunk_size in (None, 5):
        objective = Doubled(copy.deepcopy(encoder).eval(), **settings).double().eval()
        gradient(
            objective, [batch], torch.Generator().manual_seed(0), chunk_size=chunk_size
        )
        found.append(
            torch.cat(
                [
                    p.grad.flatten()
                    for p in objective.encoder.parameters()
                    if p.grad is not None
                ]
            )
        )
    assert torch.allclose(*found, rtol=1e-9, atol=1e-12)
