"""What the benchmark of words and pictures makes of captions: false ones by one word, and toys that are told of."""

import json
import random
import re
import runpy
import shutil
import sys
from argparse import Namespace
from pathlib import Path

import pandas as pd
import pytest
import torch
from conftest import benchmark_script

import contrast_kit as ck
from contrast_kit.data import scenes

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs a checkout")


@pytest.fixture(scope="module")
def bench():
    return benchmark_script("words_and_pictures")


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
        pairs = [
            (a, b) for a, b in zip(words(row["text"]), words(text), strict=True) if a != b
        ]
        assert len(pairs) == 1, (row["text"], text)
        before, after = pairs[0][0].strip("."), pairs[0][1].strip(".")
        assert any(
            {before, after} <= kind
            for kind in (bench["KINDS"]["colour"], bench["KINDS"]["shelf"])
        )
        assert not re.search(r"\ba (orange|elephant)|\ban (?![aeiou])", text), text
    assert made > 150


def test_the_toy_that_a_caption_tells_of_is_in_it(bench, rows):
    for row in rows:
        toy = scenes.scene(row["image_id"]).toys[bench["told"](row)]
        fact = row["facts"][0]
        assert toy.good == fact["good"] and fact["colour"] in ("", toy.colour)


def test_another_picture_is_another_and_none_shows_nothing(bench):
    batch = {
        "regions": torch.randn(6, 3, 4),
        "boxes": torch.rand(6, 3, 4),
        "region_mask": torch.ones(6, 3),
    }
    other = bench["other_pictures"](batch)
    assert torch.equal(other["regions"], batch["regions"][[3, 4, 5, 0, 1, 2]])
    none = bench["no_picture"](batch)
    assert (
        none["regions"].shape == (6, 1, 4)
        and none["region_hidden"].all()
        and (none["regions"] == 0).all()
    )


FEW = {"vqa": 40, "gqa": 40, "nlvr2": 160}


@pytest.fixture(scope="module")
def world(bench, rows):
    """The world of the benchmark with thirty test captions, and few rows of the other tasks."""
    settings = dict(
        passes=12, masked=0.3, lr=1e-3, scale="tiny", dropout=0.1, split="test"
    )
    read = scenes.rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            scenes, "rows", lambda task, split: read(task, split)[: FEW.get(task)]
        )
        world = bench["World"](Namespace(**settings))
    world.rows["captions", "test"] = rows[:30]
    world.rows["captions", "train"] = world.rows["captions", "train"][:60]
    return world


@pytest.fixture
def kill(bench, monkeypatch):
    """Batches of four, a checkpoint after every second step; `kill["CAPTPairs"] = 5` ends CAPT's run in step 5."""
    fit, kill = bench["ck"].fit, {}
    monkeypatch.setitem(bench["pretrained"].__globals__, "BATCH", 4)

    def brief(objective, data, callback, **settings):
        def note(run):
            callback(run)
            if run.steps == kill.get(type(objective).__name__):
                raise MemoryError("killed")

        small = {"batch_size": 4, "save_every": 2, "log_every": 1}
        return fit(objective, data, callback=note, **(settings | small))

    monkeypatch.setattr(bench["ck"], "fit", brief)
    return kill


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "kind"),
    [("LXMERT, equal steps", "LXMERT"), ("CAPT, queue, after LXMERT", "CAPTPairs")],
)
def test_a_killed_pre_training_goes_on_to_the_same_row(
    name, kind, bench, world, kill, tmp_path
):
    """Killed in the fifth step of six, after the checkpoint of the fourth."""

    def row(place):
        world.args.work = tmp_path / place
        encoder, cost = bench["pretrained"](world, name, seed=3)
        return cost, bench["measure"](world, encoder)

    (cost, unbroken), kill[kind] = row("unbroken"), 5
    with pytest.raises(MemoryError, match="^killed$"):
        row("broken")
    spent = {
        clock: float(clock.read_text())
        for clock in (tmp_path / "broken").glob("*/seconds")
    }
    kill.clear()
    again, found = row("broken")
    assert found == unbroken and again["steps"] == cost["steps"] == 6
    assert spent and all(
        float(clock.read_text()) >= seconds for clock, seconds in spent.items()
    )
    assert row("broken") == (again, found)  # a finished run is read, not trained again
    assert bench["measure"](world, world.encoder(3)) != found


