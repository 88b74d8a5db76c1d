"""Methods of one's own: what the base class and the trainer say where one of the five answers is not what they need."""

import math
import warnings
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import dataclass

import pytest
import torch
from conftest import make_encoder
from transformers import AutoConfig, AutoModelForMaskedLM

import contrast_kit as ck
from contrast_kit import trainer_checks
from contrast_kit.objectives import MLM, Objective, SimCSE
from contrast_kit.training.gradient import gradient


@dataclass(frozen=True)
class OwnConfig:
    tau: float = 0.5


class Own(Objective):
    """A contrast of two dropout passes, and how long the vectors are: as the docstring of `Objective` has it."""

    Config = OwnConfig
    weights = {"contrast": 1.0, "length": 0.1}

    def views(self, batch, generator=None):
        return {"a": batch, "b": batch}

    def vectors(self, name, hidden, view):
        return {"h": self.encoder.pool(hidden, view)}

    def local_sums(self, name, hidden, view):
        return {"length": self.encoder.pool(hidden, view).square().sum()}

    def term_counts(self, name, view):
        return {"length": torch.tensor(len(view["input_ids"]))}

    def contrast(self, vectors, facts):
        return {"contrast": ck.losses.nt_xent(vectors["a"]["h"], vectors["b"]["h"], self.config.tau)}


def stacked(self, batch, generator=None):
    return {"both": {key: torch.cat([value, value]) for key, value in batch.items()}}


SLIPS = {
    "both copies in one view": ("views", stacked, ValueError, r"input_ids of shape \[24, .* 'both', .* has 12 texts"),
    "a view with a bare number": (
        "views",
        lambda self, batch, generator=None: {"a": batch | {"rate": torch.tensor(0.5)}},
        ValueError,
        r"rate of shape \[\] in view 'a'",
    ),
    "views in a list": ("views", lambda self, batch, generator=None: [batch], TypeError, "views gives views by name"),
    "a view without names": (
        "views",
        lambda self, batch, generator=None: {"a": 1},
        TypeError,
        "each a dict of tensors",
    ),
    "vectors without a name": (
        "vectors",
        lambda *a: torch.ones(2),
        TypeError,
        "vectors gives tensors by name, .* Tensor",
    ),
    "a sum without a name": ("local_sums", lambda *a: torch.ones(()), TypeError, "local_sums gives tensors by name"),
    "a count that is no tensor": (
        "term_counts",
        lambda *a: {"length": 12},
        TypeError,
        "a tensor for 'length', not int",
    ),
    "no count": ("term_counts", lambda *a: {}, ValueError, "local_sums gives 'length', and term_counts does not say"),
    "losses of the texts, not their sum": (
        "local_sums",
        lambda self, name, hidden, view: {"length": hidden.square().mean((1, 2))},
        ValueError,
        r"local_sums gives one number for 'length', not numbers \[\d+\]",
    ),
    "counts of the texts, not their sum": (
        "term_counts",
        lambda self, name, view: {"length": view["attention_mask"].sum(1)},
        ValueError,
        r"term_counts gives one number for 'length', not numbers \[12\]",
    ),
    "a contrast of each anchor": (
        "contrast",
        lambda self, vectors, facts: {
            "contrast": ck.losses.nt_xent(vectors["a"]["h"], vectors["b"]["h"], 0.5, reduction="none")
        },
        ValueError,
        r"contrast gives one number for 'contrast', not numbers \[24\]",
    ),
    "a contrast without a name": ("contrast", lambda *a: torch.ones(()), TypeError, "contrast gives tensors by name"),
    "what masking gave, as views": (
        "views",
        lambda self, batch, generator=None: {"a": ck.masking.Masked(batch["input_ids"], batch["maskable"]), "b": batch},
        TypeError,
        "masking.masked_view makes one of a Masked",
    ),
    "a part that is called as the sum": (
        "contrast",
        lambda self, vectors, facts: {"loss": vectors["a"]["h"].mean()},
        ValueError,
        "contrast gives 'loss', which is the name of the weighted sum of all parts",
    ),
    "two parts of one name": (
        "contrast",
        lambda self, vectors, facts: {"length": vectors["a"]["h"].mean()},
        ValueError,
        "contrast gives 'length', which is the name of a local loss",
    ),
}


