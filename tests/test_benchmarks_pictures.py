"""What the benchmark of words and pictures makes of captions: false ones by one word, and toys that are told of."""

import random
import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

from contrast_kit.data import scenes

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs a checkout")


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(FOLDER))
    try:
        return runpy.run_path(str(FOLDER / "words_and_pictures.py"))
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def rows():
    return scenes.rows("captions", "test")[:200]


def words(text):
    return re.sub(r"\b(a|an)\b", "a", text.lower()).replace(",", "").split()


def test_one_word_is_changed_to_a_false_one(bench, rows):
    draw, made = random.Random(0), 0
    for row in rows:
        text = bench["one_word_changed"](row, draw)
        if text is None:
            continue
        made += 1
        pairs = [(a, b) for a, b in zip(words(row["text"]), words(text), strict=True) if a != b]
        assert len(pairs) == 1, (row["text"], text)
        before, after = pairs[0][0].strip("."), pairs[0][1].strip(".")
        assert any({before, after} <= kind for kind in (bench["KINDS"]["colour"], bench["KINDS"]["shelf"]))
        assert not re.search(r"\ba (orange|elephant)|\ban (?![aeiou])", text), text
    assert made > 150


def test_the_toy_that_a_caption_tells_of_is_in_it(bench, rows):
    for row in rows:
        toy, fact = scenes.scene(row["image_id"]).toys[bench["told"](row)], scenes.facts_of(row)[0]
        assert toy.good == fact.good and fact.colour in ("", toy.colour)


def test_another_picture_is_another_and_none_shows_nothing(bench):
    batch = {"regions": torch.randn(6, 3, 4), "boxes": torch.rand(6, 3, 4), "region_mask": torch.ones(6, 3)}
    other = bench["other_pictures"](batch)
    assert torch.equal(other["regions"], batch["regions"][[3, 4, 5, 0, 1, 2]])
    none = bench["no_picture"](batch)
    assert none["regions"].shape == (6, 1, 4) and none["region_hidden"].all() and (none["regions"] == 0).all()
