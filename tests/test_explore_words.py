"""What the panels call a word is what training calls one; and what they show is what the objective computes."""

import pytest
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.explore._networks import Networks

pytest.importorskip("anywidget")


def test_an_unknown_word_may_be_masked_as_in_training(tokenizer):
    text = "the ᚠ kite"
    assert tokenizer.unk_token_id in tokenizer(text)["input_ids"]
    panel = ck.explore.mask_explorer(tokenizer, text)
    ids, maskable, _, _ = panel.views()
    assert maskable.tolist() == [ck.data.Texts([text], tokenizer).batch([0])["maskable"][0].tolist()]
    assert ids[0][maskable[0]].tolist().count(tokenizer.unk_token_id) == 1
    networks = Networks(make_encoder(tokenizer))
    assert len(networks.work(text, p_m=1.0, keep=0.9, seed=0).hidden) == ids.shape[1]
    assert sum(networks.work(text, p_m=1.0, keep=0.9, seed=0).hidden) == int(maskable.sum())


def test_a_head_on_the_contrast_is_refused(tokenizer):
    with pytest.raises(ValueError, match="With scl_head=True the contrast is not on the encoder's own vectors"):
        ck.explore.two_networks(ck.objectives.COCOLM(make_encoder(tokenizer), scl_head=True))
