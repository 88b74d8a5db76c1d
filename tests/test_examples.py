"""The examples run as users run them, and learn."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_plain_loop_is_short_and_its_losses_fall(tmp_path):
    """The contrast is nowhere near guessing at the end, and masked words are found better than at the start."""
    script = EXAMPLES / "plain_loop.py"
    assert len(script.read_text().splitlines()) <= 40
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    reports = [dict(re.findall(r"(\w+) (\d+\.\d+)", line)) for line in done.stdout.splitlines()]
    first, last = ({part: float(value) for part, value in reports[i].items()} for i in (0, -1))
    assert len(reports) == 4 and first.keys() == {"loss", "mlm", "contrast"}
    assert last["loss"] < first["loss"] - 1.5
    assert last["mlm"] < first["mlm"] - 1
    assert last["contrast"] < first["contrast"] - 2


def test_the_readme_shows_the_lines_of_the_plain_loop():
    readme = (EXAMPLES.parent / "README.md").read_text()
    (block,) = re.findall(r"^```py\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    calls = [line.split(" = ")[-1].removeprefix("loss") for line in block.splitlines()]
    script = (EXAMPLES / "plain_loop.py").read_text()
    assert calls == ['objective(batch)["loss"]', ".backward()", "optimizer.step()"]
    assert "loss = objective(" in script and "loss.backward()" in script and "optimizer.step()" in script
