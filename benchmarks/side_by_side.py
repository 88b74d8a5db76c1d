"""Every method on the same text with the same budget, several seeds: the scoreboard of notebook 09.

    python benchmarks/side_by_side.py --out data/recorded          # 300 steps, five seeds: half an hour on one core

Two stages, both written as they go, so that a stopped run continues:

1. the learning rate of each method, out of three, by the graded similarity (Spearman) of other rows than those that are
   reported, with a third of the steps and a seed of its own;
2. each method with its rate and each seed, put to one exam (`contrast_kit.tasks.scoreboard`).

The same budget means the same sentences in the same number of steps. Methods that encode a sentence two or three times
need more seconds for it; they stand in the table (on a CPU processor seconds, which other programs do not disturb).
"""

import argparse
import csv
import time
from pathlib import Path

import torch
from _origin import write_origin

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.tasks import scoreboard
from contrast_kit.tasks.scoreboard import METHODS

RATES = (5e-4, 1e-3, 2e-3)
clock = time.perf_counter if torch.cuda.is_available() else time.process_time


def train(name: str, tokenizer, texts, labelled, seed: int, steps: int, lr: float, args: argparse.Namespace):
    encoder = ck.Encoder.build(args.scale, tokenizer, seed=seed, pooling="mean")
    data = labelled if name.startswith("SCL") else texts
    return ck.fit(
        METHODS[name](encoder), data, steps=steps, batch_size=args.batch, lr=lr, seed=seed, progress=False
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/side_by_side"), help="folder of the two tables"
    )
    parser.add_argument("--scale", default="tiny", help="size of the encoder: tiny, small, base")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=2_000, help="size of the vocabulary")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    sentences = toyshop.corpus(args.sentences)
    tokenizer = ck.data.train_tokenizer(sentences, vocab_size=args.words)
    texts = ck.data.Texts(sentences, tokenizer)
    labelled = ck.data.Texts(ck.data.load("toyshop/sst2")["train"], tokenizer, columns=["sentence"])
    exam = scoreboard.Exam.toyshop(seed=1)
    practice = scoreboard.Exam.toyshop(seed=2, split="train", tasks=())

    table = Table(args.out / "side_by_side_rates.csv", ("method", "lr"))
    for name in METHODS:
        for lr in RATES:
            if not table.has(name, lr):
                run = train(name, tokenizer, texts, labelled, 100, args.steps // 3, lr, args)
                table.add({"method": name, "lr": lr, "sts": scoreboard.measure(run.encoder, practice)["sts"]})
    best = {
        name: max((float(row["sts"]), float(row["lr"])) for row in table.rows if row["method"] == name)[1]
        for name in METHODS
    }

    board = Table(args.out / "side_by_side.csv", ("method", "seed"))
    if not board.has("counting words", ""):
        board.add({"method": "counting words", "seed": "", "lr": "", "seconds": 0.0}
                  | scoreboard.measure(scoreboard.WordCounts(tokenizer), exam))  # fmt: skip
    for seed in args.seeds:
        if not board.has("random", seed):
            encoder = ck.Encoder.build(args.scale, tokenizer, seed=seed, pooling="mean")
            row = {"method": "random", "seed": seed, "lr": "", "seconds": 0.0}
            board.add(row | scoreboard.measure(encoder, exam))
        for name in METHODS:
            if not board.has(name, seed):
                started = clock()
                run = train(name, tokenizer, texts, labelled, seed, args.steps, best[name], args)
                row = {
                    "method": name,
                    "seed": seed,
                    "lr": best[name],
                    "seconds": clock() - started,
                }
                board.add(row | scoreboard.measure(run.encoder, exam))
    for grown in (table, board):
        settings = {k: v for k, v in vars(args).items() if k != "out"}
        write_origin(grown.path, "side_by_side", clock(), settings)


class Table:
    """A CSV that grows by one row at a time and knows which rows it has."""

    def __init__(self, path: Path, keys: tuple[str, ...]) -> None:
        self.path, self.keys = path, keys
        self.rows = list(csv.DictReader(path.open())) if path.exists() else []

    def has(self, *key: object) -> bool:
        return any([row[k] for k in self.keys] == [str(part) for part in key] for row in self.rows)

    def add(self, row: dict) -> None:
        row = {k: f"{v:.5g}" if isinstance(v, float) else str(v) for k, v in row.items()}
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append(row)
        print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
