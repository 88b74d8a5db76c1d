"""What training would do on a GPU, watched on a pretended one: nothing mixes devices, and no contrast makes N²."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def seen():
    command = [sys.executable, str(HERE / "pretended_steps.py")]
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_step_mixes_no_devices_and_has_the_cpus_loss(seen):
    assert len(seen["steps"]) > 20
    for name, step in seen["steps"].items():
        assert step["device"] == pytest.approx(step["cpu"], rel=1e-4), name


def test_large_contrasts_have_the_cpus_loss_and_make_no_matrix_of_all_pairs(seen):
    for name, contrast in seen["contrasts"].items():
        assert contrast["device"] == pytest.approx(contrast["cpu"], rel=1e-5), name
        assert contrast["largest"] < 4096**2 / 4, name


def test_a_recorded_run_is_the_run_step_by_step(seen):
    """Losses, gradients and weights to the last digit, with dropout; nothing in a step waits, or reads the CPU."""
    for name, run in seen["runs"].items():
        assert run["same"], name
        # its temperature changes from step to step: never recorded
        assert (run["replays"] > 2) == (name != "capt"), name
