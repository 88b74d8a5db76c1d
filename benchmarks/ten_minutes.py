"""An encoder from ten minutes of one GPU: masked LM on books, then each method from it for equal seconds.

    python benchmarks/ten_minutes.py prepare --books BOOKS --data DATA    # anywhere: tokens and pairs, at most 40 MB
    python benchmarks/ten_minutes.py plan                                 # memory and steps of each stage here
    python benchmarks/ten_minutes.py train --seconds 480                  # on the GPU; the same command goes on

What is prepared stands in `--folder`, with all that is made: nothing is fetched or tokenised on the GPU's machine.
BOOKS is a folder of text files; DATA, if given, one with BLiMP's. A text is 128 tokens of consecutive sentences, so
that all shapes are the same, and a token takes two bytes.

Of the seconds masked LM gets 35 %, and each of `STAGES` after it 12 %; the rest is for measuring. `ck.plan` says how
many steps a stage's seconds hold, so that its learning rate ends at 0; a stage is cut where its seconds end all the
same. Written as soon as known, in `ten_minutes.csv`: steps and seconds of each stage, the parts of its loss on held-out
sentences with what it logs beside them (the shares of replaced words that were found and corrected), masked LM's loss
beside that of word frequencies, and BLiMP; in `STAGE/encoder`, the encoder in half precision.

What to expect of an H100: a step of masked LM is 32,768 tokens of 127 million operations. At 0.28 of 789 TFLOP/s, as
base has it, that is 19 ms: 8,800 steps in 168 s, 15 times all texts. After it 3,000 steps of masked LM, and some 1,100
to 1,500 of the others, fit into 58 s each. Not measured yet.
"""

import argparse
import json
import shutil
import time
from pathlib import Path

import numpy as np
import torch
from _origin import write_origin
from _table import Table
from _texts import of_tokens
from books import METHODS, divided, held_out_loss, held_out_parts, save, set_dropout
from transformers import PreTrainedTokenizerFast

import contrast_kit as ck
from contrast_kit.tasks.standard.minimal_pairs import blimp_files

SHAPE = dict(num_hidden_layers=6, hidden_size=512, num_attention_heads=8, intermediate_size=2048)
WORDS, LENGTH, MOST = 16_000, 128, 150_000  # texts of 128 tokens in two bytes: 38 MB
STAGES = {"mlm": 0.35, "post-mlm": 0.12, "post-electra": 0.12, "post-coco-lm": 0.12, "post-cmlm": 0.12}
"""Shares of the seconds; the methods are those of `books.py`."""
TRAINING = dict(batch_size=256, warmup=0.05, log_every=20, save_every=500, max_length=LENGTH, group_by_length=False)
RATES = {"mlm": 7e-4, "after": 3e-4}
PAIRS = 20


