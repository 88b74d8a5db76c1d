"""The shared part of every benchmark: run the contenders in turn, measure memory in fresh processes, state the limit.

A script lists its cases and calls `main`:

    from _bench import Case, main

    def contrast(n: int) -> dict[str, Callable[[], object]]:
        a, b = ...                                   # the inputs, made once
        return {"ours": lambda: ..., "a peer": lambda: ...}   # the first is what the others are compared with

    if __name__ == "__main__":
        main("losses", [Case("N=512", lambda: contrast(512), flop=4 * 512**2 * 256)])

Machines are noisy: the contenders of a case alternate in one process and the minimum of several rounds counts, and
the rate of a plain matrix product is measured before and after them, so that "of the limit" refers to the same minute.
Memory is the growth of a *fresh* process's peak over what it held once the inputs were made and torch was warm.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import torch

from contrast_kit.fast import kernels

Contenders = Mapping[str, Callable[[], object]]
MIB = 2**20
# For glibc: no mapping of its own for a large buffer, and nothing given back. A buffer's pages are then made once.
KEEP_PAGES = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(2**26)}
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Case:
    """One size of one question: inputs and who takes part."""

    name: str
    make: Callable[[], Contenders]
    """Makes the inputs and returns name -> a function that does the work once. The first is the one to compare with;
    a function that cannot run at this size raises, and its error is the result."""
    flop: float | None = None
    """Useful floating-point operations of one call: what the matmul limit is computed from."""
    units: float | None = None
    """How many things (tokens, texts) one call handles, for a rate in millions per second."""
    memory: bool = True
    """Whether memory is worth a fresh process for each contender at this size."""
    leave_out: frozenset[str] = frozenset()
    """Contenders that are known not to finish at this size: listed as such, not run."""
    facts: dict = field(default_factory=dict)
    """Anything to keep beside the rows (sizes, say)."""


def synchronise() -> None:
    """Wait for the device: a GPU's work is only queued when a call returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds_of(call: Callable[[], object]) -> float:
    synchronise()
    start = time.perf_counter()
    call()
    synchronise()
    return time.perf_counter() - start


def least(call: Callable[[], object], enough: float = 0.05) -> float:
    """The least seconds of one call among those of `enough` seconds: a lone short one comes cold after a long one's."""
    best, start = seconds_of(call), time.perf_counter()
    while time.perf_counter() - start + best < enough:
        best = min(best, seconds_of(call))
    return best


def alternate(contenders: Contenders, rounds: int = 5, budget: float = 20.0) -> dict[str, float | str]:
    """The least seconds of each, run in turn for `rounds` rounds (at least two, then until `budget` s are spent)."""
    best: dict[str, float | str] = {}
    for name, call in contenders.items():  # also the warm-up
        try:
            best[name] = seconds_of(call)
        except (RuntimeError, MemoryError, ValueError, ImportError) as error:
            best[name] = f"fails: {str(error).strip().splitlines()[0][:100]}"
    spent, start = 0, time.perf_counter()
    while spent < rounds and (spent < 1 or time.perf_counter() - start < budget):
        for name, call in contenders.items():
            if not isinstance(best[name], str):
                best[name] = min(best[name], least(call))
        spent += 1
    return best


def matmul_rate(dtype: torch.dtype = torch.float32, n: int | None = None, device: str = "cpu") -> float:
    """FLOP/s of a square matrix product: what this machine reaches in this minute."""
    n = n or (1024 if device == "cpu" else 8192)
    x = torch.randn(n, n, device=device).to(dtype)
    return 2 * n**3 / min(seconds_of(lambda: x @ x) for _ in range(8))


def limit() -> float:
    """FLOP/s of the faster of the float32 products that this processor has (`contrast_kit.fast.kernels`)."""
    with kernels.fast_float32():
        fast = matmul_rate()
    return max(fast, matmul_rate())


def resident() -> int:
    """Bytes of memory that this process holds now (0 where the system does not say)."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def peak() -> int:
    """The most bytes that this process has held."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        line = next(x for x in lines if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def growth(call: Callable[[], object]) -> float:
    """MiB by which one call raises the peak of this process above what it holds before. Use a fresh process."""
    x = torch.randn(256, 256, requires_grad=True)
    (x @ x).exp().sum().backward()  # thread pools and library buffers are not the call's
    with kernels.fast_float32():
        (x @ x).exp().sum().backward()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        return (torch.cuda.max_memory_allocated() - before) / MIB
    if os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # Linux: forget the peak so far
    before = resident()
    call()
    return max(peak() - before, 0) / MIB


