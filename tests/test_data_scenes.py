"""Drawn shelves: what the language says of them is true, and nothing gives an answer away that should take a look."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

import contrast_kit as ck
from contrast_kit.data import Regions, scenes
from contrast_kit.data.scenes import ask, compose, draw, programs, statements, tables, tell
from contrast_kit.data.scenes.detector import FIRST, detect, own_scenes, train_detector, true_classes
from contrast_kit.data.scenes.draw import CELL_H, CELL_W, LENGTH, RGB, SHAPES, SIDE, digits, sprite
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, SHELVES, Toy, colours_of
from contrast_kit.data.toyshop.files import tsv
from contrast_kit.data.toyshop.shops import TOYSHOP
from contrast_kit.data.toyshop.world import Stock
from contrast_kit.masking.regions import mismatched, overlaps

SHIPPED = Path(__file__).parents[1] / "data" / "scenes"
SOME = range(4500, 4650)
SILENT = scenes.Noise(0, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def seen():
    """150 test scenes as the detector sees them, which was trained when the pictures were first asked for."""
    return scenes.pictures(standardised=False, progress=False).only(SOME)


def scene_of(*toys):
    return scenes.Scene(0, toys)


# -- the same everywhere ---------------------------------------------------------------------------------------------


def test_rows_and_samples_are_the_shipped_ones():
    """Every process has another hash seed, so what hung on the order of a set would differ here."""
    assert tables.sha256() == (SHIPPED / "rows.sha256").read_text()
    for task in scenes.tasks():
        assert tsv(tables.sample(task)) == (SHIPPED / f"{task}.tsv").read_bytes()


def test_a_scene_is_drawn_to_the_same_bytes_whatever_else_is_drawn():
    first = scenes.drawn(scenes.scene(7))
    torch.manual_seed(3), scenes.picture(scenes.scene(8))
    again = scenes.drawn(scenes.scene(7))
    assert first[0].tobytes() == again[0].tobytes() and first[1].tobytes() == again[1].tobytes()
    assert first[0].shape == (SIDE, SIDE, 3) and first[0].dtype == np.uint8


def test_a_detector_is_the_same_twice_and_leaves_the_random_stream_alone():
    torch.manual_seed(1)
    one, drawn = train_detector(scenes=20, epochs=1), torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(1))
    other = train_detector(scenes=20, epochs=1)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


# -- the pictures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("good", GOODS)
def test_a_good_has_at_most_six_shapes_and_stands_whole_on_its_square(good):
    assert len(SHAPES[good]) <= 6
    assert all(0 <= value <= 20 for _, _, place in SHAPES[good] for value in place)
    share = sprite(good, 20).sum(0)
    assert share[-2:].sum() > 1, "it stands on the ground"
    assert (sprite(good, LENGTH["big"])[0] > 0.5).sum() > 20, "enough of it is paint to show its colour"


def test_no_two_goods_look_alike():
    flat = {good: sprite(good, 19).ravel() for good in GOODS}
    for a in GOODS:
        for b in GOODS:
            assert a == b or np.abs(flat[a] - flat[b]).mean() > 0.05, (a, b)


def test_a_toy_is_drawn_where_its_record_says_and_in_its_colour():
    toy = Toy("ball", "blue", "big", 5, shelf=0, place=3)
    picture = scenes.picture(scene_of(toy), SILENT, train=True).astype(float)
    near = np.abs(picture - np.array(RGB["blue"])).sum(2) < 12
    y, x = near.nonzero()
    assert len(y) > 60 and x.min() >= 3 * CELL_W and y.max() < CELL_H
    (x1, y1, x2, y2), *_ = scenes.boxes(scene_of(toy), SILENT, train=True)
    assert x1 > 0.7 and y2 < 0.35, "x counts from the left, y from the top"
    (a1, _, a2, _), *_ = scenes.boxes(scene_of(replace(toy, size="small")), SILENT, train=True)
    assert x2 - x1 > a2 - a1, "a small toy has a small box"
    veiled = scenes.picture(scene_of(toy), scenes.Noise(0, 0, 0, 0, veiled=1.0), train=True).astype(float)
    assert (np.abs(veiled - np.array(RGB["blue"])).sum(2) < 12).sum() < 10, "behind a glare"
    assert x1 * SIDE <= x.min() and x.max() < x2 * SIDE and y1 * SIDE <= y.min() and y.max() < y2 * SIDE


@pytest.mark.parametrize("wrong", [{"pixel": float("nan")}, {"light": -0.1}, {"veiled": 1.2}, {"box": "0.8"}])
def test_noise_is_told_in_numbers(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is a part of the noise, a finite number"):
        scenes.Noise(**wrong)


def test_boxes_are_corners_inside_their_place_and_never_overlap(seen):
    for i in SOME:
        scene = scenes.scene(i)
        for toy, (x1, y1, x2, y2) in zip(scene.toys, scenes.boxes(scene), strict=True):
            assert toy.place / 4 <= x1 < x2 <= (toy.place + 1) / 4
            assert toy.shelf / 3 - 1e-6 <= y1 < y2 <= (toy.shelf + 1) / 3 + 1e-6
    shared = overlaps(seen.boxes) * (1 - torch.eye(seen.boxes.shape[1]))
    assert shared.max() == 0


def test_a_box_tells_the_size_but_neither_good_nor_colour():
    """Of a masked region the box is still seen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    some = [scenes.scene(i) for i in range(400)]
    boxes = np.concatenate([scenes.boxes(scene) for scene in some])
    shape = np.column_stack([boxes, boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]])
    for field, chance, least, most in (("good", 1 / 14, 0, 0.06), ("colour", 1 / 8, 0, 0.06), ("size", 0.5, 0.45, 0.5)):
        labels = [getattr(toy, field) for scene in some for toy in scene.toys]
        right = cross_val_score(LogisticRegression(max_iter=500), shape, labels, cv=3).mean()
        assert chance + least - 0.05 <= right <= chance + most, (field, right)


