"""The benchmarks run at their smallest size and write what they promise. Their numbers are no test."""

import itertools
import json
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


@pytest.mark.full
def test_the_gpu_parts_run_on_a_processor(monkeypatch, tmp_path):
    parts = {"G2", "G3", "G4", "G5", "G6", "G7", "G8"}
    run(monkeypatch, tmp_path, "gpu", "--device", "cpu", "--only", *sorted(parts))
    rows = json.loads((tmp_path / "gpu.json").read_text())["rows"]
    assert {row["part"] for row in rows} == parts
    assert not [
        row for row in rows if "note" in row or "aims" in row
    ]  # such sizes are not judged
    for row in rows:
        if row["part"] == "G8":
            steps = [point["step"] for point in row["curve"]]
            assert steps == [1, *range(2, row["steps"] + 1, 2)] and row[
                "last"
            ] == pytest.approx(row["curve"][-1]["loss"], rel=1e-3)


def test_gpu_rows_are_judged_by_the_aims_set_for_them(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER / "gpu"))
    import aims

    rows = [
        {"part": "G1", "what": "mlm, fixed capacity, length 128", "ms": 10.0, "mfu": 0.6},
        {
            "part": "G1",
            "what": "mlm, length 128",
            "ms": 20.0,
            "mfu": 0.3,
            "tokens_a_second": 2e6,
        },
        {"part": "G1", "what": "transformers, length 128", "ms": 30.0, "mfu": 0.2},
        {"part": "G6", "what": "capt, 2 layers x 32", "waits": 1},
        {"part": "G7", "what": "dynamic_random_mask", "millions_a_second": 1000.0},
    ]
    lines = [line for part in ("G1", "G6", "G7") for line in aims.judge(rows, part)]
    verdicts = {
        row["what"]: {one["aim"]: one["met"] for one in row.get("aims", ())}
        for row in rows
    }
    unknown = {"times transformers compiled ≥ 1.3": None}
    assert verdicts == {
        "mlm, fixed capacity, length 128": {
            "MFU ≥ 0.5": True,
            "times transformers ≥ 2.5": True,
        }
        | unknown,
        "mlm, length 128": {"MFU ≥ 0.5": False, "times transformers ≥ 2.5": False}
        | unknown,
        "transformers, length 128": {},
        "capt, 2 layers x 32": {"waits ≤ 0": False},
        "dynamic_random_mask": {
            "million tokens a second ≥ 1000": True,
            "of a step ≤ 0.01": True,
        },
    }
    assert "aim: MFU ≥ 0.5: 0.3, not met" in lines[3] and {
        aim.part for aim in aims.AIMS
    } == {f"G{i}" for i in range(1, 8)}


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
