"""LXMERT, CAPT and the tasks on words and pictures: one step however it is cut, and the usual mistakes."""

import pytest
import torch
from pairs import (
    ANSWERS,
    OBJECTIVES,
    data_of,
    make_encoder,
    make_pairs,
    make_two,
)
from test_step import EXACT, gradients, largest_difference, one_step
from test_training import press_stop_at, same, weights

import contrast_kit as ck
from contrast_kit import vision
from contrast_kit.vision import LXMERT, Answer, CAPTPairs, TwoPictures
from contrast_kit.vision.noise import MaskPair, MaskRegions


@pytest.fixture
def pairs(texts, tokenizer):
    return make_pairs(texts, tokenizer)


@pytest.fixture
def batch(pairs):
    return pairs.batch(range(12))


@pytest.fixture
def encoder(tokenizer):
    return make_encoder(tokenizer)


def seeded(seed=7):
    return torch.Generator().manual_seed(seed)


# -- one step, however it is cut ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OBJECTIVES)
def test_chunks_give_the_loss_and_gradient_of_the_definition(name, texts, tokenizer):
    batch = data_of(name, texts, tokenizer).batch(range(12))
    objective = OBJECTIVES[name](make_encoder(tokenizer)).double().train()
    definition = objective(batch, seeded())
    definition["loss"].backward()
    expected, parts = (
        gradients(objective),
        {part: value.item() for part, value in definition.items()},
    )
    assert parts["loss"] > 0 and all(value == value for value in parts.values())
    for chunk_size in (None, 1, 5):
        found, ours = one_step(objective, [batch], chunk_size=chunk_size)
        assert found == pytest.approx(parts, rel=1e-12)
        assert largest_difference(ours, expected) < EXACT


@pytest.mark.parametrize("name", OBJECTIVES)
def test_stopped_and_resumed_is_bitwise_the_unbroken_run(
    name, texts, tokenizer, tmp_path
):
    data = data_of(name, texts, tokenizer)

    def go(**options):
        objective = OBJECTIVES[name](make_encoder(tokenizer, dropout=0.1))
        settings = dict(
            steps=5, batch_size=4, chunk_size=3, save_every=2, lr=1e-2, progress=False
        )
        run = ck.fit(objective, data, **settings, **options)
        return run.history.drop(columns="seconds"), weights(objective)

    history, expected = go()
    _, halfway = go(folder=tmp_path, callback=press_stop_at(3))
    again, found = go(folder=tmp_path, resume=True)
    assert not same(halfway, expected) and same(found, expected) and again.equals(history)


@pytest.mark.parametrize("regions", ["masked", "lxmert"])
def test_nothing_masked_is_no_nan(regions, encoder, batch):
    nothing = MaskPair(
        words=ck.masking.noise.Mask(0.0), regions=MaskRegions(p=0.0), which="both"
    )
    objective = LXMERT(encoder, noise=nothing, mismatch=0.0, regions=regions, qa=True)
    parts = objective(batch | {"answer_scores": torch.zeros(12, len(ANSWERS))})
    parts["loss"].backward()
    assert parts["mlm"] == parts["features"] == parts["qa"] == 0
    assert (parts["objects"] == 0) == (regions == "masked")
    assert all(
        torch.isfinite(p.grad).all() for p in encoder.parameters() if p.grad is not None
    )


# -- what is recovered, and where --------------------------------------------------------------------------------------


def test_the_losses_are_those_of_the_equations(encoder, batch):
    """On the view that was drawn, by the pure functions, on whole tensors."""
    objective = LXMERT(encoder.double().eval(), qa=True)
    parts = objective(batch, seeded())
    view = objective.views(batch, seeded())["noisy"]
    states, losses = encoder.states(view), ck.losses
    at, drawn = view["selected"], view["region_selected"]
    shown = encoder.region_logits(states.regions)
    expected = {
        "mlm": losses.mlm(encoder.mlm_logits(states.words)[at], view["targets"][at])
    }
    for key, loss in (
        ("objects", vision.masked_objects),
        ("attributes", vision.masked_objects),
    ):
        expected[key] = loss(
            shown[key][drawn],
            batch[key][drawn],
            confidence=batch[f"{key[:-1]}_confidence"][drawn],
        )
    expected["features"] = vision.masked_features(
        shown["features"][drawn], batch["regions"][drawn]
    )
    matched = view["matched"]
    expected["itm"] = torch.nn.functional.cross_entropy(
        encoder.match_logits(states.words), matched
    )
    asked = matched.bool() & batch["answer_scores"].any(1)
    expected["qa"] = vision.one_answer(
        encoder.answer_logits(states.words)[asked], batch["answer_scores"][asked]
    )
    for name, value in expected.items():
        assert parts[name].item() == pytest.approx(value.item(), rel=1e-9), name
    assert parts["loss"].item() == pytest.approx(sum(expected.values()).item(), rel=1e-9)
    right = encoder.match_logits(states.words).argmax(1) == matched
    assert parts["itm_accuracy"].item() == pytest.approx(right.double().mean().item())
    assert len(parts) == len(expected) + 2