def test_the_order_of_regions_says_nothing_of_their_places():
    first = Counter((scenes.scene(i).toys[0].shelf, scenes.scene(i).toys[0].place) for i in range(4000))
    assert len(first) == 12 and max(first.values()) < 1.25 * min(first.values())


def test_handwriting_is_not_shared_between_training_and_test():
    for number in range(2, 10):
        train, test = ({image.tobytes() for image in digits(side)[number]} for side in (True, False))
        assert len(train) > 100 and len(test) > 20 and not train & test


# -- the detector ----------------------------------------------------------------------------------------------------


def test_the_detector_errs_on_about_one_crop_in_ten_and_knows_when(seen, capsys):
    truth = {name: torch.cat([true_classes(scenes.scene(i))[name] for i in SOME]) for name in ("objects", "attributes")}
    here = seen.region_mask
    for name in truth:
        right = getattr(seen, name)[here] == truth[name]
        sure = getattr(seen, f"{name[:-1]}_confidence")[here]
        with capsys.disabled():
            print(f"\n{name}: {right.float().mean():.3f} right on {len(right)} crops, confidence {sure.mean():.3f}; "
                  f"{sure[right].mean():.2f} where right, {sure[~right].mean():.2f} where wrong")  # fmt: skip
        assert 0.85 <= right.float().mean() <= 0.96
        assert sure[right].mean() > sure[~right].mean() + 0.2
        assert abs(sure.mean() - right.float().mean()) < 0.06


def test_the_detector_learns_from_scenes_that_no_task_has():
    mine = own_scenes()
    assert min(scene.image_id for scene in mine) == FIRST > max(scenes.image_ids("test"))
    assert not {scene.toys for scene in mine} & {
        scenes.scene(i).toys for s in scenes.SPLITS for i in scenes.image_ids(s)
    }


def test_no_feature_is_a_label(seen):
    """Neither one-hot nor a class number: a linear probe reads the object off all 64 together, no single one."""
    features, objects = seen.regions[seen.region_mask], seen.objects[seen.region_mask]
    assert len(features.unique(dim=0)) == len(features)
    for column in features.T:
        same = column[objects == 0]
        assert len(same.unique()) > 5
    assert (features.std(0) > 0).all()


