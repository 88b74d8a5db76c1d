"""Every method, trained until it has learned its own task: the scoreboard of notebook 09.

    python benchmarks/scoreboard.py --out data/recorded --work runs/scoreboard     # about fourteen hours of one core

Every run is written as it goes and resumes where it was stopped. One thread; seconds are processor seconds, training
alone (8.6 hours for five seeds). Four tables:

| table | what |
|---|---|
| `scoreboard_rates` | each method at five learning rates, after `--rate-steps` steps: lowest `criterion` wins |
| `scoreboard` | each method and seed after 60, 300, 1,000, 2,000 and 5,000 steps: `tasks.scoreboard`, and more |
| `scoreboard_learned` | the parts of each method's own loss on unseen sentences: has it learned its task? |
| `scoreboard_tuned` | fine-tuned on `--rows` labelled rows, from the last step |

Beside the suite stand two trick tests, `trick` (a sentence, the same in other words, another *good* in the same
words) and `trick_number` (another *number*, which no rare word gives away), both `toyshop.triples`; and the columns
`…_centred`: the same after the mean vector of 2,000 sentences was subtracted, for every method. Counting words, TF-IDF
and an untrained encoder take part without training.

A rate is chosen by how well hidden words are named on unseen sentences, by whichever network names them in that method;
where none does, by the method's own loss. Two other criteria were tried and dropped: similarity (`sts`) prefers the
rate at which masked language modelling has learned least, and COCO-LM's whole loss is lowest where its auxiliary model
has learned so little that wrong words are easy to see.

**Equal sentences** are equal steps: a step is `--batch` sentences for every method. **Equal seconds** are read off the
same rows: notebook 09 interpolates between two looks.

"CSSL (wordings)" contrasts two wordings of each sentence, which the toyshop's grammar gives: it is *told* what means
the same, and sees no sentence of the tests. "… + MLM" also names hidden words; "MLM, then wordings" continues from its
seed's MLM for a fifth of the steps. CAPT takes part twice: the queue of a small run is full of an encoder that has
moved on (`capt_queue.py`).

Beside these stand variants, which ask for one thing each: what is COCO-LM without its contrast, and CAPT with a
constant temperature? And "…, after MLM", which continues as "MLM, then wordings" does: ELECTRA (once more for the
seconds that COCO-LM takes), and COCO-LM with and without its contrast, from an encoder that reads; CAPT with queues of
0, 1 and 4 times the 128 vectors of a step, and without one with other noises than masks.
"""

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from _origin import write_origin
from _table import Table

import contrast_kit as ck
from contrast_kit.data import toyshop
from contrast_kit.objectives import CSSL, Objective
from contrast_kit.tasks import scoreboard

LOOKS = (60, 300, 1_000, 2_000, 5_000)
RATES = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3)
RATE_SEED = 100
TAU = 0.05  # as `scoreboard.CONTESTANTS`
WORDINGS, BESIDE, CONTINUED = "CSSL (wordings)", "CSSL (wordings) + MLM", "MLM, then wordings"
AFTER = ", after MLM"
CONTINUED_RATE = 5e-4  # with the 2e-3 of new weights, the grammar of MLM was gone after 1,000 steps


class WordingsAndWords(scoreboard.BesideMLM, CSSL):
    """CSSL beside masked LM: the batch has the first wording a second time, masked."""


VARIANTS = {
    "COCO-LM (contrast weight 0)": ("COCO-LM", dict(contrast_weight=0.0)),
    "CAPT (no queue, constant temperature)": ("CAPT (no queue)", dict(tau=TAU)),
    f"ELECTRA{AFTER}": ("ELECTRA", {}),
    f"ELECTRA (equal seconds){AFTER}": ("ELECTRA", {}),
    f"COCO-LM{AFTER}": ("COCO-LM", {}),
    f"COCO-LM (contrast weight 0){AFTER}": ("COCO-LM", dict(contrast_weight=0.0)),
    f"CAPT (queue 0){AFTER}": ("CAPT", dict(queue=0, tau=TAU)),
    f"CAPT (queue 128){AFTER}": ("CAPT", dict(queue=128, tau=TAU)),
    f"CAPT (queue 512){AFTER}": ("CAPT", dict(queue=512, tau=TAU)),
    f"CAPT (shuffle){AFTER}": ("CAPT", dict(queue=0, tau=TAU, noise="shuffle")),
    f"CAPT (replace){AFTER}": ("CAPT", dict(queue=0, tau=TAU, noise="replace")),
    f"CAPT (mask, shuffle, replace){AFTER}": ("CAPT", dict(queue=0, tau=TAU, noise="mask+shuffle+replace")),
}
"""By name: the method of the board, whose learning rate it has, and what is different."""
CONTESTANTS = scoreboard.CONTESTANTS | {
    BESIDE: partial(WordingsAndWords, tau=TAU),
    CONTINUED: scoreboard.CONTESTANTS[WORDINGS],
    **{name: partial(scoreboard.CONTESTANTS[of], **changes) for name, (of, changes) in VARIANTS.items()},
}


