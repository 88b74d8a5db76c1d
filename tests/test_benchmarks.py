"""The benchmarks run at their smallest size and write what they promise. Their numbers are no test."""

import csv
import itertools
import json
import re
import runpy
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
import torch

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
pytestmark = [
    pytest.mark.skipif(not FOLDER.is_dir(), reason="needs a checkout"),
    pytest.mark.filterwarnings("ignore"),
]


def run(monkeypatch, tmp_path, name, *options):
    monkeypatch.setattr(
        sys, "argv", [str(FOLDER / name), "--tiny", "--out", str(tmp_path), *options]
    )
    monkeypatch.syspath_prepend(str(FOLDER))
    runpy.run_path(str(FOLDER / name), run_name="__main__")


def test_the_page_shows_the_recorded_milliseconds():
    page = (FOLDER / "README.md").read_text("utf-8")
    record = FOLDER.parent / "data" / "recorded" / "benchmarks" / "xeon" / "losses.json"
    for row in json.loads(record.read_text("utf-8"))["rows"]:
        loss, ms = row["case"].split()[0], 1000 * row.get("seconds", 0)
        if 0 < ms < 3000:
            shown = f"{ms:,.{int(ms < 9.95)}f}"
            assert re.search(rf"^\| {loss} \|.* {shown} \|", page, re.M), row


@pytest.mark.full
@pytest.mark.parametrize("name", ["losses", "uniformity", "masking", "corrective"])
def test_a_benchmark_runs_and_writes(name, monkeypatch, tmp_path, capsys):
    run(monkeypatch, tmp_path, f"{name}.py", "--no-memory")
    record = json.loads((tmp_path / f"{name}.json").read_text())
    assert (tmp_path / f"{name}.png").stat().st_size > 1000
    assert {"device", "threads", "versions", "commit", "seconds"} <= record.keys()
    failed = [
        row for row in record["rows"] if str(row.get("note", "")).startswith("fails")
    ]
    assert record["rows"] and not failed
    assert "ratio" in capsys.readouterr().out


@pytest.mark.full
def test_the_peak_of_a_stream_is_measured_in_fresh_processes(
    monkeypatch, tmp_path, capsys
):
    run(monkeypatch, tmp_path, "stream.py")
    rows = json.loads((tmp_path / "stream.json").read_text())["rows"]
    assert [(row["lines"], row["way"]) for row in rows][:3] == [
        (500, "first"),
        (500, "again"),
        (500, "packed"),
    ]
    assert (
        all(row["peak_mib"] >= row["built_mib"] > 100 for row in rows)
        and "The highest peak" in capsys.readouterr().out
    )


@pytest.mark.full
def test_growth_is_drawn_with_its_exponent(monkeypatch, tmp_path):
    run(monkeypatch, tmp_path, "scaling.py", "--no-memory", "--only", "vectors", "length")
    series = json.loads((tmp_path / "scaling.json").read_text())["series"]
    assert all(isinstance(one["time_exponent"], float) for one in series.values())


def on_a_gpu(*options):
    command = [sys.executable, str(FOLDER / "gpu"), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.full
def test_every_row_about_a_gpu_is_made_and_kept(tmp_path):
    done = on_a_gpu("--dry", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "gpu.csv").open()))
    parts = {"parity", "tests", *(f"G{i}" for i in range(1, 8))}
    assert {row["part"] for row in rows} == parts and len(rows) > 80
    failed = [row for row in rows if row["note"] and "liger" not in row["what"]]
    assert not failed and rows[0]["card"]


@pytest.mark.full
def test_notebooks_at_gpu_speed_fit_into_five_minutes(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER / "gpu"))
    import notebooks

    assert all(20 < notebooks.planned(name) + 60 <= 300 for name in notebooks.PLAN)
    note = nbformat.v4.new_notebook()
    note.cells = [nbformat.v4.new_code_cell(code) for code in ("2 + 2", "1 / 0")]
    nbformat.write(note, tmp_path / "two.ipynb")
    told = notebooks.measured(tmp_path / "two.ipynb", 60)
    assert "2 cells, NOT ENDED" in told and "ZeroDivisionError" in told


