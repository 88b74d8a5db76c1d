"""Everything for one GPU in one command of at most nine minutes: is it right, and is it fast?

    python benchmarks/gpu                        # writes runs/benchmarks/gpu.csv and gpu.json
    python benchmarks/gpu --only G4 G5           # some of the parts
    python benchmarks/gpu --dry                  # every row on a processor, at sizes that mean nothing

| part | question |
|----|----------|
| tests | do the project's tests of devices pass here? (a process beside parity) |
| parity | losses, geometry, steps and runs of all methods: how far from a CPU's? |
| G1 | one training step of each method, length 128 and 512: time, MFU, beside transformers' |
| G2 | texts of 16 to 512 tokens: real tokens per second, packed, padded, and dense |
| G3 | the vocabulary's losses at 131,072 tokens and 32,768 words, beside torch's and liger-kernel's chunks |
| G4 | the contrast at N = 65,536, width 768, beside six others |
| G5 | the contrast at N = 1,048,576, width 256, in one call |
| G6 | waits for the device in a step, and the steps per second of a small model |
| G7 | masking on the device, millions of tokens per second |

G1 to G7 run twice, at compact sizes first: a run that is cut has each row. A row is written when it is known, and says
so where it does not fit into memory or no time is left. At the end the aims (`aims.py`) are set beside the rows. MFU is
useful operations (heads at masked positions, no padding, no recomputation) over time and the measured rate of a large
bfloat16 product on the same device. Nothing here changes a setting of the device. Without a GPU: one line, exit code 2.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import aims  # noqa: E402
import contrasts  # noqa: E402
import parity  # noqa: E402
import steps  # noqa: E402
import torch  # noqa: E402
from _bench import machine, matmul_rate  # noqa: E402
from setting import Setting  # noqa: E402

PARTS = {  # seconds at compact sizes, and full ones
    "G7": (contrasts.masking_rate, 5, 5),
    "G3": (contrasts.vocabulary, 20, 25),
    "G4": (contrasts.large, 20, 45),
    "G6": (steps.small, 20, 40),
    "G5": (contrasts.million, 10, 40),
    "G2": (steps.ragged, 20, 30),
    "G1": (steps.each_method, 40, 150),
}
AT_MOST = 500
"""Seconds for everything; what runs then is finished, and the rest is told as left out."""

TESTS = (
    *("fast", "faster", "packed", "step", "training", "tasks", "hf_folders", "own_objectives"),
    *("objectives_capt", "objectives_coco_lm"),
)
DRY_TESTS = ("schedules",)


def tests(names: tuple[str, ...]) -> subprocess.Popen:
    """The project's own tests, in a process beside this one."""
    files = [str(HERE.parent.parent / "tests" / f"test_{name}.py") for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not full", "-p", "no:cacheprovider", *files]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def tests_row(setting: Setting, process: subprocess.Popen) -> None:
    lines = process.communicate(timeout=max(1, setting.left))[0].strip().splitlines()
    failed = [line.split("::")[-1].split(" - ")[0] for line in lines if line.startswith(("FAILED", "ERROR"))]
    note = {"note": " ".join(failed)[:500]} if process.returncode else {}
    setting.keep(lines[-1].strip("= "), **note)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, default=Path("runs/benchmarks"), help="folder of gpu.csv and gpu.json")
    options.add_argument("--only", nargs="*", choices=("tests", "parity", *PARTS))
    options.add_argument("--dry", action="store_true", help="on a processor, at toy sizes")
    options = options.parse_args()
    if not options.dry and not torch.cuda.is_available():
        print("There is no GPU that this torch can use; --dry tries the code without one.", file=sys.stderr)
        sys.exit(2)
    device, first = ("cpu", "dry") if options.dry else ("cuda", "compact")
    wanted = options.only or ("tests", "parity", *PARTS)
    options.out.mkdir(parents=True, exist_ok=True)
    origin = {"command": "python benchmarks/gpu" + " --dry" * options.dry, **machine()}
    (options.out / "gpu.json").write_text(json.dumps(origin, indent=1) + "\n")
    start = time.perf_counter()
    process = tests(DRY_TESTS if options.dry else TESTS) if "tests" in wanted else None
    rate = matmul_rate(torch.bfloat16, n=256 if options.dry else None, device=device)
    print(f"{origin['device']}: {rate / 1e12:.4g} TFLOP/s in a bfloat16 product", flush=True)
    setting = Setting(device, first, rate, options.out / "gpu.csv", origin["device"])
    try:
        if "parity" in wanted:
            setting.begin("parity", 100)
            parity.everything(setting)
        if process:
            setting.begin("tests", start + 100 - time.perf_counter())
            setting.attempt("cut", lambda: tests_row(setting, process))
        for size in (first,) if options.dry else ("compact", "full"):
            setting.size = size
            for name in [name for name in PARTS if name in wanted]:
                part, *seconds = PARTS[name]
                left = AT_MOST - (time.perf_counter() - start)
                setting.begin(name, 1e9 if options.only or options.dry else min(seconds[size == "full"], left))
                setting.attempt(name, lambda part=part: part(setting))
    except KeyboardInterrupt:
        print("Interrupted; the rows so far are kept.")
    finally:
        if process and process.poll() is None:
            process.terminate()
        noted = [row for row in setting.rows if "note" in row]
        told = [f"{row['part']}  {row['size']:<8}{row['what']}: {row['note']}" for row in noted]
        print("", *aims.judge(setting.rows), *told, sep="\n")
        took = time.perf_counter() - start
        origin |= {"seconds": round(took, 1), "tflops": rate / 1e12}
        (options.out / "gpu.json").write_text(json.dumps(origin, indent=1) + "\n")
        print(f"{took:.0f} s; wrote {options.out / 'gpu.csv'}")


if __name__ == "__main__":
    main()
