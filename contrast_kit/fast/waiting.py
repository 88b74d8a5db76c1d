"""Threads of torch that wait for each other: they spin while the processor is free, and sleep beside other programs.

On Linux torch's threads spin between two parallel loops (libgomp: about a millisecond, unless OMP_WAIT_POLICY says
otherwise when torch is first imported). That is right on a machine with nothing else to do, and makes every step 5 to
100 times slower as soon as *one* other program needs a processor: the one that holds the work sleeps while the others
spin. The same library hardly spins once it has more threads than processors (its manual: `GOMP_SPINCOUNT`). So, as
long as others run, one thread is kept that has started a team of its own: a team that never works again.
"""

import os
import threading
import time
from pathlib import Path

import torch

LOAD = Path("/proc/loadavg")
PAUSE = 0.05
"""Seconds between two looks."""
QUIET = 0.3
"""Seconds without another program after which threads spin again."""

_one_at_a_time = threading.Lock()
_team: threading.Event | None = None  # set: the thread that keeps the second team ends
_looked = _busy = -QUIET  # when it was looked, and when another program ran last


def share_processor() -> bool:
    """Look whether other programs run, and let torch's threads sleep or spin while they wait: a few microseconds.

    Nothing is done where it cannot help: one thread, fewer threads than processors, OMP_WAIT_POLICY chosen by the
    caller, or a system that does not tell how many programs run.

    Returns:
        whether they sleep now.

    Example:
        >>> share_processor() in (True, False)
        True
    """
    global _team, _looked, _busy
    now, threads = time.monotonic(), torch.get_num_threads()
    chosen_by_caller = threads == 1 or threads < processors() or "OMP_WAIT_POLICY" in os.environ
    if now < _looked + PAUSE or chosen_by_caller or not _one_at_a_time.acquire(blocking=False):
        return _team is not None
    try:
        _looked = now
        if others_run(spinning=_team is None):
            _busy = now
            _team = _team or _start_team()
        elif _team is not None and now > _busy + QUIET:
            _team.set()
            _team = None
    finally:
        _one_at_a_time.release()
    return _team is not None


def others_run(spinning: bool) -> bool:
    """Whether other programs want a processor now; threads of ours that may still spin are told apart by a nap."""
    if spinning and running() > processors():
        time.sleep(0.002)  # ours have stopped spinning after that
        spinning = False
    return not spinning and running() > 1


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def running() -> int:
    """How many threads, of all programs, run or want to run at this moment, this one included; 0 where none tells."""
    try:
        return int(LOAD.read_text().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        return 0


def _start_team() -> threading.Event:
    ready, end = threading.Event(), threading.Event()

    def keep() -> None:
        torch.zeros(2**15 * processors()).exp()  # long enough for each thread of the team to get a share
        ready.set()
        end.wait()

    threading.Thread(target=keep, name="contrast_kit: threads sleep", daemon=True).start()
    ready.wait()
    return end
