"""What is opted into for speed gives the plain numbers, and waits for no device."""

from collections import Counter

import pytest
import torch
from conftest import make_encoder
from torch.utils._python_dispatch import TorchDispatchMode

import contrast_kit as ck
from contrast_kit.encoder.encoder import Padded
from contrast_kit.fast.fixed_capacity import FixedCapacity, ready_made_mask
from contrast_kit.fast.layout import Layout
from contrast_kit.fast.packed import Packed
from contrast_kit.training.gradient import gradient

KINDS = {
    "mlm": lambda e: ck.objectives.MLM(e),
    "mlm by sequence": lambda e: ck.objectives.MLM(e, mlm_mean="sequences"),
    "cmlm": lambda e: ck.objectives.CMLM(e, contrast="info_nce"),
    "simsiam": lambda e: ck.objectives.CMLM(e),
    "coco_lm": lambda e: ck.objectives.COCOLM(e),
    "coco_lm relative": lambda e: ck.objectives.COCOLM(e, tau=0.1),
    "electra": lambda e: ck.objectives.ELECTRA(e),
    "all_token": lambda e: ck.objectives.AllTokenMLM(e),
    "capt": lambda e: ck.objectives.CAPT(e, queue=8),
    "simcse mlm": lambda e: ck.objectives.SimCSE(e, mlm_weight=0.1),
}

pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")


def make(name, tokenizer, **options):
    return KINDS[name](make_encoder(tokenizer, relative_positions="relative" in name, **options))


def seeded():
    return torch.Generator().manual_seed(7)


class Looks(TorchDispatchMode):
    """Counts what makes a program wait for a GPU: a number read, or a result whose shape depends on values."""

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.removeprefix("aten::")
        indices = args[1] if name.startswith("index") and len(args) > 1 and isinstance(args[1], (list, tuple)) else ()
        by_mask = any(isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8) for i in indices)
        if by_mask or name in (
            "_local_scalar_dense",
            "is_nonzero",
            "nonzero",
            "masked_select",
            "equal",
            "unique_dim",
        ):
            self.seen[name] += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", KINDS)
def test_no_step_waits_for_the_device(name, tokenizer, batch):
    """As on a GPU, where losses do not look at values; here the looks are left out by hand."""
    objective = ck.faster(make(name, tokenizer, dropout=0.1).train(), fixed_capacity=0.15)
    for _ in range(2):  # the first step reads once how full a queue is
        with ck.losses.unchecked(), Looks() as looks:
            _, seen = gradient(objective, [batch], seeded())
            for vectors, facts in seen:
                objective.after_step(vectors, facts)
    assert not looks.seen
    ck.faster(objective)
    with Looks() as looks:
        gradient(objective, [batch], seeded())
    assert looks.seen  # the count can count


@pytest.mark.parametrize("name", KINDS)
def test_a_fixed_capacity_gives_the_parts_and_gradients_of_the_plain_form(name, tokenizer, batch):
    objective = make(name, tokenizer).double().train()
    views = objective.views(batch, seeded())
    found = []
    for share in (None, 0.15):
        ck.faster(objective, fixed_capacity=share).zero_grad()
        sums = {f"{view} {n}": v for view in views for n, v in objective.encode(view, views[view]).sums.items()}
        sum(value for value in sums.values() if value.requires_grad).backward()
        grads = {n: p.grad.clone() for n, p in objective.named_parameters() if p.grad is not None}
        found.append(({n: value.item() for n, value in sums.items()}, grads))
    (plain, expected), (ours, grads) = found
    assert ours == pytest.approx(plain, rel=1e-11)
    assert all(torch.allclose(grads[n], expected[n], atol=1e-11) for n in expected)


def test_a_fixed_capacity_holds_each_position_once_and_refuses_too_many():
    where = torch.rand(6, 40, generator=seeded()) < 0.2
    strategy = FixedCapacity(0.2)
    at = strategy.positions(where)
    x = torch.arange(240).view(6, 40)
    assert torch.equal(at.rows(x)[at.counted], x[where])
    none = strategy.positions(torch.zeros_like(where))
    assert none.counted.sum() == 0 and len(none.counted) == len(at.counted)  # as many rows whatever was chosen
    with pytest.raises(RuntimeError, match="than the fixed capacity holds"):
        FixedCapacity(0.01).positions(torch.ones_like(where))


