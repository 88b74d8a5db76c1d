"""Threads of torch that wait for each other: they spin while the processor is free, and sleep if other programs run.

On Linux torch's threads spin for some milliseconds after each parallel loop (libgomp, unless OMP_WAIT_POLICY says
otherwise when torch is first imported). That is right on a machine with nothing else to do. As soon as *one* other
program needs a processor, the thread that holds the work sleeps while the others spin, and a step takes many times
longer (`benchmarks/busy.py`). The same library hardly spins once it has more threads than processors (its manual:
GOMP_SPINCOUNT). So, as long as others run, one thread is kept whose own team of threads never works.
"""

import os
import threading
import time
from pathlib import Path

import torch

LOAD = Path("/proc/loadavg")
PAUSE = 0.05
"""Seconds between two checks."""
QUIET = 0.3
"""Seconds without another program after which threads spin again."""
IDLE = 2.0
"""Seconds without a check after which the team ends by itself."""
CHOSEN = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


class Team(threading.Thread):
    """A thread with a team of its own, asleep until it ends: when told, or when nobody has checked for a while."""

    def __init__(self) -> None:
        super().__init__(name="contrast_kit: threads sleep", daemon=True)
        self.ready, self.end = threading.Event(), threading.Event()

    def run(self) -> None:
        threads = torch.get_num_threads()
        try:
            torch.set_num_threads(processors())  # of this thread: others keep what they have
            torch.zeros(2**15 * processors()).exp()  # long enough for each of the team to get a share
        finally:
            torch.set_num_threads(threads)
            self.ready.set()
        while not self.end.wait(IDLE) and time.monotonic() < _looked + IDLE:
            pass


_one_at_a_time = threading.Lock()
_team: Team | None = None
_looked = _busy = -IDLE  # the last check, and when another program last ran


def share_processor() -> bool:
    """Check whether other programs run, and let torch's threads sleep or spin while they wait.

    It checks at most every 50 ms, in some 20 microseconds; if others seem to run, it checks again, taking 5 to 20 ms.
    It does nothing where it cannot help: with one thread, or more threads than processors; where OMP_WAIT_POLICY or
    GOMP_SPINCOUNT is set; for a process that may use only some of the processors; on a system that does not tell how
    many programs run.

    Returns:
        whether they sleep now.

    Example:
        >>> share_processor() in (True, False)
        True
    """
    global _team, _looked, _busy
    now, asleep = time.monotonic(), _team is not None and _team.is_alive()
    if now < _looked + PAUSE or not applies() or not _one_at_a_time.acquire(blocking=False):
        return asleep
    try:
        _looked = now
        if others_run(asleep):
            _busy = now
            if not asleep:
                _team = Team()
                _team.start()
                _team.ready.wait(1.0)
        elif asleep and now > _busy + QUIET:
            _team.end.set()
            _team.join(1.0)
    except RuntimeError:  # no further thread can be had: training goes on as it would without
        _team = None
    finally:
        _one_at_a_time.release()
    return _team is not None and _team.is_alive()


def applies() -> bool:
    """Whether sleeping threads could help here, and nobody else has decided."""
    whole = processors() == os.cpu_count()  # else the programs that run may run elsewhere
    return whole and 1 < torch.get_num_threads() <= processors() and not any(name in os.environ for name in CHOSEN)


def others_run(asleep: bool) -> bool:
    """Whether other programs want a processor that we want, too; threads of ours that still spin are waited for."""
    if not asleep:
        if running() <= processors():
            return False
        for _ in range(4):  # ours have stopped spinning after some of these naps
            time.sleep(0.005)
            if not crowded():
                return False
    return crowded()


def crowded() -> bool:
    """Whether the other running threads plus all of torch's, of which only this one runs now, are too many."""
    return running() - 1 + torch.get_num_threads() > processors()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def running() -> int:
    """How many threads, of all programs, run or want to run now, this one included; 0 if the system does not tell."""
    try:
        return int(LOAD.read_text().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        return 0


def _forget() -> None:
    global _team, _one_at_a_time
    _team, _one_at_a_time = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
