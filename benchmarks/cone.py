"""The cone under masked LM during training: how alike unrelated sentences are after 0 to 300 steps.

    python benchmarks/cone.py --out data/recorded

Tiny encoders (2 layers × 128, mean over tokens) on 20,000 sentences of the toyshop, batch 64; the mean cosine of 600
sentences with one another, and the loss beside it. One thread.
"""

import argparse
import time
from pathlib import Path

import pandas as pd
import torch
from _origin import write_origin

import contrast_kit as ck
from contrast_kit.data import toyshop

STEPS = (0, 10, 30, 60, 100, 200, 300)


def mean_cosine(encoder: ck.Encoder, texts: list[str]) -> float:
    """The mean cosine of all pairs of different texts."""
    x = encoder.encode(texts, normalize=True)  # [N, D]
    n = len(x)
    return ((x.sum(0).square().sum().item()) - n) / (n * (n - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--lr", type=float, default=1e-3)
    chosen, began, rows = parser.parse_args(), time.process_time(), []
    torch.set_num_threads(1)
    sentences = [line["text"] for line in toyshop.labelled_corpus(20_000)]
    tokenizer = ck.data.train_tokenizer(sentences, vocab_size=2_000)
    texts, seen = ck.data.Texts(sentences, tokenizer), sentences[-600:]
    for seed in chosen.seeds:
        encoder = ck.Encoder.tiny(tokenizer, seed=seed, pooling="mean")
        rows.append({"seed": seed, "step": 0, "mlm": None, "random_pairs": mean_cosine(encoder, seen)})

        def look(run: ck.Run, seed: int = seed) -> None:
            if run.steps in STEPS:
                now = {"mlm": run.rows[-1]["mlm"], "random_pairs": mean_cosine(run.encoder, seen)}
                rows.append({"seed": seed, "step": run.steps} | now)

        settings = dict(steps=max(STEPS), batch_size=64, lr=chosen.lr, seed=seed, log_every=10, progress=False)
        ck.fit(ck.objectives.MLM(encoder), texts, callback=look, **settings)
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / "cone.csv"
    pd.DataFrame(rows).round(4).to_csv(path, index=False, lineterminator="\n")
    write_origin(path, "cone", time.process_time() - began, {"lr": chosen.lr, "batch": 64, "sentences": 20_000})


if __name__ == "__main__":
    main()
