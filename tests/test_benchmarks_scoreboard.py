"""The long scoreboard at its smallest: what it writes, that a stopped run goes on, and that nothing is tested on."""

import csv
import functools
import sys

import pytest
from conftest import benchmark_script

from contrast_kit.tasks import scoreboard

SIZES = dict(sentences=300, words=250, steps=10, batch=16, pairs=30, rows=60, seeds=0) | {
    "rate-steps": 4
}
THREE = "MLM", "CSSL (wordings)", "MLM, then wordings"
SMALL = [part for name, size in SIZES.items() for part in (f"--{name}", str(size))]


@pytest.fixture(scope="module")
def bench():
    return benchmark_script("scoreboard")


@pytest.fixture(scope="module")
def world(bench):
    """What all runs share, made once for those of one start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["scoreboard.py", *SMALL])
        return bench["World"](bench["arguments"]())


def run(bench, monkeypatch, folder, *methods):
    where = ["--out", str(folder / "out"), "--work", str(folder / "work")]
    monkeypatch.setattr(
        sys, "argv", ["scoreboard.py", *SMALL, *where, "--methods", *methods]
    )
    bench["main"]()
    tables = {}
    for name in (
        "scoreboard",
        "scoreboard_rates",
        "scoreboard_learned",
        "scoreboard_tuned",
    ):
        with (folder / "out" / f"{name}.csv").open() as file:
            tables[name] = [
                {k: v for k, v in row.items() if k != "seconds"}
                for row in csv.DictReader(file)
            ]
    return tables


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_a_stopped_scoreboard_goes_on_as_if_it_had_not_been_stopped(
    bench, world, monkeypatch, tmp_path, smaller
):
    names, anew = bench["main"].__globals__, bench["World"]
    monkeypatch.setattr(scoreboard, "load", functools.cache(scoreboard.load))
    monkeypatch.setitem(
        names, "World", lambda args: vars(world).update(args=args) or world
    )
    monkeypatch.setitem(names, "LOOKS", (5, 10))
    monkeypatch.setitem(names, "RATES", (1e-3, 2e-3))
    whole = run(bench, monkeypatch, tmp_path / "whole", *THREE)
    board = [(row["method"], row["steps"]) for row in whole["scoreboard"]]
    assert board[:3] == [("counting words", "0"), ("TF-IDF", "0"), ("untrained", "0")]
    assert board[3:] == [
        *[(name, steps) for name in ("MLM", "CSSL (wordings)") for steps in ("5", "10")],
        ("MLM, then wordings", "2"),
    ]
    parts = {(row["method"], row["part"]) for row in whole["scoreboard_learned"]}
    assert {
        ("word frequencies", "mlm"),
        ("MLM", "mlm"),
        ("CSSL (wordings)", "contrast_of_a_guess"),
    } <= parts
    assert (
        len(whole["scoreboard_tuned"]) == 4 * 2
    )  # untrained and three methods, two tasks

    measure, calls = names["measure"], []

    def failing(world, encoder):
        calls.append(encoder)
        if len(calls) == 5:  # two bags, untrained, MLM at 5; MLM at 10 fails
            raise KeyboardInterrupt
        return measure(world, encoder)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setitem(names, "measure", failing)
        run(bench, patched, tmp_path / "stopped", *THREE)
    with monkeypatch.context() as patched:
        patched.setitem(names, "World", anew)  # whoever goes on has made everything anew
        again = run(bench, patched, tmp_path / "stopped", *THREE)
    assert again == whole
    assert run(bench, monkeypatch, tmp_path / "stopped", *THREE) == whole


def test_no_wording_that_is_trained_on_is_asked_of(world):
    groups = (world.suite.pairs, world.suite.hard, *world.triples.values())
    asked = {text for group in groups for row in group for text in row}
    assert not asked & {*world.sentences, *world.held_out}
    assert not {*world.sentences} & {*world.held_out}
    for pairs in (world.pairs, world.unseen_pairs):
        other = pairs.wordings[1]
        decoded = (
            world.tokenizer.decode(
                other.ids[start : start + length], skip_special_tokens=True
            )
            for start, length in zip(other.starts, other.lengths, strict=True)
        )
        assert not {text.lower() for text in asked} & {text.lower() for text in decoded}


def test_a_row_is_written_under_the_columns_that_the_table_has(tmp_path):
    """In its own order it had put one number under the name of another."""
    path, kind = tmp_path / "table.csv", benchmark_script("_table")["Table"]
    kind(path, ("a",)).add({"a": 1, "b": 2, "c": 3})
    kind(path, ("a",)).add({"c": 6, "a": 4})
    assert path.read_text().splitlines() == ["a,b,c", "1,2,3", "4,,6"]
    with pytest.raises(ValueError, match="not in fieldnames"):
        kind(path, ("a",)).add({"a": 7, "d": 8})


@pytest.mark.full
def test_grammar_is_asked_by_the_kind_of_an_error(monkeypatch, tmp_path):
    script = benchmark_script("grammar")
    for name, value in dict(METHODS=("untrained",), LABELS=(10,)).items():
        monkeypatch.setitem(script["main"].__globals__, name, value)
    monkeypatch.setattr(sys, "argv", ["grammar.py", *SMALL, "--out", str(tmp_path)])
    script["main"]()
    rows = list(csv.DictReader((tmp_path / "grammar_kinds.csv").open()))
    pairs = script["pairs_by_kind"]()
    assert [(row["kind"], int(row["pairs"])) for row in rows] == [
        (kind, len(both)) for kind, both in pairs.items()
    ]
    assert len({*map(tuple, pairs.values())}) == len(pairs) == 8
