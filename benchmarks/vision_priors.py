"""What can be answered without looking, or without reading: the priors of the scenes and of real VQA questions.

    python benchmarks/vision_priors.py --out data/recorded     # some minutes on one CPU core

| sees | what |
|---|---|
| question only | a bag of its words, logistic regression |
| picture only | mean and maximum of its regions' features, logistic regression |
| caption only | a masked word from the others: two neighbours on each side, and a bag of the rest |
| most frequent | the training split's most frequent answer |
| ten people's majority | the ceiling: what ten people say most often, scored by what they say |

VQA is scored by soft accuracy, all else by accuracy; all on test splits. Real questions are those in the folder that
CONTRAST_KIT_REAL_DATA names; without it they are left out.
"""

import argparse
import os
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from _origin import write_origin

from contrast_kit import tasks
from contrast_kit.data import scenes
from contrast_kit.data.picture_files import vqa_v2
from contrast_kit.data.scenes.shelf import COLOURS, GOODS

MASKED = {
    "colour": "|".join(COLOURS),
    "good": "|".join(f"{good}(?:e?s)?" for good in GOODS),
    "shelf": "top|middle|bottom",
}
ROWS: list[dict] = []


def note(data: str, sees: str, scores: np.ndarray, types: list[str]) -> None:
    """Keep the mean of each type."""
    scores = pd.Series(np.asarray(scores, float))
    for kind, score in {"all": scores.mean(), **scores.groupby(np.asarray(types)).mean()}.items():
        n = len(types) if kind == "all" else types.count(kind)
        ROWS.append({"data": data, "sees": sees, "type": kind, "score": round(score, 4), "n": n})
        print(f"{data:28} {sees:22} {kind:14} {score:.3f}  ({n})", flush=True)


def answered(name: str, train: list[dict], test: list[dict], by: str, real: bool = False) -> None:
    """Priors of questions: the most frequent answer, the question, and for scenes the picture."""
    people = [row.get("answers") for row in test]
    types = [row[by] for row in test]

    def judge(predicted: list[str]) -> np.ndarray:
        if people[0] is not None:
            return tasks.soft_accuracies(predicted, people)
        return np.array([one == row["answer"] for one, row in zip(predicted, test, strict=True)], dtype=float)

    answers = [row["answer"] for row in train]
    frequent = Counter(answers).most_common(1)[0][0]
    note(name, "most frequent", judge([frequent] * len(test)), types)
    guess = tasks.question_only([row["question"] for row in train], answers, [row["question"] for row in test])
    note(name, "question only", judge(guess), types)
    if people[0] is not None:
        note(name, "ten people's majority", judge([row["answer"] for row in test]), types)
    if not real:
        pictures = scenes.pictures()
        seen = [tasks.picture_vectors(pictures, [row["image_id"] for row in part]) for part in (train, test)]
        note(name, "picture only", judge(tasks.picture_only(seen[0], answers, seen[1])), types)


def statements(train: list[dict], test: list[dict]) -> None:
    """Priors of statements about two pictures."""
    labels, kinds = [str(row["label"]) for row in train], ["all"] * len(test)
    right = lambda predicted: np.array([one == str(row["label"]) for one, row in zip(predicted, test, strict=True)])  # noqa: E731
    told = tasks.question_only([row["sentence"] for row in train], labels, [row["sentence"] for row in test])
    note("scenes/nlvr2", "question only", right(told), kinds)
    pictures = scenes.pictures()
    seen = [
        np.concatenate([tasks.picture_vectors(pictures, [row[side] for row in part]) for side in ("left", "right")], 1)
        for part in (train, test)
    ]
    note("scenes/nlvr2", "picture only", right(tasks.picture_only(seen[0], labels, seen[1])), kinds)


def masked_words(split: str) -> list[tuple[str, str, str]]:
    """Each colour, good and shelf of a caption: its kind, the words around it, and the word."""
    found = []
    for row in scenes.rows("captions", split):
        text = row["text"].lower().rstrip(".").replace(",", " ,")
        for kind, pattern in MASKED.items():
            for match in re.finditer(rf"\b(?:{pattern})\b", text):
                left, right = text[: match.start()].split(), text[match.end() :].split()
                near = [f"l{i}{word}" for i, word in enumerate(left[::-1][:2])]
                near += [f"r{i}{word}" for i, word in enumerate(right[:2])]
                found.append((kind, " ".join(near + left + right), match[0]))
    return found


def captions() -> None:
    """A masked word from the rest of its caption."""
    train, test = masked_words("train"), masked_words("test")
    for kind in MASKED:
        mine, theirs = ([each for each in part if each[0] == kind] for part in (train, test))
        guess = tasks.question_only([m[1] for m in mine], [m[2] for m in mine], [t[1] for t in theirs])
        note(
            "scenes/captions",
            "caption only",
            np.array([g == t[2] for g, t in zip(guess, theirs, strict=True)]),
            [kind] * len(guess),
        )
        ROWS.pop(-2)  # "all" of one kind is that kind


def main() -> None:
    """Read the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of recorded tables")
    chosen = parser.parse_args()
    start = time.time()
    captions()
    for task, by in (("vqa", "question_type"), ("gqa", "group")):
        answered(f"scenes/{task}", scenes.rows(task, "train"), scenes.rows(task, "test"), by)
    statements(scenes.rows("nlvr2", "train"), scenes.rows("nlvr2", "test"))
    folder = Path(os.environ.get("CONTRAST_KIT_REAL_DATA", "."), "vl", "vqa_v2_questions")
    if folder.is_dir():
        train, test = (
            vqa_v2(folder / f"vqa_questions_{split}.gzip", folder / f"vqa_annotatons_{split}.gzip")
            for split in ("train", "test")
        )
        answered("VQA v2 questions", train, test, "answer_type", real=True)
    table = chosen.out / "vision_priors.csv"
    pd.DataFrame(ROWS).to_csv(table, index=False, lineterminator="\n")
    write_origin(table, "vision_priors", time.time() - start, {"real questions": folder.is_dir()})


if __name__ == "__main__":
    main()
