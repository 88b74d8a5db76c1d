"""The few-label comparison at its smallest: shared draws, rates that were chosen, a second call that runs nothing."""

import csv
import sys
from dataclasses import replace

import pytest
from conftest import benchmark_script

SIZES = {"draws": 2, "tune-draws": 1, "sizes": 20, "test": 40, "start-steps": 2}
METHODS = ["FT", "frozen probe", "TAPT → FT"]
NAMES = [f"few_labels{of}" for of in ("", "_rates", "_text", "_words", "_starts")]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_all_methods_share_draws_and_choose_a_rate(monkeypatch, tmp_path, smaller):
    monkeypatch.delenv("CONTRAST_KIT_REAL_DATA", raising=False)
    bench = benchmark_script("few_labels")
    names = bench["main"].__globals__
    for name, value in {
        "RATES": (5e-4, 1e-3, 2e-3),
        "MORE": 60,
        "READ": 160,
        "SENTENCES": 600,
    }.items():
        monkeypatch.setitem(names, name, value)
    protocol, quick = names["protocol"], dict(epochs={20: 2}, post_epochs={20: 2})
    monkeypatch.setitem(
        names, "protocol", lambda *given: replace(protocol(*given), **quick)
    )
    sizes = [part for name, size in SIZES.items() for part in (f"--{name}", str(size))]
    folders = ["--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    monkeypatch.setattr(
        sys, "argv", ["few_labels.py", *sizes, *folders, "--methods", *METHODS]
    )
    bench["main"]()
    tables = {name: (tmp_path / "out" / f"{name}.csv").read_text() for name in NAMES}
    rows = list(csv.DictReader(tables["few_labels"].splitlines()))
    assert (
        len(rows) == 2 + 2 * 3 * 2
    )  # counting words; two starts, three methods, two draws
    assert {row["method"] for row in rows if row["from"] == "no encoder"} == {
        "counting words"
    }
    for draw in "01":
        assert (
            len({row["split"] for row in rows if row["draw"] == draw}) == 1
        )  # so differences are taken in pairs
    rates = list(csv.DictReader(tables["few_labels_rates"].splitlines()))
    texts = ["60 more", "20, as much reading"]
    assert [row["method"] for row in rates] == 2 * METHODS + [
        f"{METHODS[-1]}, {text}" for text in texts
    ]
    read = list(csv.DictReader(tables["few_labels_text"].splitlines()))
    assert [row["text"] for row in read] == [text for text in texts for _ in range(2)]
    assert {(row["draw"], row["split"]) for row in read} == {
        (row["draw"], row["split"]) for row in rows
    }
    starts = list(csv.DictReader(tables["few_labels_starts"].splitlines()))
    assert [row["start"] for row in starts] == ["random", "MLM, other shop"]
    assert (
        float(starts[1]["loss"])
        != float(starts[0]["loss"])
        > float(starts[0]["loss_of_frequencies"])
    )
    words = list(csv.DictReader(tables["few_labels_words"].splitlines()))
    assert [row["method"] for row in words] == 2 * ["as it was", "TAPT → FT"]
    for before, after in zip(words[::2], words[1::2], strict=True):
        assert (
            before["loss"] != after["loss"]
            and before["loss_of_frequencies"] == after["loss_of_frequencies"]
        )
    for row in rates:
        assert (row["lr"] == "") == (row["method"] == "frozen probe")
        assert (row["post_lr"] != "") == ("TAPT" in row["method"])
    more = ["--first-draw", "5", "--methods", "frozen probe", "--starts", "random"]
    monkeypatch.setattr(sys, "argv", ["few_labels.py", *sizes, *folders, *more])
    bench["main"]()
    again = list(
        csv.DictReader(
            (tmp_path / "out" / "few_labels_again.csv").read_text().splitlines()
        )
    )
    assert {row["draw"] for row in again} == {"5", "6"}
    assert not {row["split"] for row in again} & {row["split"] for row in rows}
    monkeypatch.setattr(
        sys, "argv", ["few_labels.py", *sizes, *folders, "--methods", *METHODS]
    )
    monkeypatch.setattr(
        "contrast_kit.tasks.runs._run_one", None
    )  # nothing is run a second time
    bench["main"]()
    for name, text in tables.items():
        assert (tmp_path / "out" / f"{name}.csv").read_text() == text
    part = [
        "--methods",
        "TAPT → FT",
        "--starts",
        "random",
    ]  # its fine-tuning rate is the recorded one
    monkeypatch.setattr(sys, "argv", ["few_labels.py", *sizes, *folders, *part])
    bench["main"]()
    for name, text in tables.items():
        assert sorted(
            (tmp_path / "out" / f"{name}.csv").read_text().splitlines()
        ) == sorted(text.splitlines())
    for n, kept in {
        10: METHODS,
        20: METHODS,
        21: [],
    }.items():  # a rate holds for fewer labels too
        found = bench["recorded_rates"](tmp_path / "out", "opinion", "random", n)
        assert [*found] == kept and all(rates["n"] == 20 for rates in found.values())
    other = tables["few_labels_rates"].replace(
        "TAPT → FT,20,", "TAPT → FT,20,9", 1
    )  # a rate in the table is kept
    (tmp_path / "out" / "few_labels_rates.csv").write_text(other)
    with pytest.raises(
        ValueError, match="TAPT → FT on toyshop/opinion that was made with other settings"
    ):
        bench["main"]()


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
    assert bench["taken_over"](tmp_path, "sst2", "MiniLM", "CE + SCL", chosen) is None
