"""The few-label comparison at its smallest: shared draws, rates that were chosen, a second call that runs nothing."""

import csv
import sys
from dataclasses import replace

import pytest
from conftest import benchmark_script

SIZES = {"draws": 2, "tune-draws": 1, "sizes": 20, "test": 40, "start-steps": 2}
METHODS = ["FT", "frozen probe", "TAPT → FT"]
ONE = ("--methods", "TAPT → FT", "--starts", "random")
NAMES = [f"few_labels{of}" for of in ("", "_rates", "_text", "_words", "_starts")]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_all_methods_share_draws_and_choose_a_rate(monkeypatch, tmp_path, smaller):
    monkeypatch.delenv("CONTRAST_KIT_REAL_DATA", raising=False)
    bench, out = benchmark_script("few_labels"), tmp_path / "out"
    names = bench["main"].__globals__
    short = dict(RATES=(5e-4, 1e-3, 2e-3), MORE=60, READ=160, SENTENCES=600)
    protocol, quick = names["protocol"], dict(epochs={20: 2}, post_epochs={20: 2})
    short["protocol"] = lambda *given: replace(protocol(*given), **quick)
    for name, value in short.items():
        monkeypatch.setitem(names, name, value)
    sizes = [part for name, size in SIZES.items() for part in (f"--{name}", str(size))]
    folders = ["--out", str(out), "--work", str(tmp_path / "work")]

    def run(*options):
        monkeypatch.setattr(sys, "argv", ["few_labels.py", *sizes, *folders, *options])
        bench["main"]()

    def read(name):
        return list(csv.DictReader((out / f"{name}.csv").read_text().splitlines()))

    run("--methods", *METHODS)
    tables = {name: (out / f"{name}.csv").read_text() for name in NAMES}
    rows, rates, words = map(read, ("few_labels", "few_labels_rates", "few_labels_words"))
    # Counting words; two starts, three methods, two draws.
    assert len(rows) == 2 + 2 * 3 * 2
    assert {row["method"] for row in rows if row["from"] == "no encoder"} == {
        "counting words"
    }
    drawn = {(row["draw"], row["split"]) for row in rows}
    assert len(drawn) == 2  # so differences are taken in pairs
    texts = ["60 more", "20, as much reading"]
    further = [f"{METHODS[-1]}, {text}" for text in texts]
    assert [row["method"] for row in rates] == 2 * METHODS + further
    longer = read("few_labels_text")
    assert [row["text"] for row in longer] == [text for text in texts for _ in range(2)]
    assert {(row["draw"], row["split"]) for row in longer} == drawn
    new, other = read("few_labels_starts")
    assert (new["start"], other["start"]) == ("random", "MLM, other shop")
    assert float(other["loss"]) != float(new["loss"]) > float(new["loss_of_frequencies"])
    assert [row["method"] for row in words] == 2 * ["as it was", "TAPT → FT"]
    for before, after in zip(words[::2], words[1::2], strict=True):
        assert before["loss"] != after["loss"]
        assert before["loss_of_frequencies"] == after["loss_of_frequencies"]
    run("--first-draw", "5", "--methods", "frozen probe", "--starts", "random")
    again = {(row["draw"], row["split"]) for row in read("few_labels_again")}
    assert {draw for draw, _ in again} == {"5", "6"}
    assert not {split for _, split in again} & {split for _, split in drawn}
    # Nothing is run a second time; and the fine-tuning rate of one method alone is the recorded one.
    monkeypatch.setattr("contrast_kit.tasks.runs._run_one", None)
    for asked in (("--methods", *METHODS), ONE):
        run(*asked)
        for name, text in tables.items():
            now = (out / f"{name}.csv").read_text()
            assert sorted(now.splitlines()) == sorted(text.splitlines())


def test_pairs_of_sentences_take_over_rates_that_others_chose(tmp_path):
    """MRPC's runs take minutes: FT alone chooses a rate there, CE + SCL takes it, and post-training SST-2's."""
    rows = [
        "task,from,method,n,lr,post_lr",
        "sst2,MiniLM,TAPT → FT,100,0.0003,0.00003",
        "mrpc,MiniLM,FT,1000,0.0001,",
    ]
    (tmp_path / "few_labels_rates.csv").write_text("\n".join(rows))
    bench = benchmark_script("few_labels")
    chosen = bench["recorded_rates"](tmp_path, "mrpc", "MiniLM", 1_000)
    assert chosen == {"FT": {"n": 1_000, "lr": 1e-4}}
    names = ("FT", "frozen probe", "CE + SCL", "TAPT → FT")
    taken = {
        name: bench["taken_over"](tmp_path, "mrpc", "MiniLM", name, chosen)
        for name in names
    }
    assert taken["CE + SCL"] == chosen["FT"] and taken["TAPT → FT"] == {
        "n": 1_000,
        "lr": 1e-4,
        "post_lr": 3e-5,
    }
    assert taken["FT"] is taken["frozen probe"] is None
