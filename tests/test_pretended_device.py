"""What training would do on a GPU, watched on a pretended one: nothing mixes devices, and no contrast makes N²."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.full


def output_of(*command, **more):
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": paths} | more
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def seen():
    return json.loads(output_of(str(HERE / "pretended_steps.py")).splitlines()[-1])


def test_tests_that_compare_what_was_trained_pass_where_fit_leaves_it_on_a_device():
    """Some that failed on the first GPU; `CONTRAST_KIT_PRETENDED_DEVICE=1` runs any test so."""
    files = [f"{HERE}/test_{name}.py" for name in ("training", "objectives_capt")]
    named = (
        "post_trained or at_rest_counts or loss_that_is_not or bf16_trains or no_further"
    )
    named += " or aggregation_and or queue_stays or function_as_noise"
    run = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", named)
    assert "8 passed" in output_of(*run, CONTRAST_KIT_PRETENDED_DEVICE="1")


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