def memory_of(script: str, case: str, contender: str, arguments: list[str]) -> float | None:
    """`growth` of one contender in a process of its own; None where it failed."""
    command = [sys.executable, script, *arguments, "--memory", case, contender]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return float(done.stdout.split()[-1])
    except (IndexError, ValueError):
        return None


def machine() -> dict:
    """What a number must be read with: device, versions, commit, threads."""
    names = ("torch", "transformers", "pytorch-metric-learning", "sentence-transformers", "numpy")
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    git = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else _processor(),
        "threads": torch.get_num_threads(),
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "python": platform.python_version(),
        "versions": versions,
        "commit": git.stdout.strip() or None,
        "when": time.strftime("%Y-%m-%d"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def run_case(case: Case, rounds: int, budget: float) -> list[dict]:
    """One row per contender: seconds, the ratio to the first, FLOP/s and the share of the matmul limit."""
    contenders = {name: call for name, call in case.make().items() if name not in case.leave_out}
    rate = limit()
    best = alternate(contenders, rounds, budget)
    rate = max(rate, limit())
    first = next(iter(best.values()))
    rows = []
    for name in [*best, *sorted(case.leave_out)]:
        seconds = best.get(name, "left out: known not to fit")
        row = {"case": case.name, "contender": name, **case.facts}
        if isinstance(seconds, str):
            row["note"] = seconds
        else:
            row |= {"seconds": seconds, "ratio": seconds / first if not isinstance(first, str) else None}
            if case.flop:
                did = case.flop / seconds
                row |= {"gflops": did / 1e9, "limit_gflops": rate / 1e9, "of_limit": did / rate}
            if case.units:
                row["millions_a_second"] = case.units / seconds / 1e6
        rows.append(row)
    return rows


def table(rows: list[dict]) -> str:
    """The rows as text: times in ms, ratios to the first contender of the case."""
    lines = [f"{'case':<18}{'contender':<44}{'ms':>9}{'ratio':>8}{'MiB':>8}{'of limit':>9}{'M/s':>8}"]

    def cell(value: float | None, form: str, width: int) -> str:
        return f"{'–' if value is None else format(value, form):>{width}}"

    for row in rows:
        ms = 1e3 * row["seconds"] if "seconds" in row else None
        lines.append(
            f"{row['case']:<18}{row['contender']:<44}{cell(ms, '.1f', 9)}{cell(row.get('ratio'), '.2f', 8)}"
            f"{cell(row.get('mib'), '.0f', 8)}{cell(row.get('of_limit'), '.0%', 9)}"
            f"{cell(row.get('millions_a_second'), '.3g', 8)}  {row.get('note', '')}".rstrip()
        )
    return "\n".join(lines)


def figure(title: str, rows: list[dict], file: Path) -> None:
    """Bars of time (and of memory where it was measured) for each case, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    kinds = [("seconds", 1e3, "milliseconds")] + [("mib", 1, "MiB")] * any(row.get("mib") for row in rows)
    cases = list(dict.fromkeys(row["case"] for row in rows))
    names = list(dict.fromkeys(row["contender"] for row in rows))
    size = (6.4 * len(kinds), 0.9 + 0.22 * len(rows))
    drawing, axes = plt.subplots(1, len(kinds), figsize=size, squeeze=False, layout="constrained", sharey=True)
    colours = {name: f"C{i % 10}" for i, name in enumerate(names)}
    labels = [f"{row['contender']}  ·  {row['case']}" if len(cases) > 1 else row["contender"] for row in rows]
    for axis, (key, scale, unit) in zip(axes[0], kinds, strict=True):
        for place, row in enumerate(rows):
            value = row.get(key)
            if value:
                axis.barh(place, value * scale, color=colours[row["contender"]])
                axis.text(value * scale, place, f" {value * scale:,.3g}", va="center", fontsize=7)
        axis.set_xscale("log")
        axis.set_xlabel(unit)
        axis.margins(x=0.15)
    axes[0][0].set_yticks(range(len(rows)), labels, fontsize=7)
    axes[0][0].invert_yaxis()
    drawing.suptitle(title, fontsize=10)
    drawing.savefig(file, dpi=110)
    plt.close(drawing)


def merged(old: list[dict], rows: list[dict]) -> list[dict]:
    """The rows of an earlier result brought up to date by new ones; in the old order, what is new at the end."""
    kept = {(row["case"], row["contender"]): row for row in old}
    for row in rows:
        key = row["case"], row["contender"]
        kept[key] = kept.get(key, {}) | row
    return list(kept.values())


def write(name: str, rows: list[dict], out: Path, seconds: float, **more: object) -> dict:
    """`name`.json and `name`.png in the folder `out`; returns what was written."""
    out.mkdir(parents=True, exist_ok=True)
    record = {"benchmark": name, **(machine() | more), "seconds": round(seconds, 1), "rows": _short(rows)}
    (out / f"{name}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    figure(f"{name}: {record['device']}, {record['threads']} threads", rows, out / f"{name}.png")
    return record


def _short(rows: list[dict]) -> list[dict]:
    def digits(value: object) -> object:
        return float(f"{value:.4g}") if isinstance(value, float) else value

    return [{key: digits(value) for key, value in row.items()} for row in rows]


def parser(name: str, text: str | None = None) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    options = argparse.ArgumentParser(
        prog=f"benchmarks/{name}.py", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=Path("runs/benchmarks"), help="folder for JSON and figure")
    options.add_argument("--tiny", action="store_true", help="smallest sizes, one round: does it run at all?")
    options.add_argument("--rounds", type=int, default=5, help="rounds of alternating (default 5)")
    options.add_argument("--budget", type=float, default=20.0, help="seconds to spend on a case (default 20)")
    options.add_argument("--merge", action="store_true", help="keep the other rows of the file in --out")
    options.add_argument("--memory-only", action="store_true", help="no times (implies --merge)")
    options.add_argument("--no-memory", action="store_true", help="do not measure memory in fresh processes")
    options.add_argument("--tuned", action="store_true", help="with an allocator that keeps its pages (glibc)")
    options.add_argument("--only", nargs="*", help="cases to run, by name")
    options.add_argument("--memory", nargs=2, metavar=("CASE", "CONTENDER"), help=argparse.SUPPRESS)
    return options


def main(
    name: str,
    cases: list[Case],
    tiny: list[Case] | None = None,
    text: str | None = None,
    arguments: list[str] | None = None,
) -> list[dict]:
    """Run the cases of a script (or, in a fresh process, measure the memory of one contender) and write the result."""
    options = parser(name, text).parse_args(arguments)
    if options.tuned and any(os.environ.get(key) != value for key, value in KEEP_PAGES.items()):
        os.environ.update(KEEP_PAGES)
        os.execv(sys.executable, [sys.executable, *sys.argv])  # glibc reads its settings once, at the start
    chosen = tiny if options.tiny and tiny is not None else cases
    if options.memory:
        case = next(case for case in chosen if case.name == options.memory[0])
        print(growth(case.make()[options.memory[1]]))
        return []
    script, start, rows = str(HERE / f"{name}.py"), time.perf_counter(), []
    for case in chosen:
        if options.only and case.name not in options.only:
            continue
        if options.memory_only:
            mine = [{"case": case.name, "contender": who} for who in case.make() if who not in case.leave_out]
        else:
            mine = run_case(case, 1 if options.tiny else options.rounds, 0.1 if options.tiny else options.budget)
        if case.memory and not options.no_memory:
            flags = ["--tiny"] * options.tiny
            for row in mine:
                if "note" not in row:
                    row["mib"] = memory_of(script, case.name, row["contender"], flags)
        print(table(mine), flush=True)
        rows += mine
    name += "_tuned" * options.tuned
    file, old = options.out / f"{name}.json", {}
    if (options.merge or options.memory_only) and file.exists():
        old = json.loads(file.read_text("utf-8"))
        rows = merged(old["rows"], rows)
    seconds = time.perf_counter() - start + old.get("seconds", 0)
    about = {key: old[key] for key in machine() if key in old} if options.memory_only else {}
    record = write(name, rows, options.out, seconds, **about)  # memory knows no clock: the head stays the times'
    print(f"\n{record['device']}, {record['threads']} threads, torch {record['versions']['torch']}")
    print(f"wrote {options.out / name}.json and .png")
    return rows
