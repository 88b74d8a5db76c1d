"""What of an encoder's grammar is grammar, and what it does for few labels: COCO-LM's figure 7 (c, d) in small.

    python benchmarks/grammar.py --out data/recorded --work runs/scoreboard      # the encoders of scoreboard.py

The encoders are those that `scoreboard.py` left in `--work` after its last step; what is not there is trained again.

| table | what |
|---|---|
| `grammar_labels` | a linear probe with 1, 10 and 100 % of 1,000 labels of sst2 and cola, five draws |
| `grammar_kinds` | by the kind of an error: in what share of pairs the probe prefers the sentence without it |

The probe of `grammar_kinds` has learned from cola's 1,000 labels. A guess is right in a half of the pairs. The last two
kinds are no errors of cola but what a pretext task makes: `exchanged`, two neighbours in each other's place, and
`replaced`, another word of the toyshop in the place of one.
"""

import random
import runpy
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from _origin import write_origin
from _table import Table
from scoreboard import AFTER, World, arguments, choose_rates, trained

import contrast_kit as ck
from contrast_kit.tasks import splits
from contrast_kit.tasks.probes import fit_probe, vectors_of
from contrast_kit.tasks.table import labels_of, select_rows

AFTER_MLM = ("ELECTRA", "COCO-LM (contrast weight 0)", "COCO-LM", "CAPT (queue 0)")
METHODS = ("untrained", "MLM", *(f"{name}{AFTER}" for name in AFTER_MLM))
LABELS, DRAWS = (10, 100, 1_000), 5
KINDS = ("agreement", "number", "order", "adjective", "case", "tense")
RECORDS = Path(__file__).resolve().parents[1] / "data" / "toyshop" / "records.py"


def pairs_by_kind() -> dict[str, list[tuple[str, str]]]:
    """Sentences of cola's unseen rows, each with the same sentence with one error."""
    sys.path.insert(0, str(RECORDS.parent))
    rules = runpy.run_path(str(RECORDS))
    data = ck.data.load("toyshop/cola")
    good = [row["sentence"] for part in ("validation", "test") for row in data[part] if row["label"] == 1]
    found = {}
    for kind in KINDS:
        rng = random.Random(0)
        found[kind] = [(text, rules["corrupt"](text, rng, [rules[kind]])) for text in good]
    words = sorted({word for text in good for word in text.split() if word.isalpha()})
    for kind, make in {"exchanged": exchanged, "replaced": partial(replaced, words=words)}.items():
        rng = random.Random(0)
        found[kind] = [(text, make(text, rng=rng)) for text in good]
    return {kind: [pair for pair in pairs if pair[1] and pair[0] != pair[1]] for kind, pairs in found.items()}


def exchanged(text: str, rng: random.Random) -> str:
    words = text.split()
    place = rng.randrange(len(words) - 1)
    words[place : place + 2] = words[place + 1], words[place]
    return " ".join(words)


def replaced(text: str, rng: random.Random, words: list[str]) -> str:
    found = text.split()
    place = rng.randrange(len(found))
    found[place] = rng.choice([word for word in words if word != found[place]])
    return " ".join(found)


def few_labels(world: World, encoder: ck.Encoder) -> Iterator[tuple[dict, float]]:
    """A probe's score on unseen rows, by task, number of labels and draw."""
    for task, data in world.suite.probes.items():
        labels = labels_of(data.train)
        for n in LABELS:
            for number in range(DRAWS if n < len(labels) else 1):
                rows = select_rows(data.train, splits.draw(labels, min(n, len(labels)), number, stratified=True))
                probe = fit_probe(encoder, rows, task=data.task, strength=1.0)
                yield dict(task=task, labels=n, draw=number), probe.evaluate(data.validation)[data.task.metrics[0]]


def preferred(world: World, encoder: ck.Encoder, pairs: dict) -> Iterator[tuple[dict, float]]:
    """How often the probe of cola gives the right sentence the higher probability, by the kind of error."""
    probe = fit_probe(encoder, world.suite.probes["cola"].train, task="cola", strength=1.0)
    for kind, both in pairs.items():
        good, bad = (
            probe.model.decision_function(vectors_of(encoder, [pair[side] for pair in both]).numpy()) for side in (0, 1)
        )
        yield dict(kind=kind, pairs=len(both)), float((good > bad).mean())


def main() -> None:
    args = arguments()
    args.methods = METHODS[1:]
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    world, began, pairs = World(args), time.process_time(), pairs_by_kind()
    world.rates = choose_rates(world, Table(args.out / "scoreboard_rates.csv", ("method", "lr")))
    labels = Table(args.out / "grammar_labels.csv", ("method", "seed", "task", "labels", "draw"))
    kinds = Table(args.out / "grammar_kinds.csv", ("method", "seed", "kind"))
    for seed in args.seeds:
        for name in METHODS:
            if kinds.has(name, seed, "replaced"):
                continue
            encoder = world.encoder(seed) if name == "untrained" else trained(world, name, seed)
            if not labels.has(name, seed, "cola", max(LABELS), 0):
                for row, score in few_labels(world, encoder):
                    labels.add({"method": name, "seed": seed, **row, "score": score})
            for row, right in preferred(world, encoder, pairs):
                kinds.add({"method": name, "seed": seed, **row, "right": right})
    for table in (labels, kinds):
        if table.grew:
            settings = {"labels": LABELS, "draws": DRAWS, "steps": args.steps, "seeds": args.seeds}
            write_origin(table.path, "grammar", time.process_time() - began, settings)


if __name__ == "__main__":
    main()