def test_samples_at_a_fixed_capacity_follow_the_auxiliary_model(tokenizer, batch):
    """10,000 draws for one position against p_MLM there; nothing changes elsewhere."""
    objective = ck.faster(make("electra", tokenizer), fixed_capacity=0.15)
    auxiliary = objective.auxiliary
    one = {key: value[:1].repeat(2_000, 1) for key, value in batch.items() if value.ndim == 2}
    one["selected"] = torch.zeros_like(one["maskable"])
    one["selected"][:, 2] = True
    one["targets"] = one["input_ids"]
    with torch.no_grad():
        auxiliary.encoder.model.get_output_embeddings().bias[:5] = 4.0  # a few words that are likely
        expected = auxiliary.encoder.mlm_logits(auxiliary.encoder(one)[:1, 2]).softmax(-1)[0]
    sampled = auxiliary.sample(one, seeded())
    torch.manual_seed(1)  # nothing but the generator says which, as several processes have to draw the same
    assert torch.equal(auxiliary.sample(one, seeded()), sampled)
    share = torch.bincount(sampled[:, 2], minlength=len(tokenizer)) / len(sampled)
    assert (share - expected).abs().max() < 0.05 and share.max() > 0.1
    sampled[:, 2] = one["input_ids"][:, 2]
    assert torch.equal(sampled, one["input_ids"])


@pytest.mark.parametrize("options", [dict(packing=True), dict(fixed_capacity=0.15)])
def test_runs_resume_bitwise(options, tokenizer, texts, tmp_path):
    def run(steps, folder, resume=False):
        objective = ck.faster(make("coco_lm", tokenizer, dropout=0.1), **options)
        plan = dict(steps=4, batch_size=8, chunk_size=5, save_every=2, progress=False, folder=folder)

        def stop(run):
            if run.steps == steps:
                run.stop()

        return ck.fit(objective, texts, resume=resume, callback=stop, **plan).objective.state_dict()

    unbroken = run(None, tmp_path / "a")
    run(2, tmp_path / "b")
    resumed = run(None, tmp_path / "b", resume=True)
    assert all(torch.equal(value, resumed[name]) for name, value in unbroken.items())


def test_compiled_gives_the_same_loss_and_gradient(tokenizer, batch):
    found = []
    for compiled in (
        False,
        "aot_eager",
    ):  # captured and differentiated as a graph, run without a C++ compiler
        objective = ck.faster(make("cmlm", tokenizer).train(), fixed_capacity=0.15, compiled=compiled)
        parts, _ = gradient(objective, [batch], seeded())
        found.append(
            (
                parts["loss"],
                torch.cat([p.grad.flatten() for p in objective.parameters() if p.grad is not None]),
            )
        )
    assert found[1][0].item() == pytest.approx(found[0][0].item(), rel=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)
    assert objective.encoder.model.base_model._compiled_call_impl is not None
    assert ck.faster(objective).encoder.model.base_model._compiled_call_impl is None  # not given: off again


def test_bad_choices_are_refused(tokenizer):
    objective = make("mlm", tokenizer)
    with pytest.raises(ValueError, match="share of positions"):
        ck.faster(objective, fixed_capacity=15)
    with pytest.raises(ValueError, match="choose one"):
        ck.faster(objective, fixed_capacity=0.15, packing=True)
    with pytest.raises(ValueError, match="no backend of torch.compile 'inducter'; did you mean 'inductor'"):
        ck.faster(objective, compiled="inducter")
    with pytest.raises(TypeError, match="compiled is True or False"):
        ck.faster(objective, compiled=2)


@pytest.mark.parametrize("share", [0.15, 0.5])
def test_samples_at_a_fixed_capacity_touch_selected_tokens_only(share, tokenizer, batch):
    objective = ck.faster(make("coco_lm", tokenizer), fixed_capacity=share)
    for seed in range(3):
        view = objective.views(batch, torch.Generator().manual_seed(seed))["corrupted"]
        changed = view["input_ids"] != view["original"]
        assert changed.any() and not (changed & ~view["selected"]).any()


def test_a_fixed_capacity_needs_a_head_that_is_known(encoder, batch, monkeypatch):
    objective = ck.faster(ck.objectives.MLM(encoder), fixed_capacity=0.15)
    monkeypatch.setattr("contrast_kit.encoder.mlm_head.states", lambda model, hidden: None)
    with pytest.raises(ValueError, match="vocabulary head of .* is not known well enough for a fixed capacity"):
        objective(batch)


