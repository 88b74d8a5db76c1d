"""Drawn shelves: what the language says of them is true, and nothing gives an answer away that should take a look."""

import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from test_data_toyshop import digest

import contrast_kit as ck
from contrast_kit.data import Regions, scenes
from contrast_kit.data.scenes import draw
from contrast_kit.data.scenes.draw import (
    CELL_H,
    CELL_W,
    RGB,
    SIDE,
    digits,
)
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, SHELVES, Toy, split_of
from contrast_kit.data.toyshop import Stock
from contrast_kit.vision.noise import mismatched, overlaps

SHIPPED = Path(__file__).parents[1] / "data" / "scenes"
SOME = range(4500, 4650)


@pytest.fixture(scope="module")
def seen():
    return scenes.pictures()


@pytest.fixture
def silent(monkeypatch):
    """No noise, and no toy behind a glare."""
    for name in ("PIXEL", "COLOUR", "LIGHT", "BOX", "VEILED"):
        monkeypatch.setattr(draw, name, 0.0)


def scene_of(*toys):
    return scenes.Scene(0, toys)


# -- the files -------------------------------------------------------------------------------------------------------


def test_rows_are_those_that_results_were_recorded_with():
    for line in (SHIPPED / "rows.sha256").read_text().splitlines():
        recorded, place = line.split()
        assert digest(scenes.rows(*place.split("/"))) == recorded, place


@pytest.mark.full
def test_rows_and_regions_are_made_again(tmp_path):
    """The regions nearly, on another processor."""
    subprocess.run([sys.executable, SHIPPED / "make.py", tmp_path], check=True)
    from pyarrow.parquet import read_table

    for file in SHIPPED.rglob("*.parquet"):
        made, shipped = (
            read_table(folder / file.relative_to(SHIPPED))
            for folder in (tmp_path, SHIPPED)
        )
        if file.stem != "regions":
            assert made.equals(shipped), file
            continue
        for name in ("objects", "attributes"):
            a, b = (np.concatenate(each[name].to_pylist()) for each in (made, shipped))
            assert (a == b).mean() > 0.95


# -- the pictures ----------------------------------------------------------------------------------------------------


def test_a_toy_is_drawn_where_its_record_says_and_in_its_colour(silent, monkeypatch):
    toy = Toy("ball", "blue", "big", 5, shelf=0, place=3)

    def blue():
        picture = scenes.picture(scene_of(toy)).astype(float)
        return np.abs(picture - np.array(RGB["blue"])).sum(2) < 12

    y, x = blue().nonzero()
    assert len(y) > 60 and x.min() >= 3 * CELL_W and y.max() < CELL_H
    (x1, y1, x2, y2), *_ = scenes.boxes(scene_of(toy))
    assert x1 > 0.7 and y2 < 0.35, "x counts from the left, y from the top"
    assert x1 * SIDE <= x.min() and x.max() < x2 * SIDE
    assert y1 * SIDE <= y.min() and y.max() < y2 * SIDE
    (a1, _, a2, _), *_ = scenes.boxes(scene_of(replace(toy, size="small")))
    assert x2 - x1 > a2 - a1, "a small toy has a small box"
    monkeypatch.setattr(draw, "VEILED", 1.0)
    assert blue().sum() < 10, "behind a glare"


def test_boxes_are_corners_inside_their_place_and_never_overlap(seen):
    for i in SOME:
        scene = scenes.scene(i)
        drawn = scenes.boxes(scene)
        assert seen.boxes[i, : len(drawn)].equal(torch.from_numpy(drawn))
        for toy, (x1, y1, x2, y2) in zip(scene.toys, drawn, strict=True):
            assert toy.place / 4 <= x1 < x2 <= (toy.place + 1) / 4
            assert toy.shelf / 3 - 1e-6 <= y1 < y2 <= (toy.shelf + 1) / 3 + 1e-6
    shared = overlaps(seen.boxes) * (1 - torch.eye(seen.boxes.shape[1]))
    assert shared.max() == 0


def test_handwriting_is_not_shared_between_training_and_test(monkeypatch):
    for number in range(2, 10):
        train, test = (
            {image.tobytes() for image in digits(side)[number]} for side in (True, False)
        )
        assert len(train) > 100 and len(test) > 20 and not train & test
    sides = []
    plain = digits
    monkeypatch.setattr(draw, "digits", lambda train: sides.append(train) or plain(train))
    for number in (0, 4000):
        scenes.picture(scenes.scene(number))
        assert set(sides) == {number < 4000}
        sides.clear()