@pytest.mark.parametrize("how", ["forward", "gradient", "chunks"])
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_told_in_a_sentence(tokenizer, batch, slip, how):
    method, said, error, words = SLIPS[slip]
    objective = type("Mine", (Own,), {method: said})(make_encoder(tokenizer))
    with pytest.raises(error, match=words):
        if how == "forward":
            objective(batch)
        else:
            gradient(objective, [batch], chunk_size=5 if how == "chunks" else None)


@pytest.mark.parametrize("whole", [True, False])
def test_noise_that_changes_the_batch_itself_is_refused(tokenizer, batch, whole):
    """CAPT's two views would be one, and the words to be found those that were written over them."""

    def scribble(batch, generator, vocabulary):
        batch["input_ids"][:, 1] = vocabulary["mask_id"]
        return dict(batch)

    capt = ck.objectives.CAPT(make_encoder(tokenizer), noise=scribble)
    with pytest.raises(ValueError, match=r"CAPT.views, or a noise in it, changes input_ids of the batch itself"):
        capt(dict(batch)) if whole else gradient(capt, [dict(batch)])
    with torch.inference_mode():  # where tensors count no changes
        capt({key: value.clone() for key, value in batch.items()})


@pytest.mark.parametrize(("change", "says"), [
    (lambda view: view.pop("attention_mask"), "gives view 'noisy' without attention_mask"),
    (lambda view: view.update(attention_mask=view["attention_mask"] * 0), "'noisy' with a text of no token: leave it"),
])  # fmt: skip
def test_noise_leaves_something_to_read(tokenizer, batch, change, says):
    def noise(batch, generator, vocabulary):
        change(view := dict(batch))
        return view

    with pytest.raises(ValueError, match=says):
        ck.objectives.CAPT(make_encoder(tokenizer), noise=noise)(dict(batch))


def test_settings_stand_in_a_dataclass(tokenizer):
    class Bare(Own):
        Config = dict

    class None_(Objective):
        pass

    for kind in (Bare, None_):
        with pytest.raises(TypeError, match=f"{kind.__name__} needs a Config, the dataclass of its settings"):
            kind(make_encoder(tokenizer))


def test_a_setting_that_its_dataclass_does_not_see_is_refused(tokenizer):
    """Else the method would silently be trained with the setting of the class below."""

    class Undecorated(OwnConfig):
        tau: float = 0.1

    class Further(OwnConfig):
        margin: float = 0.1

    @dataclass(frozen=True)
    class Untyped(OwnConfig):
        tau = 0.1

    @dataclass(frozen=True, slots=True)
    class Right(OwnConfig):
        tau: float = 0.1
        margin: float = 0.1

    for config, name in ((Undecorated, "tau"), (Further, "margin"), (Untyped, "tau")):
        with pytest.raises(TypeError, match=f"{config.__name__} has {name}, which its dataclass does not see"):
            type("Mine", (Own,), {"Config": config})(make_encoder(tokenizer))
    assert type("Mine", (Own,), {"Config": Right})(make_encoder(tokenizer), margin=0.2).config == Right(0.1, 0.2)


@pytest.mark.parametrize("warm_heads", [0.0, 0.5])
def test_a_method_that_gives_no_gradient_is_told_of(tokenizer, texts, warm_heads):
    class Detached(SimCSE):
        def vectors(self, name, hidden, view):
            return {"h": self.encoder.pool(hidden, view).detach()}

    how = dict(steps=2, batch_size=4, progress=False, warm_heads=warm_heads)
    with pytest.warns(UserWarning, match=r"No weight has a gradient from Detached, .* look for a detach\(\)"):
        ck.fit(Detached(make_encoder(tokenizer, dropout=0.1)), texts, **how)