# -- what is said is true --------------------------------------------------------------------------------------------


def test_every_caption_is_true_of_its_picture():
    for split in scenes.SPLITS:
        for row in scenes.rows("captions", split):
            assert scenes.true_of(scenes.facts_of(row), scenes.scene(row["image_id"])), row


def test_a_changed_fact_is_false_unless_the_shelf_holds_it_too():
    shelf = scene_of(Toy("drum", "red", "big", 5, 0, 0), Toy("drum", "red", "small", 3, 0, 1))
    fact = Stock(2, "drum", SHELVES[0], colour="red")
    assert scenes.true_of([fact], shelf) and scenes.true_of([replace(fact, number=1, size="big")], shelf)
    assert scenes.true_of([replace(fact, number=1)], shelf), "there is a red drum, and another"
    for wrong in ({"number": 3}, {"colour": "blue"}, {"shelf": SHELVES[1]}, {"size": "big"}, {"price": 5}):
        assert not scenes.true_of([replace(fact, **wrong)], shelf), wrong
    assert not scenes.true_of([fact, Stock(1, "kite", SHELVES[0])], shelf)


def test_truth_of_batches_is_true_of_asked_one_by_one():
    rows = scenes.rows("captions", "test")[:60]
    pictures = [row["image_id"] for row in rows[::2]]
    table = scenes.truth(rows)(range(60), torch.tensor(pictures))
    one_by_one = [[scenes.true_of(scenes.facts_of(row), scenes.scene(i)) for i in pictures] for row in rows]
    assert table.tolist() == one_by_one
    fact = dict(number=1, good="drum", shelf=SHELVES[0], size="", colour="", price=0)
    four = [rows[0] | {"facts": [fact | {"good": good} for good in ("drum", "kite", "bus", "robot")]}]
    expected = [[scenes.true_of(scenes.facts_of(four[0]), scenes.scene(i)) for i in pictures]]
    assert scenes.truth(four)([0], torch.tensor(pictures)).tolist() == expected
    for number in (-1, 5000):
        with pytest.raises(ValueError, match=f"There is no scene {number}: they are numbered from 0 to 4999"):
            scenes.truth(rows)([0], torch.tensor([0, number]))
    with pytest.raises(ValueError, match="No toy of these scenes has the good 'musical toy': ask true_of"):
        scenes.truth([rows[0] | {"facts": [fact | {"good": "musical toy"}]}])
    with pytest.raises(ValueError, match="No toy of these scenes has the material 'wood'"):  # it was passed over
        scenes.truth([rows[0] | {"facts": [fact | {"material": "wood"}]}])


def test_vague_captions_are_true_of_other_pictures_too():
    """So a random other picture is no sure negative; the more a caption tells, the rarer that is."""
    some = [scenes.scene(i) for i in range(600)]
    rates = []
    for fields in ((), ("colour",), ("colour", "size")):
        claims = []
        for scene in some:
            toy = scene.toys[0]
            claims.append([Stock(1, toy.good, SHELVES[toy.shelf], **{name: getattr(toy, name) for name in fields})])
        pairs = [(i, (i + k) % 600) for i in range(600) for k in (1, 7, 31, 90)]
        rates.append(np.mean([scenes.true_of(claims[i], some[j]) for i, j in pairs]))
    assert 0.04 < rates[0] < 0.15 and rates[1] < 0.04 and rates[2] < 0.02 and rates[0] > rates[1] > rates[2] > 0


def test_no_mismatched_caption_is_true_of_the_picture_it_is_put_to(seen, tokenizer):
    rows = [row for row in scenes.rows("captions", "test") if row["image_id"] in SOME]
    vague = [
        {"text": "There is a drum.", "image_id": row["image_id"], "facts": [dict(number=1, good=toy.good, shelf=shelf,
         size="", colour="", material="", price=0)]}
        for row in rows for toy in scenes.scene(row["image_id"]).toys[:1] for shelf in [SHELVES[toy.shelf]]
    ]  # fmt: skip
    texts = Regions(vague, tokenizer, seen, truth=scenes.truth(vague))
    batch = texts.batch(range(len(vague)))
    assert batch["true_of"].diagonal().all()
    also = batch["true_of"] & (batch["image_id"][:, None] != batch["image_id"])
    assert also.any(), "there is something to avoid"
    batch["input_ids"] = torch.arange(len(vague))[:, None]  # so that a swapped text tells whose it was
    swapped = mismatched(batch, 1.0, generator=torch.Generator().manual_seed(0))
    for row, source in enumerate(swapped["input_ids"].flatten().tolist()):
        if not swapped["matched"][row]:
            assert not scenes.true_of(scenes.facts_of(vague[source]), scenes.scene(vague[row]["image_id"]))