def continues(name: str) -> bool:
    """Whether a method begins with its seed's MLM."""
    return name == CONTINUED or name.endswith(AFTER)


def length(name: str, steps: int) -> int:
    """Steps of a method where the board has `steps`: a fifth after MLM; 1.6 fifths of ELECTRA take COCO-LM's time."""
    if "equal seconds" in name:
        return steps * 8 // 25
    return steps // 5 if continues(name) else steps


class World:
    """What all methods share: sentences, tokenizer, suites, and sentences that no method is trained on."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.rates: dict[str, float] = {}  # of each method, once `choose_rates` has them
        size = dict(pairs=args.pairs, rows=args.rows)
        self.suite = scoreboard.EvalSuite.toyshop(seed=1, **size)
        self.practice = scoreboard.EvalSuite.toyshop(seed=2, split="train", tasks=(), **size)
        changes = {"trick": "good", "trick_number": "number"}
        self.triples = {name: toyshop.triples(args.pairs, seed=1, change=change) for name, change in changes.items()}
        asked = {
            text
            for group in (self.suite.pairs, self.suite.hard, *self.triples.values())
            for row in group
            for text in row
        }
        lines = [text for text in toyshop.corpus(args.sentences + 2_000) if text not in asked]
        self.sentences, self.held_out = lines[: args.sentences], lines[args.sentences :][:512]
        self.tokenizer = ck.data.train_tokenizer(self.sentences, vocab_size=args.words)
        self.texts = ck.data.Texts(self.sentences, self.tokenizer)
        self.pairs = self.wordings(self.sentences, asked)
        columns = dict(columns=["sentence"])
        self.rows = {split: ck.data.load("toyshop/sst2")[split] for split in ("train", "validation")}
        self.labelled = {k: ck.data.Texts(rows, self.tokenizer, **columns) for k, rows in self.rows.items()}
        self.unseen = ck.data.Texts(self.held_out, self.tokenizer)
        self.unseen_pairs = self.wordings(self.held_out, asked)

    def wordings(self, sentences: list[str], asked: set[str]) -> ck.data.Paraphrased:
        """Each sentence and another wording of it, except wordings that a test uses."""
        again = ck.data.paraphrase.Toyshop()(sentences)
        pairs = [pair for pair in zip(sentences, again, strict=True) if pair[1] not in asked and pair[0] != pair[1]]
        return ck.data.Paraphrased.of_pairs(pairs, self.tokenizer)

    def data(self, name: str, unseen: bool = False) -> ck.data.Texts:
        if name in (WORDINGS, BESIDE, CONTINUED):
            return self.unseen_pairs if unseen else self.pairs
        if name.startswith("SCL"):
            return self.labelled["validation" if unseen else "train"]
        return self.unseen if unseen else self.texts

    def encoder(self, seed: int) -> ck.Encoder:
        return ck.Encoder.build(self.args.scale, self.tokenizer, seed=seed, pooling="mean")

    def entropy(self) -> float:
        """Nats per word that word frequencies alone leave open, on the sentences held out: what MLM must beat."""
        counts = torch.ones(len(self.tokenizer))  # one more each: a word of the held-out sentences may be new
        for text in self.sentences:
            counts += torch.bincount(self.ids(text), minlength=len(counts))
        log_p = torch.log(counts / counts.sum())
        return -torch.cat([log_p[self.ids(text)] for text in self.held_out]).mean().item()

    def ids(self, text: str) -> torch.Tensor:
        return torch.tensor(self.tokenizer(text, add_special_tokens=False)["input_ids"])


# -- one run -----------------------------------------------------------------------------------------------------------


class Watch:
    """Processor seconds of training alone, kept over stops; measuring in between does not count."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spent = float(path.read_text(encoding="utf-8")) if path.exists() else 0.0
        self.since = time.process_time()

    def pause(self) -> float:
        self.spent += time.process_time() - self.since
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(f"{self.spent:.1f}", encoding="utf-8")
        return self.spent

    def go_on(self) -> None:
        self.since = time.process_time()