def test_as_released_the_losses_fall_on_all_regions(encoder, batch):
    """Mean over all regions, times 1/0.15, as LXMERT's code has it."""
    objective = LXMERT(encoder.double().eval(), regions="lxmert", mismatch=0.0)
    parts, view = objective(batch, seeded()), objective.views(batch, seeded())["noisy"]
    real, drawn = batch["region_mask"], view["region_selected"]
    shown = encoder.region_logits(encoder.states(view).regions)
    for key in ("objects", "attributes"):
        certain = batch[f"{key[:-1]}_confidence"]
        loss = torch.nn.functional.cross_entropy(
            shown[key][real], batch[key][real], reduction="none"
        )
        assert parts[key].item() == pytest.approx(
            (loss * certain[real]).mean().item() / 0.15, rel=1e-6
        )
    each = torch.nn.functional.smooth_l1_loss(
        shown["features"], batch["regions"], reduction="none"
    ).mean(-1)
    assert parts["features"].item() == pytest.approx(
        (each * drawn)[real].mean().item() / 0.15, rel=1e-6
    )


@pytest.mark.parametrize("regions", ["masked", "lxmert"])
def test_words_of_wrong_pairs_are_recovered_only_if_asked(regions, encoder, batch):
    for recover in (True, False):
        objective = LXMERT(
            encoder, recover_mismatched=recover, mismatch=1.0, regions=regions
        )
        parts = objective(batch, seeded())
        assert all(
            (parts[name] > 0) == recover
            for name in ("mlm", "objects", "attributes", "features")
        )
        assert parts["itm"] > 0


def test_without_confidence_every_name_counts_alike(encoder, batch):
    sure = {
        f"{key}_confidence": torch.ones_like(batch[f"{key}_confidence"])
        for key in ("object", "attribute")
    }
    for key in ("objects", "attributes"):
        of = {
            c: LXMERT(encoder, confidence=c)(batch, seeded())[key] for c in (True, False)
        }
        assert of[False] == LXMERT(encoder)(batch | sure, seeded())[key] != of[True]


def test_questions_of_wrong_pairs_and_statements_have_no_answer(encoder, batch):
    objective = LXMERT(encoder, qa=True, mismatch=1.0)
    assert objective(batch, seeded())["qa"] == 0
    objective = LXMERT(encoder, qa=True, mismatch=0.0, noise=MaskRegions(p=0.0))
    none = (batch["answer_scores"] == 0).all(1)
    assert none.sum() == 4
    moved = batch | {"regions": torch.where(none[:, None, None], 0.0, batch["regions"])}
    assert torch.equal(objective(batch)["qa"], objective(moved)["qa"])


# -- the contrast ------------------------------------------------------------------------------------------------------


def test_a_wrong_pair_is_corrupted_as_itself(encoder, batch):
    objective = CAPTPairs(encoder, mismatch=0.5)
    views = objective.views(batch, seeded())
    clean, noisy = views["clean"], views["noisy"]
    assert 0 < clean["matched"].sum() < 12
    for key in ("matched", "text_id", "image_id", "attention_mask", "boxes"):
        assert torch.equal(clean[key], noisy[key])
    assert torch.equal(clean["input_ids"], noisy["targets"]) and torch.equal(
        clean["regions"], noisy["region_targets"]
    )
    wrong = clean["matched"] == 0
    assert (clean["text_id"] != batch["text_id"]).eq(wrong).all()


def test_the_contrast_knows_which_pairs_are_wrong(encoder, batch):
    objective = CAPTPairs(encoder, mismatch=0.5)
    views = objective.views(batch, seeded())
    facts = objective.facts(batch, views)
    matched = views["clean"]["matched"].bool()
    assert torch.equal(facts["matched"].bool(), matched)
    assert torch.equal(
        facts["text_id"][matched], batch["image_id"][matched]
    )  # captions of one picture: one id
    own = facts["text_id"][~matched]
    assert (own < -1).all() and len(own.unique()) == len(own)
    assert len(own) < 12 and not set(own.tolist()) & set(
        facts["text_id"][matched].tolist()
    )
    again = objective.views(batch, seeded(10))
    wrong = ~matched & (again["clean"]["matched"] == 0)
    same_text = (views["clean"]["text_id"] == again["clean"]["text_id"])[wrong]
    assert not same_text.all()  # another wrong text of the same picture is another pair
    assert torch.equal(
        (facts["text_id"] == objective.facts(batch, again)["text_id"])[wrong], same_text
    )