def test_without_a_gpu_there_is_one_sentence():
    done = on_a_gpu()
    assert done.returncode == 2 and done.stderr.count(".") == 1


def test_what_does_not_fit_is_a_row_and_the_rest_goes_on(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(FOLDER / "gpu"))
    import setting

    run = setting.Setting("cpu", "dry", 1e12, tmp_path / "gpu.csv", "a card")
    run.begin("G4", 9)

    run.attempt("plain", lambda: torch.empty(2**60))
    run.attempt("tiled", lambda: run.keep("tiled", ms=1.0))
    run.begin("G5", -1)
    run.attempt("late", None)
    rows = list(csv.DictReader((tmp_path / "gpu.csv").open()))  # though it goes on
    notes = [row["note"] for row in rows]
    assert "memory" in notes[0] and notes[1:] == ["", "no time left"]


def test_gpu_rows_are_judged_by_the_aims_set_for_them(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER / "gpu"))
    import aims

    def row(part, what, **numbers):
        return {"part": part, "what": what, "size": "full", **numbers}

    rows = [
        row("G1", "mlm, compiled, length 128", ms=50.0, mfu=0.3),
        row("G2", "packed", tokens_a_second=80.0),
        row("G2", "dense", tokens_a_second=90.0),
        row("G7", "masking", millions_a_second=999.0) | {"size": "compact"},
    ]
    assert [line[53:].split(": ")[1] for line in aims.judge(rows)] == [
        "50, met",
        "0.3, NOT MET",
        "not known",
        "0.8889, NOT MET",
        "not known",
    ]


@pytest.fixture
def harness(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import _bench

    return _bench


def test_contenders_alternate_and_a_failure_is_a_result(harness):
    order = []

    def too_large():
        raise RuntimeError("not enough memory: you tried to allocate 550 GB\nmore")

    best = harness.alternate(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b"), "c": too_large},
        rounds=2,
        budget=9,
    )
    assert [name for name, _ in itertools.groupby(order)] == [
        "a",
        "b",
    ] * 3  # a warm-up and two rounds
    assert best["c"] == "fails: not enough memory: you tried to allocate 550 GB"


def test_a_short_call_is_measured_often_and_a_long_one_once(harness):
    """A lone call of two milliseconds comes cold after a peer's of two seconds, and looks half as fast as it is."""
    calls = []
    assert (
        0 < harness.least(lambda: calls.append("short"), enough=0.02) < 0.01
        and len(calls) > 10
    )
    calls.clear()

    def long():
        calls.append("long")
        time.sleep(0.02)

    assert harness.least(long, enough=0.01) >= 0.02 and calls == ["long"]


def test_rows_hold_ratios_and_shares_of_the_limit(harness, monkeypatch):
    monkeypatch.setattr(
        harness, "alternate", lambda *_, **__: {"ours": 0.25, "peer": 1.0}
    )
    monkeypatch.setattr(harness, "limit", lambda: 8e6)  # operations a second
    case = harness.Case(
        "x", lambda: {"ours": lambda: None, "peer": lambda: None}, flop=1e6
    )
    ours, peer = harness.run_case(case, rounds=2, budget=1)
    assert (ours["ratio"], peer["ratio"]) == (1, 4)
    assert (ours["of_limit"], peer["of_limit"]) == (0.5, 0.125)
    old = [
        {"case": "x", "contender": "ours", "mib": 3.0},
        {"case": "y", "contender": "ours"},
    ]
    both = harness.merged(old, [ours, peer])
    assert [row["case"] for row in both] == ["x", "y", "x"] and both[0]["mib"] == 3.0


def test_memory_counts_what_a_call_adds():
    """In a fresh process, as the benchmarks measure: an old one has freed pages to give before it grows."""
    code = """
import torch, _bench
kept = []
print(_bench.growth(lambda: None), _bench.growth(lambda: kept.append(torch.ones(24 * 2**20 // 4))))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    small, large = map(float, done.stdout.split())
    assert small < 8 and 20 < large < 40
