"""What is opted into for speed gives the plain numbers, and waits for no device."""

import copy
import types
from collections import Counter

import pytest
import torch
from conftest import make_encoder
from torch.utils._python_dispatch import TorchDispatchMode

import contrast_kit as ck
from contrast_kit.encoder.encoder import Padded
from contrast_kit.fast.fixed_capacity import FixedCapacity, ready_made_mask
from contrast_kit.fast.layout import Layout
from contrast_kit.fast.packed import NAME, Packed
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


def test_steps_of_a_masked_lm_are_packed_by_themselves_and_nothing_else_of_it(tokenizer, texts, layouts):
    losses = {}
    for packing in (None, True, False):
        layouts.clear()
        objective, met = make("mlm", tokenizer, dropout=0.0), []

        def look(run, met=met):
            for encoder in (run.encoder, copy.deepcopy(run.encoder)):
                met.append((type(encoder.strategy), encoder.model.config._attn_implementation))

        run = ck.fit(objective, texts, packing=packing, callback=look, **HOW)
        look(run)
        assert set(met) == {(Padded, "sdpa")}  # in a callback, in what it copies, and in the end
        assert not hasattr(objective.encoder.model, "attention_when_padded")
        assert run.training.packing is packing and bool(layouts) is (packing is not False)
        losses[packing] = run.history["loss"].tolist()
    assert losses[None] == losses[True]
    assert losses[None] == pytest.approx(losses[False], rel=1e-5)  # the same numbers, with or without padding


@pytest.mark.parametrize("name", ["cmlm", "electra", "simcse mlm"])
def test_fit_packs_no_other_method_by_itself(name, tokenizer, texts, layouts):
    ck.fit(make(name, tokenizer), texts, **HOW)
    assert not layouts
    ck.fit(make(name, tokenizer), texts, packing=True, **HOW)
    assert layouts


class OwnMLM(ck.objectives.MLM):
    """It may look at anything, so it says so itself where it wants to be packed."""


class OwnEncoder(ck.Encoder):
    def forward(self, view):
        states = super().forward(view)
        return states + states.mean(1, keepdim=True)  # of all tokens, those that a masked LM does not read too


def with_hook(objective, register):
    getattr(objective.encoder.model.base_model.encoder.layer[0], register)(lambda *call: None)
    return objective


def with_compiled_layer(objective):
    objective.encoder.model.base_model.encoder.layer[0].compile(backend="eager")
    return objective


def with_eager_attention(objective):
    objective.encoder.model.set_attn_implementation("eager")
    return objective


def with_teacher(objective, teacher):
    objective.teacher = teacher
    return objective


def changed(objective, where, by_class=True):
    """With a part of the model that triples what it gives: of a class of its own, or with a `forward` put over it."""
    part = where(objective.encoder.model.base_model)
    plain = type(part).forward

    def forward(self, *args, **kwargs):
        found = plain(self, *args, **kwargs)
        if not isinstance(found, torch.Tensor):
            found.last_hidden_state = found.last_hidden_state * 3
            return found
        return found * 3

    if by_class:
        part.__class__ = type("Mine", (type(part),), {"forward": forward, "__module__": __name__})
    else:
        part.forward = types.MethodType(forward, part)
    return objective


def with_own_strategy(objective):
    objective.encoder.strategy = type("Mine", (Padded,), {"__module__": __name__})()
    return objective


def with_patched_method(objective):
    plain = objective.local_sums
    objective.local_sums = lambda name, hidden, view: {"mlm": plain(name, hidden, view)["mlm"] + hidden.square().mean()}
    return objective


def last(model):
    return model.encoder.layer[-1]


NOTICED = {
    "another class": lambda tok: OwnMLM(make_encoder(tok)),
    "another encoder": lambda tok: ck.objectives.MLM(OwnEncoder(make_encoder(tok).model, tok)),
    "a hook": lambda tok: with_hook(make("mlm", tok), "register_forward_hook"),
    "a hook before": lambda tok: with_hook(make("mlm", tok), "register_forward_pre_hook"),
    "a hook on gradients": lambda tok: with_hook(make("mlm", tok), "register_full_backward_hook"),
    "a hook on gradients before": lambda tok: with_hook(make("mlm", tok), "register_full_backward_pre_hook"),
    "fixed shapes": lambda tok: ck.faster(make("mlm", tok), fixed_capacity=0.15),
    "compiled": lambda tok: ck.faster(make("mlm", tok), compiled="eager"),
    "a layer compiled": lambda tok: with_compiled_layer(make("mlm", tok)),
    "attention weights": lambda tok: with_eager_attention(make("mlm", tok)),
    "a model's class": lambda tok: changed(make("mlm", tok), lambda model: model),
    "a model's forward": lambda tok: changed(make("mlm", tok), lambda model: model, by_class=False),
    "a layer's class": lambda tok: changed(make("mlm", tok), last),
    "a layer's forward": lambda tok: changed(make("mlm", tok), last, by_class=False),
    "a part of a layer": lambda tok: changed(make("mlm", tok), lambda model: last(model).intermediate.dense),
    "a strategy": lambda tok: with_own_strategy(make("mlm", tok)),
    "a patched method": lambda tok: with_patched_method(make("mlm", tok)),
    "a second encoder": lambda tok: with_teacher(make("mlm", tok), make_encoder(tok)),
}


@pytest.mark.parametrize("name", NOTICED)
def test_where_somebody_would_notice_steps_are_as_they_were(name, tokenizer, texts, layouts):
    objective = NOTICED[name](tokenizer)
    before = type(objective.encoder.strategy), objective.encoder.model.config._attn_implementation
    run = ck.fit(objective, texts, **HOW)
    assert not layouts and run.history["loss"].notna().all()
    assert (type(objective.encoder.strategy), objective.encoder.model.config._attn_implementation) == before


