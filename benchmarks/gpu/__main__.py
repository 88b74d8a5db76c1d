"""Everything for one GPU in one command of at most nine minutes: G1 to G8, and what did not fit.

    python benchmarks/gpu                               # on the GPU there is
    python benchmarks/gpu --only G4 G5                  # some of them
    python benchmarks/gpu --device cpu --tiny           # the same code on a processor, at sizes that mean nothing

| id | question |
|----|----------|
| G1 | one training step of each method, length 128 and 512: time, MFU, beside transformers' loop |
| G2 | texts of 16 to 512 tokens: real tokens per second, packed, padded, and dense |
| G3 | the vocabulary's losses at 131,072 tokens and 32,768 words: time and memory |
| G4 | the contrast at N = 65,536, width 768, beside the plain form and pytorch-metric-learning |
| G5 | the contrast at N = 1,048,576, width 256, in one call |
| G6 | waits for the device in a step, and the steps per second of a small model |
| G7 | masking on the device, millions of tokens per second |
| G8 | the loss of each method in the same seconds; in its full form: `--only G8 --seconds-each 1200` |

Each part gets a share of the time and is cut where it ends; whatever does not fit into memory is a row that says so.
After each part its aims (`aims.py`) are set beside its rows: met, not met, or not known where a number is missing.
MFU is useful operations (heads at masked positions, no padding, no recomputation) over time and the measured rate of
a large bfloat16 product on the same device. Nothing here changes a setting of the device.
"""

import json
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]

import aims  # noqa: E402
import contrasts  # noqa: E402
import steps  # noqa: E402
import torch  # noqa: E402
from _bench import machine, matmul_rate, parser  # noqa: E402
from setting import Setting  # noqa: E402

PARTS = {
    "G1": (steps.each_method, 190),
    "G2": (steps.ragged, 50),
    "G3": (contrasts.vocabulary, 40),
    "G4": (contrasts.large, 60),
    "G5": (contrasts.million, 40),
    "G6": (steps.waits, 40),
    "G7": (contrasts.masking_rate, 15),
    "G8": (steps.same_seconds, 95),
}

AT_MOST = 520
"""Seconds for everything; what is running then is finished, and the rest is reported as left out."""


def main() -> None:
    options = parser("gpu", __doc__)
    options.add_argument("--device", default="cuda", help="cuda, or cpu to try out the code")
    options.add_argument(
        "--seconds-each", type=float, default=6.0, help="G8: seconds for each method and seed"
    )
    options = options.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("There is no GPU that this torch can use; --device cpu --tiny tries the code without one.")
    rate = matmul_rate(torch.bfloat16, n=256 if options.tiny else None, device=options.device)
    setting = Setting(options.device, options.tiny, rate, options.seconds_each)
    print(f"{machine()['device']}: {rate / 1e12:.4g} TFLOP/s in a bfloat16 product", flush=True)
    start = time.perf_counter()
    for name, (part, seconds) in PARTS.items():
        if options.only and name not in options.only:
            continue
        left = AT_MOST - (time.perf_counter() - start)
        setting.begin(name, 1e9 if options.only else min(seconds, left))
        setting.attempt(name, lambda part=part: part(setting))
        if not options.tiny:
            print(*aims.judge(setting.rows, name), sep="\n", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    took = round(time.perf_counter() - start, 1)
    record = {"benchmark": "gpu", **machine(), "tflops": rate / 1e12, "tiny": options.tiny, "seconds": took}
    (options.out / "gpu.json").write_text(json.dumps(record | {"rows": setting.rows}, indent=1) + "\n")
    failed = [f"{row['part']} {row['what']}: {row['note']}" for row in setting.rows if "note" in row]
    print(f"\n{took:.0f} s; wrote {options.out / 'gpu.json'}")
    judged = [one["met"] for row in setting.rows for one in row.get("aims", ())]
    if judged:
        print(f"Of {len(judged)} aims {judged.count(True)} are met, {judged.count(False)} are not.")
    print("What did not fit or run:\n  " + "\n  ".join(failed) if failed else "Everything ran.")


if __name__ == "__main__":
    main()
