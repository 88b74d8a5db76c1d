"""CAPT's queue and temperature in small runs: which of them makes all vectors end up in one point?

    python benchmarks/capt_queue.py --out data/recorded

Tiny encoders (2 layers × 64, mean over tokens), CAPT on 20,000 sentences of the toyshop, 32 texts per batch. One factor
at a time and all together: the queue (none, two steps, eight steps), the learning rate (3e-3; the same after a warm-up
over half of the run; a sixth of it; a sixth of it for six times as many steps), and the start (new weights, or 80 steps
of masked words). The temperature moves (eq. 6); beside it a constant one, for new weights at the full rate. One thread,
about five minutes. A run whose row is in the table is not repeated, so a stopped script continues.
"""

import argparse
import copy
import time
from itertools import product
from pathlib import Path

import pandas as pd
import torch
from _origin import write_origin

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.objectives import CAPT, MLM

BATCH, STEPS, LR, WARM = 32, 24, 3e-3, 80
RATES = {
    "full": dict(lr=LR, steps=STEPS),
    "full, warmed up": dict(lr=LR, steps=STEPS, warmup=0.5),
    "a sixth": dict(lr=LR / 6, steps=STEPS),
    "a sixth, six times the steps": dict(lr=LR / 6, steps=6 * STEPS),
}
QUEUES = (0, 128, 512)
FACTORS = ["temperature", "queue", "rate", "start", "seed"]


def plan(seeds: list[int]) -> list[tuple]:
    """All runs, as values of the factors."""
    moving = product(["adaptive"], QUEUES, RATES, ["new", "MLM"], seeds)
    return [*moving, *product(["constant"], QUEUES, ["full"], ["new"], seeds)]


class Bench:
    def __init__(self):
        sentences = toyshop.corpus(20_000)
        known = set(sentences)
        self.tokenizer = ck.data.train_tokenizer(sentences, vocab_size=2_000)
        self.texts = ck.data.Texts(sentences, self.tokenizer)
        self.held_out = [text for text in toyshop.corpus(400, seed=99) if text not in known][:160]
        self.hard = ck.tasks.hard_pairs(300)[:250]
        self.starts: dict[int, ck.Encoder] = {}

    def start(self, kind: str, seed: int) -> ck.Encoder:
        new = ck.Encoder.tiny(self.tokenizer, seed=seed, pooling="mean", hidden_size=64, intermediate_size=256)
        if kind == "new":
            return new
        if seed not in self.starts:
            how = dict(batch_size=BATCH, steps=WARM, lr=LR, seed=seed, progress=False)
            self.starts[seed] = ck.fit(MLM(new), self.texts, **how).encoder
        return copy.deepcopy(self.starts[seed])

    @torch.no_grad()
    def alike(self, capt: CAPT) -> float:
        """The mean cosine of the contrasted vectors of held-out sentences with one another: 1 is one point."""
        pooled = capt.encoder.encode(self.held_out)  # [N, D]
        return ck.geometry.anisotropy(capt.aggregate(pooled)).item()

    def run(self, temperature: str, queue: int, rate: str, start: str, seed: int) -> dict:
        began = time.process_time()
        tau = 0.05 if temperature == "constant" else "adaptive"
        capt = CAPT(self.start(start, seed), queue=queue, tau=tau)
        seen = {"at_first": self.alike(capt)}
        ck.fit(capt, self.texts, batch_size=BATCH, seed=seed, progress=False, **RATES[rate])
        a, b = (capt.encoder.encode([pair[side] for pair in self.hard]) for side in (0, 1))
        apart = ck.geometry.random_pair_cosines(a, n=10_000)
        seen |= {"alike": self.alike(capt), "auc": ck.geometry.separation(ck.geometry.pair_cosines(a, b), apart).item()}
        seen = {name: round(value, 4) for name, value in seen.items()}
        return seen | {"seconds": round(time.process_time() - began, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chosen.out.mkdir(parents=True, exist_ok=True)
    path, bench = chosen.out / "capt_queue.csv", Bench()
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {tuple(row[factor] for factor in FACTORS) for row in rows}
    for one in plan(chosen.seeds):
        if one not in done:
            rows.append(dict(zip(FACTORS, one, strict=True)) | bench.run(*one))
            pd.DataFrame(rows).to_csv(path, index=False, lineterminator="\n")
    table = pd.DataFrame(rows)
    settings = {"width": 64, "batch": BATCH, "steps": STEPS, "lr": LR, "warm": WARM, "sentences": 20_000}
    write_origin(path, "capt_queue", table["seconds"].sum(), settings)
    print(table.groupby(FACTORS[:-1], sort=False)[["alike", "auc"]].mean())


if __name__ == "__main__":
    main()
