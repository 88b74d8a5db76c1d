"""What is opted into for speed gives the plain numbers, and waits for no device."""

from collections import Counter

import pytest
import torch
from conftest import make_encoder
from torch.utils._python_dispatch import TorchDispatchMode

import contrast_kit as ck
from contrast_kit.objectives.words import positions
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
    objective = ck.faster(make(name, tokenizer, dropout=0.1).train(), slots=0.15)
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
def test_slots_give_the_parts_and_gradients_of_the_plain_form(name, tokenizer, batch):
    objective = make(name, tokenizer).double().train()
    views = objective.views(batch, seeded())
    found = []
    for slots in (None, 0.15):
        ck.faster(objective, slots=slots).zero_grad()
        sums = {f"{view} {n}": v for view in views for n, v in objective.encode(views[view]).sums.items()}
        sum(value for value in sums.values() if value.requires_grad).backward()
        grads = {n: p.grad.clone() for n, p in objective.named_parameters() if p.grad is not None}
        found.append(({n: value.item() for n, value in sums.items()}, grads))
    (plain, expected), (ours, grads) = found
    assert ours == pytest.approx(plain, rel=1e-11)
    assert all(torch.allclose(grads[n], expected[n], atol=1e-11) for n in expected)


def test_slots_hold_each_position_once_and_refuse_too_many(encoder):
    where = torch.rand(6, 40, generator=seeded()) < 0.2
    encoder.slots = 0.2
    at = positions(encoder, where)
    x = torch.arange(240).view(6, 40)
    assert torch.equal(at.rows(x)[at.counted], x[where])
    assert positions(encoder, torch.zeros_like(where)).counted.sum() == 0
    encoder.slots = 0.01
    with pytest.raises(RuntimeError, match="slots"):
        positions(encoder, torch.ones_like(where))


def test_samples_in_slots_follow_the_auxiliary_model(tokenizer, batch):
    """10,000 draws for one position against p_MLM there; nothing changes elsewhere."""
    objective = ck.faster(make("electra", tokenizer), slots=0.15)
    auxiliary = objective.auxiliary
    one = {key: value[:1].repeat(2_000, 1) for key, value in batch.items() if value.ndim == 2}
    one["selected"] = torch.zeros_like(one["maskable"])
    one["selected"][:, 2] = True
    one["targets"] = one["input_ids"]
    with torch.no_grad():
        auxiliary.encoder.model.get_output_embeddings().bias[:5] = 4.0  # a few words that are likely
        expected = auxiliary.encoder.mlm_logits(auxiliary.encoder(one)[:1, 2]).softmax(-1)[0]
    sampled = auxiliary.sample(one, seeded())
    share = torch.bincount(sampled[:, 2], minlength=len(tokenizer)) / len(sampled)
    assert (share - expected).abs().max() < 0.05 and share.max() > 0.1
    sampled[:, 2] = one["input_ids"][:, 2]
    assert torch.equal(sampled, one["input_ids"])


@pytest.mark.parametrize("options", [dict(packing=True), dict(slots=0.15)])
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
        objective = ck.faster(make("cmlm", tokenizer).train(), slots=0.15, compiled=compiled)
        parts, _ = gradient(objective, [batch], seeded())
        found.append(
            (
                parts["loss"],
                torch.cat([p.grad.flatten() for p in objective.parameters() if p.grad is not None]),
            )
        )
    assert found[1][0].item() == pytest.approx(found[0][0].item(), rel=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-5)


def test_bad_choices_are_refused(tokenizer):
    objective = make("mlm", tokenizer)
    with pytest.raises(ValueError, match="share of positions"):
        ck.faster(objective, slots=15)
    with pytest.raises(ValueError, match="choose one"):
        ck.faster(objective, slots=0.15, packing=True)


@pytest.mark.parametrize("slots", [0.15, 0.5])
def test_samples_in_slots_touch_selected_tokens_only(slots, tokenizer, batch):
    objective = ck.faster(make("coco_lm", tokenizer), slots=slots)
    for seed in range(3):
        view = objective.views(batch, torch.Generator().manual_seed(seed))["corrupted"]
        changed = view["input_ids"] != view["original"]
        assert changed.any() and not (changed & ~view["selected"]).any()


def test_slots_need_a_head_that_is_known(encoder, batch, monkeypatch):
    objective = ck.faster(ck.objectives.MLM(encoder), slots=0.15)
    monkeypatch.setattr("contrast_kit.vocabulary_head.states", lambda model, hidden: None)
    with pytest.raises(ValueError, match="vocabulary head of .* not known well enough here for fixed slots"):
        objective(batch)


@pytest.mark.parametrize("name", KINDS)
def test_views_joined_in_one_pass_give_the_same_loss_and_gradient(name, tokenizer, batch):
    objective = make(name, tokenizer, dropout=0.0).double().train()
    passes, forward = [], objective.encoder.model.base_model.forward
    objective.encoder.model.base_model.forward = lambda *args, **kw: passes.append(1) or forward(*args, **kw)

    def step(**options):
        ck.faster(objective, **options).zero_grad()
        passes.clear()
        parts, _ = gradient(objective, [batch], seeded())
        return parts, [p.grad.clone() for p in objective.parameters() if p.grad is not None], len(passes)

    (plain, expected, apart), (parts, got, together) = step(), step(joined=True)
    assert parts.keys() == plain.keys() and len(got) == len(expected)
    assert all(torch.allclose(parts[key], plain[key], rtol=1e-12, atol=1e-12) for key in plain)
    assert all(torch.allclose(a, b, rtol=1e-9, atol=1e-11) for a, b in zip(got, expected, strict=True))
    assert together < apart if name in ("cmlm", "simsiam", "capt", "simcse mlm") else together <= apart
    assert not objective.encoder.ahead


def test_joined_views_have_dropout_of_their_own(tokenizer, batch):
    """SimCSE's only noise: were the masks of both copies one, its loss would be that of two equal views."""
    objective = ck.objectives.SimCSE(make_encoder(tokenizer, dropout=0.3)).train()
    parts, seen = gradient(ck.faster(objective, joined=True), [batch], seeded())
    first, second = (heads["h"] if "h" in heads else next(iter(heads.values())) for heads in seen[0][0].values())
    assert not torch.allclose(first, second)
