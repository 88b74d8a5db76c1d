"""Settings that another one switches off: each is said to change nothing, and changes nothing."""

from dataclasses import fields

import pytest
from conftest import make_encoder
from test_step import largest_difference, one_step

import contrast_kit as ck
from contrast_kit.objectives import COCOLM, ELECTRA, MLM, SCL, AllTokenMLM, FineTune
from contrast_kit.papers.settings import COCO_LM_TABLE_3
from contrast_kit.unread import SWITCHES

pytestmark = pytest.mark.filterwarnings("ignore:SimCSE's only noise")


CHANGED = {
    "COCOLMConfig": [
        (dict(contrast_weight=None), dict(tau=0.1)),
        (dict(contrast_weight=None), dict(keep=0.5)),
        (dict(contrast_weight=None), dict(scl_head=True)),
        (dict(contrast_weight=None), dict(ignore_duplicates=True)),
        (dict(task="all_token"), dict(stop_gradient=False)),
        (dict(task="rtd"), dict(lm_variant="authors_code")),
        (dict(task="plain_lm"), dict(lambda_copy=5.0)),
        (dict(task="rtd"), dict(lm_projection=True)),
    ],
    "CorruptionConfig": [
        (dict(auxiliary="narrow"), dict(auxiliary_layers=2)),
        (dict(auxiliary="random"), dict(sample_dropout=True)),
        (dict(mask_special=False), dict(mask_cls=True)),
        (dict(auxiliary="random"), dict(share="nothing")),
        (dict(auxiliary="random"), dict(split=(0.8, 0.1, 0.1))),
    ],
    "SCLConfig": [
        (dict(lam=0.0), dict(tau=0.1)),
        (dict(lam=0.0), dict(reduction="sum")),
        (dict(head="linear"), dict(phi="feature")),
    ],
    "SimCSEConfig": [({}, dict(p_m=0.3))],
    "CAPTConfig": [(dict(aggregation="none", queue=0), dict(inner=8))],
    "CMLMConfig": [
        ({}, dict(tau=0.5)),
        ({}, dict(ignore_duplicates=True)),
        ({}, dict(p_drm=0.3)),
        (dict(complement=False), dict(p_c=0.5)),
        (dict(contrast="info_nce"), dict(stop_gradient=False)),
        (dict(mlm=False), dict(mlm_mean="sequences")),
        (dict(contrast=None), dict(K=3)),
        (dict(contrast=None), dict(complement=False)),
        (dict(contrast=None), dict(contrast_weight=3.0)),
        (dict(contrast=None), dict(crm_replace="mask")),
    ],
    "CSSLConfig": [
        ({}, dict(stop_gradient=False)),
        (dict(contrast="simsiam"), dict(tau=0.3)),
        (dict(contrast="simsiam"), dict(ignore_duplicates=True)),
    ],
}
METHODS = {
    "COCOLMConfig": COCOLM, "CorruptionConfig": COCOLM, "SCLConfig": SCL, "SimCSEConfig": ck.objectives.SimCSE,
    "CAPTConfig": ck.objectives.CAPT, "CMLMConfig": ck.objectives.CMLM, "CSSLConfig": ck.objectives.CSSL,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "base", "change"), [(kind, *each) for kind, changes in CHANGED.items() for each in changes]
)
@pytest.mark.filterwarnings("error:.*changes nothing here")
def test_a_setting_that_another_switches_off_is_said_to_change_nothing(kind, base, change, tokenizer, batch):
    """Said, and true: not one number of the step differs."""
    parts = []
    for changes in (base, base | change):
        encoder = make_encoder(tokenizer, dropout=0.0)
        if changes is base:
            objective = METHODS[kind](encoder, **changes)
        else:
            with pytest.warns(UserWarning, match=f"{next(iter(change))}=.* changes nothing here: only .* reads it"):
                objective = METHODS[kind](encoder, **changes)
        parts.append(one_step(objective.double().eval(), [batch | {"label": batch["label"] % 2}]))
    (one, of_one), (other, of_other) = parts
    assert one == other and largest_difference(of_one, of_other) == 0


def test_every_setting_that_is_switched_off_is_among_those_tried():
    assert SWITCHES.keys() == CHANGED.keys() | OF_OTHER_DATA.keys()
    for kind, switches in SWITCHES.items():
        if kind in OF_OTHER_DATA:
            continue
        names = {name for switch in switches for name in switch.names}
        assert names == {name for _, change in CHANGED[kind] for name in change}
        assert names <= {field.name for field in fields(METHODS[kind].Config)}


OF_OTHER_DATA = {
    "PromptConfig": (ck.objectives.Prompt, dict(words=("the", "a")), ("dropout", "head")),
    "TwoPicturesConfig": (ck.objectives.TwoPictures, {}, ("dropout", "head")),
    "LXMERTConfig": (ck.objectives.LXMERT, dict(mismatch=0.0), ("recover_mismatched",)),
    "CAPTPairsConfig": (
        ck.objectives.CAPTPairs,
        dict(mlm=False, mismatch=0.0, queue=0),
        ("regions", "confidence", "recover_mismatched", "qa"),
    ),
}
OTHER = {"dropout": 0.3, "head": "tanh", "regions": "lxmert"}


@pytest.mark.parametrize("kind", OF_OTHER_DATA)
def test_what_prompts_and_pictures_do_not_read_is_said_too(kind, tokenizer):
    method, base, names = OF_OTHER_DATA[kind]
    pictures = ck.CrossModalEncoder.tiny(tokenizer, features=6, objects=4, attributes=4)
    defaults = {field.name: field.default for field in fields(method.Config)}
    for name in names:
        value = OTHER[name] if name in OTHER else not defaults[name]
        with pytest.warns(UserWarning, match=f"{name}=.* changes nothing here"):
            method(make_encoder(tokenizer) if kind == "PromptConfig" else pictures, **base, **{name: value})


@pytest.mark.filterwarnings("error:.*changes nothing here")
def test_of_ones_own_methods_and_of_whole_configs_nothing_is_said(tokenizer):
    class Reads(ck.objectives.CMLM):
        def contrast(self, vectors, facts):
            return {"contrast": vectors["T0"]["h"].mean() / self.config.tau}

    Reads(make_encoder(tokenizer), tau=0.7)
    for row in COCO_LM_TABLE_3.values():
        COCOLM(make_encoder(tokenizer), COCOLM.paper("base"), **row)
    SCL(make_encoder(tokenizer), SCL.paper(), lam=0.0)
    ck.objectives.CAPT(make_encoder(tokenizer), ck.objectives.CAPT.paper(), aggregation="none")


@pytest.mark.filterwarnings("error:.*changes nothing here")
def test_defaults_and_the_papers_settings_are_all_read(tokenizer):
    for method in (*{**METHODS, "mlm": MLM, "ft": FineTune, "electra": ELECTRA, "all": AllTokenMLM}.values(),):
        method(make_encoder(tokenizer))
        if hasattr(method, "paper"):
            method(make_encoder(tokenizer), method.paper())
    for row in COCO_LM_TABLE_3.values():
        COCOLM(make_encoder(tokenizer), **row)