def test_two_captions_of_a_picture_share_its_number_and_are_two_pairs(seen, tokenizer):
    rows = [row for row in scenes.rows("captions", "test") if row["image_id"] in SOME]
    batch = Regions(rows, tokenizer, seen).batch([0, 1, 2])
    assert batch["image_id"][0] == batch["image_id"][1] != batch["image_id"][2]
    assert len(batch["text_id"].unique()) == 3


# -- splits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", scenes.tasks())
def test_a_picture_belongs_to_one_split_in_every_task(task):
    for split in scenes.SPLITS:
        for row in scenes.rows(task, split):
            numbers = [row[name] for name in ("image_id", "left", "right") if name in row]
            assert numbers and all(scenes.split_of(number) == split for number in numbers)


def test_no_statement_stands_in_two_splits():
    told = [{row["sentence"] for row in scenes.rows("nlvr2", split)} for split in scenes.SPLITS]
    assert not told[0] & told[1] and not told[0] & told[2] and not told[1] & told[2]


# -- ten customers ---------------------------------------------------------------------------------------------------


def test_each_question_is_asked_of_two_pictures_with_other_answers():
    rows = scenes.rows("vqa", "train")
    for row in rows:
        other = rows[row["complement"]]
        assert other["complement"] == row["question_id"] and other["question"] == row["question"]
        assert other["image_id"] != row["image_id"] and other["true_answer"] != row["true_answer"]
    assert set(Counter(row["question_type"] for row in rows)) == set(ask.KINDS)


def test_ten_customers_answer_and_mostly_agree():
    rows = scenes.rows("vqa", "train")
    assert all(len(row["answers"]) == 10 and row["answer"] in row["answers"] for row in rows)
    by_type = {kind: [row for row in rows if row["question_type"] == kind] for kind in ask.KINDS}
    agree = {k: np.mean([row["answers"].count(row["true_answer"]) / 10 for row in by_type[k]]) for k in by_type}
    assert 0.72 < agree["colour"] < 0.85 and all(agree[kind] > 0.93 for kind in ask.KINDS if kind != "colour")
    large = [row for row in by_type["count"] if int(row["true_answer"]) > 4]
    assert len(large) > 20
    assert 0.55 < np.mean([row["answers"].count(row["true_answer"]) / 10 for row in large]) < 0.75
    off = [abs(int(given) - int(row["true_answer"])) for row in large for given in row["answers"]]
    assert np.mean([step > 1 for step in off]) < 0.06


def test_colours_have_other_names_in_some_mouths():
    given = Counter(a for row in scenes.rows("vqa", "train") if row["true_answer"] == "red" for a in row["answers"])
    assert {"scarlet", "crimson", "maroon"} < set(given) and given["red"] > 3 * given["scarlet"]


def test_answers_follow_from_the_records():
    shelf = scene_of(
        Toy("drum", "red", "big", 5, 0, 0), Toy("drum", "blue", "big", 3, 0, 2), Toy("kite", "red", "small", 2, 1, 1)
    )
    assert ask.answer(ask.Question("colour", "drum"), shelf) is None, "which drum?"
    assert ask.answer(ask.Question("colour", "drum", shelf=0, colour="red"), shelf) == "red"
    assert ask.answer(ask.Question("count", colour="red"), shelf) == "2"
    assert ask.answer(ask.Question("right", "kite"), shelf) is None, "nothing stands there"
    assert ask.answer(ask.Question("price", "kite"), shelf) == "2"


