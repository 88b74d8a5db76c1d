"""The encoders that come with the kit, made and examined at their smallest."""

import csv
import sys
from pathlib import Path

import pytest
from conftest import REAL, benchmark_script, make_encoder, real_data

import contrast_kit as ck
from contrast_kit.data import toyshop


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_each_method_is_made_once_and_cmlm_begins_with_masked_lm(monkeypatch, tmp_path, capsys):
    bench = benchmark_script("books")
    texts = toyshop.corpus(340)
    monkeypatch.setitem(bench["main"].__globals__, "sentences", lambda books: (texts[:300], texts[300:]))
    for method in ("mlm", "cmlm", "electra", "coco-lm"):
        command = ["books.py", method, "--books", "none", "--folder", str(tmp_path), "--steps", "2"]
        monkeypatch.setattr(sys, "argv", [*command, "--keep", str(tmp_path / "kept" / method)])
        bench["main"]()
        assert ("loss_of_frequencies" in capsys.readouterr().out) == (method != "electra")
        assert ck.Encoder.from_pretrained(tmp_path / "kept" / method).width == 256
    assert (tmp_path / "half-mlm" / "encoder").exists()
    made = (tmp_path / "cmlm" / "encoder" / "model.safetensors").stat().st_mtime_ns
    bench["main"]()
    assert (tmp_path / "cmlm" / "encoder" / "model.safetensors").stat().st_mtime_ns == made


@pytest.mark.slow
@real_data
@pytest.mark.filterwarnings("ignore")
def test_the_exam_asks_each_encoder_and_new_weights_and_goes_on(monkeypatch, tmp_path, tokenizer):
    bench = benchmark_script("books_exam")
    make_encoder(tokenizer).save_pretrained(tmp_path / "encoder")
    monkeypatch.setitem(bench["main"].__globals__, "TASKS", ("mrpc", "stsb"))
    monkeypatch.setitem(bench["main"].__globals__, "CHOSEN_ON", 20)
    sizes = ["--rows", "20", "--epochs", "1", "--limit", "20", "--pairs", "1"]
    command = ["books_exam.py", str(tmp_path / "encoder"), "--data", REAL, "--out", str(tmp_path), *sizes]
    monkeypatch.setattr(sys, "argv", [*command, "--seeds", "0"])
    bench["main"]()
    rows = read(tmp_path)
    tuned = [row for row in rows if row["part"] == "fine-tuned"]
    assert [Path(row["encoder"]).name for row in tuned] == ["encoder"] * 2 + ["new weights"] * 2
    assert all(float(row["lr"]) in bench["RATES"] for row in tuned)
    assert {row["part"] for row in rows} == {"glue", "sts", "blimp", "geometry", "fine-tuned"}
    assert {row["encoder"] for row in rows} >= {str(tmp_path / "encoder"), "new weights", "TF-IDF", "chance"}
    monkeypatch.setattr(sys, "argv", [*command, "--seeds", "0", "1"])
    bench["main"]()
    again = read(tmp_path)
    assert again[: len(rows)] == rows and [row["seed"] for row in again[len(rows) :]] == ["1"] * 4


def read(folder):
    with (folder / "books_exam.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_pre_training_beside_the_trainer_learns_as_much_of_the_same_texts(monkeypatch, tmp_path):
    from datasets import Dataset

    rows = Dataset.from_dict({"text": toyshop.corpus(1_600)})
    monkeypatch.setattr(ck.data, "load", lambda name: {"train": rows})
    bench = benchmark_script("pretraining")
    monkeypatch.setattr(sys, "argv", ["pretraining.py", "--out", str(tmp_path), "--steps", "4", "--words", "300"])
    for _ in range(2):  # the second time nothing is left to do
        bench["main"]()
        with (tmp_path / "pretraining.csv").open() as file:
            ours, theirs = csv.DictReader(file)
    assert ours["tokens"] == theirs["tokens"]
    before = 5.7  # log of 300 words
    assert float(ours["loss"]) == pytest.approx(float(theirs["loss"]), abs=0.2)
    assert max(float(ours["loss"]), float(theirs["loss"])) < before
