"""CMLM's own question: what does post-training on more unlabelled text of the task buy when labels are few?

    python benchmarks/labels.py --out data/recorded --work runs/labels     # about five hours of one core
    python benchmarks/labels.py … --task sst2 --sizes 400 96               # where does it stop? another task,
    python benchmarks/labels.py … --amount 2000 --sizes 400 96             # or less text: tables `labels_2000` …

Which of eight libraries does a sentence document? Post-training starts from `kit/books-mlm` and reads every unlabelled
training sentence of the eight; fine-tuning then reads n labels. Every number is written when it is known, and the same
command goes on where it was stopped.

| table | what |
|---|---|
| `labels_learned` | held-out masked LM of every encoder, before and after post-training: has it learned its task? |
| `labels_rates` | fine-tuning at each of `RATES`, on draws of their own, by rows that no test has |
| `labels` | test accuracy of each arm, number of labels and draw |

Equal steps: every post-training takes 600. Equal seconds: `TAPT, equal seconds` takes the 1,000 steps of masked LM that
fit into the time of 600 steps of CMLM (0.73 s against 0.43 s a step, one quiet core). A draw belongs to the
post-training whose number is its own modulo three, so that an interval over draws covers both. The labelled rows, the
order of batches and the new head are the same for all arms of a draw, so that differences are taken in pairs.

`--task sst2` asks for the opinion in a phrase of a film review: post-training reads the 67,000 training phrases of
SST-2, from the folder that CONTRAST_KIT_REAL_DATA names. `--amount` leaves post-training that many sentences, which are
drawn once.
"""

import argparse
import copy
import itertools
import json
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from _origin import write_origin
from _table import Table
from books import held_out_loss

import contrast_kit as ck

SIZES = (400, 96, 24, 48, 200, 1000)
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
SEARCHED = (102, 105, 108)
"""The draws of the search, which no test has."""
TOPICS, POSTS, TEST = 8, 3, 800
EPOCHS = {1000: 4}
"""Passes over n labels: eight, but four where 1,000 labels make the steps many."""
CMLM = ck.objectives.CMLM
ARMS = {
    "plain": None,
    "TAPT": (ck.objectives.MLM, 600),
    "TAPT, equal seconds": (ck.objectives.MLM, 1000),
    "CMLM (printed)": (CMLM, 600),
    "CMLM (InfoNCE)": (partial(CMLM, contrast="info_nce", tau=0.05), 600),
    "untrained": None,
}
COUNTERS = ("TF-IDF", "counting words")


def libraries() -> dict[str, list[dict]]:
    """Sentences of the eight largest libraries by split, each with its library."""
    docs = ck.data.load("docstrings")
    topics = np.bincount(docs["train"]["topic"]).argsort()[::-1][:TOPICS].tolist()
    rows = {}
    for split in ("train", "validation", "test"):
        found = [row for row in docs[split] if row["topic"] in topics]
        found = [{"text": row["text"], "label": topics.index(row["topic"])} for row in found]
        order = np.random.default_rng(0).permutation(len(found))
        rows[split] = found if split == "train" else [found[i] for i in order[:TEST]]
    return rows


def opinions() -> dict[str, list[dict]]:
    """Phrases of SST-2, each with its opinion; rates are chosen by training phrases that are taken out."""
    data = ck.tasks.load("glue/sst2", folder=Path(os.environ["CONTRAST_KIT_REAL_DATA"], "glue_data"))
    found = [{"text": row["sentence"], "label": row["label"]} for row in data.train]
    order = np.random.default_rng(0).permutation(len(found))
    rows = {"validation": [found[i] for i in order[:TEST]], "train": [found[i] for i in order[TEST:]]}
    return rows | {"test": [{"text": row["sentence"], "label": row["label"]} for row in data.validation]}


SOURCES = {"docstrings": libraries, "sst2": opinions}


