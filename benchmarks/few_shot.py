"""The few-shot comparisons that notebook 10 shows: CMLM's and SCL's protocols in small, from one MLM start.

    python benchmarks/few_shot.py --out data/recorded          # all of it, on what there is

On one CPU core the 20-label table (`few_shot_20`) takes four minutes, all tables 35. Each run is written as it ends, so
that a stopped script continues. All start from one encoder, trained by masked LM on sentences of the *other* shop, as
RoBERTa was trained on other text than the task's.

| table | protocol | what |
|---|---|---|
| `few_shot_20` | CMLM's: 5 draws × 3 seeds, mean of all | five methods, 20 labels: what kind of sentence is it? |
| `few_shot_top3` | SCL's: 10 draws, top 3 by validation | cross-entropy with and without SCL |
| `few_shot_sizes` | 5 draws × 3 seeds | five methods, 100 and 1,000 labels |
| `few_shot_noise` | SCL's noise: 10 draws, its four temperatures | 100 rows, and three paraphrases of each |
"""

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
from _origin import write_origin

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.data import toyshop
from contrast_kit.data.paraphrase import Toyshop
from contrast_kit.objectives import CMLM, CSSL, MLM, SCL
from contrast_kit.tasks import Pipeline, protocols

KINDS = ("opinion", "shelf", "visit", "visit and opinion")
OPINIONS = ("negative", "none", "positive")
TAU = 0.05
PIPELINES = {
    "FT": Pipeline(),
    "TAPT → FT": Pipeline(post=MLM),
    "CMLM → FT": Pipeline(post=partial(CMLM, contrast="info_nce", tau=TAU)),
    "CSSL → FT": Pipeline(post=partial(CSSL, tau=TAU), paraphraser=Toyshop()),
    "SCL": Pipeline(tune=partial(SCL, lam=0.3, tau=0.3)),
}
CE = {"CE": Pipeline(), "CE + SCL": PIPELINES["SCL"]}
TINY = dict(
    lr=1e-3,
    batch_size=16,
    group_by_length=True,  # as the recorded rows had it: what any rows change stands in HISTORY.md
    evaluate_every=10,
    validation=150,
    most_test={"kind": 500, "opinion": 500},
)
SMALL = replace(
    protocols.CMLM, name="CMLM few-shot, in small", sizes=(20,), epochs={20: 20, 100: 8, 1000: 3},
    post_epochs={20: 20, 100: 6, 1000: 2}, post_lr=5e-4, **TINY,
)  # fmt: skip
SMALL_SCL = replace(protocols.SCL_FEW_SHOT, name="SCL few-shot, in small", sizes=(20,), epochs=SMALL.epochs, **TINY)


def sentences(rows: int = 6_500) -> dict[str, tasks.TaskData]:
    """Two tasks on sentences of the toyshop's corpus: what kind of sentence it is, and which opinion it gives."""
    lines = toyshop.labelled_corpus(20_000 + rows)[20_000:]
    labels = {"kind": [KINDS.index(toyshop.kind_of(line["text"])) for line in lines]}
    labels["opinion"] = [OPINIONS.index(line["opinion"]) for line in lines]
    found = {}
    for (name, of), names in zip(labels.items(), (KINDS, OPINIONS), strict=True):
        task = tasks.Task(name, ("text",), names, ("accuracy",))
        all_rows = [{"text": line["text"], "label": label} for line, label in zip(lines, of, strict=True)]
        cut = {"train": slice(0, -1_500), "validation": slice(-1_500, -1_000), "test": slice(-1_000, None)}
        found[name] = tasks.TaskData(task, {split: all_rows[part] for split, part in cut.items()}, f"toyshop/{name}")
    return found


def start(texts: list[str], words: list[str], steps: int, folder: Path) -> ck.Encoder:
    """The encoder that all methods start from: `steps` of masked LM, no contrast. Made once, kept in `folder`."""
    if (folder / "config.json").exists():
        return ck.Encoder.from_pretrained(folder)
    tokenizer = ck.data.train_tokenizer(words, vocab_size=2_000)
    encoder = ck.Encoder.tiny(tokenizer, pooling="mean", dropout=0.1, initializer_range=0.05)
    if steps:
        ck.fit(MLM(encoder, p_m=0.3), texts, steps=steps, batch_size=32, lr=1e-3, progress=False)
    encoder.save_pretrained(folder)
    return ck.Encoder.from_pretrained(folder)


def tables(steps: int, work: Path) -> dict:
    """The name of each table and a function that makes its results in a folder. They share one start."""
    other = toyshop.corpus(20_000, shop="othershop")
    shop = start(other, toyshop.corpus(20_000) + other, steps, work / "start")
    data = sentences()
    sizes = replace(SMALL, sizes=(100, 1000))
    noise = replace(SMALL_SCL, sizes=(100,), epochs={100: 5})

    def noises(folder: Path) -> dict[float | str, tasks.Results]:
        how = dict(paraphraser=Toyshop())
        return {
            "none" if T is None else T: tasks.run(
                replace(noise, temperature=T), data["opinion"], shop, CE, folder=folder / f"temperature={T}", **how
            )
            for T in protocols.SCL_NOISE
        }

    return {
        "few_shot_20": lambda folder: tasks.run(SMALL, data["kind"], shop, PIPELINES, folder=folder),
        "few_shot_top3": lambda folder: tasks.run(SMALL_SCL, data["kind"], shop, CE, folder=folder),
        "few_shot_sizes": lambda folder: tasks.run(sizes, data["kind"], shop, PIPELINES, folder=folder),
        "few_shot_noise": noises,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/few_shot"), help="folder of the tables")
    parser.add_argument("--work", type=Path, default=Path("runs/few_shot"), help="folder of the runs so far")
    parser.add_argument("--steps", type=int, default=600, help="updates of the masked LM that all start from")
    parser.add_argument("--only", nargs="*", help="names of tables; all by default")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, make in tables(args.steps, args.work).items():
        if args.only and name not in args.only:
            continue
        results = make(args.work / name)
        parts = results if isinstance(results, dict) else {None: results}
        if not all(part.complete for part in parts.values()):
            print(f"{name} was stopped; the same command goes on.")
            return
        found = [part.table if T is None else part.table.assign(temperature=T) for T, part in parts.items()]
        table = pd.concat(found).drop(columns=["setting", "post", "best_step"])
        tasks.results.write(table.round(4), args.out / f"{name}.csv")
        origin = {"steps of the start": args.steps}
        write_origin(args.out / f"{name}.csv", "few_shot", table["seconds"].sum(), origin)
        for part in parts.values():
            print(f"{name}: {len(table)} runs\n{part.summary().drop(columns=['metric', 'rule'])}", flush=True)


if __name__ == "__main__":
    main()
