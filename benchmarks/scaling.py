"""Cost as work grows: time and memory against N, length, batch, vocabulary and processes, with the exponent.

    python benchmarks/scaling.py                 # a minute on two cores
    python benchmarks/scaling.py --only vectors  # one of the six

Each size is run alone, the minimum of three; the exponent is the slope of log time (or memory) over log size, from the
last three sizes: 1 is linear, 2 is quadratic. A vanishing slope means that something else is most of the cost.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import _texts
import torch
from _bench import alternate, growth, machine, parser

import contrast_kit as ck

Call = Callable[[], object]


def contrast(n: int) -> Call:
    """NT-Xent over n vectors of width 256, forward and backward, in tiles."""
    a, b = torch.randn(2, n // 2, 256, generator=torch.Generator().manual_seed(0))
    a.requires_grad_(), b.requires_grad_()
    return lambda: within(ck.fast.tiled(), a, b)


def contrast_plain(n: int) -> Call:
    """The same with one matrix."""
    a, b = torch.randn(2, n // 2, 256, generator=torch.Generator().manual_seed(0))
    a.requires_grad_(), b.requires_grad_()
    return lambda: within(ck.fast.plain(), a, b)


def within(form: AbstractContextManager, a: torch.Tensor, b: torch.Tensor) -> object:
    with form:
        return torch.autograd.grad(ck.losses.nt_xent(a, b, 0.1), (a, b))


def masked_lm(batch: int, length: int, words: int) -> Call:
    """One masked-LM step of two layers of width 128, forward and backward, without padding."""
    encoder = _texts.encoder(
        words, num_hidden_layers=2, hidden_size=128, intermediate_size=512, max_length=512
    )
    objective = ck.objectives.MLM(encoder)
    view = objective.views(_texts.batch(words, batch, length, length), torch.Generator().manual_seed(0))["T0"]

    def call() -> None:
        objective.zero_grad()
        objective.encode("T0", view).sums["mlm"].backward()

    return call


def on_processes(k: int) -> float:
    """Seconds of the contrast of 4,096 vectors whose rows lie on k processes (gloo, here: cores are shared)."""
    command = [sys.executable, __file__, "--process"]
    start = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29551", "WORLD_SIZE": str(k), "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            command, env=os.environ | start | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True
        )
        for rank in range(k)
    ]
    return max(float(worker.communicate()[0].split()[-1]) for worker in workers)


def process(n: int = 4096) -> None:
    """What each of these processes does: gather everybody's rows, contrast all of them, gradient for its own."""
    import torch.distributed as dist

    from contrast_kit.training import distributed

    dist.init_process_group("gloo")
    share = n // 2 // dist.get_world_size()
    draw = torch.Generator().manual_seed(dist.get_rank())
    a, b = (torch.randn(share, 256, generator=draw).requires_grad_() for _ in range(2))
    best = math.inf
    for _ in range(4):
        dist.barrier()
        start = time.perf_counter()
        torch.autograd.grad(ck.losses.nt_xent(distributed.gather(a), distributed.gather(b), 0.1), (a, b))
        best = min(best, time.perf_counter() - start)
    print(best)
    dist.destroy_process_group()


SERIES: dict[str, tuple[str, list[int], Callable[[int], Call]]] = {
    "vectors": ("vectors N, in tiles", [1024, 2048, 4096, 8192, 16384], contrast),
    "vectors, plain": ("vectors N, one matrix", [1024, 2048, 4096, 8192], contrast_plain),
    "length": ("tokens a text", [64, 128, 256, 512], lambda t: masked_lm(8, t, 2000)),
    "batch": ("texts a batch", [8, 16, 32, 64], lambda b: masked_lm(b, 64, 2000)),
    "vocabulary": ("words", [2000, 8000, 32000, 128_000], lambda v: masked_lm(16, 64, v)),
}
TINY = {
    "vectors": [32, 64],
    "vectors, plain": [32, 64],
    "length": [8, 16],
    "batch": [2, 4],
    "vocabulary": [70, 90],
}