def train(world: World, name: str, seed: int, lr: float, steps: int, look=None) -> ck.Run:
    """The run of a method and seed, kept in `--work`; `look(run, seconds)` after each logged step in `LOOKS`."""
    folder = folder_of(world, name, seed, lr, steps)
    start = world.encoder(seed)
    if continues(name):
        start = trained(world, "MLM", seed)
    watch = Watch(folder / "seconds")

    def callback(run: ck.Run) -> None:
        seconds = watch.pause()
        if look and (run.steps in LOOKS or run.steps == run.total):
            look(run, seconds)
        watch.go_on()

    every = min(20, *LOOKS)
    how_long = length(name, steps)
    settings = dict(steps=how_long, batch_size=world.args.batch, lr=lr, seed=seed, log_every=every, save_every=500)
    objective = CONTESTANTS[name](start)
    run = ck.fit(
        objective, world.data(name), folder=folder / "run", resume=True, callback=callback, progress=False, **settings
    )
    run.encoder.save_pretrained(folder / "encoder")
    return run


def folder_of(world: World, name: str, seed: int, lr: float, steps: int) -> Path:
    return world.args.work / f"{name.replace(', ', '-').replace(' ', '-')}-{seed}-{steps}-{lr:g}"


def trained(world: World, name: str, seed: int) -> ck.Encoder:
    """The encoder that a finished run of the board left; where it left none, the run is made again."""
    how = (seed, world.rates[name], world.args.steps)
    folder = folder_of(world, name, *how) / "encoder"
    return ck.Encoder.from_pretrained(folder) if folder.exists() else train(world, name, *how).encoder


# -- what is measured --------------------------------------------------------------------------------------------------


def measure(world: World, encoder) -> dict[str, float]:
    """The suite, the trick tests, and both again with the mean taken away."""
    row = {"noise": math.nan} | scoreboard.measure(encoder, world.suite) | trick(world, encoder)
    centred = scoreboard.Centred(encoder, world.sentences[:2_000])
    again = scoreboard.measure(centred, replace(world.suite, probes={})) | trick(world, centred)
    return row | {f"{name}_centred": value for name, value in again.items()}


def trick(world: World, encoder) -> dict[str, float]:
    """How often the same meaning lies closer than nearly the same words, by what the other text changes."""
    found = {}
    for name, triples in world.triples.items():
        vectors = (encoder.encode(list(texts)).float() for texts in zip(*triples, strict=True))
        found[name] = ck.geometry.triplet_accuracy(*vectors).item()
    return found


@torch.no_grad()
def learned(world: World, name: str, objective: Objective) -> Iterator[tuple[str, float]]:
    """The parts of the method's own loss on unseen examples, and what knowing nothing would give its contrast."""
    objective.eval()
    data, size = world.data(name, unseen=True), world.args.batch
    generator, sums, batches = torch.Generator().manual_seed(0), {}, len(data) // size
    for start in range(0, batches * size, size):
        batch = data.batch(range(start, start + size))
        for part, value in objective(batch, generator).items():
            sums[part] = sums.get(part, 0.0) + float(value) / batches
    yield from sums.items()
    negatives = objective.negatives({key: value for key, value in batch.items() if value.ndim == 1})
    if negatives is not None:
        yield "contrast_of_a_guess", math.log(1 + negatives)


def tuned(world: World, encoder: ck.Encoder, task: str, seed: int) -> float:
    """The task's metric on its validation rows after fine-tuning on `--rows` rows."""
    data = scoreboard.with_at_most(scoreboard.load(f"toyshop/{task}"), world.args.rows)
    settings = dict(epochs=5, batch_size=32, lr=5e-4, seed=seed)
    run = ck.tasks.fine_tune(encoder, data.train, task=task, **settings)
    return ck.tasks.score(data.task, run.predict(data.validation), data.validation["label"])[data.task.metrics[0]]


# -- all of it ---------------------------------------------------------------------------------------------------------


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    world, began = World(args), time.process_time()
    tables = {
        "rates": Table(args.out / "scoreboard_rates.csv", ("method", "lr")),
        "board": Table(args.out / "scoreboard.csv", ("method", "seed", "steps")),
        "learned": Table(args.out / "scoreboard_learned.csv", ("method", "seed", "steps", "part")),
        "tuned": Table(args.out / "scoreboard_tuned.csv", ("method", "seed", "task")),
    }
    world.rates = rates = choose_rates(world, tables["rates"])
    controls(world, tables)
    for seed in args.seeds:
        for name in ("untrained", *args.methods):
            one_run(world, tables, name, seed, rates.get(name, 0.0))
    settings = {k: v for k, v in vars(args).items() if k not in ("out", "work", "methods")}
    for table in tables.values():
        if table.grew:
            write_origin(table.path, "scoreboard", time.process_time() - began, settings)


