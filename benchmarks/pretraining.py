"""Pre-training as a user runs it, long enough that set-up does not count: `fit` beside transformers' Trainer.

    python benchmarks/pretraining.py                  # 300 steps each on docstrings, a quarter of an hour on two cores
    python benchmarks/pretraining.py --steps 1200     # an hour, most of it the Trainer's mixed batches
    python benchmarks/pretraining.py --books BOOKS --steps 4000 --only "fit, mixed" "transformers' Trainer, mixed"

Masked LM of a 4 × 256 encoder with 8,000 words: the same texts, rate and decay for all, in bfloat16 where this machine
is faster so. BOOKS is a folder of text files, of which the sentences are drawn. A batch is

- 128 texts of like length, as `fit` has it by default (and the Trainer on request);
- "mixed": any 128 texts, as the Trainer has it by default;
- "blocks": texts joined to blocks of 128 tokens, much as the Trainer's example script does; about as many tokens.

`fit` runs packed (`ck.faster`): padding is skipped.

Tokens are real ones, not padding. Where the held-out loss is well below that of word frequencies, it says how well they
were used; 300 steps are too few.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import _precision
import torch
from _origin import write_origin
from _table import Table
from books import held_out_loss

import contrast_kit as ck

BATCH, UNSEEN = 128, 1_000
Train = Callable[[], None]
HOW = dict(lr=1e-3, warmup=0.02, weight_decay=0.01)


def ours(encoder: ck.Encoder, texts: ck.data.Texts, steps: int, size: int, precision: str, batches: str) -> Train:
    settings = dict(steps=steps, batch_size=size, precision=precision, log_every=50, progress=False)
    objective = ck.faster(ck.objectives.MLM(encoder), packing=True)

    def train() -> None:
        if ck.fit(objective, texts, group_by_length=batches != "mixed", **settings, **HOW).interrupted:
            raise KeyboardInterrupt

    return train


def trainer(encoder: ck.Encoder, texts: ck.data.Texts, steps: int, size: int, precision: str, batches: str) -> Train:
    from datasets import Dataset
    from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

    rows = Dataset.from_dict({"input_ids": [texts[i]["input_ids"].tolist() for i in range(len(texts))]})
    arguments = TrainingArguments(
        tempfile.gettempdir(),  # nothing is saved
        max_steps=steps,
        per_device_train_batch_size=size,
        learning_rate=HOW["lr"],
        warmup_steps=round(HOW["warmup"] * steps),
        weight_decay=HOW["weight_decay"],
        adam_beta2=0.98,  # these three as `fit` has them
        adam_epsilon=1e-6,
        max_grad_norm=2.0,
        bf16=precision == "bf16",
        train_sampling_strategy="group_by_length" if batches == "like length" else "random",
        use_cpu=not torch.cuda.is_available(),
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    collator = DataCollatorForLanguageModeling(encoder.tokenizer, mlm_probability=0.15)
    return Trainer(encoder.model, arguments, train_dataset=rows, data_collator=collator).train


CONTENDERS = {
    "fit": (ours, "like length"),
    "fit, mixed": (ours, "mixed"),
    "fit, blocks": (ours, "blocks"),
    "transformers' Trainer": (trainer, "like length"),
    "transformers' Trainer, mixed": (trainer, "mixed"),
    "transformers' Trainer, blocks": (trainer, "blocks"),
}


def sentences(books: Path | None) -> list[str]:
    """All texts in a fixed order drawn at random: sentences of the books in a folder, or docstrings."""
    return list(ck.data.load(books or "docstrings")["train"].shuffle(seed=0)["text"])


def one(name: str, options: argparse.Namespace) -> dict[str, float]:
    """One contender, in a process of its own; the clock runs while it trains."""
    (make, batches), prose = CONTENDERS[name], sentences(options.books)
    unseen, read = prose[:UNSEEN], prose[UNSEEN : UNSEEN + BATCH * options.steps]
    if len(read) < BATCH * options.steps:
        raise SystemExit(f"{options.steps} steps need {BATCH * options.steps + UNSEEN} texts; there are {len(prose)}.")
    tokenizer = ck.data.train_tokenizer(read[:50_000], vocab_size=options.words)
    texts = ck.data.Texts(read, tokenizer, max_length=128)
    rows = texts if batches != "blocks" else ck.data.Stream(read, tokenizer, max_length=128, pack=True)
    size = BATCH if batches != "blocks" else len(rows) // options.steps
    encoder = ck.Encoder.small(tokenizer, num_hidden_layers=4, pooling="mean", seed=0)
    train = make(encoder, rows, options.steps, size, options.precision, batches)
    began = time.perf_counter()
    train()
    seconds = time.perf_counter() - began
    tokens = int(rows.lengths.sum()) * size * options.steps // len(rows)  # those of the steps
    return {"seconds": seconds, "tokens_a_second": tokens / seconds, **held_out_loss(encoder.cpu(), unseen, texts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/recorded"), help="folder of the table")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--words", type=int, default=8_000)
    parser.add_argument("--precision", choices=("float32", "bf16"), default=_precision.faster())
    parser.add_argument("--books", type=Path, help="folder of text files to read instead of docstrings")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="CONTENDER")
    parser.add_argument("--one", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one, options)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    keys = ("contender", "text", "steps", "words", "precision")
    table = Table(options.out / "pretraining.csv", keys)
    for name in options.only:
        text = "books" if options.books else "docstrings"
        key = (name, text, options.steps, options.words, options.precision)
        if not table.has(*key):
            command = [sys.executable, __file__, "--one", name]
            command += [f"--{key}={getattr(options, key)}" for key in ("steps", "words", "precision")]
            command += [f"--books={options.books}"] if options.books else []
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            table.add(dict(zip(keys, key, strict=True)) | json.loads(done.stdout.splitlines()[-1]))
    if table.grew:
        settings = {"batch": BATCH, **HOW}
        write_origin(table.path, "pretraining", sum(float(row["seconds"]) for row in table.rows), settings)


if __name__ == "__main__":
    main()