def an_easy_vqa(folder, pictures):
    """A folder as easy-VQA's: squares of a colour on white, three questions each."""
    from PIL import Image

    for split, n in pictures.items():
        (folder / split / "images").mkdir(parents=True)
        asked = []
        for number in range(n):
            colour = ("red", "blue", "green")[number % 3]
            image = Image.new("RGB", (32, 32), "white")
            image.paste(colour, (4, 4, 20, 20))
            image.save(folder / split / "images" / f"{number}.png")
            asked += [
                ["what color is the shape?", colour, number],
                ["what shape is it?", "rectangle", number],
            ]
            asked += [
                ["is there a red shape?", "yes" if colour == "red" else "no", number]
            ]
        (folder / split / "questions.json").write_text(json.dumps(asked))


def test_easy_vqa_from_pixels_to_a_table(monkeypatch, tmp_path):
    folder, out, made = tmp_path / "vl" / "easy_vqa", tmp_path / "out", {}
    an_easy_vqa(folder, {"train": 40, "test": 9})
    monkeypatch.setenv("CONTRAST_KIT_REAL_DATA", str(tmp_path))
    monkeypatch.syspath_prepend(str(FOLDER))

    def run(*options):
        monkeypatch.setattr(
            sys,
            "argv",
            ["easy_vqa.py", "--out", str(out), "--steps", "2", "--seeds", "0", *options],
        )
        made.update(runpy.run_path(str(FOLDER / "easy_vqa.py"), run_name="__main__"))
        return ck.data.recorded("easy_vqa", out)

    table = run()
    world = made["World"](
        folder, "test"
    )  # pictures of both splits are numbered from 0 in the files
    assert len(world.pictures) == 49 and min(row["image_id"] for row in world.test) == 40
    assert table["given"].tolist() == [
        "same question",
        "bag of words",
        "picture alone",
        "both",
        "question alone",
    ]
    assert (
        table.attrs["settings"]["train"] == 120 and table.attrs["settings"]["test"] == 27
    )
    by = table.set_index("given")
    whole = by[["yes/no", "shape", "colour"]].mean(axis=1)  # nine questions of each type
    assert whole.to_list() == pytest.approx(by["accuracy"].to_list(), abs=1e-4)
    assert by.loc["same question", "accuracy"] == pytest.approx(
        (6 + 9 + 3) / 27, abs=1e-4
    )
    assert by.loc["question alone", "accuracy"] == by.loc["question alone", "shuffled"]
    assert len(run()) == 5  # what is there is not trained again
    out = tmp_path / "chosen"
    shutil.rmtree(folder / "test")
    settings = run("--split", "validation").attrs["settings"]
    assert settings["train"] == 34 * 3 and settings["test"] == 6 * 3


def test_recorded_verdicts_are_what_the_recorded_tables_say():
    verdicts, folder = (
        benchmark_script("pictures_verdicts"),
        FOLDER.parent / "data" / "recorded",
    )
    numbers = verdicts["numbers"](folder)
    pd.testing.assert_frame_equal(
        numbers.reset_index(), pd.read_csv(folder / "pictures_numbers.csv"), atol=1e-9
    )
    found = verdicts["verdicts"](numbers).round(4)
    stored = pd.read_csv(folder / "pictures_verdicts.csv")
    pd.testing.assert_frame_equal(found.reset_index(drop=True), stored, atol=1e-9)
    assert "not clear of chance" in set(stored["verdict"])


@pytest.mark.parametrize(
    ("numbers", "least", "says"),
    [
        ((0.3, 0.26, 0.34), 0.25, "reached"),
        ((0.3, 0.2, 0.4), 0.25, "by the mean"),
        ((0.2, 0.1, 0.3), 0.25, "not reached"),
        ((0.3, None, None), 0.25, "reached"),  # one seed: the mean is all there is
        ((0.01, -0.01, 0.03), None, "reached"),
        ((-0.04, -0.08, 0.0), None, "by the mean"),
        ((0.06, 0.05, 0.07), None, "not reached"),
    ],
)
def test_a_threshold_is_reached_by_the_whole_interval_or_by_the_mean(
    numbers, least, says
):
    assert benchmark_script("pictures_verdicts")["verdict"](*numbers, least) == says
