"""Torch's threads sleep while other programs run, and spin when they are alone again."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from contrast_kit.fast import waiting


class Machine:
    """A pretended processor: what it says of running threads, and its clock."""

    def __init__(self, monkeypatch, threads=2, processors=2, cpus=None):
        self.now, self.others, self.threads, self.spinning, self.teams = 0.0, 0, threads, True, 0
        for name in waiting.CHOSEN:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        monkeypatch.setattr(waiting.os, "cpu_count", lambda: cpus or processors)
        monkeypatch.setattr(waiting, "processors", lambda: processors)
        monkeypatch.setattr(waiting, "running", lambda: self.others + (threads if self.spinning else 1))
        monkeypatch.setattr(waiting, "time", self)
        monkeypatch.setattr(waiting, "Team", lambda: Team(self))
        monkeypatch.setattr(waiting, "_team", None)
        monkeypatch.setattr(waiting, "_looked", -10.0)
        monkeypatch.setattr(waiting, "_busy", -10.0)

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.spinning = False

    def look(self, after=0.1):
        self.now += after
        asleep = waiting.share_processor()
        self.spinning = not asleep
        return asleep


class Team:
    """Stands for the thread that keeps the second team."""

    def __init__(self, machine):
        machine.teams += 1
        self.ready, self.end = threading.Event(), threading.Event()

    def start(self):
        self.ready.set()

    def join(self, timeout):
        pass

    def is_alive(self):
        return not self.end.is_set()


def test_they_sleep_while_others_run_and_spin_afterwards(monkeypatch):
    machine = Machine(monkeypatch)
    assert not machine.look()  # our own two threads are no other program
    machine.others = 1
    assert machine.look() and machine.look() and machine.teams == 1
    machine.others = 0
    assert machine.look(waiting.QUIET / 2)  # a program that pauses is not gone
    assert not machine.look(waiting.QUIET)
    machine.others = 1
    assert machine.look() and machine.teams == 2


def test_a_thread_of_ours_that_still_spins_is_no_other_program(monkeypatch):
    machine = Machine(monkeypatch)
    monkeypatch.setattr(waiting, "running", lambda: 3 if machine.spinning else 1)  # one more than there are processors
    assert not machine.look() and machine.teams == 0


def test_a_free_processor_is_no_reason_to_sleep(monkeypatch):
    machine = Machine(monkeypatch, threads=2, processors=4)
    machine.others = 2
    assert not machine.look()
    machine.others = 3
    assert machine.look()
    machine.others = 2
    machine.look()
    assert not machine.look(waiting.QUIET)


def test_it_looks_seldom(monkeypatch):
    machine = Machine(monkeypatch)
    machine.look()
    machine.others = 1
    assert not machine.look(waiting.PAUSE / 2)
    assert machine.look(waiting.PAUSE)


CASES = [
    (dict(threads=1), None),
    (dict(threads=5), None),
    (dict(cpus=64), None),
    (dict(), "OMP_WAIT_POLICY"),
    (dict(), "GOMP_SPINCOUNT"),
]


@pytest.mark.parametrize("machine, chosen", CASES)
def test_nothing_is_done_where_it_cannot_help(machine, chosen, monkeypatch):
    machine = Machine(monkeypatch, **dict(threads=4, processors=4) | machine)
    if chosen:
        monkeypatch.setenv(chosen, "1")
    machine.others = 9
    assert not machine.look() and machine.teams == 0


def test_a_run_goes_on_where_no_further_thread_can_be_had(monkeypatch):
    machine = Machine(monkeypatch)

    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Team, "start", refuse)
    machine.others = 1
    assert not machine.look() and not machine.look() and machine.teams == 2


def test_a_system_that_tells_nothing_changes_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(waiting, "LOAD", tmp_path / "none")
    assert waiting.running() == 0 and not waiting.others_run(asleep=False)
    (tmp_path / "load").write_text("0.23 1.51 1.92 5/345 12345\n")
    monkeypatch.setattr(waiting, "LOAD", tmp_path / "load")
    assert waiting.running() == 5


needs_two = pytest.mark.skipif(
    not waiting.LOAD.exists() or waiting.processors() == 1 or waiting.processors() != os.cpu_count(),
    reason="Linux, and all of two processors or more",
)


def libgomp():
    maps = Path("/proc/self/maps")
    return maps.exists() and "libgomp" in maps.read_text()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a process of its own prints, in which threads are torch's own choice; they are counted first."""
    free = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    command = [sys.executable, "-c", TEAMS + COMES_AND_GOES, str(tmp_path_factory.mktemp("system") / "load")]
    done = subprocess.run(command, capture_output=True, text=True, env=free, timeout=250)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_two
def test_training_and_tiles_keep_a_second_team_only_beside_another_program(told):
    """With a file in place of the system's: the team is there, then gone; values stay."""
    assert told[4:] == ["[False, True, False] 1"] * 2


COMES_AND_GOES = """
import pathlib, sys, threading, time, torch
import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.fast import waiting
waiting.LOAD, waiting.QUIET, waiting.PAUSE = pathlib.Path(sys.argv[1]), 0.0, 0.0
torch.set_num_threads(waiting.processors())
a, b = torch.randn(2, 600, 16)
texts = toyshop.corpus(64)
shape = dict(num_hidden_layers=1, hidden_size=32, num_attention_heads=2, intermediate_size=64)

def tiles():
    return ck.losses.nt_xent(a, b, 0.1, implementation="tiled")

def training():
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=200), **shape)
    run = ck.fit(ck.objectives.MLM(encoder), texts, steps=2, batch_size=8, log_every=1, progress=False)
    return run.rows[-1]["loss"] + encoder.encode(texts[:4]).sum()

for work in (tiles, training):
    seen, values = [], set()
    for others in (1, 99, 1):
        waiting.LOAD.write_text(f"0.1 0.1 0.1 {others}/345 12345")
        values.add(float(work()))
        seen.append(any("threads sleep" in thread.name for thread in threading.enumerate()))
    print(seen, len(values))
"""


@needs_two
@pytest.mark.skipif(not libgomp(), reason="another OpenMP")
def test_the_second_team_is_more_threads_than_processors_and_ends_by_itself(told):
    """More threads than processors end the spinning (libgomp's manual); `benchmarks/busy.py` measures it."""
    processors, alone, together, afterwards = map(int, told[:4])
    assert together == alone + processors  # the thread itself, and its team without it
    assert afterwards == alone  # nobody looks any more


TEAMS = """
import os, time, torch
from contrast_kit.fast import waiting

def threads():
    return len(os.listdir("/proc/self/task"))

idle, waiting.IDLE = waiting.IDLE, 0.1
torch.set_num_threads(waiting.processors())
torch.zeros(2**18).exp()
alone = threads()
waiting._looked = time.monotonic() + 3600
team = waiting.Team()
team.start()
team.ready.wait()
together = threads()
waiting._looked = 0.0
team.join()
for _ in range(500):  # the system takes a moment to take a thread off its list
    if threads() == alone:
        break
    time.sleep(0.01)
print(waiting.processors(), alone, together, threads(), sep="\\n")
waiting.IDLE = idle
"""
