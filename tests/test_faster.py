"""What is opted into for speed gives the plain numbers."""

import pytest
import torch
from conftest import make_encoder
from torch._dynamo.testing import CompileCounterWithBackend

import contrast_kit as ck
from contrast_kit.data.batches import make_batches
from contrast_kit.encoder.encoder import Padded
from contrast_kit.fast import on_gpu, quick_mask
from contrast_kit.fast.fixed_capacity import FixedCapacity
from contrast_kit.training.gradient import gradient

KINDS = {
    "mlm": lambda e: ck.objectives.MLM(e),
    "mlm by sequence": lambda e: ck.objectives.MLM(e, mlm_mean="sequences"),
    "cmlm": lambda e: ck.objectives.CMLM(e, contrast="info_nce"),
    "coco_lm relative": lambda e: ck.objectives.COCOLM(e, tau=0.1),
    "electra": lambda e: ck.objectives.ELECTRA(e),
    "all_token": lambda e: ck.objectives.AllTokenMLM(e),
}


def make(name, tokenizer, **options):
    return KINDS[name](
        make_encoder(tokenizer, relative_positions="relative" in name, **options)
    )


def seeded():
    return torch.Generator().manual_seed(7)


@pytest.mark.parametrize("options", [dict(fixed_capacity=0.15), dict(packing=True)])
@pytest.mark.parametrize("name", KINDS)
def test_parts_and_gradients_are_those_of_the_plain_form(name, options, tokenizer, batch):
    objective = make(name, tokenizer).double().train()
    views = objective.views(batch, seeded())
    found = []
    for how in ({}, options):
        ck.faster(objective, **how).zero_grad()
        sums = {
            f"{view} {n}": v
            for view in views
            for n, v in objective.encode(view, views[view]).sums.items()
        }
        sum(value for value in sums.values() if value.requires_grad).backward()
        grads = {
            n: p.grad.clone()
            for n, p in objective.named_parameters()
            if p.grad is not None
        }
        found.append(({n: value.item() for n, value in sums.items()}, grads))
    (plain, expected), (ours, grads) = found
    assert ours == pytest.approx(plain, rel=1e-11)
    assert all(torch.allclose(grads[n], expected[n], atol=1e-11) for n in expected)


def test_a_fixed_capacity_holds_each_position_once_and_refuses_too_many():
    where = torch.rand(6, 40, generator=seeded()) < 0.2
    strategy = FixedCapacity(Padded(), 0.2)
    positions = strategy.positions(where)
    x = torch.arange(240).view(6, 40)
    assert torch.equal(positions.rows(x)[positions.counted], x[where])
    assert torch.equal(positions.labels(x) == -100, ~positions.counted)
    none = strategy.positions(torch.zeros_like(where))
    assert none.counted.sum() == 0 and len(none.counted) == len(
        positions.counted
    )  # whatever was chosen
    with pytest.raises(RuntimeError, match="than the fixed capacity holds"):
        FixedCapacity(Padded(), 0.01).positions(torch.ones_like(where))


@pytest.mark.full
@pytest.mark.parametrize("options", [dict(packing=True), dict(fixed_capacity=0.15)])
def test_runs_resume_bitwise(options, tokenizer, texts, tmp_path):
    def run(steps, folder, resume=False):
        objective = ck.faster(make("coco_lm relative", tokenizer, dropout=0.1), **options)
        plan = dict(
            steps=4,
            batch_size=8,
            chunk_size=5,
            save_every=2,
            progress=False,
            folder=folder,
        )

        def stop(run):
            if run.steps == steps:
                run.stop()

        return ck.fit(
            objective, texts, resume=resume, callback=stop, **plan
        ).objective.state_dict()

    unbroken = run(None, tmp_path / "a")
    run(2, tmp_path / "b")
    resumed = run(None, tmp_path / "b", resume=True)
    assert all(torch.equal(value, resumed[name]) for name, value in unbroken.items())


@pytest.mark.full
@pytest.mark.parametrize("others", [dict(fixed_capacity=0.15), dict(packing=True)])
def test_compiled_gives_the_same_loss_and_gradient(others, tokenizer, batch):
    """Captured and differentiated as a graph, run without a C++ compiler; evaluation is left as it is."""
    found, backend = [], CompileCounterWithBackend("aot_eager")
    for compiled in (False, backend):
        objective = make("cmlm", tokenizer).train()
        ck.faster(objective, compiled=compiled, **others)
        parts, _ = gradient(objective, [batch], seeded())
        grads = [p.grad.flatten() for p in objective.parameters() if p.grad is not None]
        found.append((parts["loss"].item(), torch.cat(grads)))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)
    graphs = backend.frame_count
    objective.encoder.eval()(batch)
    assert backend.frame_count == graphs > 0
    assert type(ck.faster(objective).encoder.strategy) is Padded  # not given: off again


def test_how_a_run_computes_on_a_gpu_follows_from_its_sizes(
    tokenizer, texts, monkeypatch
):
    """Small: recorded; large: packed where lengths differ, compiled where long; other methods are never recorded."""
    data = ck.data.Texts(texts, tokenizer)

    def way(objective, total=100, **settings):
        training = ck.Training(batch_size=16, **settings)
        return on_gpu.way(objective, training, make_batches(data, training), total)

    mlm, own = make("mlm", tokenizer), type("Own", (ck.objectives.MLM,), {})
    assert way(mlm) == on_gpu.Way(share=0.15, recorded=True)
    assert way(own(mlm.encoder)) == on_gpu.Way()
    assert way(mlm, chunk_size=4) == on_gpu.Way(share=0.15)
    assert way(ck.objectives.CAPT(mlm.encoder)) == on_gpu.Way()
    monkeypatch.setattr(on_gpu, "SMALL", 0)
    assert way(mlm) == on_gpu.Way(share=0.15)  # of like length
    assert way(mlm, group_by_length=False) == on_gpu.Way(packing=True, share=0.15)
    assert way(mlm, total=10**10) == on_gpu.Way(share=0.15, compiled=True)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_mask_made_before_hides_padding_from_every_kind_of_attention(
    tokenizer, attention, monkeypatch
):
    """Eager attention adds a mask: True would be one more, not minus infinity."""
    encoder = make_encoder(tokenizer).eval()
    encoder.model.set_attn_implementation(attention)
    view = dict(encoder.view_of(["a red ball", "the small red box stands by the door"]))
    mask = view["attention_mask"]
    elsewhere = type(
        "Mask",
        (),
        {"device": torch.device("cuda"), "__getitem__": lambda self, key: mask[key]},
    )()
    ready = quick_mask(encoder.model, {"attention_mask": elsewhere})
    if attention == "eager":
        assert ready is elsewhere
        return
    ours = encoder.model.base_model(**view | {"attention_mask": ready}).last_hidden_state
    theirs = encoder.model.base_model(**view).last_hidden_state
    torch.testing.assert_close(ours[mask.bool()], theirs[mask.bool()])