@pytest.mark.parametrize(
    "kind, most",
    [("exist", 0.58), ("shelf", 0.45), ("colour", 0.28), ("right", 0.25), ("price", 0.26), ("count", 0.55)],
)
def test_the_form_of_a_question_gives_its_type_away_but_not_its_answer(kind, most):
    train, test = ([r for r in scenes.rows("vqa", s) if r["question_type"] == kind] for s in ("train", "test"))
    predicted = ck.tasks.question_only(
        [row["question"] for row in train], [row["answer"] for row in train], [row["question"] for row in test]
    )
    assert ck.tasks.soft_accuracy(predicted, [row["answers"] for row in test]) < most
    assert {row["answer_type"] for row in train} == {ask.KINDS[kind]}


# -- programs --------------------------------------------------------------------------------------------------------


def test_programs_give_the_answers_of_their_rows_and_these_are_valid_and_plausible():
    for row in scenes.rows("gqa", "train"):
        assert programs.run(compose.program_of(row), scenes.scene(row["image_id"])) == row["answer"]
        assert row["answer"] in row["plausible"] and set(row["plausible"]) <= set(row["valid"])


def test_what_a_program_entails_holds_in_every_scene_where_it_has_that_answer():
    rows = scenes.rows("gqa", "test")[:250]
    some = [scenes.scene(i) for i in range(60)]
    checked = 0
    for row in rows:
        program = compose.program_of(row)
        for scene in [scenes.scene(row["image_id"]), *some]:
            answer = programs.run(program, scene)
            if answer is not None:
                for other, follows in programs.entailed(program, answer).items():
                    assert programs.run(other, scene) == follows, (program, answer, other)
                    checked += 1
    assert checked > 2000


def test_entailed_questions_are_of_the_same_picture_and_have_the_answers_that_follow():
    rows = scenes.rows("gqa", "train")
    assert [row["question_id"] for row in rows] == list(range(len(rows)))
    listed = 0
    for row in rows:
        follows = programs.entailed(compose.program_of(row), row["answer"])
        for other in row["entailed"]:
            assert rows[other]["image_id"] == row["image_id"] and other != row["question_id"]
            assert follows[compose.program_of(rows[other])] == rows[other]["answer"]
            listed += 1
    assert listed > 5000


def test_answers_of_a_group_are_balanced():
    rows = scenes.rows("gqa", "train")
    for name in {row["group"] for row in rows} - {"compare"}:
        counts = Counter(row["answer"] for row in rows if row["group"] == name)
        valid = next(row["valid"] for row in rows if row["group"] == name)
        assert max(counts.values()) <= 1.35 * sum(counts.values()) / len(valid), (name, counts)


def test_programs_make_no_sense_of_scenes_that_lack_what_they_speak_of():
    shelf = scene_of(Toy("drum", "red", "big", 5, 0, 0), Toy("drum", "blue", "big", 3, 0, 2))
    assert programs.run(("query", "colour", ("select", "drum")), shelf) is None
    assert programs.run(("query", "colour", ("relate", "right", ("select", "kite"))), shelf) is None
    left = ("filter", "colour", "red", ("select", "drum"))
    assert programs.run(("query", "good", ("relate", "right", left)), shelf) == "drum"
    right = ("filter", "colour", "blue", ("select", "drum"))
    assert programs.run(("same", "size", left, right), shelf) == "yes"
    assert programs.run(("choose", "colour", "green", "pink", left), shelf) is None
    assert programs.run(("same", "size", left, left), shelf) is None, "one toy is not two"
    kite = Toy("kite", "red", "big", 3, 0, 3)
    three = scene_of(*shelf.toys, kite)
    assert programs.run(("query", "colour", ("relate", "left", ("select", "kite"))), three) == "blue", "the nearest"
    assert programs.run(("compare", "cheaper", left, right), three) is None, "two drums have one name"
    assert programs.run(("compare", "cheaper", right, ("select", "kite")), three) is None, "they cost the same"
    assert programs.run(("compare", "dearer", left, ("select", "kite")), three) == "drum"


