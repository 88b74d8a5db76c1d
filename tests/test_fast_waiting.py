"""Torch's threads sleep while other programs run, and spin when they are alone again."""

import os
import subprocess
import sys

import pytest
import torch

from contrast_kit.fast import waiting


class Machine:
    """A pretended processor: what it says of running threads, and its clock."""

    def __init__(self, monkeypatch, threads=2, processors=2):
        self.now, self.others, self.ours, self.teams = 0.0, 0, threads, 0
        monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        monkeypatch.setattr(waiting, "processors", lambda: processors)
        monkeypatch.setattr(waiting, "running", lambda: self.ours + self.others)
        monkeypatch.setattr(waiting.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(waiting.time, "sleep", lambda seconds: setattr(self, "ours", 1))
        monkeypatch.setattr(waiting, "_start_team", self.start_team)
        monkeypatch.setattr(waiting, "_team", None)
        monkeypatch.setattr(waiting, "_looked", -10.0)
        monkeypatch.setattr(waiting, "_busy", -10.0)

    def start_team(self):
        self.teams += 1
        return waiting.threading.Event()

    def look(self, after=0.1):
        self.now += after
        asleep = waiting.share_processor()
        self.ours = 1 if asleep else 2
        return asleep


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
    machine.ours = 3  # one more than there are processors, until it naps
    assert not machine.look() and machine.teams == 0


def test_it_looks_seldom(monkeypatch):
    machine = Machine(monkeypatch)
    machine.look()
    machine.others = 1
    assert not machine.look(waiting.PAUSE / 2)
    assert machine.look(waiting.PAUSE)


@pytest.mark.parametrize("threads, policy", [(1, None), (2, None), (4, "active"), (4, "passive")])
def test_nothing_is_done_where_it_cannot_help(threads, policy, monkeypatch):
    machine = Machine(monkeypatch, threads=threads, processors=4)
    if policy:
        monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    machine.others = 9
    assert not machine.look() and machine.teams == 0


def test_a_system_that_tells_nothing_changes_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(waiting, "LOAD", tmp_path / "none")
    assert waiting.running() == 0 and not waiting.others_run(spinning=True)
    (tmp_path / "load").write_text("0.23 1.51 1.92 5/345 12345\n")
    monkeypatch.setattr(waiting, "LOAD", tmp_path / "load")
    assert waiting.running() == 5


@pytest.mark.skipif(not waiting.LOAD.exists(), reason="only Linux tells how many programs run")
@pytest.mark.skipif(waiting.processors() == 1, reason="one processor: nobody waits")
def test_training_and_tiles_keep_a_second_team_only_beside_another_program(tmp_path):
    """In a process of its own, with a file in place of the system's: the team is there, then gone; values stay."""
    load = tmp_path / "load"
    free = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}
    done = subprocess.run([sys.executable, "-c", SCRIPT, load], capture_output=True, text=True, env=free)
    assert done.stdout.splitlines() == ["[False, True, False] 1"] * 2, done.stdout + done.stderr


SCRIPT = """
import pathlib, sys, threading, time, torch
import contrast_kit as ck
from contrast_kit.fast import waiting
waiting.LOAD, waiting.QUIET, waiting.PAUSE = pathlib.Path(sys.argv[1]), 0.0, 0.0
torch.set_num_threads(waiting.processors())
a, b = torch.randn(2, 600, 16)
texts = list(ck.data.load("toyshop/text")["train"]["text"])[:64]

def tiles():
    return ck.losses.nt_xent(a, b, 0.1, implementation="tiled")

def training():
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=200))
    run = ck.fit(ck.objectives.MLM(encoder), texts, steps=2, batch_size=8, log_every=1, progress=False)
    return run.rows[-1]["loss"] + encoder.encode(texts[:4]).sum()

for work in (tiles, training):
    seen, values = [], set()
    for others in (1, 99, 1):
        waiting.LOAD.write_text(f"0.1 0.1 0.1 {others}/345 12345")
        values.add(float(work()))
        time.sleep(0.1)
        seen.append(any("threads sleep" in thread.name for thread in threading.enumerate()))
    print(seen, len(values))
"""
