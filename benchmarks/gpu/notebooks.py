"""How long do the notebooks take at gpu speed: by arithmetic, and measured, in seconds a cell.

    python benchmarks/gpu/notebooks.py --plan                 # trainings x steps / steps a second, for each notebook
    python benchmarks/gpu/notebooks.py --seconds 500 04 05    # run them; what has not ended by then is killed and told

Steps a second are those of 2 x 32 on an H100, of the first run (`data/recorded/benchmarks/h100/gpu.csv`), before steps
of small models were recorded. They are bound by launches, of which a step of masked LM has 188 and 122 more for each
layer; so a step of six layers takes 2.1 times as long. The plan leaves a minute of five for everything else.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# notebook: (method, layers, trainings, steps of each) at gpu speed; a picture's views are encoded by some nine layers
PLAN = {
    "00": [("cmlm", 6, 1, 3_000), ("cmlm", 2, 2, 100)],
    "03": [("mlm", 6, 1, 1_000)],
    "04": [("mlm", 6, 1, 5_000), ("mlm", 6, 2, 470), ("mlm", 6, 2, 800)],
    "05": [("cmlm", 2, 7, 600)],
    "06": [("mlm", 6, 2, 120), ("electra", 6, 2, 120), ("coco-lm", 6, 20, 120)],
    "07b": [("scl", 2, 196, 90)],
    "08": [("mlm", 6, 4, 600), ("capt", 6, 7, 300), ("scl", 6, 9, 48)],
    "09": [("cmlm", 6, 3, 60)],
    "10": [("mlm", 6, 1, 1_500), ("scl", 6, 40, 80), ("cmlm", 6, 24, 90)],
    "11": [("cmlm", 6, 11, 300)],
    "12": [("cmlm", 6, 1, 500)],
    "13": [("mlm", 9, 2, 900), ("capt", 9, 1, 900), ("scl", 9, 4, 500)],
}
ONE = """
import json, sys, time, nbformat
from nbclient import NotebookClient
path, start = sys.argv[1], {}
def before(cell, cell_index): start[cell_index] = time.time()
def after(cell, cell_index, execute_reply=None):
    print(json.dumps([cell_index, round(time.time() - start[cell_index], 1)]), flush=True)
options = dict(timeout=None, kernel_name="python3", on_cell_execute=before, on_cell_executed=after)
NotebookClient(nbformat.read(path, 4), resources={"metadata": {"path": sys.argv[2]}}, **options).execute()
"""


def planned(notebook: str) -> float:
    """Seconds of a notebook's trainings."""
    with (ROOT / "data/recorded/benchmarks/h100/gpu.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "G6"]
    seconds = {row["what"].split(",")[0]: 1 / float(row["steps_a_second"]) for row in rows}
    return sum(n * steps * seconds[name] * (188 + 122 * layers) / 433 for name, layers, n, steps in PLAN[notebook])


def measured(path: Path, seconds: float) -> str:
    """One line: whether it ended, how long it took, its slowest cells."""
    began, note = time.monotonic(), "ended"
    own = {"CONTRAST_KIT_SPEED": "gpu", "CONTRAST_KIT_PANELS": "static", "CONTRAST_KIT_PROGRESS": ""}
    command = [sys.executable, "-c", ONE, str(path), str(path.parent)]
    run = subprocess.Popen(command, env=own | os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, error = run.communicate(timeout=seconds)
        if run.returncode:
            note = f"NOT ENDED, {error.strip().splitlines()[-1][:200]}"
    except subprocess.TimeoutExpired:
        run.kill()
        (out, _), note = run.communicate(), "NOT ENDED, no time left"
    cells = [json.loads(line) for line in out.splitlines() if line.startswith("[")]
    slowest = sorted(cells, key=lambda cell: -cell[1])[:4]
    return f"{path.stem:<26}{time.monotonic() - began:6.0f} s  {len(cells)} cells, {note}; slowest (cell, s) {slowest}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("notebooks", nargs="*", default=list(PLAN), help="numbers, such as 04, or files")
    options.add_argument("--plan", action="store_true", help="run nothing")
    options.add_argument("--seconds", type=float, default=500)
    options = options.parse_args()
    end = time.monotonic() + options.seconds
    for name in options.notebooks:
        if options.plan:
            print(f"{name:<4}{planned(name):5.0f} s", *("{}, {} layers: {} x {} steps".format(*p) for p in PLAN[name]))
        else:
            path = Path(name) if name.endswith(".ipynb") else next((ROOT / "notebooks").glob(f"{name}_*.ipynb"))
            print(measured(path.resolve(), max(1, end - time.monotonic())), flush=True)


if __name__ == "__main__":
    main()
