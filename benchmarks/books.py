"""Pre-train small English encoders on books with the kit's own methods, for two hours of one core each.

    python benchmarks/books.py mlm --books BOOKS                            # about two hours on one thread
    python benchmarks/books.py mlm --books BOOKS --keep FOLDER              # and the encoder in half precision
    python benchmarks/books.py post-coco-lm --books BOOKS                   # goes on from kit/books-mlm
    python benchmarks/books.py mlm --books BOOKS --out data/recorded        # also its curves and held-out loss

BOOKS is a folder of text files, such as novels in the public domain. What is made is kept in `--folder`: the
vocabulary, checkpoints from which a stopped run continues, loss and processor seconds (of a sitting) at every 50th
step, the encoder, and the encoder as it was after about a quarter, a half and three quarters of the steps.
`kit/books-mlm` came from an older version of this script: its card has the recipe.

Steps are chosen so that all methods take about the same processor time: one of COCO-LM costs 2.75 of masked LM's
(measured: 1.8 and 0.65 s); for ELECTRA 1.8 is assumed, for CMLM 2. `cmlm` spends half of its time on masked LM, with
which it begins. `post-...` is post-training, for some three quarters of that time (a step of CMLM costs 1.8 of masked
LM's, of ELECTRA 1.6, of COCO-LM 2.3): it begins with `kit/books-mlm` and keeps its vocabulary.

COCO-LM's contrast has the temperature 0.05, as in the course: at the printed 1 it still stood at guessing, 5.54 nats,
after 470 steps; at 0.05 it was below 0.8 by then. Its auxiliary model has two layers: with one, a third of four as the
paper has a third of twelve, it still stood at 6.0 nats after 790 steps of 128 sentences (with two, recorded: 5.7 after
as many). Masked LM of one layer stood at 5.9 after 400, of two at 5.2 after 600, of four at 4.9 after 550. (One run
each, then stopped; not recorded, except the one named.) From new weights the main model did not learn to correct in two
hours; `post-coco-lm` is the same method from a masked LM that has learned (HISTORY.md, "Two hours of books").

A batch has texts of any lengths, packed: grouped by length it teaches masked LM less (HISTORY.md). It is half
of the 128 sentences of `kit/books-mlm`, since a method that learns late needs steps. Dropout is 0, where all four
papers have 0.1: the text is read once at most, so there is nothing to learn by heart, and dropout takes a seventh of a
step. The saved config says 0.1, for whoever fine-tunes the encoder. Steps are in float32: on the machines of most
tables bfloat16 was slower (`python -m contrast_kit check` says how it is on yours). With `--precision bf16` the same
steps are taken, and the tables name it after the method, as they name a `--seed` other than 0.

The encoder has 4 layers of width 256 and 8,000 words. One sentence in 200 of the books, and one in 50 of the
docstrings, is held out: at the end the method's losses there are printed, and what word frequencies alone would cost.
The docstrings are those of the installed libraries; the sentences are kept in `--folder`, so that a run can continue.
"""

import argparse
import csv
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path

import torch
from _origin import write_origin
from _table import Table
from transformers import PreTrainedTokenizerFast

import contrast_kit as ck

TRAINED = "kit/books-mlm"
"""What post-training begins with, and whose vocabulary it keeps."""


@dataclass(frozen=True)
class Method:
    """An objective, how long it trains and at which rate, and what it begins with."""

    make: Callable[..., ck.objectives.Objective]
    steps: int
    lr: float = 1e-3
    start: str | None = None


COCO_LM = {"auxiliary_layers": 2, "tau": 0.05}  # printed: a third of the layers, and 1; see above
INFO_NCE = {"contrast": "info_nce", "tau": 0.05}  # the weight of eq. 7 stays the printed 0.5
ELECTRA = {"auxiliary": "shallow", "auxiliary_layers": 2}  # the auxiliary of COCO-LM, its paper's row "RTD Only"
METHODS = {
    "mlm": Method(ck.objectives.MLM, 11_000),
    "half-mlm": Method(ck.objectives.MLM, 5_500),
    "cmlm": Method(ck.objectives.CMLM, 2_750, 5e-4, start="half-mlm"),
    "electra": Method(partial(ck.objectives.ELECTRA, diagnostics=False), 6_000),
    "coco-lm": Method(partial(ck.objectives.COCOLM, **COCO_LM, diagnostics=False), 4_000),
    "post-mlm": Method(ck.objectives.MLM, 6_600, 5e-4, start=TRAINED),
    "post-cmlm": Method(ck.objectives.CMLM, 3_700, 5e-4, start=TRAINED),
    "post-cmlm-info-nce": Method(partial(ck.objectives.CMLM, **INFO_NCE), 3_700, 5e-4, start=TRAINED),
    "post-electra": Method(partial(ck.objectives.ELECTRA, **ELECTRA, diagnostics=False), 4_200, 5e-4, start=TRAINED),
    "post-coco-lm": Method(partial(ck.objectives.COCOLM, **COCO_LM, diagnostics=False), 2_800, 5e-4, start=TRAINED),
}
TRAINING = dict(
    batch_size=64,
    group_by_length=False,
    max_length=128,
    warmup=0.02,
    log_every=50,
    save_every=500,
    progress=True,
)
DROPOUT, DROPOUT_OF_FINE_TUNING = 0.0, 0.1