def test_no_toy_has_a_colour_that_its_good_never_has():
    for i in range(1000):
        assert all(toy.colour in colours_of(toy.good) for toy in scenes.scene(i).toys)
    assert {colour for good in GOODS for colour in colours_of(good)} == set(COLOURS)
    assert set(GOODS) < set(TOYSHOP.department_of), "the toyshop knows them all"


# -- statements on two pictures --------------------------------------------------------------------------------------


def test_each_statement_has_four_pairs_two_true_and_two_false():
    for split in ("validation", "test"):
        rows = scenes.rows("nlvr2", split)
        for start in range(0, len(rows), 4):
            four = rows[start : start + 4]
            assert len({row["sentence"] for row in four}) == 1 and sorted(row["label"] for row in four) == [0, 0, 1, 1]
            assert len({row[side] for row in four for side in ("left", "right")}) == 8
            assert len({row["identifier"] for row in four}) == 4
            for row in four:
                statement = statements.statement_of(row)
                left, right = scenes.scene(row["left"]), scenes.scene(row["right"])
                assert statements.is_true(statement, left, right) == bool(row["label"])
                assert statements.in_words(statement) == row["sentence"]


def test_statements_mean_what_they_say():
    red, blue = Toy("drum", "red", "big", 5, 0, 0), Toy("drum", "blue", "big", 5, 0, 1)
    left, right, none = scene_of(red, blue), scene_of(red), scene_of(Toy("kite", "pink", "big", 5, 0, 0))
    drums = ask.Question("count", "drum")
    told = {form.says.split("{")[0].strip(): at for at, form in enumerate(statements.FORMS)}
    for says, k, pair, true in (
        ("both pictures show", 0, (left, none), False), ("both pictures show", 0, (left, right), True),
        ("neither picture shows", 0, (none, none), True), ("neither picture shows", 0, (none, left), False),
        ("exactly one of the pictures shows", 0, (left, right), False), ("there are exactly", 3, (left, right), True),
        ("there are at least", 4, (left, right), False), ("the left picture shows", 0, (none, left), False),
        ("the right picture shows", 0, (none, left), True),
        ("one of the pictures shows exactly", 2, (left, left), False),
        ("one of the pictures shows exactly", 2, (left, right), True),
    ):  # fmt: skip
        assert statements.is_true(statements.Statement(told[says], k, drums), *pair) == true, (says, k)


# -- the door --------------------------------------------------------------------------------------------------------


def test_scenes_come_through_the_door_of_all_data():
    splits = ck.data.load("scenes/nlvr2")
    assert {name: len(split) for name, split in splits.items()} == {"train": 6000, "validation": 500, "test": 500}
    assert splits["test"].features["label"].names == ["false", "true"]
    assert {f"scenes/{task}" for task in scenes.tasks()} <= set(ck.data.available())
    captions = ck.data.load("scenes/captions")["test"]
    assert scenes.facts_of(captions[0]) == scenes.facts_of(scenes.rows("captions", "test")[0])
    assert scenes.truth(captions)([0], torch.tensor([captions[0]["image_id"]])).all()


@pytest.mark.parametrize("ask_for, says", [
    (lambda: ck.data.load("scenes/vqa2"), "There is no task 'vqa2' in scenes; did you mean 'vqa'?"),
    (lambda: scenes.rows("vqa", "dev"), "There is no split 'dev' in scenes; there are train, validation, test."),
    (lambda: scenes.scene(5000), "There is no scene 5000: they are numbered from 0 to 4999."),
])  # fmt: skip
def test_what_is_not_there_is_said(ask_for, says):
    with pytest.raises(ValueError, match=says):
        ask_for()