def exponent(sizes: list[int], values: list[float]) -> float | None:
    """The slope of log value over log size, least squares over the last three."""
    pairs = [(math.log(x), math.log(y)) for x, y in zip(sizes, values, strict=True) if y and y > 0][-3:]
    if len(pairs) < 2:
        return None
    mx, my = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    return sum((x - mx) * (y - my) for x, y in pairs) / sum((x - mx) ** 2 for x, _ in pairs)


def measure(name: str, sizes: list[int], memory: bool, flags: list[str]) -> dict:
    title, _, make = SERIES[name]
    seconds, mib = [], []
    for size in sizes:
        seconds.append(alternate({"": make(size)}, rounds=3, budget=6)[""])
        if memory:
            done = subprocess.run(
                [sys.executable, __file__, *flags, "--memory", name, str(size)],
                capture_output=True,
                text=True,
            )
            mib.append(float(done.stdout.split()[-1]))
    return {
        "what": title,
        "sizes": sizes,
        "seconds": [float(f"{x:.4g}") for x in seconds],
        "mib": [float(f"{x:.4g}") for x in mib],
        "time_exponent": exponent(sizes, seconds),
        "memory_exponent": exponent(sizes, mib) if mib else None,
    }


def figure(found: dict[str, dict], file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    drawing, axes = plt.subplots(
        2, len(found), figsize=(2.6 * len(found), 5), squeeze=False, layout="constrained"
    )
    for column, series in zip(axes.T, found.values(), strict=True):
        for axis, key, scale in ((column[0], "seconds", 1e3), (column[1], "mib", 1)):
            if not series[key]:
                axis.set_visible(False)
                continue
            values = [scale * y for y in series[key]]
            axis.loglog(series["sizes"], values, "o-")
            for size, value in zip(series["sizes"], values, strict=True):
                axis.annotate(
                    f"{value:,.0f}",
                    (size, value),
                    (-3, 4),
                    textcoords="offset points",
                    ha="right",
                    fontsize=7,
                )
            axis.margins(0.2)
            slope = series["time_exponent" if key == "seconds" else "memory_exponent"]
            axis.set_title("" if slope is None else f"exponent {slope:.2f}", fontsize=9)
            axis.set_xticks(series["sizes"], [f"{x:,}" for x in series["sizes"]], fontsize=6, minor=False)
            axis.minorticks_off()
            axis.set_yticks([])
            axis.grid(alpha=0.3)
        column[1 if series["mib"] else 0].set_xlabel(series["what"], fontsize=9)
    axes[0][0].set_ylabel("milliseconds")
    axes[1][0].set_ylabel("MiB above the inputs")
    drawing.savefig(file, dpi=80)
    plt.close(drawing)


def run() -> None:
    options = parser("scaling", __doc__)
    options.add_argument("--process", action="store_true", help="(what each of several processes runs)")
    options = options.parse_args()
    if options.process:
        return process()
    if options.memory:
        name, size = options.memory
        return print(growth(SERIES[name][2](int(size))))
    start, found = time.perf_counter(), {}
    for name, (_, sizes, _) in SERIES.items():
        if not options.only or name in options.only:
            flags = ["--tiny"] * options.tiny
            found[name] = measure(name, TINY[name] if options.tiny else sizes, not options.no_memory, flags)
            print(name, {key: value for key, value in found[name].items() if key != "what"}, flush=True)
    if not options.tiny and (not options.only or "processes" in options.only):
        counts = [1, 2, 4]
        seconds = [float(f"{on_processes(k):.4g}") for k in counts]
        found["processes"] = {
            "what": "processes, 4,096 vectors",
            "sizes": counts,
            "seconds": seconds,
            "mib": [],
        }
        found["processes"] |= {"time_exponent": exponent(counts, seconds), "memory_exponent": None}
        print("processes", found["processes"], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    record = {
        "benchmark": "scaling",
        **machine(),
        "seconds": round(time.perf_counter() - start, 1),
        "series": found,
    }
    (options.out / "scaling.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    figure(found, options.out / "scaling.png")
    print(f"wrote {options.out / 'scaling'}.json and .png")


if __name__ == "__main__":
    run()
