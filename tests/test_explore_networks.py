"""Two networks at work on a sentence: what is hidden, drawn, read and contrasted, and how the page is told."""

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.explore.two_networks import KINDS, RATIO

pytest.importorskip("anywidget")

OTHERS = ["the blue drum is loud", "a bear", "the old kite"]


@pytest.fixture
def panel(tokenizer, texts):
    return ck.explore.two_networks(
        make_encoder(tokenizer, pooling="mean"), texts[0], OTHERS, p_m=0.5
    )


def test_only_hidden_words_are_replaced_and_the_kinds_say_what_happened(panel):
    for seed in range(6):
        seen = panel.set(seed=seed).worked()
        original, masked, corrupted, corrected = seen.rows
        for i, kind in enumerate(seen.kinds):
            assert (masked[i] == "[MASK]") == seen.hidden[i] == bool(seen.drawn[i])
            assert seen.hidden[i] or corrupted[i] == original[i]
            assert (
                kind
                == {
                    (True, True): "special"
                    if original[i] in ("[CLS]", "[SEP]")
                    else "same"
                    if seen.hidden[i]
                    else "left",
                    (True, False): "needless",
                    (False, True): "restored",
                    (False, False): "missed" if corrected[i] == corrupted[i] else "wrong",
                }[corrupted[i] == original[i], corrected[i] == (original[i])]
            ), (seed, i)
    assert set(seen.kinds) <= set(KINDS)


def test_an_encoder_reads_each_word_with_that_word_covered(panel):
    encoder, seen = panel.networks.encoder.eval(), panel.set(seed=2).worked()
    ids = torch.tensor([encoder.tokenizer.convert_tokens_to_ids(seen.rows[2])])
    for at in (1, 3):
        covered = ids.clone()
        covered[0, at] = encoder.tokenizer.mask_token_id
        with torch.no_grad():
            state = encoder(
                {"input_ids": covered, "attention_mask": torch.ones_like(ids)}
            )[0, at]
            p = encoder.mlm_logits(state[None]).softmax(-1)[0]
        assert seen.here[at] == pytest.approx(p[ids[0, at]].item(), rel=1e-4)
        assert seen.read[at][0][1] == pytest.approx(p.max().item(), rel=1e-4)
        changed = p.max() > RATIO * p[ids[0, at]]
        assert (seen.rows[3][at] != seen.rows[2][at]) == bool(changed)


def test_a_cocolm_uses_its_auxiliary_model_and_its_copy_head(tokenizer, texts):
    objective = ck.objectives.COCOLM(make_encoder(tokenizer))
    seen = ck.explore.two_networks(objective, texts[0], OTHERS, p_m=0.6, seed=1).worked()
    expected = objective.correct(
        [tokenizer.decode(tokenizer.convert_tokens_to_ids(seen.rows[2][1:-1]))]
    )[0]
    if [each.token for each in expected] == seen.rows[2][
        1:-1
    ]:  # decoding and encoding gave the tokens back
        assert [each.word for each in expected] == seen.rows[3][1:-1]
        assert [each.p_word for each in expected] == pytest.approx(
            [best[0][1] for best in seen.read[1:-1]], rel=1e-4
        )
    view = objective.encoder.view_of([texts[0]])
    assert seen.rows[0] == tokenizer.convert_ids_to_tokens(view["input_ids"][0].tolist())
    uniform = ck.objectives.COCOLM(make_encoder(tokenizer), auxiliary="random")
    assert not any(
        ck.explore.two_networks(uniform, texts[0], OTHERS, p_m=0.6).worked().drawn
    )  # it thinks nothing
    for part in (objective, objective.auxiliary, objective.encoder):
        assert part.training  # as they were


def test_the_contrast_is_that_of_nt_xent(panel):
    panel.set(tau=0.2, p_m=0.6)
    found, seen = panel.candidates(), panel.worked()
    assert [each["role"] for each in found] == ["positive"] + ["negative"] * 3
    assert sum(each["share"] for each in found) == pytest.approx(1)
    negatives = panel.networks.encoder.encode(OTHERS)
    logits = (
        torch.nn.functional.cosine_similarity(
            seen.vectors[1:2], torch.cat([seen.vectors[2:], negatives])
        )
        / 0.2
    )
    assert found[0]["share"] == pytest.approx(logits.softmax(0)[0].item(), rel=1e-4)
    assert found[0]["text"] == " ".join(seen.crop) and len(seen.crop) == int(
        0.9 * (len(seen.kinds) - 2) + 1e-4
    )
    whole = panel.set(p_m=0.0, keep=1.0)
    assert whole.candidates()[0]["cosine"] == pytest.approx(
        1, abs=1e-5
    )  # nothing hidden, nothing cut
    assert "Of 0 hidden words" in whole.words()