@pytest.mark.parametrize("kind", ["", "_pre"])
def test_a_hook_on_all_modules_at_once_is_heard_too(kind, tokenizer, texts, layouts):
    register = getattr(torch.nn.modules.module, f"register_module_forward{kind}_hook")
    with register(lambda *call: None):
        ck.fit(make("mlm", tokenizer), texts, **HOW)
    assert not layouts


@pytest.mark.parametrize("by_class", [True, False])
def test_a_changed_last_layer_is_not_passed_by_when_packed(by_class, tokenizer, texts):
    losses = []
    for packing in (True, False):
        objective = changed(make("mlm", tokenizer, dropout=0.0), last, by_class)
        losses.append(ck.fit(objective, texts, packing=packing, **HOW).history["loss"].tolist())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.parametrize("name", ["fixed shapes", "compiled"])
def test_packing_asked_for_beside_fixed_shapes_is_refused(name, tokenizer, texts):
    objective = NOTICED[name](tokenizer)
    before = objective.encoder.strategy
    with pytest.raises(ValueError, match="choose one"):
        ck.fit(objective, texts, packing=True, **HOW)
    assert objective.encoder.strategy is before


def test_models_that_cannot_be_packed_are_not(tokenizer, texts, layouts, monkeypatch):
    monkeypatch.setattr("contrast_kit.fast.packed.RIGHT", ())
    ck.fit(make("mlm", tokenizer), texts, **HOW)
    assert not layouts


def test_relative_positions_are_packed_by_themselves_too(tokenizer, texts, layouts):
    ck.fit(ck.objectives.MLM(make_encoder(tokenizer, relative_positions=True)), texts, **HOW)
    assert layouts


def test_a_method_of_ones_own_may_be_packed_and_have_a_strategy(tokenizer, texts, layouts):
    class Mine(ck.objectives.MLM):
        packed = True

        def build(self):
            self.strategy = "hard"

    ck.fit(Mine(make_encoder(tokenizer)), texts, **HOW)
    assert layouts


def test_an_encoder_that_mixes_tokens_has_every_state_when_packed(tokenizer, texts):
    """What `MLM` does not read would be NaN, and so would be their mean."""
    for packing in (True, False):
        objective = ck.objectives.MLM(OwnEncoder(make_encoder(tokenizer, dropout=0.0).model, tokenizer))
        losses = ck.fit(objective, texts, packing=packing, group_by_length=False, **HOW).history["loss"]
        assert losses.notna().all()


def test_what_faster_has_packed_stays_packed(tokenizer, texts, layouts):
    objective = ck.faster(make("cmlm", tokenizer), packing=True)
    ck.fit(objective, texts, packing=False, **HOW)
    assert type(objective.encoder.strategy) is Packed and layouts


def test_attention_chosen_while_packed_is_used_and_kept(tokenizer, batch):
    """Else layers would be given a layout that they do not read, and texts would attend to each other."""
    encoder = make_encoder(tokenizer, dropout=0.0).eval()
    plain = encoder(batch)
    encoder.use_packing()
    encoder.model.set_attn_implementation("eager")
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(encoder(batch)[real], plain[real], rtol=1e-5, atol=1e-5)
    encoder.use_packing(False)
    assert encoder.model.config._attn_implementation == "eager"


def test_two_encoders_around_one_model_do_not_unpack_each_other(tokenizer, texts, batch):
    packed = make_encoder(tokenizer, dropout=0.0)
    other = ck.Encoder(packed.model, tokenizer)
    packed.use_packing()
    ck.fit(ck.objectives.MLM(other), texts, packing=True, **HOW)
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(packed(batch)[real], other(batch)[real], rtol=1e-5, atol=1e-5)
    assert type(packed.strategy) is Packed and type(other.strategy) is Padded
    assert packed.model.config._attn_implementation == NAME


def test_asked_for_all_states_on_the_way_a_run_resumes_bitwise(tokenizer, texts, tmp_path, layouts):
    """transformers then leaves hooks in the model that listen to nothing."""

    def run(folder, stop=None, resume=False):
        def look(run):
            view = run.encoder.view_of(texts[:2])
            inputs = {key: view[key] for key in ("input_ids", "attention_mask")}
            assert len(run.encoder.model.base_model(**inputs, output_hidden_states=True).hidden_states) > 1
            if run.steps == stop:
                run.stop()

        plan = dict(steps=4, batch_size=8, save_every=2, progress=False, folder=folder)
        return ck.fit(make("mlm", tokenizer, dropout=0.1), texts, resume=resume, callback=look, **plan).objective

    unbroken = run(tmp_path / "a").state_dict()
    run(tmp_path / "b", stop=2)
    resumed = run(tmp_path / "b", resume=True).state_dict()
    assert all(torch.equal(value, resumed[name]) for name, value in unbroken.items())
    assert len(layouts) == 4 + 2 + 2


def test_a_plan_measures_what_fit_does(tokenizer, texts, layouts):
    objective = make("mlm", tokenizer)
    ck.plan(objective, texts, **SHORT)
    assert layouts and type(objective.encoder.strategy) is Padded
    layouts.clear()
    ck.plan(objective, texts, packing=False, **SHORT)
    assert not layouts


def test_a_run_resumes_packed_or_not(tokenizer, texts, tmp_path, layouts):
    """As with `chunk_size`: the batches are the same, and an older run has no word of it."""
    ck.fit(make("mlm", tokenizer), texts, packing=False, folder=tmp_path, callback=lambda run: run.stop(), **HOW)
    assert not layouts
    ck.fit(make("mlm", tokenizer), texts, folder=tmp_path, resume=True, **HOW)
    assert layouts