def test_pictures_are_kept_and_standardised_on_the_training_scenes(monkeypatch, tmp_path):
    from contrast_kit.data.scenes import detector as module
    from contrast_kit.data.scenes import shelf

    monkeypatch.setenv("CONTRAST_KIT_CACHE", str(tmp_path))
    small = {"train": 30, "validation": 5, "test": 5}
    for place in (shelf, tables):
        monkeypatch.setattr(place, "SPLITS", small)
    weak = train_detector(scenes=10, epochs=1)
    monkeypatch.setattr(module, "train_detector", lambda: weak)
    first = scenes.pictures(progress=False)
    monkeypatch.setattr(module, "train_detector", lambda: pytest.fail("it was kept"))
    again = scenes.pictures(progress=False)
    assert torch.equal(first.regions, again.regions) and first.object_names == GOODS
    train = first.only(range(30)).regions[first.only(range(30)).region_mask]
    assert train.mean(0).abs().max() < 1e-5 and (train.std(0, correction=0) - 1).abs().max() < 1e-3
    test = first.only(range(30, 40)).regions[first.only(range(30, 40)).region_mask]
    assert test.mean(0).abs().max() > 1e-2, "the test is scaled by the training scenes, not by itself"
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"half a file")
    monkeypatch.setattr(module, "train_detector", lambda: weak)
    with pytest.warns(UserWarning, match="cannot be read .* so it is made anew"):
        assert torch.equal(scenes.pictures(progress=False).regions, first.regions)
    monkeypatch.setenv("CONTRAST_KIT_CACHE", str(file))  # a file, so no folder can be made there
    with pytest.warns(UserWarning, match="could not be kept in .* so it is made anew the next time"):
        assert torch.equal(scenes.pictures(progress=False).regions, first.regions)


def test_telling_draws_no_toy_twice():
    for i in range(300):
        scene = scenes.scene(i)
        facts = tell.draw_facts(Random(i), scene)
        assert facts and sum(fact.number for fact in facts) <= len(scene.toys)


def test_the_tag_shows_the_price_in_the_handwriting_of_the_split(monkeypatch):
    for price in range(2, 10):
        picture = scenes.picture(scene_of(Toy("ball", "blue", "big", price, 0, 0)), SILENT, train=False)
        ink = (250 - picture[CELL_H - 9 : CELL_H - 1, :, 0].astype(float)) / 205  # [8, 96]
        tags = [ink[:, x : x + 8] for x in range(CELL_W - 8)]
        near = {n: min(np.abs(tag - image).mean() for tag in tags for image in digits(False)[n]) for n in range(2, 10)}
        assert min(near, key=near.get) == price
    asked, plain = [], digits
    monkeypatch.setattr(draw, "digits", lambda train: asked.append(train) or plain(train))
    for number, options in ((0, {}), (4499, {}), (4500, {}), (0, {"train": False}), (4500, {"train": True})):
        asked.clear(), scenes.picture(scenes.scene(number), **options)
        assert set(asked) == {options.get("train", number < 4000)}
    asked.clear(), train_detector(scenes=3, epochs=1)
    assert set(asked) == {True}


def test_noise_and_seed_reach_the_detector():
    weights = lambda *how, **options: torch.cat(  # noqa: E731
        [each.flatten() for each in train_detector(*how, scenes=6, epochs=1, **options).parameters()]
    )
    one = weights()
    assert one.equal(weights()) and not one.equal(weights(seed=1)) and not one.equal(weights(SILENT))
    weak, some = train_detector(scenes=6, epochs=1), [scenes.scene(0)]
    assert not detect(weak, some).regions.equal(detect(weak, some, SILENT).regions)
    classes = true_classes(scene_of(Toy("drum", "red", "big", 5, 0, 0), Toy("kite", "blue", "small", 2, 0, 1)))
    assert classes["sizes"].tolist() == [1, 0] and classes["prices"].tolist() == [3, 0]


def test_pictures_are_made_anew_where_the_code_or_a_library_is_another(monkeypatch, tmp_path):
    for name in ("shelf", "draw", "detector"):
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.setattr(tables, "__file__", str(tmp_path / "tables.py"))
    seen = [tables._version()]
    for name in ("shelf", "draw", "detector"):
        (tmp_path / f"{name}.py").write_text(f"# {name}")
        seen.append(tables._version())
    for library in ("torch", "numpy", "PIL", "sklearn"):
        monkeypatch.setattr(f"{library}.__version__", "0")
        seen.append(tables._version())
    assert len(set(seen)) == 8


def test_rows_are_the_caller_s_copies():
    scenes.rows("captions", "test")[0]["text"] = "changed"
    assert scenes.rows("captions", "test")[0]["text"] != "changed"
