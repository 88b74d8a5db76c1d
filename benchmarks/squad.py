"""Reading on real paragraphs: the English questions of XQuAD (SQuAD's development set), some made unanswerable here.

    python benchmarks/squad.py --out data/recorded                      # 100 updates: some 16 minutes a start on a CPU
    python benchmarks/squad.py --updates 1000 --seeds 5 --out runs      # longer, with five seeds

CONTRAST_KIT_REAL_DATA names the folder with `squad/` and `models/`. All 1,190 questions of the file have an answer, so
every third one is asked of another paragraph of its article, in which its answer does not stand: as in SQuAD 2.0 a
third has none, but those of SQuAD 2.0 were written by people to look answerable, and these were not. The articles are
divided: 34 train, 6 choose the threshold of "no answer", 8 test. This is not a number for SQuAD's leaderboard: the
training rows are too few by two orders of magnitude.

| row | what |
|---|---|
| `always no answer` | "" to everything: what the third without an answer is worth |
| `random start` | the same shape and training, from random weights |
| the model's name | fine-tuned from it |

Columns as `tasks.answers.score`; `answering_…` are the questions with an answer where "" is never said, which shows
what is found whatever the threshold does.
"""

import argparse
import json
import os
import time
from pathlib import Path
from random import Random

import pandas as pd
import torch
from _origin import write_origin

import contrast_kit as ck
from contrast_kit.tasks import answers, squad

SETTINGS = dict(batch_size=12, lr=3e-4, max_length=224, stride=64, warmup=0.1)


def articles(file: Path) -> list[list[dict]]:
    """The questions of each article; every third asked of another of its paragraphs, without an answer."""
    rng, found = Random(0), []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        paragraphs, rows = article["paragraphs"], []
        for paragraph in paragraphs:
            for question in paragraph["qas"]:
                gold = question["answers"][0]
                row = {"id": question["id"], "question": question["question"], "context": paragraph["context"]}
                row["answers"] = {"text": [gold["text"]], "answer_start": [gold["answer_start"]]}
                others = [p["context"] for p in paragraphs if gold["text"].lower() not in p["context"].lower()]
                if len(rows) % 3 == 2 and others:
                    row |= {"context": rng.choice(others), "answers": {"text": [], "answer_start": []}}
                rows.append(row)
        found.append(rows)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    began, real = time.monotonic(), Path(os.environ["CONTRAST_KIT_REAL_DATA"])
    parts = articles(real / "squad" / "xquad.en.json")
    train, choose, test = (sum(part, []) for part in (parts[:34], parts[34:40], parts[40:]))
    model = ck.Encoder.from_pretrained(real / "models" / options.model)
    torch.manual_seed(0)
    blank = ck.Encoder(type(model.model)(model.model.config), model.tokenizer)
    rows = []

    def add(start: str, seed: int, scores: dict, threshold: float) -> None:
        rows.append({"start": start, "seed": seed, "threshold": threshold, **scores})
        pd.DataFrame(rows).to_csv(options.out / "squad.csv", index=False)
        print(rows[-1], flush=True)

    options.out.mkdir(parents=True, exist_ok=True)
    add("always no answer", 0, answers.score({row["id"]: "" for row in test}, test), float("-inf"))
    for seed in range(options.seeds):
        for name, start in ((options.model, model), ("random start", blank)):
            reader = squad.fine_tune(start, train, steps=options.updates, seed=seed, progress=True, **SETTINGS)
            threshold, said = reader.choose_threshold(choose), reader.answers(test)
            always = answers.score(answers.apply_threshold(said, float("inf")), test)
            forced = {f"answering_{metric}": always[f"HasAns_{metric}"] for metric in ("exact", "f1")}
            add(name, seed, answers.score(answers.apply_threshold(said, threshold), test) | forced, threshold)
    facts = {"updates": options.updates, "model": options.model, **SETTINGS}
    facts |= {"questions": {"train": len(train), "threshold": len(choose), "test": len(test)}}
    write_origin(options.out / "squad.csv", "squad", time.monotonic() - began, facts)


if __name__ == "__main__":
    main()
