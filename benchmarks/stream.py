"""Training from a file larger than memory would like: the peak of a process against the number of lines.

    python benchmarks/stream.py

A file of N lines of toyshop text (two sentences per line, an empty line after every twentieth) becomes a `data.Stream`,
and 20 steps are trained on it; each N in a fresh process, whose whole peak is given, with Python, torch, the model and
the optimizer in it. What the stream itself takes is the difference between two N. "again" finds the tokens on disk.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _bench import MIB, machine, parser, peak

SIZES, TINY = (20_000, 2_000_000), (500,)
LIMIT = 600
"""MiB that the largest file may take."""


def write_lines(file: Path, lines: int) -> None:
    """The file: made line by line."""
    from contrast_kit.data import toyshop

    sentences, draw = toyshop.corpus(min(20_000, 2 * lines), seed=1), random.Random(0)
    with file.open("w", encoding="utf-8") as out:
        for line in range(lines):
            out.write(f"{draw.choice(sentences)} {draw.choice(sentences)}\n" + "\n" * (line % 20 == 19))


def one(file: str, way: str) -> None:
    """In a fresh process: a stream and 20 steps; prints what was measured as JSON."""
    import torch

    import contrast_kit as ck
    from contrast_kit.data import toyshop

    torch.set_num_threads(1)
    tokenizer = ck.data.train_tokenizer(toyshop.corpus(2_000, seed=1), vocab_size=2_000)
    objective = ck.objectives.MLM(ck.Encoder.tiny(tokenizer))
    start = time.perf_counter()
    stream = ck.data.Stream(Path(file), tokenizer, max_length=128, pack=way == "packed")
    built, seconds = peak(), time.perf_counter() - start
    ck.fit(objective, stream, steps=20, batch_size=32 if way != "packed" else 16, progress=False)
    found = {"examples": len(stream), "tokens": int(stream.lengths.sum()), "build_seconds": seconds}
    print(json.dumps(found | {"built_mib": built / MIB, "peak_mib": peak() / MIB}))


def main() -> None:
    if len(sys.argv) > 2 and sys.argv[1] == "--one":
        return one(*sys.argv[2:])
    options = parser("stream", __doc__).parse_args()
    rows, start, here = [], time.perf_counter(), machine()  # the commit that the processes will run
    with tempfile.TemporaryDirectory() as folder:
        for lines in TINY if options.tiny else SIZES:
            file = Path(folder, f"{lines}.txt")
            write_lines(file, lines)
            environment = os.environ | {"CONTRAST_KIT_CACHE": f"{folder}/cache"}
            for way in ("first", "again", "packed"):
                command = [sys.executable, __file__, "--one", str(file), way]
                done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
                rows.append({"lines": lines, "way": way, "bytes": file.stat().st_size, **json.loads(done.stdout)})
                print(" ".join(f"{k} {v:,.0f}" if isinstance(v, float | int) else v for k, v in rows[-1].items()))
    options.out.mkdir(parents=True, exist_ok=True)
    record = {"benchmark": "stream", **here, "limit_mib": LIMIT, "seconds": time.perf_counter() - start}
    (options.out / "stream.json").write_text(json.dumps(record | {"rows": rows}, indent=1) + "\n", encoding="utf-8")
    worst = max(row["peak_mib"] for row in rows)
    print(f"The highest peak is {worst:.0f} MiB; {LIMIT} are allowed: {'met' if worst <= LIMIT else 'NOT met'}.")


if __name__ == "__main__":
    main()
