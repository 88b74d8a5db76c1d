"""Runs are killed, starved and left alone (faults.py): started once, with few kills. CONTRAST_KIT_KILLS=50 for more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full
KILLS = os.environ.get("CONTRAST_KIT_KILLS", "3")


@pytest.fixture(scope="module")
def found():
    """What faults.py says; it asserts by itself that weights are equal and checkpoints whole."""
    script = Path(__file__).with_name("faults.py")
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, script, KILLS],
        env=env,
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_killed_at_random_moments_a_run_ends_with_the_same_weights(found):
    assert found["kills"]["kills"] == int(KILLS)


def test_killed_between_two_checkpoints_the_steps_since_the_last_are_made_again(found):
    assert found["between"]["last"] == "step-00000003"


def test_a_full_disk_leaves_the_checkpoint_before(found):
    assert "could not be written" in found["a full disk"]["said"]


@pytest.mark.parametrize("way", ["a worker killed", "a worker that hangs"])
def test_when_a_worker_is_gone_the_others_end_and_all_can_go_on(found, way):
    assert found[way]["seconds"] < 30