def sentences(books: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Sentences to train on and held-out ones, of the books and of the docstrings; made once, and kept in `folder`.

    For other books, take another folder.
    """
    if not (kept := folder / "sentences.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f"sentences-{os.getpid()}.json"
        draft.write_text(json.dumps(divided(books)), encoding="utf-8")
        draft.replace(kept)
    train, held = json.loads(kept.read_text("utf-8"))
    return train, held


def divided(books: Path) -> tuple[list[str], list[str]]:
    """Sentences to train on and held-out ones, of the books and of the docstrings of the installed libraries."""
    rows = list(ck.data.load(books)["train"]["text"])
    prose = list(ck.data.load("docstrings")["train"]["text"])
    held = rows[::200]
    random.Random(0).shuffle(held)
    train = [row for i, row in enumerate(rows) if i % 200] + [row for i, row in enumerate(prose) if i % 50]
    return train, held[:3000] + prose[::50][:1000]


def vocabulary(folder: Path, train: Sequence[str]) -> PreTrainedTokenizerFast:
    """8,000 words, made once from a sample of the sentences."""
    if not folder.exists():
        sample = random.Random(0).sample(train, min(300_000, len(train)))
        ck.data.train_tokenizer(sample, vocab_size=8_000).save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


@torch.no_grad()
def held_out_loss(encoder: ck.Encoder, held: Sequence[str], train: ck.data.Texts) -> dict[str, float]:
    """Masked LM on the first 2,000 held-out sentences: loss and accuracy, and the loss of word frequencies."""
    texts, objective = ck.data.Texts(held, encoder.tokenizer, max_length=128), ck.objectives.MLM(encoder).eval()
    seen = torch.bincount(train.ids[train.maskable].long(), minlength=len(encoder.tokenizer)) + 1.0  # [V]
    frequency, generator = (seen / seen.sum()).log(), torch.Generator().manual_seed(0)
    sums, count = torch.zeros(3, dtype=torch.float64), 0
    for start in range(0, min(2000, len(texts)), 100):
        view = objective.views(texts.batch(range(start, min(start + 100, len(texts)))), generator)["T0"]
        labels = view["targets"][view["selected"]]  # [M]
        logits = encoder.mlm_logits(encoder(view)[view["selected"]])  # [M, V]
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        sums += torch.stack([loss, (logits.argmax(1) == labels).sum(), -frequency[labels].sum()]).double()
        count += len(labels)
    return dict(zip(("loss", "accuracy", "loss_of_frequencies"), (sums / count).tolist(), strict=True))


@torch.no_grad()
def held_out_parts(objective: ck.objectives.Objective, held: Sequence[str]) -> dict[str, float]:
    """Each part of a method's loss on the same sentences, and what it logs beside them: the mean over batches of 100.

    For a contrast this batch is harder than those of training: guessing among 100 texts costs log 199, not log 127.
    """
    texts = ck.data.Texts(held, objective.encoder.tokenizer, max_length=128)
    generator = torch.Generator().manual_seed(0)
    objective.eval()
    if hasattr(before := objective.config, "diagnostics"):
        objective.config = replace(before, diagnostics=True)
    sums, batches = Counter(), range(0, min(2000, len(texts)), 100)
    for start in batches:
        found = objective(texts.batch(range(start, min(start + 100, len(texts)))), generator)
        sums.update({part: float(value) for part, value in found.items() if part != "loss"})
    objective.config = before
    return {part: total / len(batches) for part, total in sums.items()}


def set_dropout(encoder: ck.Encoder, p: float) -> None:
    """The share of numbers that every dropout of an encoder, and of what is made from its config, zeroes."""
    encoder.model.config.update({"hidden_dropout_prob": p, "attention_probs_dropout_prob": p})
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = p


def save(objective: ck.objectives.Objective, folder: Path) -> None:
    """Write an encoder, with its copy head if it has one; the config has the dropout that fine-tuning wants."""
    set_dropout(objective.encoder, DROPOUT_OF_FINE_TUNING)
    (objective if hasattr(objective, "copy_head") else objective.encoder).save_pretrained(folder)
    set_dropout(objective.encoder, DROPOUT)


def home(folder: Path, name: str, steps: int | None, seed: int = 0) -> Path:
    """Where a method's run is kept; one with another seed, or one only tried out, is kept elsewhere."""
    name += f"-seed-{seed}" if seed else ""
    return folder / (f"{name}-{steps}" if steps else name)


def quarters(steps: int) -> list[int]:
    """About a quarter, a half and three quarters of a run: multiples of what it saves."""
    every = TRAINING["save_every"]
    return [steps * k // 4 // every * every for k in (1, 2, 3)]


def train(
    name: str,
    folder: Path,
    texts: ck.data.Texts,
    steps: int | None = None,
    precision: str = "float32",
    seed: int = 0,
) -> ck.Run:
    """The run of a method; a stopped one continues, and of a finished one no step is repeated."""
    method, place = METHODS[name], home(folder, name, steps, seed)
    if method.start == TRAINED:
        encoder = ck.Encoder.from_pretrained(TRAINED)
    elif method.start:
        encoder = train(method.start, folder, texts, steps, precision, seed).encoder
    else:
        encoder = ck.Encoder.small(texts.tokenizer, num_hidden_layers=4, pooling="mean", seed=seed)
    set_dropout(encoder, DROPOUT)
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "seconds.csv", "a", encoding="utf-8", newline="") as file:
        log, began = csv.writer(file), time.process_time()

        def note(run: ck.Run) -> None:
            log.writerow([run.steps, round(time.process_time() - began, 1), run.rows[-1]["loss"]])
            file.flush()
            if run.steps in quarters(run.total):
                save(run.objective, place / f"encoder-{run.steps}")

        settings = TRAINING | dict(steps=steps or method.steps, lr=method.lr, seed=seed, precision=precision)
        objective = ck.faster(method.make(encoder), packing=True)
        run = ck.fit(objective, texts, folder=place / "run", resume=True, callback=note, **settings)
    if run.interrupted:
        raise KeyboardInterrupt  # the same command goes on
    print(run)
    save(run.objective, place / "encoder")
    return run


def processor_seconds(place: Path) -> dict[int, float]:
    """Processor seconds from the first step to each logged one, over all sittings of a run.

    Each sitting counts from 0, and repeats the steps since the last checkpoint: the last entry of a step counts.
    """
    cost, before, at = {}, 0.0, 0  # seconds of the steps up to a logged one, since the logged one before
    with open(place / "seconds.csv", encoding="utf-8", newline="") as file:
        for step, seconds, _ in csv.reader(file):
            if int(step) <= at or float(seconds) < before:
                before = 0.0
            cost[int(step)], before, at = float(seconds) - before, float(seconds), int(step)
    return dict(zip(sorted(cost), accumulate(cost[step] for step in sorted(cost)), strict=True))


def record(name: str, place: Path, out: Path, run: ck.Run, held: dict[str, float]) -> None:
    """Add to three tables what a method cost, the parts of its loss along the way, and its losses on new text."""
    seconds, method = processor_seconds(place), METHODS[name]
    start = method.start or "new weights"
    told = [run.training.precision] if run.training.precision != "float32" else []
    told += [f"seed {run.training.seed}"] if run.training.seed else []
    name += f" ({', '.join(told)})" if told else ""
    out.mkdir(parents=True, exist_ok=True)
    encoders = Table(out / "books_encoders.csv", ("method",))
    curves = Table(out / "books_curves.csv", ("method", "step", "part"))
    held_out = Table(out / "books_held_out.csv", ("method", "part"))
    if not encoders.has(name):
        row = {"method": name, "start": start, "lr": method.lr, "steps": run.steps}
        encoders.add(row | {"seconds": seconds[run.steps]})
    for row in run.rows:
        step = row["step"]
        for part in [part for part in row if part not in ("step", "loss", "lr", "grad_norm", "seconds")]:
            if not curves.has(name, step, part):
                curves.add({"method": name, "step": step, "seconds": seconds[step], "part": part, "value": row[part]})
    for part, value in held.items():
        if not held_out.has(name, part):
            held_out.add({"method": name, "part": part, "value": value})
    for table in (encoders, curves, held_out):
        spent = sum(float(row["seconds"]) for row in encoders.rows)
        write_origin(table.path, "books", spent, TRAINING | {"dropout": DROPOUT})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--books", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=Path("runs"))
    parser.add_argument("--steps", type=int, help="fewer steps, to try it out")
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    parser.add_argument("--seed", type=int, default=0, help="seed of new weights, text order and masks")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path, help="folder of the tables to add to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    read, held = sentences(options.books, options.folder)
    if METHODS[options.method].start == TRAINED:
        tokenizer = ck.Encoder.from_pretrained(TRAINED).tokenizer
    else:
        tokenizer = vocabulary(options.folder / "vocabulary", read)
    texts = ck.data.Texts(read, tokenizer, max_length=128)
    which = (options.method, options.folder)
    run = train(*which, texts, options.steps, options.precision, options.seed)
    found = held_out_parts(run.objective, held)
    if found.pop("mlm", None) is not None:  # of masked LM more is said, over all words at once
        found |= held_out_loss(run.encoder, held, texts)
    print(found)
    if options.out:
        place = home(options.folder, options.method, options.steps, options.seed)
        record(options.method, place, options.out, run, found)
    if options.keep:
        # `Encoder.from_pretrained` opens it in single precision. COCO-LM's fill-mask in transformers is coarse then
        # (`word_head.make_transparent`); what the kit reads of it is not.
        run.encoder.model.half()
        save(run.objective, options.keep)


if __name__ == "__main__":
    main()