def choose_rates(world: World, table: Table) -> dict[str, float]:
    """The rate of each method with which its `criterion` is lowest after a short run."""
    asked = ["MLM" if continues(name) else VARIANTS.get(name, [name])[0] for name in world.args.methods]
    for name in asked:
        for lr in RATES:
            if not table.has(name, lr):
                run = train(world, name, RATE_SEED, lr, world.args.rate_steps)
                told = criterion(dict(learned(world, name, run.objective)))
                found = scoreboard.measure(run.encoder, world.practice)
                row = {"method": name, "lr": lr, "criterion": told}
                table.add(row | {"sts": found["sts"], "auc_hard": found["auc_hard"]})
    rows = [(row["method"], float(row["criterion"]), float(row["lr"])) for row in table.rows]
    best = {name: min(row[1:] for row in rows if row[0] == name)[1] for name in {row[0] for row in rows}}
    best |= {name: best[of] for name, (of, _) in VARIANTS.items() if of in best}
    return best | {name: CONTINUED_RATE for name in CONTESTANTS if continues(name)}


def criterion(parts: dict[str, float]) -> float:
    """Masked language modelling on unseen sentences, in nats: the auxiliary model's if there is one; else the loss."""
    return next(parts[part] for part in ("mlm", "aux_mlm", "loss") if part in parts)


def controls(world: World, tables: dict[str, Table]) -> None:
    blank = {"seed": "", "steps": 0, "seconds": 0.0, "lr": ""}
    bags = {
        "counting words": scoreboard.WordCounts(world.tokenizer),
        "TF-IDF": scoreboard.WordCounts(world.tokenizer, idf=world.sentences),
    }
    for name, bag in bags.items():
        if not tables["board"].has(name, "", 0):
            tables["board"].add({"method": name} | blank | measure(world, bag))
    if not tables["learned"].has("word frequencies", "", 0, "mlm"):
        row = {"method": "word frequencies", "seed": "", "steps": 0, "part": "mlm", "value": world.entropy()}
        tables["learned"].add(row)


def one_run(world: World, tables: dict[str, Table], name: str, seed: int, lr: float) -> None:
    """Train one method with one seed and measure it at each look; nothing that the tables have is done again."""
    steps = 0 if name == "untrained" else length(name, world.args.steps)

    def look(run: ck.Run, seconds: float) -> None:
        key = {"method": name, "seed": seed, "steps": run.steps}
        for part, value in learned(world, name, run.objective):
            if not tables["learned"].has(name, seed, run.steps, part):
                tables["learned"].add(key | {"part": part, "value": value})
        if not tables["board"].has(name, seed, run.steps):
            tables["board"].add(key | {"seconds": seconds, "lr": lr} | measure(world, run.encoder))

    lacking = [task for task in ("sst2", "cola") if not tables["tuned"].has(name, seed, task)]
    if not lacking and tables["board"].has(name, seed, steps):
        return
    if name == "untrained":
        encoder = world.encoder(seed)
        if not tables["board"].has(name, seed, 0):
            row = {"method": name, "seed": seed, "steps": 0, "seconds": 0.0, "lr": ""}
            tables["board"].add(row | measure(world, encoder))
    else:
        encoder = train(world, name, seed, lr, world.args.steps, look).encoder
    for task in lacking:
        tables["tuned"].add({"method": name, "seed": seed, "task": task, "score": tuned(world, encoder, task, seed)})


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = list(CONTESTANTS)
    parser.add_argument("--out", type=Path, default=Path("runs/scoreboard"), help="folder of the tables")
    parser.add_argument("--work", type=Path, default=Path("runs/scoreboard"), help="folder of the runs")
    parser.add_argument("--methods", nargs="+", default=every, choices=every, metavar="NAME")
    parser.add_argument("--scale", default="tiny", help="size of the encoder: tiny, small, base")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=2_000, help="size of the vocabulary")
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--rate-steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=600, help="pairs of each kind in the suite")
    parser.add_argument("--rows", type=int, default=1_000, help="labelled rows for probes and fine-tuning")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    return parser.parse_args()


if __name__ == "__main__":
    main()
