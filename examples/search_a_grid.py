"""Search a grid in order of promise: the middle first, then always the point nearest to the best so far.

`ck.tasks.search` runs all points of a grid, or some drawn at random. A paper's grid is often too large for that: CMLM's
has 30 points, COCO-LM's up to 64 for each task of GLUE (table 7) and 24 for SQuAD (table 8). `explore` takes any
function that gives a point a score; with a file it goes on where it was stopped. Seconds on a CPU.
"""

import json
import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import contrast_kit as ck
from contrast_kit.tasks import protocols


def explore(grid, measure, budget, file=None):
    """The scores of up to `budget` points of a grid, the best first, each as a pair (score, point)."""
    every = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    scores = {}
    if file is not None and file.exists():
        scores = {int(place): score for place, score in json.loads(file.read_text(encoding="utf-8")).items()}
    best = {name: values[(len(values) - 1) // 2] for name, values in grid.items()}
    while len(scores) < min(budget, len(every)):
        left = [place for place in range(len(every)) if place not in scores]
        place = min(left, key=lambda place: distance(grid, every[place], best))
        scores[place] = measure(every[place])
        best = every[max(scores, key=scores.get)]
        if file is not None:
            draft = file.with_suffix(".draft")
            draft.write_text(json.dumps(scores), encoding="utf-8")
            os.replace(draft, file)  # a process killed at any moment leaves a whole file
    ranked = sorted(scores, key=scores.get, reverse=True)
    return [(scores[place], every[place]) for place in ranked]


def distance(grid, a, b):
    """Steps along the grid from one point to another, summed over all names."""
    return sum(abs(values.index(a[name]) - values.index(b[name])) for name, values in grid.items())


def of_squad(data, encoder, folder):
    """What `explore` measures on COCO-LM's table 8, `protocols.SQUAD.grid_for("squad")`: median F1 of all seeds."""

    def measure(point):
        plan = replace(protocols.SQUAD, **point | {"epochs": {None: point["epochs"]}})
        name = " ".join(f"{key}={value}" for key, value in point.items())
        return ck.tasks.squad.run(data, encoder, protocol=plan, folder=folder / name).summary()["reported"][0]

    return measure


def main():
    data = ck.tasks.load("toyshop/sst2")
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(data.train["sentence"], vocab_size=300), num_hidden_layers=1)
    plan = replace(protocols.CMLM, sizes=(20,), draws=1, seeds=(0,), validation=60, most_test={"sst2": 60})

    def measure(point):
        plan_here = replace(plan, lr=point["lr"], epochs={20: point["epochs"]})
        return ck.tasks.run(plan_here, data, encoder, ["FT"], progress=False).table["validation"].mean()

    grid = {"lr": (1e-5, 1e-4, 1e-3, 1e-2), "epochs": (1, 2, 4)}
    for score, point in explore(grid, measure, budget=5, file=Path("search.json")):
        print(f"{score:.3f}", point)


if __name__ == "__main__":
    main()
