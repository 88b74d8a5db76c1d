"""What steps would do on a GPU, watched on a pretended one: nothing mixes devices, next to nothing waits, no N²."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from objectives import OBJECTIVES

HERE = Path(__file__).parent
WAITS = {  # where fewer would need fixed shapes (`ck.faster(objective, fixed_capacity=True)`)
    "coco_lm": 3,
    "coco_lm printed sums": 3,
    "all_token": 3,
    "electra": 2,
    "capt": 2,
    "capt by id": 2,
    "prompt": 2,
}
NONE = ("cmlm without its mlm", "fine-tune", "scl", "scl sum", "span", "cssl", "cssl simsiam", "simcse")


@pytest.fixture(scope="module")
def seen():
    command = [sys.executable, str(HERE / "pretended_device.py")]
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_objective_is_looked_at(seen):
    assert set(seen["steps"]) == set(OBJECTIVES)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_step_mixes_no_devices_and_has_the_cpus_loss(seen, name):
    step = seen["steps"][name]
    assert step["device"] == pytest.approx(step["cpu"], rel=1e-4)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_step_waits_for_the_device_as_seldom_as_it_can(seen, name):
    """Once for the positions of each masked view, of which there are as many as the draw made; CAPT for its queue."""
    waits = seen["steps"][name]["waits"]
    assert sum(waits.values()) <= (0 if name in NONE else WAITS.get(name, 1)), waits


def test_a_run_waits_only_where_it_logs(seen):
    """Ten steps, one row: its numbers are read once to be checked and once for the row, both in `fit`."""
    assert {place.split(" at ")[1].split(":")[0] for place in seen["run"]} == {"training/fit.py"}
    assert sum(seen["run"].values()) <= 6, seen["run"]


def test_no_contrast_makes_the_matrix_of_all_pairs(seen):
    assert all(largest < 4096**2 / 4 for largest in seen["contrasts"].values()), seen["contrasts"]
