"""Every method on the same text with the same budget, several seeds: the scoreboard of notebook 09.

    python benchmarks/side_by_side.py --out data/recorded          # 300 steps, five seeds: half an hour on one core

Three tables, all written as they go, so that a stopped run continues:

1. the learning rate of each method, out of three, by graded similarity (Spearman) on other rows than the reported
   ones, with a third of the steps and another seed;
2. each method with its rate and each seed, measured with one suite (`contrast_kit.tasks.scoreboard`);
3. some of these encoders once more, centred: the mean vector of 2,000 sentences is subtracted. That is the control of
   the contrasts. (Where the second table exists and the third does not, these few are trained again.)

The same budget means the same sentences in the same number of steps. Methods that encode a sentence two or three times
need more seconds. The table has them; on a CPU they are processor seconds, which other programs do not disturb.
"""

import argparse
import time
from pathlib import Path

import torch
from _origin import write_origin
from _table import Table

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.tasks import scoreboard
from contrast_kit.tasks.scoreboard import CONTESTANTS

RATES = (5e-4, 1e-3, 2e-3)
CENTRED = ("random", "CMLM", "SimCSE")
clock = time.perf_counter if torch.cuda.is_available() else time.process_time


def train(name: str, world: "World", seed: int, steps: int, lr: float) -> ck.Encoder:
    encoder = ck.Encoder.build(world.scale, world.tokenizer, seed=seed, pooling="mean")
    if name == "random":
        return encoder
    data = world.labelled if name.startswith("SCL") else world.texts
    settings = dict(steps=steps, batch_size=world.batch, lr=lr, seed=seed, progress=False)
    return ck.fit(CONTESTANTS[name](encoder), data, **settings).encoder


class World:
    """What all methods share: sentences, tokenizer, and the size of an encoder and of a batch."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.scale, self.batch = args.scale, args.batch
        self.sentences = toyshop.corpus(args.sentences)
        self.tokenizer = ck.data.train_tokenizer(self.sentences, vocab_size=args.words)
        self.texts = ck.data.Texts(self.sentences, self.tokenizer)
        rows = ck.data.load("toyshop/sst2")["train"]
        self.labelled = ck.data.Texts(rows, self.tokenizer, columns=["sentence"])


def choose_rates(world: World, table: Table, methods: list[str], steps: int) -> dict[str, float]:
    """The best learning rate of each method. Runs that the table lacks are trained."""
    practice = scoreboard.EvalSuite.toyshop(seed=2, split="train", tasks=())
    for name in methods:
        for lr in RATES:
            if not table.has(name, lr):
                encoder = train(name, world, 100, steps, lr)
                table.add({"method": name, "lr": lr, "sts": scoreboard.measure(encoder, practice)["sts"]})
    rows = [(row["method"], float(row["sts"]), float(row["lr"])) for row in table.rows]
    return {name: max(row[1:] for row in rows if row[0] == name)[1] for name in methods}


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    world, suite = World(args), scoreboard.EvalSuite.toyshop(seed=1)
    rates = Table(args.out / "side_by_side_rates.csv", ("method", "lr"))
    board = Table(args.out / "side_by_side.csv", ("method", "seed"))
    centred = Table(args.out / "side_by_side_centred.csv", ("method", "seed"))

    best = choose_rates(world, rates, args.methods, args.steps // 3)
    if not board.has("counting words", ""):
        row = {"method": "counting words", "seed": "", "lr": "", "seconds": 0.0}
        board.add(row | scoreboard.measure(scoreboard.WordCounts(world.tokenizer), suite))
    for seed in args.seeds:
        for name in ("random", *args.methods):
            tables = [board, centred] if name in CENTRED else [board]
            lacking = [table for table in tables if not table.has(name, seed)]
            if not lacking:
                continue
            started = clock()
            encoder = train(name, world, seed, args.steps, best.get(name, 0.0))
            seconds = 0.0 if name == "random" else clock() - started
            row = {"method": name, "seed": seed, "lr": best.get(name, ""), "seconds": seconds}
            for table in lacking:
                measured = scoreboard.Centred(encoder, world.sentences[:2_000]) if table is centred else encoder
                table.add(row | scoreboard.measure(measured, suite))
    settings = {k: v for k, v in vars(args).items() if k not in ("out", "methods")}
    for table in (rates, board, centred):
        if table.grew:  # a table keeps the origin of the run that made it
            write_origin(table.path, "side_by_side", clock(), settings)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/side_by_side"), help="folder of the three tables")
    parser.add_argument("--methods", nargs="+", default=list(CONTESTANTS), choices=list(CONTESTANTS), metavar="NAME")
    parser.add_argument("--scale", default="tiny", help="size of the encoder: tiny, small, base")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=2_000, help="size of the vocabulary")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    return parser.parse_args()


if __name__ == "__main__":
    main()
