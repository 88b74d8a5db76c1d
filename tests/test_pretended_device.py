"""What training would do on a GPU, watched on a pretended one: nothing mixes devices, next to nothing waits, no N²."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from objectives import OBJECTIVES

HERE = Path(__file__).parent
WAYS = ("plain", "packing", "fixed capacity", "chunks", "tiles", "bf16")
SENT = "from the CPU"

# Waits of a step, in the order of WAYS: once for the positions of each masked view, of which there are as many as the
# draw made; packing twice for each view that is encoded, for the lengths and the places of its tokens.
WAITS = {
    "mlm": (1, 3, 0, 2, 1, 1),
    "cmlm info_nce": (1, 7, 0, 2, 1, 1),
    "coco_lm": (3, 11, 0, 5, 3, 3),
    "electra": (2, 8, 0, 3, 2, 2),
    "all_token": (3, 9, 0, 5, 3, 3),
    "capt": (1, 5, 0, 2, 1, 1),
    "fine-tune": (0, 2, 0, 0, 0, 0),
    "scl": (0, 2, 0, 0, 0, 0),
    "prompt": (3, 5, 3, 6, 3, 3),  # it looks whether each text has one mask, and where
    "span": (0, 2, 0, 0, 0, 0),
    "cssl": (0, 4, 0, 0, 0, 0),
    "simcse": (0, 4, 0, 0, 0, 0),
}
FORMS = {name: next(one for one in WAITS if name.startswith(one.split()[0])) for name in OBJECTIVES}
APART = {"cmlm without its mlm": 0, "simcse mlm": 1}
CASES = [(name, way) for name in OBJECTIVES for way in (WAYS if name in WAITS else ("plain", "tiles"))]


@pytest.fixture(scope="module")
def seen():
    command = [sys.executable, str(HERE / "pretended_steps.py")]
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def number(waits, sent):
    """How often the device was waited for to send something there, or else to hear something from it."""
    return sum(times for name, times in waits.items() if name.startswith(SENT) == sent)


def test_every_objective_is_looked_at_in_every_way(seen):
    assert {(name, way) for way, steps in seen["steps"].items() for name in steps} == set(CASES)
    assert set(seen["fits"]) == set(WAITS) == set(FORMS.values())


@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_step_mixes_no_devices_and_has_the_cpus_loss(seen, name, way):
    step = seen["steps"][way][name]
    assert step["device"] == pytest.approx(step["cpu"], rel=5e-3 if way == "bf16" else 1e-4)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_step_waits_for_the_device_as_seldom_as_it_can(seen, name, way):
    waits, allowed = seen["steps"][way][name]["waits"], WAITS[FORMS[name]]
    assert number(waits, sent=False) <= APART.get(name, allowed[WAYS.index(way)]), waits
    assert number(waits, sent=True) == 0, waits


def test_half_precision_is_half_precision(seen):
    """Else nothing would have been tried: some loss differs, by little."""
    steps = seen["steps"]["bf16"].values()
    assert any(abs(step["device"] / step["cpu"] - 1) > 1e-5 for step in steps)


@pytest.mark.parametrize("name", WAITS)
def test_a_run_waits_only_in_its_steps_and_where_it_logs(seen, name):
    """Two steps, one row: its numbers are read once to be checked and once for the row, both in `fit`."""
    run, steps = seen["fits"][name], 2
    logged = {place: times for place, times in run["waits"].items() if " at training/fit.py" in place}
    inside = {place: times for place, times in run["waits"].items() if place not in logged}
    assert number(logged, sent=True) == 0 and number(logged, sent=False) <= 2 * run["read"], run
    assert number(inside, sent=True) == 0, run
    queue = name == "capt"  # how much its queue holds is read once a run
    assert number(inside, sent=False) <= steps * WAITS[name][0] + queue, run


def test_no_contrast_makes_the_matrix_of_all_pairs(seen):
    assert all(contrast["largest"] < 4096**2 / 4 for contrast in seen["contrasts"].values()), seen["contrasts"]


def test_large_contrasts_have_the_cpus_loss(seen):
    assert all(one["device"] == pytest.approx(one["cpu"], rel=1e-5) for one in seen["contrasts"].values())
