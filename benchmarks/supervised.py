"""Where a supervised contrast should help: after another task (SCL's table 7), and where labels or texts are noisy.

    python benchmarks/supervised.py --out data/recorded      # about two hours of one core

Thirty draws each, the same for both losses; each loss has the rate that it chose, on other draws. Every run is kept in
`--work`, and the same command continues where it was stopped.

| table | what |
|---|---|
| `supervised_flips` | 100 opinions of the toyshop, of which a share has another label |
| `supervised_noise` | SCL's own noise: 100 opinions, and three paraphrases of each at its temperatures |
| `supervised_transfer` | MiniLM, fine-tuned on 4,000 rows of SST-2, then on 40 kitchen reviews, 20 a class |
| `supervised_rates` | validation accuracy of each loss at each rate, on draws that no table has |

Transfer needs the folder that CONTRAST_KIT_REAL_DATA names. As in the paper both steps have one loss. Each
of three first steps (`source` is its accuracy on SST-2) is followed by ten draws.
"""

import argparse
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import _precision
import numpy as np
import pandas as pd
import torch
from _origin import write_origin
from few_shot import SMALL_SCL, sentences, start

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.data import toyshop
from contrast_kit.data.paraphrase import Toyshop
from contrast_kit.objectives import SCL, FineTune
from contrast_kit.tasks import Pipeline, Results, TaskData
from contrast_kit.tasks.table import select_rows

LOSSES = {"CE": FineTune, "CE + SCL": partial(SCL, lam=0.3, tau=0.3)}
FLIPS = (0.0, 0.1, 0.2, 0.3, 0.4)
TEMPERATURES = (None, 0.3, 0.5, 0.7, 0.9)
TINY_RATES, RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2), (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)
SMALL = replace(SMALL_SCL, name="supervised", sizes=(100,), epochs={40: 15, 100: 8}, draws=30, report="mean")
KITCHEN = replace(SMALL, sizes=(40,), per_class=True, evaluate_every=20, most_test={"kitchen": 400})
SEARCHED = dict(first_draw=30, draws=5)
SOURCES, SOURCE_ROWS = 3, 4_000


def flipped(data: TaskData, share: float) -> TaskData:
    """The data with another label, drawn at random, on a share of the training rows."""
    rng, classes = np.random.default_rng(0), data.task.classes
    rows = [dict(row) for row in data.train]
    for row, lot, step in zip(rows, rng.random(len(rows)), rng.integers(1, classes, len(rows)), strict=True):
        if lot < share:
            row["label"] = (int(row["label"]) + int(step)) % classes
    return TaskData(data.task, data.splits | {"train": rows}, data.name)


class Bench:
    """Runs by loss, each at the rate that it chose for a kind of run."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.work, self.rates, self.chosen = args.work, [], {}

    def run(self, plan, data: TaskData, encoder, loss: str, folder: str, **options) -> Results:
        how = dict(folder=self.work / folder / loss.replace(" ", ""), progress=False, **options)
        found = tasks.run(plan, data, encoder, {loss: Pipeline(tune=LOSSES[loss])}, **how)
        if not found.complete:
            raise KeyboardInterrupt
        return found

    def rate(self, kind: str, rates: tuple, plan, data: TaskData, encoder, loss: str, **options) -> float:
        """The rate with the best mean validation accuracy over five draws of their own; of equals the middle one."""
        for lr in rates:
            found = self.run(replace(plan, lr=lr, **SEARCHED), data, encoder, loss, f"{kind}-rates/{lr}", **options)
            means = found.table[["validation", "seconds"]].mean()
            self.rates.append({"kind": kind, "method": loss, "lr": lr, **means})
        scores = {row["lr"]: row["validation"] for row in self.rates[-len(rates) :]}
        best = [lr for lr in rates if scores[lr] == max(scores.values())]
        return best[len(best) // 2]

    def both(self, kind: str, plan, data: TaskData, encoder, changed: dict) -> pd.DataFrame:
        """Both losses on each change: a name of the table's column and value, and a plan, data and options."""
        tables = []
        for loss in LOSSES:
            best = self.rate(kind, TINY_RATES, plan, data, encoder, loss)
            for value, (name, its_plan, its_data, more) in changed.items():
                found = self.run(replace(its_plan, lr=best), its_data, encoder, loss, f"{kind}/{value}", **more)
                tables.append(found.table.assign(**{name: value}))
        return pd.concat(tables)


