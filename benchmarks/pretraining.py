"""Pre-training as a user runs it, long enough that set-up does not count: `fit` beside transformers' Trainer.

    python benchmarks/pretraining.py                  # 300 steps each, some ten minutes on two cores
    python benchmarks/pretraining.py --steps 1200     # 35 minutes, half of them the Trainer's mixed batches

Masked LM of a 4 × 256 encoder with 8,000 words on docstrings, 128 a batch: the same texts, rate and decay for all, in
bfloat16 where this processor is faster so. `fit` and the Trainer (at its fastest on a CPU, see `trainer.py`) put texts
of like length together; "mixed" is any texts together, of which `fit` then computes nothing on padding. Tokens are real
ones, not padding. Where the held-out loss is well below that of word frequencies, it says how well they were used; 300
steps are too few.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import _precision
import torch
from _origin import write_origin
from _table import Table
from books import held_out_loss

import contrast_kit as ck

BATCH, UNSEEN = 128, 1_000
HOW = dict(lr=1e-3, warmup=0.02, weight_decay=0.01)


def ours(
    encoder: ck.Encoder, texts: ck.data.Texts, steps: int, precision: str, mixed: bool = False
) -> Callable[[], None]:
    settings = dict(steps=steps, batch_size=BATCH, precision=precision, log_every=50, progress=False)
    objective = ck.faster(ck.objectives.MLM(encoder), packing=mixed)

    def train() -> None:
        if ck.fit(objective, texts, group_by_length=not mixed, **settings, **HOW).interrupted:
            raise KeyboardInterrupt

    return train


def trainer(
    encoder: ck.Encoder, texts: ck.data.Texts, steps: int, precision: str, mixed: bool = False
) -> Callable[[], None]:
    from datasets import Dataset
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

    rows = Dataset.from_dict({"input_ids": [texts[i]["input_ids"].tolist() for i in range(len(texts))]})
    arguments = TrainingArguments(
        tempfile.gettempdir(),  # nothing is saved
        max_steps=steps,
        per_device_train_batch_size=BATCH,
        learning_rate=HOW["lr"],
        warmup_steps=round(HOW["warmup"] * steps),
        weight_decay=HOW["weight_decay"],
        adam_beta2=0.98,  # these three as `fit` has them
        adam_epsilon=1e-6,
        max_grad_norm=2.0,
        bf16=precision == "bf16",
        train_sampling_strategy="random" if mixed else "group_by_length",
        use_cpu=not torch.cuda.is_available(),
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    collator = DataCollatorForLanguageModeling(texts.tokenizer, mlm_probability=0.15)
    return Trainer(encoder.model, arguments, train_dataset=rows, data_collator=collator).train


CONTENDERS = {
    "fit": ours,
    "fit, mixed": partial(ours, mixed=True),
    "transformers' Trainer": trainer,
    "transformers' Trainer, mixed": partial(trainer, mixed=True),
}


def one(name: str, options: argparse.Namespace) -> dict[str, float]:
    """One contender, in a process of its own; the clock runs while it trains."""
    prose = list(ck.data.load("docstrings")["train"].shuffle(seed=0)["text"])
    unseen, read = prose[:UNSEEN], prose[UNSEEN : UNSEEN + BATCH * options.steps]
    tokenizer = ck.data.train_tokenizer(read[:50_000], vocab_size=options.words)
    texts = ck.data.Texts(read, tokenizer, max_length=128)
    encoder = ck.Encoder.small(tokenizer, num_hidden_layers=4, pooling="mean", seed=0)
    train = CONTENDERS[name](encoder, texts, options.steps, options.precision)
    began = time.perf_counter()
    train()
    seconds = time.perf_counter() - began
    tokens = int(texts.lengths.sum()) * BATCH * options.steps // len(texts)
    return {"seconds": seconds, "tokens_a_second": tokens / seconds, **held_out_loss(encoder.cpu(), unseen, texts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/recorded"), help="folder of the table")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--words", type=int, default=8_000)
    parser.add_argument("--precision", choices=("float32", "bf16"), default=_precision.faster())
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one, options)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    keys = ("contender", "steps", "words", "precision")
    table = Table(options.out / "pretraining.csv", keys)
    for name in CONTENDERS:
        key = (name, options.steps, options.words, options.precision)
        if not table.has(*key):
            command = [sys.executable, __file__, "--one", name]
            command += [f"--{key}={getattr(options, key)}" for key in keys[1:]]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            table.add(dict(zip(keys, key, strict=True)) | json.loads(done.stdout.splitlines()[-1]))
    if table.grew:
        settings = {"batch": BATCH, **HOW}
        write_origin(table.path, "pretraining", sum(float(row["seconds"]) for row in table.rows), settings)


if __name__ == "__main__":
    main()