def test_a_contrast_that_nobody_asks_for_is_told_of(tokenizer, texts):
    class Quiet(MLM):
        weights = {"mlm": 1.0, "triplet": 1.0}

        def contrast(self, vectors, facts):
            return {"triplet": vectors["T0"]["h"].mean()}

    with pytest.warns(UserWarning, match="'triplet', .* there are mlm. Its contrast is asked only with contrastive"):
        ck.fit(Quiet(make_encoder(tokenizer)), texts, steps=2, batch_size=4, progress=False)


def test_a_weight_that_names_no_part_is_told_once(tokenizer, texts):
    class Typo(Own):
        weights = {"contrastive": 1.0, "length": 0.1}

    how = dict(steps=2, batch_size=4, progress=False)
    with pytest.warns(UserWarning, match="weights names 'contrastive', .* there are length, contrast") as told:
        ck.fit(Typo(make_encoder(tokenizer)), texts, **how)
    assert len([each for each in told if "weights names" in str(each.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for weights in (Own.weights, Own.weights | {"left out": 0.0}):
            ck.fit(type("Mine", (Own,), {"weights": weights})(make_encoder(tokenizer)), texts, **how)


def test_weights_that_name_no_part_at_all_are_refused(tokenizer, texts):
    class Typo(Own):
        weights = {"contrastive": 1.0}

    with pytest.raises(ValueError, match="there are length, contrast. Nothing would be trained"):
        ck.fit(Typo(make_encoder(tokenizer)), texts, steps=2, batch_size=4, progress=False)


def test_a_plan_does_not_say_what_nobody_told_it(tokenizer):
    own = Own(make_encoder(tokenizer))
    assert math.isnan(own.negatives({})) and "negatives  not told: Own" in str(ck.plan(own, [9] * 40, batch_size=4))
    assert "not told" not in str(ck.plan(SimCSE(make_encoder(tokenizer)), [9] * 40, batch_size=4))


class Learns(Own):
    """With a temperature that learns, in one of two ways: a weight of the contrast, or a vector beside the others."""

    weights = {"contrast": 1.0}

    def build(self):
        self.log_tau = torch.nn.Parameter(torch.tensor(-1.0, dtype=torch.float64))

    def vectors(self, name, hidden, view):
        return super().vectors(name, hidden, view) | {"tau": self.log_tau.exp().expand(len(hidden), 1)}

    def local_sums(self, name, hidden, view):
        return {}

    def term_counts(self, name, view):
        return {}

    def contrast(self, vectors, facts):
        tau = self.log_tau.exp() if self.config.tau else vectors["a"]["tau"].mean()
        h = [torch.nn.functional.normalize(vectors[name]["h"], dim=1) for name in ("a", "b")]
        return {"contrast": torch.nn.functional.cross_entropy(h[0] @ h[1].T / tau, torch.arange(len(h[0])))}


@pytest.mark.parametrize("of_the_contrast", [0.0, 1.0])
def test_a_temperature_can_learn_however_the_batch_is_cut(of_the_contrast, tokenizer, batch):
    found = []
    for size in (None, 5, 1):
        objective = Learns(make_encoder(tokenizer), tau=of_the_contrast).double()
        gradient(objective, [batch], chunk_size=size)
        found.append(objective.log_tau.grad.item())
    whole = Learns(make_encoder(tokenizer), tau=of_the_contrast).double()
    whole(batch)["loss"].backward()
    assert whole.log_tau.grad.item() != 0
    assert found == pytest.approx([whole.log_tau.grad.item()] * 3, rel=1e-10)


def test_a_model_that_transformers_loaded_is_known_as_trained(tokenizer, tmp_path):
    """Else `fit` would take the rate of new weights, which unlearns what it knows."""
    new = make_encoder(tokenizer)
    new.save_pretrained(tmp_path)
    wrapped = ck.Encoder(AutoModelForMaskedLM.from_pretrained(tmp_path), tokenizer)
    assert not new.pretrained and wrapped.pretrained and ck.Encoder.from_pretrained(tmp_path).pretrained
    assert not ck.tasks.standard.random_twin(wrapped).pretrained  # though its config came from the folder
    assert not ck.Encoder(AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(tmp_path)), tokenizer).pretrained
    runs = [ck.fit(MLM(each), ["a red kite"] * 8, steps=1, batch_size=4, progress=False) for each in (new, wrapped)]
    assert runs[1].training.lr < runs[0].training.lr / 10


def test_a_weight_that_nothing_reads_is_told_of(tokenizer, texts):
    class Spare(Own):
        def build(self):
            self.scale = torch.nn.Parameter(torch.zeros(3))

    how = dict(steps=2, batch_size=4, progress=False)
    with pytest.warns(UserWarning, match="Spare's weight 'scale' has no gradient in the first step. If") as told:
        ck.fit(Spare(make_encoder(tokenizer)), texts, **how)
    assert len([each for each in told if "has no gradient" in str(each.message)]) == 1
    resting = Spare(make_encoder(tokenizer))
    resting.scale.requires_grad_(False)  # on purpose, as are the word scores that a contrast alone does not read
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.fit(resting, texts, **how)


ABSENT = {
    "a view": ("contrast", lambda self, v, facts: {"contrast": v["c"]["h"].sum()}, "no vectors 'c' here, but 'a', 'b'"),
    "a head": ("contrast", lambda self, v, facts: {"contrast": v["a"]["z"].sum()}, "no vectors 'z' here, but 'h'"),
    "labels": ("contrast", lambda self, v, facts: {"contrast": facts["label"].sum()}, "'label' .* only 'text_id'"),
    "words chosen": ("local_sums", lambda self, name, h, v: {"length": ck.objectives.base.mlm_sum(self.encoder, h, v)},
                     "reads 'selected' of a view, and this one has 'input_ids', .*masked_view"),
    "words counted": ("term_counts", lambda self, name, view: {"length": ck.objectives.base.mlm_count(view)},
                      "reads 'selected' of a view"),
}  # fmt: skip


@pytest.mark.parametrize("name", ABSENT)
def test_what_a_method_asks_for_in_vain_is_said_with_what_there_is(name, tokenizer, batch):
    where, slip, told = ABSENT[name]
    own = type("Mine", (Own,), {where: slip})(make_encoder(tokenizer))
    for run in (own, lambda batch: gradient(own, [batch]), lambda batch: gradient(own, [batch], chunk_size=3)):
        with pytest.raises(ValueError, match=told):
            run({key: value for key, value in batch.items() if key != "label"})


class Normed(Own):
    """A BatchNorm in the projector, or on all vectors of the batch."""

    within = "vectors"

    def build(self):
        self.norm = torch.nn.BatchNorm1d(self.encoder.width)

    def vectors(self, name, hidden, view):
        made = super().vectors(name, hidden, view)["h"]
        return {"h": self.norm(made) if self.within == "vectors" else made}

    def contrast(self, vectors, facts):
        a, b = (vectors[name]["h"] if self.within == "vectors" else self.norm(vectors[name]["h"]) for name in "ab")
        return {"contrast": ck.losses.nt_xent(a, b, self.config.tau)}


def test_batch_norm_sees_the_batch_or_is_refused(tokenizer, batch):
    """In chunks, or on several processes, its mean would be that of a piece: another loss, without a word."""
    normed = Normed(make_encoder(tokenizer, dropout=0.0)).double().train()
    whole, _ = gradient(normed, [batch])
    assert whole["contrast"] == pytest.approx(normed(batch)["contrast"].item())
    with pytest.raises(ValueError, match="Normed has a BatchNorm1d that would see one piece of the batch at a time"):
        gradient(normed, [batch], chunk_size=3)
    assert not normed.norm._forward_pre_hooks
    on_two_processes = trainer_checks.by_example(normed, nullcontext, [batch], None, 2)  # as gradient asks there
    with on_two_processes(), pytest.raises(ValueError, match="take a LayerNorm, use it in `contrast`"):
        normed.encode("a", batch)
    normed.norm.eval()  # fixed numbers: the same for each piece
    assert gradient(normed, [batch], chunk_size=3)[0]["contrast"] == pytest.approx(normed(batch)["contrast"].item())
    normed.within = "contrast"  # where it sees the batch
    normed.norm.train()
    pieces, _ = gradient(normed, [batch], chunk_size=3)
    assert pieces["contrast"] == pytest.approx(normed(batch)["contrast"].item())


def test_batch_norm_that_sees_the_whole_batch_is_not_refused(tokenizer, batch):
    normed = Normed(make_encoder(tokenizer, dropout=0.0)).double().train()
    whole = normed(batch)["contrast"].item()
    assert gradient(normed, [batch], chunk_size=len(batch["input_ids"]))[0]["contrast"] == pytest.approx(whole)

    class Teaches(Normed):
        within = "views"

        def views(self, batch, generator=None):
            self.norm(self.encoder.pool(self.encoder(batch), batch))
            return super().views(batch, generator)

        def contrast(self, vectors, facts):
            return {"contrast": ck.losses.nt_xent(vectors["a"]["h"], vectors["b"]["h"], self.config.tau)}

    gradient(Teaches(make_encoder(tokenizer)).train(), [batch], chunk_size=3)
    normed.norm = torch.nn.SyncBatchNorm(normed.encoder.width)
    assert trainer_checks.by_example(normed, nullcontext, [batch], None, 2) is nullcontext
    assert trainer_checks.by_example(normed, nullcontext, [batch], 3, 2) is not nullcontext


def test_batch_norm_that_keeps_no_mean_takes_the_piece_s_at_rest_too(tokenizer, batch):
    normed = Normed(make_encoder(tokenizer))
    normed.norm = torch.nn.BatchNorm1d(normed.encoder.width, track_running_stats=False).eval()
    with pytest.raises(ValueError, match="would see one piece"):
        gradient(normed, [batch], chunk_size=3)


def test_facts_of_ones_own_are_named_too_and_may_be_tried(tokenizer, batch):
    class Lengths(Own):
        def facts(self, batch, views):
            return {**super().facts(batch, views), "tokens": batch["attention_mask"].sum(1)}

        def contrast(self, vectors, facts):
            try:
                facts["label"]
            except KeyError:
                return {"contrast": facts["length"].sum() * vectors["a"]["h"].sum()}

    bare = {key: value for key, value in batch.items() if key != "label"}
    for run in (lambda own: own(bare), lambda own: gradient(own, [bare])):
        with pytest.raises(ValueError, match="^Nothing says the 'length' of each example, only 'text_id', 'tokens': "):
            run(Lengths(make_encoder(tokenizer)))


def test_facts_are_tensors_by_name_of_any_kind_of_dict(tokenizer, batch):
    class Bare(Own):
        def facts(self, batch, views):
            return None

    with pytest.raises(TypeError, match=r"Bare.facts gives tensors by name, \{'…': tensor\}, not NoneType"):
        gradient(Bare(make_encoder(tokenizer)), [batch])

    class Growing(Own):
        def facts(self, batch, views):
            return defaultdict(lambda: torch.zeros(len(batch["input_ids"])), super().facts(batch, views))

        def contrast(self, vectors, facts):
            assert not facts["extra"].any()
            return super().contrast(vectors, facts)

    gradient(Growing(make_encoder(tokenizer)), [batch])