def test_the_tag_shows_the_price(silent):
    for price in range(2, 10):
        toy = Toy("ball", "blue", "big", price, 0, 0)
        picture = scenes.picture(scene_of(toy))
        ink = (
            250 - picture[CELL_H - 9 : CELL_H - 1, :, 0].astype(float)
        ) / 205  # [8, 96]
        tags = [ink[:, x : x + 8] for x in range(CELL_W - 8)]
        near = {
            n: min(
                np.abs(tag - image).mean() for tag in tags for image in digits(True)[n]
            )
            for n in range(2, 10)
        }
        assert min(near, key=near.get) == price


# -- the detector ----------------------------------------------------------------------------------------------------


def test_the_detector_errs_on_about_one_crop_in_ten_and_knows_when(seen):
    toys = [toy for i in range(5_000) for toy in scenes.scene(i).toys]
    for name, field, names in (
        ("objects", "good", GOODS),
        ("attributes", "colour", COLOURS),
    ):
        here = seen.region_mask
        truth = torch.tensor([names.index(getattr(toy, field)) for toy in toys])
        right = getattr(seen, name)[here] == truth
        sure = getattr(seen, f"{name[:-1]}_confidence")[here]
        assert 0.85 <= right.float().mean() <= 0.96
        assert sure[right].mean() > sure[~right].mean() + 0.2
        assert abs(sure.mean() - right.float().mean()) < 0.06


# -- what is said is true --------------------------------------------------------------------------------------------


def true_of(facts, scene):
    """Whether all facts hold of a scene, toy by toy: the long way round to `scenes.truth`."""
    return all(
        sum(
            all(getattr(toy.stock(), field) == value for field, value in fact.items() if value and field != "number")
            for toy in scene.toys
        ) >= fact["number"]
        for fact in facts
    )  # fmt: skip


def test_every_caption_is_true_of_its_picture():
    for split in scenes.SPLITS:
        for row in scenes.rows("captions", split):
            assert true_of(row["facts"], scenes.scene(row["image_id"])), row


def test_truth_of_batches_is_that_of_one_by_one():
    rows = scenes.rows("captions", "test")[:60]
    toy = scenes.scene(rows[0]["image_id"]).toys[0]
    vague = Stock(1, toy.good, SHELVES[toy.shelf])
    for fact in (vague, replace(vague, number=7), replace(vague, price=toy.price)):
        rows.append(rows[0] | {"facts": [asdict(fact)]})
    pictures = [row["image_id"] for row in rows[::2]]
    table = scenes.truth(rows)(range(len(rows)), torch.tensor(pictures))
    one_by_one = [
        [true_of(row["facts"], scenes.scene(i)) for i in pictures] for row in rows
    ]
    assert table.tolist() == one_by_one
    assert table[60].sum() > 1 and not table[61].any() and table[62, 0]
    for number in (-1, 5000):
        with pytest.raises(
            ValueError, match=f"no scene {number}: they are numbered from 0 to 4999"
        ):
            scenes.truth(rows)([0], torch.tensor([0, number]))
    kind = {"facts": [dict(number=1, good="musical toy", shelf=SHELVES[0])]}
    with pytest.raises(ValueError):
        scenes.truth([kind])


def test_no_mismatched_caption_is_true_of_the_picture_it_is_put_to(seen, tokenizer):
    rows = [row for row in scenes.rows("captions", "test") if row["image_id"] in SOME]
    vague = [
        {"text": "There is a drum.", "image_id": row["image_id"], "facts": [dict(number=1, good=toy.good, shelf=shelf)]}
        for row in rows for toy in scenes.scene(row["image_id"]).toys[:1] for shelf in [SHELVES[toy.shelf]]
    ]  # fmt: skip
    texts = Regions(vague, tokenizer, seen, truth=scenes.truth(vague))
    batch = texts.batch(range(len(vague)))
    assert batch["true_of"].diagonal().all()
    also = batch["true_of"] & (batch["image_id"][:, None] != batch["image_id"])
    assert also.any(), "there is something to avoid"
    # So that a swapped text tells whose it was.
    batch["input_ids"] = torch.arange(len(vague))[:, None]
    swapped = mismatched(batch, 1.0, generator=torch.Generator().manual_seed(0))
    for row, source in enumerate(swapped["input_ids"].flatten().tolist()):
        if not swapped["matched"][row]:
            scene = scenes.scene(vague[row]["image_id"])
            assert not true_of(vague[source]["facts"], scene)


