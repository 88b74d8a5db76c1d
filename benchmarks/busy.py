"""A contrast and a training step beside another busy program, and alone: what waiting threads cost.

    python benchmarks/busy.py        # some six minutes on two cores, with nothing else running

Torch's threads spin while they wait for each other, unless OMP_WAIT_POLICY=passive was in the environment when torch
was imported. `contrast_kit.fast.waiting` lets them sleep as long as other programs run. Each way runs in a process of
its own, and the median of 5 to 200 calls counts; the other program is an endless loop on one processor.
"""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from _origin import write_origin
from _table import Table

WAYS = ("spin", "as contrast_kit has it", "sleep")
CALLS = {512: 200, 2048: 40, 8192: 5}


def work(way: str) -> dict[str, float]:
    """Milliseconds of each kind of work, in this process."""
    import torch

    import contrast_kit as ck
    from contrast_kit.fast import waiting

    if way == "spin":
        waiting.PAUSE = float("inf")
    found = {}
    for n, calls in CALLS.items():
        a, b = torch.randn(2, n // 2, 256, requires_grad=True)
        for how in ("plain", "tiled"):  # the plain loss does not look whether others run
            if how == "plain" and way == WAYS[1]:
                continue
            found[f"NT-Xent {n}, {how}"] = median(contrast(a, b, how), calls)
    texts = list(ck.data.load("toyshop/text")["train"]["text"])[:2_000]
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=1_000))
    run = ck.fit(ck.objectives.MLM(encoder), texts, steps=40, batch_size=64, log_every=1, progress=False)
    ends = [row["seconds"] for row in run.rows]
    found["MLM step, tiny, 64 texts"] = 1e3 * statistics.median(b - a for a, b in itertools.pairwise(ends))
    return found


def contrast(a: object, b: object, how: str) -> Callable[[], None]:
    from contrast_kit.losses import nt_xent

    return lambda: nt_xent(a, b, 0.1, implementation=how).backward()


def median(call: Callable[[], object], calls: int) -> float:
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)


@contextlib.contextmanager
def another_program(wanted: bool) -> Iterator[None]:
    """An endless loop beside the work."""
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) if wanted else None
    try:
        yield
    finally:
        if loop is not None:
            loop.kill()
            loop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/recorded"), help="folder of the table")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(work(options.one)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    table, start = Table(options.out / "busy.csv", ("others", "threads", "work")), time.time()
    for others in (0, 1):
        for way in WAYS:
            if any((row["others"], row["threads"]) == (str(others), way) for row in table.rows):
                continue
            policy = {"OMP_WAIT_POLICY": "passive"} if way == "sleep" else {}
            free = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}
            with another_program(bool(others)):
                command = [sys.executable, __file__, "--one", way]
                done = subprocess.run(command, env=free | policy, stdout=subprocess.PIPE, text=True, check=True)
            for kind, milliseconds in json.loads(done.stdout.splitlines()[-1]).items():
                table.add({"others": others, "threads": way, "work": kind, "ms": milliseconds})
    if table.grew:
        write_origin(table.path, "busy", time.time() - start, {"calls": CALLS})


if __name__ == "__main__":
    main()
