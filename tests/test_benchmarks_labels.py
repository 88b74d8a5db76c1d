"""Accuracy by labels, and a contrast on noisy rows, at their smallest: shared draws; a second call trains nothing."""

import csv
import json
import sys
from dataclasses import replace

import pytest
from conftest import benchmark_script

import contrast_kit as ck

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]


def script(monkeypatch, folder, name, *options, **changed):
    """A script of benchmarks/ as a function, and a reader of its tables."""
    main = benchmark_script(name)["main"]
    for constant, value in changed.items():
        monkeypatch.setitem(main.__globals__, constant, value)
    argv = [name, "--out", str(folder), "--work", str(folder), *options]
    monkeypatch.setattr(sys, "argv", argv)
    return main, lambda table: list(csv.DictReader((folder / f"{table}.csv").open()))


def test_labels_are_the_same_for_all_arms(monkeypatch, tmp_path):
    rows = [{"text": f"It returns {n} rows.", "label": n % 8} for n in range(96)]
    parts = json.dumps({"train": rows, "validation": rows[:9], "test": rows[:9]})
    (tmp_path / "rows_docstrings.json").write_text(parts)
    arms = benchmark_script("labels")["ARMS"]
    few = {arm: how and (how[0], how[1] // 300) for arm, how in arms.items()}
    small = dict(SIZES=(24,), RATES=(1e-3,), SEARCHED=(102,), POSTS=2)
    small["EPOCHS"] = {24: 1, 96: 1}
    small |= {"ARMS": few}
    main, read = script(
        monkeypatch, tmp_path, "labels", "--draws", "0", "1", "--amount=80", **small
    )
    main()
    found = {(row["arm"], row["draw"]): row["post"] for row in read("labels_80")}
    assert len(found) == 8 + 7  # a draw has no row of the untrained encoder
    assert found["TAPT", "1"] == "1" and not found["plain", "1"]
    learned = {
        (row["arm"], row["post"]): row["loss"] for row in read("labels_80_learned")
    }
    assert len(set(learned.values())) == len(learned) == 2 + 4 * 2
    monkeypatch.setattr(ck, "fit", None)
    main()
    assert len(read("labels_80")) == len(found)


def test_both_losses_have_the_noisy_rows_of_a_draw(monkeypatch, tmp_path):
    monkeypatch.delenv("CONTRAST_KIT_REAL_DATA", raising=False)
    names = benchmark_script("supervised")
    plan = replace(names["SMALL"], draws=1, epochs={100: 1}, most_test={"opinion": 20})
    small = dict(FLIPS=(0.0, 0.4), TEMPERATURES=(None, 0.9), TINY_RATES=(1e-3,))
    small["SEARCHED"] = dict(first_draw=30, draws=1)
    start = names["start"]
    small["start"] = lambda texts, words, steps, folder: start(
        texts[:200], words[:900], 2, folder
    )
    main, read = script(monkeypatch, tmp_path, "supervised", SMALL=plan, **small)
    main()
    for kind, column in ("flips", "flipped"), ("noise", "temperature"):
        rows = read(f"supervised_{kind}")
        drawn = {(row[column], row["draw"], row["split"]) for row in rows}
        assert len(rows) == 2 * len(drawn) == 4
    data = names["sentences"]()["opinion"]
    pairs = list(zip(data.train, names["flipped"](data, 0.3).train, strict=True))
    other = sum(a["label"] != b["label"] for a, b in pairs) / len(pairs)
    assert other == pytest.approx(0.3, abs=0.04)
    assert all(a | {"label": 0} == b | {"label": 0} for a, b in pairs)


def test_the_second_step_of_a_transfer_begins_with_the_first(
    monkeypatch, opinions, start
):
    first_step = benchmark_script("supervised")["after_films"]
    monkeypatch.setitem(first_step.__globals__, "SOURCE_ROWS", 16)
    first, right = first_step(start, opinions, "CE + SCL", 0)
    still = dict(task="sst2", lr=1e-9, steps=1)
    second = ck.tasks.fine_tune(first, opinions.train.select(range(16)), **still)
    assert second.evaluate(opinions.validation)["accuracy"] == pytest.approx(right)