def test_two_captions_of_one_picture_are_no_negatives(encoder, batch):
    """Rows 0 and 1, and rows 2 and 3, show one picture each."""
    settings = dict(mismatch=0.0, queue=0, tau=0.5)
    objective = CAPTPairs(encoder, **settings).double().eval()
    views = objective.views(batch, seeded())
    vectors = {name: objective.encode(name, view).vectors for name, view in views.items()}
    found = objective.contrast(vectors, objective.facts(batch, views))["contrast"]
    x = torch.nn.functional.normalize(
        torch.cat([vectors["clean"]["s"], vectors["noisy"]["s"]]), dim=1
    )
    images, total = batch["image_id"].repeat(2).tolist(), 0.0
    for i in range(24):
        partner = (i + 12) % 24
        among = [
            j for j in range(24) if j != i and (images[j] != images[i] or j == partner)
        ]
        scores = torch.stack([x[i] @ x[j] / 0.5 for j in among])
        total -= scores.log_softmax(0)[among.index(partner)]
    assert found.item() == pytest.approx(total.item() / 24, rel=1e-10)
    as_printed = CAPTPairs(encoder, ignore_duplicates=False, **settings).double().eval()
    as_printed.load_state_dict(objective.state_dict())
    assert (
        as_printed.contrast(vectors, objective.facts(batch, views))["contrast"]
        > found + 1e-3
    )


def test_without_the_contrast_it_is_lxmert(encoder, batch):
    noise = MaskPair(which="both")
    capt = (
        CAPTPairs(encoder, contrast_weight=0.0, queue=0, noise=noise)
        .double()
        .eval()(batch, seeded())
    )
    lxmert = LXMERT(encoder, noise=noise)(batch, seeded())
    assert capt["loss"].item() == pytest.approx(lxmert["loss"].item(), rel=1e-12)


def test_the_papers_settings():
    config = CAPTPairs.paper()
    assert (config.tau, config.queue, config.reduction, config.qa) == (
        "adaptive",
        8192,
        "sum",
        False,
    )
    assert not config.ignore_duplicates  # eq. 2 and 3 sum over all j ≠ i
    assert (
        config.noise.which == "either"
        and config.noise.regions.p == 0.15
        and config.regions == "masked"
    )
    lxmert = LXMERT.Config()
    assert (lxmert.noise, lxmert.regions, lxmert.mismatch) == (
        MaskPair(which="both"),
        "masked",
        0.5,
    )


# -- the tasks ---------------------------------------------------------------------------------------------------------


def test_answers_are_a_binary_cross_entropy_each(encoder, batch):
    objective = Answer(encoder.double().eval(), answers=3)
    parts = objective(batch)
    logits, scores = (
        encoder.answer_logits(encoder(batch)),
        batch["answer_scores"].double(),
    )
    mean = torch.nn.functional.binary_cross_entropy_with_logits(logits, scores)
    assert parts["answers"].item() == pytest.approx(
        mean.item() * 3, rel=1e-10
    )  # LXMERT: BCE.mean() * answers
    best = logits.argmax(1)
    soft = (
        sum(scores[row, best[row]].item() for row in range(12)) / 12
    )  # not whether it is the best of all
    assert parts["score"].item() == pytest.approx(soft)


def test_an_answer_head_begins_anew(tokenizer):
    fresh = [Answer(make_encoder(tokenizer), answers=3, seed=seed) for seed in (0, 0, 1)]
    heads = [answer.encoder.model.answer_head.logit_fc[0].weight for answer in fresh]
    assert torch.equal(heads[0], heads[1]) and not torch.equal(heads[0], heads[2])


def test_two_pictures_are_read_one_by_one(texts, tokenizer):
    batch = make_two(texts, tokenizer).batch(range(6))
    objective = TwoPictures(make_encoder(tokenizer)).eval()
    text = {key: value for key, value in batch.items() if "/" not in key}
    vectors = []
    for side in ("left", "right"):
        view = text | {
            key.split("/")[1]: value
            for key, value in batch.items()
            if key.startswith(side)
        }
        vectors.append(objective.encoder.pair_vector(objective.encoder(view)))
    assert torch.equal(objective.logits(batch), objective.head(torch.cat(vectors, dim=1)))
    first, _, norm, last = (
        objective.head
    )  # LXMERT's head of NLVR2: dense, gelu, LayerNorm, dense
    by_hand = last(norm(torch.nn.functional.gelu(first(torch.cat(vectors, dim=1)))))
    assert torch.allclose(objective.logits(batch), by_hand, atol=1e-6)
    turned = {
        key.replace("left", "L").replace("right", "left").replace("L", "right"): v
        for key, v in batch.items()
    }
    assert not torch.allclose(objective.logits(turned), objective.logits(batch))


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_without_wrong_pairs_or_a_noise_their_losses_are_left_out(encoder, batch):
    assert set(LXMERT(encoder, mismatch=0.0, noise="mask")(batch)) == {"loss", "mlm"}
    assert set(LXMERT(encoder, noise=MaskRegions())(batch)) == {
        "loss", "objects", "attributes", "features", "itm", "itm_accuracy",
    }  # fmt: skip
    assert set(CAPTPairs(encoder, mlm=False, mismatch=0.0, queue=0)(batch)) == {
        "loss",
        "contrast",
        "tau",
    }