class Bench:
    """What all arms share: rows, the start, and the post-trained encoders, kept in `work`."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.work, self.sizes, self.arms = args.work, args.sizes, args.arms
        self.asked = f"_{args.task}" * (args.task != "docstrings") + f"_{args.amount}" * bool(args.amount)
        self.work.mkdir(parents=True, exist_ok=True)
        self.rows = self.sentences(args.task)
        self.topics = len({row["label"] for row in self.rows["train"]})
        self.start = ck.Encoder.from_pretrained("kit/books-mlm")
        train = [row["text"] for row in self.rows["train"]]
        if args.amount:
            train = np.random.default_rng(1).permutation(train)[: args.amount].tolist()
        self.texts = self.as_texts(train)
        self.encoders: dict[tuple, ck.Encoder] = {}

    def sentences(self, task: str) -> dict[str, list[dict]]:
        """Rows by split, kept in `work`: docstrings come from what is installed, which changes."""
        kept = self.work / f"rows_{task}.json"
        if not kept.exists():
            kept.write_text(json.dumps(SOURCES[task]()), encoding="utf-8")
        return json.loads(kept.read_text(encoding="utf-8"))

    def as_texts(self, rows: list) -> ck.data.Texts:
        return ck.data.Texts(rows, self.start.tokenizer, max_length=128)

    def encoder(self, arm: str, draw: int) -> ck.Encoder:
        """The encoder that an arm fine-tunes in a draw."""
        number = draw % POSTS if ARMS[arm] else 0
        if (arm, number) not in self.encoders:
            self.encoders[arm, number] = self.made(arm, number)
        return self.encoders[arm, number]

    def made(self, arm: str, number: int) -> ck.Encoder:
        if arm == "plain":
            return self.start
        if arm == "untrained":
            config = self.start.model.config
            names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
            shape = {name: getattr(config, name) for name in names}
            return ck.Encoder.build("tiny", self.start.tokenizer, seed=0, pooling=self.start.pooling, **shape)
        folder = self.work / f"{arm}-{number}{self.asked}".replace(" ", "-").replace(",", "")
        if not (folder / "config.json").exists():
            method, steps = ARMS[arm]
            objective = method(ck.Encoder.from_pretrained("kit/books-mlm"), seed=number)
            how = dict(steps=steps, batch_size=64, lr=5e-4, seed=number, save_every=100, progress=False)
            run = ck.fit(objective, self.texts, folder=folder / "run", resume=True, **how)
            run.history.to_csv(self.work / f"{folder.name}.csv", index=False)
            run.encoder.save_pretrained(folder)
        return ck.Encoder.from_pretrained(folder)

    def drawn(self, n: int, number: int) -> list[dict]:
        """n labelled rows, equally many of each library."""
        rng = np.random.default_rng([n, number])
        labels = np.array([row["label"] for row in self.rows["train"]])
        each = [np.flatnonzero(labels == topic) for topic in range(self.topics)]
        picked = [rng.permutation(rows)[: n // self.topics] for rows in each]
        return [self.rows["train"][i] for i in rng.permutation(np.concatenate(picked))]

    def fine_tuned(self, arm: str, n: int, draw: int, lr: float, split: str) -> float:
        """Accuracy on a split after fine-tuning a copy of the arm's encoder on n labels."""
        objective = ck.objectives.FineTune(copy.deepcopy(self.encoder(arm, draw)), classes=self.topics, seed=draw)
        how = dict(epochs=EPOCHS.get(n, 8), batch_size=16, lr=lr, seed=draw, progress=False)
        ck.fit(objective.train(), self.as_texts(self.drawn(n, draw)), **how)
        rows = sorted(self.rows[split], key=lambda row: len(row["text"]))
        texts, right = self.as_texts(rows), 0
        with torch.no_grad():
            for start in range(0, len(rows), 100):
                batch = texts.batch(range(start, min(start + 100, len(rows))))
                right += int((objective.eval().logits(batch).argmax(1) == batch["label"]).sum())
        return right / len(rows)

    def counted(self, arm: str, n: int, draw: int, split: str) -> float:
        """Accuracy of a logistic regression on words; its strength is cross-validated."""
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
        from sklearn.linear_model import LogisticRegressionCV

        rows, asked = self.drawn(n, draw), self.rows[split]
        words = TfidfVectorizer(sublinear_tf=True) if arm == "TF-IDF" else CountVectorizer()
        seen, labels = words.fit_transform([row["text"] for row in rows]), [row["label"] for row in rows]
        model = LogisticRegressionCV(Cs=np.logspace(-2, 3, 6), cv=min(3, n // self.topics), max_iter=3000)
        model.fit(seen, labels)
        return model.score(words.transform([row["text"] for row in asked]), [row["label"] for row in asked])


def learned(bench: Bench, table: Table) -> None:
    """Each encoder's masked LM on the test rows, which no post-training has read."""
    held = [row["text"] for row in bench.rows["test"]]
    for arm in bench.arms:
        for number in range(POSTS if ARMS[arm] else 1):
            if not table.has(arm, number):
                found = held_out_loss(bench.encoder(arm, number), held, bench.texts)
                table.add({"arm": arm, "post": number, **found})


def rates(bench: Bench, table: Table) -> dict[str, float]:
    """The rate of each arm: the best mean of three draws of 96 labels, on the validation rows."""
    scores: dict[tuple, list[float]] = {}
    for lr, draw, arm in itertools.product(RATES, SEARCHED, bench.arms):
        if not table.has(arm, lr, draw):
            score = bench.fine_tuned(arm, 96, draw, lr, "validation")
            table.add({"arm": arm, "lr": lr, "draw": draw, "n": 96, "validation": score})
    for row in table.rows:
        scores.setdefault((row["arm"], float(row["lr"])), []).append(float(row["validation"]))
    return {arm: max(RATES, key=lambda lr: sum(scores[arm, lr])) for arm in bench.arms}


def one_draw(bench: Bench, table: Table, draw: int, chosen: dict[str, float]) -> None:
    """Every arm with every number of labels, on the labelled rows of a draw."""
    for n, arm in itertools.product(bench.sizes, (*COUNTERS, *bench.arms)):
        control = arm == "untrained" and draw % POSTS  # seven of its draws are enough
        if control or table.has(arm, n, draw):
            continue
        if arm in ARMS:
            bench.encoder(arm, draw)  # so that no row has the seconds of a post-training
        began, row = time.process_time(), {"arm": arm, "n": n, "draw": draw, "post": "", "lr": ""}
        if arm in COUNTERS:
            row["test"] = bench.counted(arm, n, draw, "test")
        else:
            row |= {"post": draw % POSTS if ARMS[arm] else "", "lr": chosen[arm]}
            row["test"] = bench.fine_tuned(arm, n, draw, chosen[arm], "test")
        table.add(row | {"seconds": round(time.process_time() - began, 1)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    parser.add_argument("--work", type=Path, default=Path("runs/labels"), help="folder of the post-trained encoders")
    parser.add_argument("--draws", type=int, nargs="+", default=list(range(21)))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of labels")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--task", default="docstrings", choices=list(SOURCES))
    parser.add_argument("--amount", type=int, help="sentences of post-training; all by default")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    bench, began = Bench(args), time.process_time()
    keys = {"_rates": ("arm", "lr", "draw"), "": ("arm", "n", "draw"), "_learned": ("arm", "post")}
    tables = {part: Table(args.out / f"labels{bench.asked}{part}.csv", key) for part, key in keys.items()}
    chosen = rates(bench, tables["_rates"])
    for draw in args.draws:
        one_draw(bench, tables[""], draw, chosen)
    learned(bench, tables["_learned"])
    settings = {"sizes": sorted(args.sizes), "posts": POSTS, "unlabelled": len(bench.texts)}
    for table in tables.values():
        if table.grew:
            write_origin(table.path, "labels", time.process_time() - began, settings)


if __name__ == "__main__":
    main()
