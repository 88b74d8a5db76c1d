"""Former names work for one version more, and warn."""

import dataclasses

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.fast.fixed_capacity import FixedCapacity

pytestmark = pytest.mark.filterwarnings("always::DeprecationWarning")


RENAMED = [(ck.objectives.CMLM, "alpha"), (ck.objectives.CAPT, "weight"), (ck.objectives.COCOLM, "contrast")]


@pytest.mark.parametrize(("method", "old"), RENAMED)
def test_the_weight_of_a_contrast_under_its_former_name(method, old, tokenizer):
    told = f"^{old} is now called contrast_weight"
    with pytest.warns(DeprecationWarning, match=told) as seen:
        config = method.Config(**{old: 0.25})
    assert seen[0].filename == __file__  # Python shows it to those whose line it is
    assert config == method.Config(contrast_weight=0.25)
    with pytest.warns(DeprecationWarning, match=told):
        objective = method(make_encoder(tokenizer), **{old: 0.25})
    assert objective.config == config
    with pytest.warns(DeprecationWarning, match=told):
        changed = method(make_encoder(tokenizer), method.Config(), **{old: 0.25})
    assert changed.config == config
    with pytest.warns(DeprecationWarning, match=told):
        assert dataclasses.replace(method.Config(), **{old: 0.25}) == config


@pytest.mark.parametrize(("method", "old"), RENAMED)
def test_a_former_field_can_be_read(method, old):
    with pytest.warns(DeprecationWarning, match=f"^{old} is now called contrast_weight") as seen:
        assert getattr(method.Config(contrast_weight=0.25), old) == 0.25
    assert seen[0].filename == __file__


@pytest.mark.parametrize("loss", [ck.losses.info_nce, ck.losses.nt_xent, ck.losses.sup_con])
def test_how_a_loss_is_computed_under_its_former_name(loss):
    x, second = torch.eye(4), torch.arange(4) % 2 if loss is ck.losses.sup_con else torch.eye(4)
    with pytest.warns(DeprecationWarning, match="^how is now called implementation") as seen:
        value = loss(x, second, 0.1, how="tiled")
    assert seen[0].filename == __file__
    assert value == loss(x, second, 0.1, implementation="tiled")


def test_slots_under_their_former_name(encoder):
    with pytest.warns(DeprecationWarning, match="^slots is now called fixed_capacity") as seen:
        ck.faster(ck.objectives.MLM(encoder), slots=0.15)
    assert seen[0].filename == __file__
    assert isinstance(encoder.strategy, FixedCapacity) and encoder.strategy.share == 0.15


def test_a_name_that_never_was_is_refused(encoder):
    with pytest.raises(TypeError, match="has no setting 'alpha'"):
        ck.objectives.CAPT(encoder, alpha=0.1)


@pytest.mark.parametrize("former", ["noise", "kernels", "losses.sum_over_words"])
def test_what_moved_to_another_room_is_found_where_it_was(former):
    room, _, name = former.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"{name} is now called contrast_kit"):
        assert getattr(ck.losses if room else ck, name) is not None
