"""Texts with regions: what a batch holds, what is refused, and the readers of real files."""

import base64
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from pairs import random_pictures

from contrast_kit.data import Pictures, Regions, answer_list, answer_scores, picture_files
from contrast_kit.data.pictures import NONE

REAL = os.environ.get("CONTRAST_KIT_REAL_DATA")
VL = Path(REAL or ".") / "vl"
real_data = pytest.mark.skipif(
    not (VL / "nlvr2").is_dir(), reason="CONTRAST_KIT_REAL_DATA has no folder vl"
)

LINES = ["a red ball", "two small drums", "a red ball", "the kite is on the top shelf"]


@pytest.fixture(scope="module")
def pictures():
    return random_pictures(6, regions=5, width=6).standardised()


@pytest.fixture
def rows():
    return [{"text": text, "image_id": at % 3} for at, text in enumerate(LINES)]


def one(**changes):
    """One picture of two regions, as tensors of `Pictures`."""
    table = {
        "ids": torch.tensor([4]),
        "regions": torch.ones(1, 2, 3),
        "boxes": torch.tensor([[[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]]),
        "region_mask": torch.ones(1, 2, dtype=torch.bool),
        "objects": torch.tensor([[0, 1]]),
        "attributes": torch.tensor([[0, NONE]]),
        "object_confidence": torch.ones(1, 2),
        "attribute_confidence": torch.ones(1, 2),
    }
    return Pictures(**(table | changes))


# -- a batch ---------------------------------------------------------------------------------------------------------


def test_each_row_has_its_own_picture_and_padding_behind_it(rows, tokenizer, pictures):
    texts = Regions(rows, tokenizer, pictures)
    batch = texts.batch([2, 0])
    assert batch["image_id"].tolist() == [2, 0]
    for at, image in enumerate((2, 0)):
        alone = pictures.only([image])
        n = int(alone.region_mask.sum())
        assert torch.equal(batch["regions"][at, :n], alone.regions[0, :n])
        assert batch["region_mask"][at].tolist() == [True] * n + [False] * (
            batch["regions"].shape[1] - n
        )
        assert (batch["regions"][at, n:] == 0).all() and (
            batch["objects"][at, n:] == NONE
        ).all()
    counts = pictures.region_mask.sum(1)
    assert texts.batch([1])["regions"].shape[1] == counts[1], (
        "padded to the most regions of the batch, no more"
    )


def test_the_same_words_on_two_pictures_are_two_pairs(rows, tokenizer, pictures):
    same = [{**row, "image_id": 0} for row in rows]
    assert Regions(rows, tokenizer, pictures).text_ids.tolist() == [0, 1, 2, 3]
    assert Regions(same, tokenizer, pictures).text_ids.tolist() == [0, 1, 0, 2]


def test_two_pictures_stand_under_left_and_right(tokenizer, pictures):
    rows = [{"sentence": "both show a ball", "left": 1, "right": 5, "label": 1}]
    batch = Regions(rows, tokenizer, pictures).batch([0])
    for side, image in (("left", 1), ("right", 5)):
        n = int(pictures.only([image]).region_mask.sum())
        assert torch.equal(
            batch[f"{side}/regions"][0], pictures.only([image]).regions[0, :n]
        )
        assert batch[f"{side}/image_id"].tolist() == [image]
    assert "regions" not in batch and batch["label"].tolist() == [1]


def test_answers_become_soft_labels(tokenizer, pictures):
    rows = [
        {
            "question": "what colour",
            "image_id": 0,
            "answers": ["red"] * 3 + ["pink"] * 6 + ["scarlet"],
        }
    ]
    texts = Regions(rows, tokenizer, pictures, answers=["red", "pink", "blue"])
    assert texts.batch([0])["answer_scores"].tolist() == [pytest.approx([0.9, 1.0, 0.0])]
    both = Regions(
        [rows[0] | {"answer": "blue"}],
        tokenizer,
        pictures,
        answers=["red", "pink", "blue"],
    )
    assert torch.equal(both.answer_scores, texts.answer_scores), (
        "ten people's before the most frequent of them"
    )
    single = Regions(
        [{"question": "what", "image_id": 0, "answer": "red"}],
        tokenizer,
        pictures,
        answers=["blue", "red"],
    )
    assert single.batch([0])["answer_scores"].tolist() == [[0, 1]]


def test_scores_of_votes_are_those_that_lxmert_trains_on():
    scores = answer_scores([["a"] * n + ["b"] * (10 - n) for n in range(6)], ["a"])
    assert scores.flatten().tolist() == pytest.approx([0, 0.3, 0.6, 0.9, 1, 1])
    assert answer_list([["a", "b"], ["a"], None, "c"], least=2) == ["a"]
    assert answer_list(["a", "b", "b"]) == ["b", "a"], "the most frequent first"


def test_truth_is_asked_for_the_rows_and_pictures_of_the_batch(rows, tokenizer, pictures):
    texts = Regions(
        rows,
        tokenizer,
        pictures,
        truth=lambda rows, images: torch.tensor(rows)[:, None] == images,
    )
    assert (
        texts.batch([2, 0, 1])["true_of"].tolist()
        == (torch.tensor([2, 0, 1])[:, None] == torch.tensor([2, 0, 1])).tolist()
    )


# -- standardised ----------------------------------------------------------------------------------------------------


def test_features_are_scaled_by_the_training_pictures_alone():
    raw = random_pictures(40, regions=5, width=6)
    raw = replace(
        raw,
        regions=torch.where(raw.region_mask[:, :, None], 9.8 * raw.regions + 7.4, 0.0),
    )
    scaled = raw.standardised(on=range(30))
    train = scaled.only(range(30))
    here = train.regions[train.region_mask]
    assert (
        here.mean(0).abs().max() < 1e-5
        and (here.std(0, correction=0) - 1).abs().max() < 1e-4
    )
    changed = replace(
        raw,
        regions=torch.where(raw.ids[:, None, None] < 30, raw.regions, raw.regions + 100),
    )
    again = changed.standardised(on=range(30))
    assert torch.equal(again.only(range(30)).regions, train.regions), (
        "a test picture shifts nobody's scale"
    )
    assert (scaled.regions[~scaled.region_mask] == 0).all(), (
        "padding stays zero and counts in no mean"
    )


def test_a_constant_feature_stays_finite():
    raw = random_pictures(5, width=3)
    still = replace(
        raw, regions=raw.regions.clone().index_fill_(2, torch.tensor([1]), 3.0)
    )
    assert torch.isfinite(still.standardised().regions).all()


# -- refused in one sentence -----------------------------------------------------------------------------------------

TWO = torch.tensor([[[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]])
REFUSED = {
    "boxes in pixels": (dict(boxes=TWO * 96), "divide pixels"),
    "width and height": (
        dict(boxes=torch.tensor([[[0.6, 0.6, 0.3, 0.3]] * 2])),
        "x1 < x2",
    ),
    "no region": (dict(region_mask=torch.zeros(1, 2, dtype=torch.bool)), "has a region"),
    "padding first": (
        dict(region_mask=torch.tensor([[False, True]])),
        "padding stands behind",
    ),
    "one number twice": (dict(ids=torch.tensor([4, 4])), "ids must be distinct"),
}


@pytest.mark.parametrize("changes, says", REFUSED.values(), ids=REFUSED)
def test_pictures_that_no_model_should_read_are_refused(changes, says):
    assert len(one()) == 1
    with pytest.raises(ValueError, match=says):
        one(**changes)


# -- LXMERT's table --------------------------------------------------------------------------------------------------


def line(name="COCO_val2014_000000000042", n=2, **changes):
    """One row of the table, as its authors write it: arrays in base64."""

    def packed(values, kind):
        return base64.b64encode(np.asarray(values, kind).tobytes()).decode()  # noqa: E731

    table = {
        "img_id": name, "img_h": "100", "img_w": "200",
        "objects_id": packed(range(n), np.int64), "objects_conf": packed([0.9] * n, np.float32),
        "attrs_id": packed(range(5, 5 + n), np.int64), "attrs_conf": packed([0.4] * n, np.float32), "num_boxes": str(n),
        "boxes": packed([[20, 50, 100, 100]] * n, np.float32),
        "features": packed(np.arange(n * 3).reshape(n, 3), np.float32),
    }  # fmt: skip
    return "\t".join((table | changes).values()) + "\n"


def test_the_region_table_is_read_with_boxes_as_shares(tmp_path):
    path = tmp_path / "regions.tsv"
    path.write_text(line() + line("COCO_val2014_000000000007", n=1))
    found = picture_files.region_table(path)
    assert found.ids.tolist() == [42, 7] and found.region_mask.tolist() == [
        [True, True],
        [True, False],
    ]
    assert found.boxes[0, 0].tolist() == pytest.approx([0.1, 0.5, 0.5, 1.0]), (
        "x by the width, y by the height"
    )
    assert found.regions[0].tolist() == [[0, 1, 2], [3, 4, 5]] and found.objects[
        1
    ].tolist() == [
        0,
        NONE,
    ]
    assert found.object_confidence[0, 0] == pytest.approx(0.9)
    assert found.attributes[0].tolist() == [5, 6] and found.attribute_confidence[
        0, 0
    ] == pytest.approx(0.4)
    assert len(picture_files.region_table(path, most=1)) == 1


def test_patches_are_the_pixels_of_their_boxes():
    pixels = np.random.default_rng(0).integers(0, 256, (2, 8, 12, 3)).astype(np.uint8)
    found = picture_files.patches(pixels, [5, 6], side=4)
    assert found.regions.shape == (2, 6, 48)
    for r, (x1, y1, x2, y2) in enumerate(
        (found.boxes[0] * torch.tensor([12, 8, 12, 8])).round().int().tolist()
    ):
        assert np.allclose(
            found.regions[1, r].numpy() * 255, pixels[1, y1:y2, x1:x2].ravel(), atol=1e-3
        )


# -- questions and statements ----------------------------------------------------------------------------------------


def test_labels_written_as_words_are_read_as_what_they_say(tmp_path):
    lines = [
        {"sentence": "a\u2028b", "label": label, "identifier": f"dev-1-{at}-0"}
        for at, label in enumerate(("true", "False", True, "false"))
    ]
    path = tmp_path / "dev.json"
    path.write_text(
        "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines)
    )
    rows = picture_files.nlvr2(path)
    assert [row["label"] for row in rows] == [1, 0, 1, 0]
    assert (rows[1]["left_name"], rows[1]["right_name"]) == (
        "dev-1-1-img0.png",
        "dev-1-1-img1.png",
    )


def test_vqa_is_read_plain_or_packed_and_by_the_numbers_of_questions(tmp_path):
    told = {
        "answers": [{"answer": "red", "answer_id": n} for n in range(10)],
        "multiple_choice_answer": "red",
    }
    told |= {"answer_type": "other", "question_type": "what", "question_id": 7}
    question = {"question": "What?", "image_id": 3, "question_id": 7}
    (tmp_path / "q.json").write_text(json.dumps({"questions": [question]}))
    (tmp_path / "a.gz").write_bytes(
        gzip.compress(json.dumps({"annotations": [told]}).encode())
    )
    (row,) = picture_files.vqa_v2(tmp_path / "q.json", tmp_path / "a.gz")
    assert (
        row["answers"] == ["red"] * 10
        and row["image_id"] == 3
        and row["answer_type"] == "other"
    )
    other = told | {"multiple_choice_answer": "pink", "question_id": 9}
    (tmp_path / "two.json").write_text(
        json.dumps({"annotations": [other, told | {"multiple_choice_answer": "blue"}]})
    )
    (row,) = picture_files.vqa_v2(tmp_path / "q.json", tmp_path / "two.json")
    assert row["answer"] == "blue", (
        "found by its number, not by its place; the most frequent, as the file has it"
    )
