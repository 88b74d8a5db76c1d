"""Prompt-based fine-tuning on 16 real sentences of each class: does asking in words beat a new head?

    CONTRAST_KIT_REAL_DATA=… python benchmarks/prompts.py --out data/recorded

LM-BFF's protocol on SST-2 (real files: CONTRAST_KIT_REAL_DATA names the folder with `glue_data/`), from the kit's own
encoder `kit/books-mlm`: five splits of 16 + 16 rows of each class by LM-BFF's seeds, a grid of two rates for each
split, chosen by its 16, tested on the 872 validation rows; mean and population deviation. The encoder is a hundredth of
RoBERTa-large, so rates are its own and the table is no row of COCO-LM's table 4: it asks the same question on a small
scale.

Controls: random weights, prompted in the same way; a frozen probe; a prompt without demonstrations.
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from _origin import write_origin

import contrast_kit as ck
from contrast_kit.tasks import PIPELINES, Pipeline, prompting, protocols

SETTINGS = dict(steps=100, evaluate_every=25, lr=1e-4, batch_size=8, choose={"lr": (1e-4, 3e-4), "batch_size": (8,)})
START = "kit/books-mlm"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=Path, help="keep the runs here, so that a stopped script continues")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    plan = replace(protocols.LM_BFF_MNLI, name="LM-BFF on SST-2", mismatched=False, **SETTINGS)
    plan = replace(plan, seeds=plan.seeds[: options.seeds])
    data = ck.tasks.load("glue/sst2", folder=Path(os.environ["CONTRAST_KIT_REAL_DATA"]) / "glue_data")
    asked = replace(prompting.TEMPLATES["sst2"], samples=2)
    trained = ck.Encoder.from_pretrained(START)
    random = ck.Encoder.small(trained.tokenizer, num_hidden_layers=4, pooling="mean", seed=0)
    tables = []
    for start, encoder, methods in (
        (START, trained, {"prompt": asked.alone().pipeline(), "prompt + demonstrations": asked.pipeline(),
                          "FT": Pipeline(), "probe": PIPELINES["probe"]}),
        ("random weights", random, {"prompt": asked.alone().pipeline(), "FT": Pipeline()}),
    ):  # fmt: skip
        folder = options.runs / start.replace("/", "-") if options.runs else None
        table = ck.tasks.run(plan, data, encoder, methods, folder=folder).table
        tables.append(table.assign(start=start))
    table = pd.concat(tables, ignore_index=True)
    options.out.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.out / "prompts.csv", index=False)
    settings = {"start": START, "template": asked.text, "words": list(asked.words), "seeds": list(plan.seeds)}
    settings |= SETTINGS
    write_origin(options.out / "prompts.csv", "prompts", table["seconds"].sum(), settings)
    print(table.groupby(["start", "method"])["test"].agg(["mean", lambda x: x.std(ddof=0), "count"]))


if __name__ == "__main__":
    main()