# -- splits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", scenes.TASKS)
def test_a_picture_belongs_to_one_split_in_every_task(task):
    for split in scenes.SPLITS:
        for row in scenes.rows(task, split):
            numbers = [row[name] for name in ("image_id", "left", "right") if name in row]
            assert numbers and all(split_of(number) == split for number in numbers)


# -- ten customers ---------------------------------------------------------------------------------------------------


def test_each_question_is_asked_of_two_pictures_with_other_answers():
    rows = scenes.rows("vqa", "train")
    for row in rows:
        other = rows[row["complement"]]
        assert other["complement"] == row["question_id"]
        assert other["question"] == row["question"]
        assert other["image_id"] != row["image_id"]
        assert other["true_answer"] != row["true_answer"]


MOST = dict(exist=0.58, shelf=0.45, colour=0.28, right=0.25, price=0.26, count=0.55)


@pytest.mark.parametrize("kind", MOST)
def test_the_form_of_a_question_does_not_give_its_answer_away(kind):
    train, test = (
        [r for r in scenes.rows("vqa", s) if r["question_type"] == kind]
        for s in ("train", "test")
    )
    predicted = ck.tasks.question_only(
        [row["question"] for row in train],
        [row["answer"] for row in train],
        [row["question"] for row in test],
    )
    assert (
        ck.tasks.soft_accuracy(predicted, [row["answers"] for row in test]) < MOST[kind]
    )


# -- programs --------------------------------------------------------------------------------------------------------


@pytest.fixture
def programs(monkeypatch):
    """What the makers know of programs."""
    for folder in (SHIPPED, SHIPPED.with_name("toyshop")):
        monkeypatch.syspath_prepend(folder)
    import compose

    return compose


def test_programs_give_the_answers_of_their_rows_and_these_are_valid_and_plausible(
    programs,
):
    for row in scenes.rows("gqa", "train"):
        scene = scenes.scene(row["image_id"])
        assert programs.run(programs.program_of(row), scene) == row["answer"]
        assert row["answer"] in row["plausible"]
        assert set(row["plausible"]) <= set(row["valid"])


def test_entailed_questions_are_of_the_same_picture_and_have_the_answers_that_follow(
    programs,
):
    rows = scenes.rows("gqa", "train")
    assert [row["question_id"] for row in rows] == list(range(len(rows)))
    listed = 0
    for row in rows:
        follows = programs.entailed(programs.program_of(row), row["answer"])
        for number in row["entailed"]:
            other = rows[number]
            assert other["image_id"] == row["image_id"] and number != row["question_id"]
            assert follows[programs.program_of(other)] == other["answer"]
            listed += 1
    assert listed > 5000


def test_answers_of_a_group_are_balanced():
    rows = scenes.rows("gqa", "train")
    for name in {row["group"] for row in rows} - {"compare"}:
        counts = Counter(row["answer"] for row in rows if row["group"] == name)
        valid = next(row["valid"] for row in rows if row["group"] == name)
        assert max(counts.values()) <= 1.35 * sum(counts.values()) / len(valid), (
            name,
            counts,
        )


# -- statements on two pictures --------------------------------------------------------------------------------------


def test_each_statement_has_four_pairs_two_true_and_two_false(programs):
    import statements

    rows = scenes.rows("nlvr2", "test")
    for start in range(0, len(rows), 4):
        four = rows[start : start + 4]
        assert len({row["sentence"] for row in four}) == 1
        assert len({row[side] for row in four for side in ("left", "right")}) == 8
        assert sum(row["label"] for row in four) == 2
        for row in four:
            statement = statements.statement_of(row)
            pair = scenes.scene(row["left"]), scenes.scene(row["right"])
            assert statements.is_true(statement, *pair) == bool(row["label"])
            assert statements.in_words(statement) == row["sentence"]


# -- the door --------------------------------------------------------------------------------------------------------


def test_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no task of scenes 'vqa2'; did you mean 'vqa'?"):
        ck.data.load("scenes/vqa2")
    with pytest.raises(
        ValueError, match="no split of scenes 'dev'; there are train, validation"
    ):
        scenes.rows("vqa", "dev")