def test_packing_is_not_compiled(tokenizer):
    with pytest.raises(ValueError, match="each to be compiled anew"):
        ck.faster(make("mlm", tokenizer), packing=True, compiled="eager")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_mask_made_before_hides_padding_from_every_kind_of_attention(tokenizer, attention):
    """Eager attention adds a mask: True would be one more, not minus infinity."""
    encoder = make_encoder(tokenizer).eval()
    encoder.model.set_attn_implementation(attention)
    view = encoder.view_of(["a red ball", "the small red box stands by the door"])
    mask, real = ready_made_mask(encoder.model, view["attention_mask"]), view["attention_mask"].bool()
    ours = encoder.model.base_model(**dict(view) | {"attention_mask": mask})
    theirs = encoder.model.base_model(**view)
    torch.testing.assert_close(ours.last_hidden_state[real], theirs.last_hidden_state[real])


SHORT = dict(steps=3, batch_size=8)
HOW = SHORT | dict(progress=False)


@pytest.fixture
def layouts(monkeypatch):
    """Grows with each batch that is packed."""
    seen, of = [], Layout.of
    monkeypatch.setattr(Layout, "of", lambda *args, **how: seen.append(args) or of(*args, **how))
    return seen


def test_fit_packs_a_masked_lm_by_itself_and_its_encoder_is_afterwards_as_before(tokenizer, texts, layouts):
    losses = {}
    for packing in (None, True, False):
        layouts.clear()
        objective = make("mlm", tokenizer, dropout=0.0)
        attention = objective.encoder.model.config._attn_implementation
        run = ck.fit(objective, texts, packing=packing, **HOW)
        assert run.training.packing is bool(layouts) is (packing is not False)
        assert type(objective.encoder.strategy) is Padded
        assert objective.encoder.model.config._attn_implementation == attention
        losses[packing] = run.history["loss"].tolist()
    assert losses[None] == losses[True]
    assert losses[None] == pytest.approx(losses[False], rel=1e-5)  # the same numbers, with or without padding


@pytest.mark.parametrize("name", ["cmlm", "electra", "simcse mlm"])
def test_fit_packs_no_other_method_by_itself(name, tokenizer, texts, layouts):
    assert ck.fit(make(name, tokenizer), texts, **HOW).training.packing is False
    assert not layouts
    assert ck.fit(make(name, tokenizer), texts, packing=True, **HOW).training.packing is True
    assert layouts


def test_fit_packs_nothing_that_is_listened_to_compiled_in_fixed_shapes_or_of_another_kind(
    tokenizer, texts, layouts, monkeypatch
):
    heard, shapes = make("mlm", tokenizer), []
    heard.encoder.model.base_model.encoder.layer[0].register_forward_hook(lambda *call: shapes.append(call[-1].shape))
    fixed = ck.faster(make("mlm", tokenizer), fixed_capacity=0.15)
    compiled = ck.faster(make("mlm", tokenizer), compiled="eager")
    for objective in (heard, fixed, compiled):
        assert ck.fit(objective, texts, **HOW).training.packing is False
    assert all(len(shape) == 3 and shape[0] == 8 for shape in shapes)  # [B, T, D], as a listener expects
    for objective in (fixed, compiled):
        with pytest.raises(ValueError, match="choose one"):
            ck.fit(objective, texts, packing=True, **HOW)
    assert type(fixed.encoder.strategy) is FixedCapacity
    with monkeypatch.context() as patch:
        patch.setattr("contrast_kit.fast.packed.RIGHT", ())
        assert ck.fit(make("mlm", tokenizer), texts, **HOW).training.packing is False
    assert not layouts


def test_what_faster_has_packed_stays_packed(tokenizer, texts, layouts):
    objective = ck.faster(make("cmlm", tokenizer), packing=True)
    assert ck.fit(objective, texts, **HOW).training.packing is True
    assert type(objective.encoder.strategy) is Packed and layouts


def test_a_plan_measures_what_fit_does(tokenizer, texts, layouts):
    objective = make("mlm", tokenizer)
    ck.plan(objective, texts, **SHORT)
    assert layouts and type(objective.encoder.strategy) is Padded
    layouts.clear()
    ck.plan(objective, texts, packing=False, **SHORT)
    assert not layouts


def test_a_run_resumes_packed_or_not(tokenizer, texts, tmp_path):
    """As with `chunk_size`: the batches are the same, and an older run has no word of it."""
    ck.fit(make("mlm", tokenizer), texts, packing=False, folder=tmp_path, callback=lambda run: run.stop(), **HOW)
    assert ck.fit(make("mlm", tokenizer), texts, folder=tmp_path, resume=True, **HOW).training.packing is True