def toy(bench: Bench) -> dict[str, pd.DataFrame]:
    """The two tables of the toyshop, from masked LM of the other shop."""
    other = toyshop.corpus(20_000, shop="othershop")
    shop = start(other, toyshop.corpus(20_000) + other, 600, bench.work / "start")
    data = sentences()["opinion"]
    flips = {share: ("flipped", SMALL, flipped(data, share), {}) for share in FLIPS}
    longer = replace(SMALL, epochs={100: 5})
    noise = {
        str(T).lower(): ("temperature", replace(longer, temperature=T), data, {"paraphraser": Toyshop()})
        for T in TEMPERATURES
    }
    return {
        "supervised_flips": bench.both("flips", SMALL, data, shop, flips),
        "supervised_noise": bench.both("noise", longer, data, shop, noise),
    }


def transfer(bench: Bench, real: Path) -> pd.DataFrame:
    """40 kitchen reviews after SST-2, with the same loss in both steps."""
    mini = ck.Encoder.from_pretrained(real / "models" / "all-MiniLM-L6-v2")
    films = tasks.load("glue/sst2", folder=real / "glue_data")
    found = ck.data.load(real / "transfer" / "amazon_kitchen", quoted=True)
    task = tasks.Task("kitchen", ("sentence",), ("negative", "positive"), ("accuracy",))
    half = found["train"].train_test_split(0.5, seed=0)
    kitchen = TaskData(task, {"train": half["train"], "validation": half["test"]}, "amazon kitchen")
    tables, options = [], dict(precision=_precision.faster(), max_length=128)
    for loss in LOSSES:
        for source in range(SOURCES):
            first, right = after_films(mini, films, loss, source)
            if not source:
                best = bench.rate("transfer", RATES, KITCHEN, kitchen, first, loss, **options)
            each = replace(KITCHEN, lr=best, draws=30 // SOURCES, first_draw=source * (30 // SOURCES))
            table = bench.run(each, kitchen, first, loss, f"transfer/{source}", **options).table
            tables.append(table.assign(first_seed=source, source=right))
    return pd.concat(tables)


def after_films(mini: ck.Encoder, films: TaskData, loss: str, seed: int) -> tuple[FineTune, float]:
    """MiniLM fine-tuned on rows of SST-2, and its accuracy on SST-2's validation rows."""
    rows = np.random.default_rng(seed).permutation(len(films.train))[:SOURCE_ROWS].tolist()
    how = dict(method=LOSSES[loss], seed=seed, epochs=2, lr=1e-4, precision=_precision.faster(), max_length=128)
    tuned = tasks.fine_tune(mini, select_rows(films.train, rows), task=films.task, **how)
    return tuned.objective, tuned.evaluate(films.validation)["accuracy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    parser.add_argument("--work", type=Path, default=Path("runs/supervised"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    bench, real = Bench(args), os.environ.get("CONTRAST_KIT_REAL_DATA")
    tables = toy(bench)
    write(args.out, tables, bench)
    if real:
        write(args.out, {"supervised_transfer": transfer(bench, Path(real))}, bench)
    else:
        print("CONTRAST_KIT_REAL_DATA is not set: SST-2 and the kitchen reviews are left out.")


def write(out: Path, tables: dict[str, pd.DataFrame], bench: Bench) -> None:
    """The tables, and the rates that the losses chose so far."""
    settings = {"draws": SMALL.draws, "search": SEARCHED, "source rows": SOURCE_ROWS}
    for name, table in tables.items():
        kept = table.drop(columns=["setting", "post", "best_step"], errors="ignore").round(4)
        tasks.results.write(kept, out / f"{name}.csv")
        write_origin(out / f"{name}.csv", "supervised", table["seconds"].sum(), settings)
    rates = out / "supervised_rates.csv"
    tasks.results.write(pd.DataFrame(bench.rates).round(4), rates)
    write_origin(rates, "supervised", SEARCHED["draws"] * sum(row["seconds"] for row in bench.rates), settings)


if __name__ == "__main__":
    main()
