"""The examples run as users run them, and learn."""

import re
import runpy
from pathlib import Path

import pytest

import contrast_kit as ck

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_plain_loop_is_short_and_its_losses_fall(tmp_path, monkeypatch, capsys):
    """The contrast is nowhere near guessing at the end, and masked words are found better than at the start."""
    script = EXAMPLES / "plain_loop.py"
    assert len(script.read_text().splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    reports = [dict(re.findall(r"(\w+) (\d+\.\d+)", line)) for line in capsys.readouterr().out.splitlines()]
    first, last = ({part: float(value) for part, value in reports[i].items()} for i in (0, -1))
    assert len(reports) == 4 and first.keys() == {"loss", "mlm", "contrast"}
    assert last["loss"] < first["loss"] - 1.5
    assert last["mlm"] < first["mlm"] - 1
    assert last["contrast"] < first["contrast"] - 2


def test_an_objective_learns_in_the_trainer_of_transformers(tmp_path, monkeypatch, capsys):
    """And nobody tells it how far the run is: what a method changes along a run stands still, as the script says."""
    pytest.importorskip("accelerate")
    called = []
    for name in ("set_progress", "after_step"):
        monkeypatch.setattr(ck.objectives.CMLM, name, lambda *given, name=name: called.append(name))
    script = EXAMPLES / "transformers_trainer.py"
    assert len(script.read_text().splitlines()) <= 55 and "`set_progress` and `after_step`" in script.read_text()
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    lines = [line for line in capsys.readouterr().out.splitlines() if "held out" in line]
    first, last = ({part: float(x) for part, x in re.findall(r"(\w+) (\d+\.\d+)", line)} for line in lines)
    assert last["mlm"] < first["mlm"] - 1 and last["contrast"] < first["contrast"] - 2
    assert not called and not list(tmp_path.iterdir())


def test_the_readme_shows_the_lines_of_the_plain_loop():
    readme = (EXAMPLES.parent / "README.md").read_text()
    (block,) = re.findall(r"^```py\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    calls = [line.split(" = ")[-1].removeprefix("loss") for line in block.splitlines()]
    script = (EXAMPLES / "plain_loop.py").read_text()
    assert calls == ['objective(batch)["loss"]', ".backward()", "optimizer.step()", "optimizer.zero_grad()"]
    lines = ("loss = objective(", "loss.backward()", "optimizer.step()", "optimizer.zero_grad()")
    assert all(line in script for line in lines)
