"""Search a paper's grid in order of promise: the middle first, then always the point nearest to the best so far.

`ck.tasks.protocols.CMLM.search` and its like hold what the papers searched: CMLM has 30 points, COCO-LM up to 64 for
each task of GLUE (table 7) and 24 for SQuAD (table 8). `explore` takes any function that gives a point a score; with a
file it goes on where it was stopped. `of_protocol` makes such a function of a protocol. Seconds on a CPU.
"""

import json
import os
from dataclasses import fields, replace
from functools import partial
from itertools import product
from pathlib import Path

import contrast_kit as ck
from contrast_kit.tasks import PIPELINES, protocols


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


def at_point(protocol, pipeline, point):
    """The protocol and the pipeline with the values of a point: fields of the protocol, or of the first config that has
    one of that name, of post-training before fine-tuning."""
    for name, value in point.items():
        if name in ("epochs", "post_epochs"):
            protocol = replace(protocol, **{name: dict.fromkeys(protocol.sizes, value)})
        elif name in [field.name for field in fields(protocol)]:
            protocol = replace(protocol, **{name: value})
        else:
            makers = {stage: getattr(pipeline, stage) for stage in ("post", "tune")}
            configs = {s: getattr(getattr(maker, "func", maker), "Config", None) for s, maker in makers.items()}
            stage = next(s for s, config in configs.items() if name in getattr(config, "__dataclass_fields__", {}))
            pipeline = replace(pipeline, **{stage: partial(makers[stage], **{name: value})})
    return protocol, pipeline


def of_protocol(protocol, data, encoder, pipeline, folder, **settings):
    """What `explore` measures: the mean validation score of the runs at a point, of the top ones where SCL picks those.

    Several sizes count equally. A protocol without validation rows, as COCO-LM's and CAPT's, compares by the number
    that it reports, as those papers do: then the best point is flattered, the more so the larger the grid. A point
    whose training diverges is the worst.
    """

    def measure(point):
        own, contestant = at_point(protocol, pipeline, point)
        name = " ".join(f"{key}={value}" for key, value in point.items())
        try:
            results = ck.tasks.run(own, data, encoder, {"searched": contestant}, folder=folder / name, **settings)
        except (FloatingPointError, ck.checks.NotFiniteError):
            return float("-inf")
        if not results.complete:
            raise KeyboardInterrupt
        if results.table["validation"].isna().any():
            summary = results.summary()
            return summary[summary["task"] == data.name]["reported"].mean()
        picked = [ck.tasks.results.selected_runs(runs, own) for _, runs in results.table.groupby("n")]
        if own.report == "best":  # chosen by all of its runs: "across 10 seeds"
            picked = [runs for _, runs in results.table.groupby("n")]
        return sum(runs["validation"].mean() for runs in picked) / len(picked)

    return measure


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
    measure = of_protocol(plan, data, encoder, PIPELINES["FT"], Path("search"), progress=False)
    grid = {"lr": (1e-5, 1e-4, 1e-3, 1e-2), "epochs": (1, 2, 4)}
    for score, point in explore(grid, measure, budget=5, file=Path("search.json")):
        print(f"{score:.3f}", point)


if __name__ == "__main__":
    main()
