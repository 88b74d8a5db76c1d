"""easy-VQA end to end: from the pixels of real PNG files to an answer, with no detector between. For notebook 13.

    python benchmarks/easy_vqa.py --out data/recorded     # needs the folder that CONTRAST_KIT_REAL_DATA names

easy-VQA (Zhou, MIT licence) asks 48,248 questions about 5,000 pictures of one shape each: "is there a teal shape?",
"what is the color of the circle?". A picture of 64 × 64 pixels is cut into 16 patches (`data.patches`). Each is a
region, whose feature is its own 768 pixel values, and the first layer that reads them is trained with all others.

| sees | what |
|---|---|
| both | question and picture: the encoder and its answer head, trained from scratch |
| question alone | the same encoder with one hidden region in place of every picture |
| picture alone | mean and maximum of the patches' features, logistic regression (`tasks.picture_only`) |
| bag of words | the question's words, logistic regression (`tasks.question_only`) |
| same question | the answer that training gives most often to the very same words |

`shuffled` is the accuracy of the same trained model with the pictures of other rows: what remains does not come from
seeing. One thread; seconds are processor seconds. `--split validation` holds out the last training pictures, to choose
settings; the test pictures are then not read.
"""

import argparse
import os
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from _origin import write_origin
from _table import Table
from words_and_pictures import BATCH, answered

import contrast_kit as ck
from contrast_kit.data.picture_files import easy_vqa, patches, read_pictures
from contrast_kit.vision import Answer

SIDE = 16
"""Pixels across a patch."""
HELD_OUT = 0.15
"""The share of the training pictures that `--split validation` tests on."""
SHAPES = ("circle", "rectangle", "triangle")


class World:
    """Rows, pictures, tokenizer and answers of one split."""

    def __init__(self, folder: Path, split: str) -> None:
        rows = easy_vqa(folder, "train")
        if split == "test":
            first = 1 + max(row["image_id"] for row in rows)  # test pictures are numbered from 0 too
            new = [row | {"image_id": first + row["image_id"]} for row in easy_vqa(folder, "test")]
        else:
            first = round((1 - HELD_OUT) * len({row["image_id"] for row in rows}))
            new = [row for row in rows if row["image_id"] >= first]
            rows = [row for row in rows if row["image_id"] < first]
        self.train, self.test = rows, new
        files = {row["image_id"]: row["file"] for row in rows + new}
        cut = patches(read_pictures(list(files.values())), list(files), SIDE)
        self.pictures = cut.standardised([row["image_id"] for row in rows])
        self.tokenizer = ck.data.train_tokenizer([row["question"] for row in rows], vocab_size=200)
        self.answers = ck.data.answer_list([row["answer"] for row in rows])
        self.types = [kind_of(row["answer"]) for row in new]

    def data(self, rows: list[dict], given: str) -> ck.data.Regions:
        pictures = self.pictures
        if given == "question alone":
            one = {"regions": torch.zeros(1, pictures.width), "boxes": [[0.0, 0.0, 1.0, 1.0]]}
            pictures = ck.data.stack_pictures([one | {"image_id": int(number)} for number in pictures.ids])
        return ck.data.Regions(rows, self.tokenizer, pictures, answers=self.answers)

    def scores(self, predicted: list[str]) -> dict[str, float]:
        """Accuracy of all and by type of answer."""
        right = [float(one == row["answer"]) for one, row in zip(predicted, self.test, strict=True)]
        right = pd.Series(np.asarray(right, float))
        found = {"all": right.mean(), **right.groupby(np.asarray(self.types)).mean()}
        return {"accuracy": found["all"]} | {kind: found[kind] for kind in ("yes/no", "shape", "colour")}


def kind_of(answer: str) -> str:
    return "yes/no" if answer in ("yes", "no") else "shape" if answer in SHAPES else "colour"


def trained(world: World, given: str, seed: int, args: argparse.Namespace) -> dict:
    """One run of the encoder: its scores at the end, and with other rows' pictures."""
    torch.manual_seed(seed)
    sizes = dict(features=world.pictures.width, objects=2, attributes=2)  # nobody names what is in a patch
    encoder = ck.CrossModalEncoder.build(args.scale, world.tokenizer, seed=seed, dropout=0.0, **sizes)
    objective = Answer(encoder, answers=len(world.answers), seed=seed)
    train, test = world.data(world.train, given), world.data(world.test, given)
    began = time.process_time()
    settings = dict(steps=args.steps, batch_size=BATCH, lr=args.lr, decay=args.decay, seed=seed, progress=False)
    ck.fit(objective, train, **settings)
    row = {"steps": args.steps, "seconds": time.process_time() - began}
    row |= world.scores([world.answers[one] for one in answered(objective, test, shuffled=False)])
    shuffled = [world.answers[one] for one in answered(objective, test, shuffled=True)]
    return row | {"shuffled": world.scores(shuffled)["accuracy"]}


def prior(world: World, given: str) -> dict:
    """Answers that need no encoder."""
    asked, answers = ([row[key] for row in world.train] for key in ("question", "answer"))
    new = [row["question"] for row in world.test]
    began = time.process_time()
    if given == "same question":
        counts: dict[str, Counter] = defaultdict(Counter, {"": Counter(answers)})
        for question, answer in zip(asked, answers, strict=True):
            counts[question][answer] += 1
        predicted = [(counts[q] if q in counts else counts[""]).most_common(1)[0][0] for q in new]
    elif given == "bag of words":
        predicted = ck.tasks.question_only(asked, answers, new)
    else:
        few = world.train[:: max(1, len(world.train) // 4_000)]  # one question for about every picture
        seen, shown = (
            ck.tasks.picture_vectors(world.pictures, [row["image_id"] for row in part]) for part in (few, world.test)
        )
        predicted = ck.tasks.picture_only(seen, [row["answer"] for row in few], np.ascontiguousarray(shown))
    row = {"steps": 0, "seconds": time.process_time() - began} | world.scores(predicted)
    return row | {"shuffled": ""}


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    folder = Path(os.environ.get("CONTRAST_KIT_REAL_DATA", "."), "vl", "easy_vqa")
    world, table = World(folder, args.split), Table(args.out / "easy_vqa.csv", ("given", "seed"))
    began = time.process_time()
    for given in ("same question", "bag of words", "picture alone"):
        if not table.has(given, ""):
            table.add({"given": given, "seed": ""} | prior(world, given))
    for seed in args.seeds:
        for given in ("both", "question alone"):
            if not table.has(given, seed):
                table.add({"given": given, "seed": seed} | trained(world, given, seed, args))
    if table.grew:
        settings = {k: v for k, v in vars(args).items() if k != "out"}
        settings |= {"batch": BATCH, "side": SIDE, "train": len(world.train), "test": len(world.test)}
        write_origin(table.path, "easy_vqa", time.process_time() - began, settings)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/easy_vqa"), help="folder of the table")
    parser.add_argument(
        "--split", default="test", choices=["validation", "test"], help="validation is for choosing settings"
    )
    parser.add_argument("--scale", default="tiny", help="size of the encoder: tiny, small, lxmert")
    parser.add_argument("--steps", type=int, default=1_500)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--decay", default="linear")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    return parser.parse_args()


if __name__ == "__main__":
    main()