def prepare(books: Path, data: Path | None, folder: Path) -> None:
    """Write the vocabulary, the texts [N, 128], held-out sentences, and the first pairs of each of BLiMP's files."""
    train, held = divided(books)
    tokenizer = ck.data.train_tokenizer(train[:: len(train) // 300_000 or 1], vocab_size=WORDS)
    tokenizer.save_pretrained(folder / "vocabulary")
    words = tokenizer(train, add_special_tokens=False)["input_ids"]
    stream = np.concatenate([np.asarray(ids, dtype=np.uint16) for ids in words])
    rows = stream[: len(stream) // (LENGTH - 2) * (LENGTH - 2)].reshape(-1, LENGTH - 2)[:MOST]  # [N, 126]
    ends = np.array([tokenizer.cls_token_id, tokenizer.sep_token_id], dtype=np.uint16)
    first, last = (np.broadcast_to(end, (len(rows), 1)) for end in ends)
    np.save(folder / "texts.npy", np.hstack([first, rows, last]))
    (folder / "held.json").write_text(json.dumps(held))
    for file in blimp_files(data) if data else ():
        (folder / "blimp").mkdir(exist_ok=True)
        some = file.read_text("utf-8").splitlines()[:PAIRS]
        (folder / "blimp" / file.name).write_text("\n".join(some), "utf-8")
    print(f"{len(rows):,} texts of {LENGTH} tokens, {(folder / 'texts.npy').stat().st_size / 1e6:.1f} MB")


def read(folder: Path) -> tuple[ck.data.Texts, list[str]]:
    """Texts and held-out sentences, as prepared."""
    rows = np.load(folder / "texts.npy")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder / "vocabulary")
    lengths = np.full(len(rows), rows.shape[1])
    return of_tokens(rows.ravel(), lengths, tokenizer), json.loads((folder / "held.json").read_text())


def objective_of(stage: str, folder: Path, texts: ck.data.Texts) -> ck.objectives.Objective:
    """A stage's objective: around the masked LM's weights, or new ones."""
    trained = folder / "mlm" / "encoder"
    if stage == "mlm" or not trained.exists():
        encoder = ck.Encoder.build("small", texts.tokenizer, pooling="mean", **SHAPE)
    else:
        encoder = ck.Encoder.from_pretrained(trained).float()
    set_dropout(encoder, 0.0)
    return METHODS[stage].make(encoder)


def settings(stage: str) -> dict:
    precision = "bf16" if torch.cuda.is_available() else "float32"
    return TRAINING | {"lr": RATES["mlm" if stage == "mlm" else "after"], "precision": precision}


def planned(stage: str, folder: Path, texts: ck.data.Texts, seconds: float) -> int:
    """Steps for which a stage's seconds suffice, by `ck.plan`."""
    plan = ck.plan(objective_of(stage, folder, texts), texts, steps=1, **settings(stage))
    steps = max(1, int(seconds / plan.seconds))
    print(stage, plan, f"in {seconds:.0f} s: {steps:,} steps", sep="\n  ", flush=True)
    return steps


def run(stage: str, folder: Path, texts: ck.data.Texts, held: list[str], seconds: float, table: Table) -> bool:
    """Train a stage and measure it; whether it came to its end."""
    began, place = time.monotonic(), folder / stage
    if not (kept := place / "steps.json").exists():  # a run that goes on keeps its plan
        place.mkdir(exist_ok=True)
        kept.write_text(json.dumps(planned(stage, folder, texts, seconds)))
    objective = objective_of(stage, folder, texts)
    over = []  # once its seconds are

    def stop_in_time(run: ck.Run) -> None:
        if run.seconds > seconds:
            over.append(True)
            run.stop()

    options = settings(stage) | {"steps": json.loads(kept.read_text()), "folder": place / "run"}
    done = ck.fit(objective, texts, resume=True, callback=stop_in_time, progress=False, **options)
    if done.interrupted and not over:
        return False
    found = {"steps": done.steps, "seconds": done.seconds, "seconds with planning": time.monotonic() - began}
    words = stage in ("mlm", "post-mlm", "post-cmlm")  # taught words under [MASK]
    if words and (folder / "blimp").is_dir():
        pairs = ck.tasks.standard.blimp(done.encoder, folder, progress=False)
        found["BLiMP"] = pairs.loc["all", "accuracy"]
    objective.cpu()
    found |= held_out_parts(objective, held)
    if words:
        found |= held_out_loss(done.encoder, held, texts)
    objective.half()
    save(objective, place / "encoder")
    for part, value in found.items():
        table.add({"stage": stage, "part": part, "value": value})
    shutil.rmtree(place / "run")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "plan", "train"))
    parser.add_argument("--books", type=Path, help="prepare: a folder of text files")
    parser.add_argument("--data", type=Path, help="prepare: a folder with BLiMP's files")
    parser.add_argument("--folder", type=Path, default=Path("runs/ten_minutes"))
    parser.add_argument("--seconds", type=float, default=480)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "prepare":
        prepare(options.books, options.data, options.folder)
        return
    texts, held = read(options.folder)
    table = Table(options.folder / "ten_minutes.csv", ("stage", "part"))
    for stage, share in STAGES.items():
        seconds = share * options.seconds
        if options.what == "plan":
            planned(stage, options.folder, texts, seconds)
        elif not table.has(stage, "steps"):
            if not run(stage, options.folder, texts, held, seconds, table):
                raise SystemExit("Stopped; the same command goes on.")
            how = TRAINING | {"shape": SHAPE, "shares": STAGES}
            write_origin(table.path, "ten_minutes", options.seconds, how, f"train --seconds {options.seconds:g}")


if __name__ == "__main__":
    main()
