"""LXMERT and CAPT on drawn shelves: do they look? The tables of notebook 13.

    python benchmarks/words_and_pictures.py --out data/recorded          # five seeds

Every run is written as it ends, so that a stopped script goes on. One thread; seconds are processor seconds.

| table | what | controls |
|---|---|---|
| `pictures_pretraining` | masked words, masked regions, matching; each method and seed | wrong picture, no picture, no text |
| `pictures_answers` | VQA and GQA along fine-tuning, from each encoder | question alone, picture alone, shuffled pictures |
| `pictures_two` | statements on two pictures | shuffled pictures |

What is measured before fine-tuning, on the test captions:

* **words**: one content word of each caption is masked (a good, a colour, a size, a shelf) and named, with the right
  picture, with another one, and with none: one hidden region as large as the picture.
* **objects**: one toy that the caption tells of is hidden and named, with the caption and with all its words masked.
  `seen_object`: the same where the region is *not* hidden, which is copying.
* **matching**: the area under the curve of the matching score, of the true caption against another scene's, and against
  the same caption with one colour or shelf changed so that it is false.
* **cosines** of [CLS]: a pair and its masked self, and random pairs.

CAPT encodes a pair twice: LXMERT with twice the steps has equally many passes.
"""

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from _origin import write_origin
from side_by_side import Table
from torch import Tensor

import contrast_kit as ck
from contrast_kit.data import scenes
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, SHELVES, SIZES
from contrast_kit.data.toyshop.words import plural
from contrast_kit.masking.noise import Mask
from contrast_kit.masking.regions import PICTURE, MaskPair
from contrast_kit.objectives import LXMERT, Answer, CAPTPairs, TwoPictures

BATCH, SHARES = 64, (8, 4, 2, 1)
EVALUATED_AT_ONCE = 100
KINDS = {
    "good": {word for good in GOODS for form in (good, plural(good)) for word in form.split()},
    "colour": set(COLOURS),
    "size": set(SIZES),
    "shelf": {"top", "middle", "bottom"},
}
"""Content words by what they tell."""


def methods(steps: int, masked: float) -> dict[str, tuple[Callable | None, int, str | None]]:
    """By name: the objective, its steps, and the method from whose encoder it goes on."""
    both = MaskPair(words=Mask(masked), which="both")
    lxmert = partial(LXMERT, noise=both)
    capt = partial(CAPTPairs, noise=both, queue=0)
    queue = partial(CAPTPairs, noise=both, queue=4 * 2 * BATCH)
    return {
        "random": (None, 0, None),
        "LXMERT": (lxmert, steps, None),
        "LXMERT, equal passes": (lxmert, 2 * steps, None),
        "CAPT": (capt, steps, None),
        "LXMERT as released": (partial(lxmert, regions="lxmert"), steps, None),
        "LXMERT, matched only": (partial(lxmert, recover_mismatched=False), steps, None),
        "CAPT, words or regions": (partial(capt, noise=replace(both, which="either")), steps, None),
        "CAPT, queue": (queue, steps, None),
        "CAPT, queue, after LXMERT": (queue, steps // 2, "LXMERT"),
    }


FINE_TUNED = ("random", "LXMERT", "LXMERT, equal passes", "CAPT")


class World:
    """Pictures, texts and tokenizer, the same for all."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.pictures = args, scenes.pictures(progress=False)
        self.rows = {(task, split): scenes.rows(task, split) for task in scenes.tasks() for split in ("train", "test")}
        texts = [row[key] for (_, split), rows in self.rows.items() if split == "train" for row in rows
                 for key in ("text", "question", "sentence") if key in row]  # fmt: skip
        self.tokenizer = ck.data.train_tokenizer(texts, vocab_size=2_000)
        self.answers = {
            task: ck.data.answer_list([row.get("answers", row["answer"]) for row in self.rows[task, "train"]], least=9)
            for task in ("vqa", "gqa")
        }
        self.kinds = {kind: self._ids(words) for kind, words in KINDS.items()}

    def data(self, task: str, split: str, rows: list | None = None) -> ck.data.Regions:
        rows = self.rows[task, split] if rows is None else rows
        truth = scenes.truth(rows) if task == "captions" else None
        return ck.data.Regions(rows, self.tokenizer, self.pictures, answers=self.answers.get(task), truth=truth)

    def encoder(self, seed: int) -> ck.CrossModalEncoder:
        sizes = dict(features=self.pictures.width, objects=len(GOODS), attributes=len(COLOURS))
        return ck.CrossModalEncoder.build(self.args.scale, self.tokenizer, seed=seed, **sizes)

    def _ids(self, words: set[str]) -> Tensor:
        """The tokens of words that are one token each."""
        ids = [self.tokenizer(word, add_special_tokens=False)["input_ids"] for word in sorted(words)]
        return torch.tensor([tokens[0] for tokens in ids if len(tokens) == 1])


# -- before fine-tuning ------------------------------------------------------------------------------------------------


def pretrained(world: World, name: str, seed: int) -> tuple[ck.CrossModalEncoder, dict[str, float]]:
    """The encoder of a method and seed, trained once and kept in `--work`; with steps, passes and seconds."""
    args = world.args
    make, steps, start = methods(args.steps, args.masked)[name]
    folder = args.work / f"{re.sub('[^a-z]+', '-', name.lower())}-{args.steps}-{seed}"
    if make is None:
        return world.encoder(seed), {"steps": 0, "passes": 0, "seconds": 0.0}
    passes = steps * (2 if make.func is CAPTPairs else 1)
    if (folder / "seconds").exists():
        encoder, seconds = ck.CrossModalEncoder.from_pretrained(folder), float((folder / "seconds").read_text())
    else:
        encoder = pretrained(world, start, seed)[0] if start else world.encoder(seed)
        began = time.process_time()
        settings = dict(steps=steps, batch_size=BATCH, lr=args.lr, seed=seed, log_every=100, progress=False)
        ck.fit(make(encoder), world.data("captions", "train"), **settings)
        seconds = time.process_time() - began
        encoder.save_pretrained(folder)
        (folder / "seconds").write_text(f"{seconds:.1f}")
    return encoder, {"steps": steps, "passes": passes, "seconds": seconds}


@torch.no_grad()
def measure(world: World, encoder: ck.CrossModalEncoder) -> dict[str, float]:
    """The numbers before fine-tuning, on the test captions."""
    encoder.eval()
    rows = world.rows["captions", "test"]
    data, draw = world.data("captions", "test"), random.Random(0)
    false = [one_word_changed(row, draw) for row in rows]
    kept = [i for i, text in enumerate(false) if text]
    changed = world.data("captions", "test", [rows[i] | {"text": false[i]} for i in kept])
    generator = torch.Generator().manual_seed(0)
    found: dict[str, list[Tensor]] = {}

    def note(**numbers: Tensor) -> None:
        for name, each in numbers.items():
            found.setdefault(name, []).append(each.float())

    for indices in portions(len(data)):
        batch = data.batch(indices)
        note(**named_words(world, encoder, batch, generator))
        note(**named_objects(encoder, batch, told(rows, indices, batch), generator))
        wrong = other_pictures(batch)
        false_for = ~batch["true_of"].diagonal(len(indices) // 2) if len(indices) > 1 else None
        scores = {"true": match_score(encoder, batch), "other": match_score(encoder, batch | wrong)}
        note(**scores)
        note(**cosines(world, encoder, batch, generator))
        del false_for
    for indices in portions(len(changed)):
        batch = changed.batch(indices)
        note(changed=match_score(encoder, batch))
    at = torch.tensor(kept)
    numbers = {name: torch.cat(each) for name, each in found.items()}
    true, other, one_word = (numbers.pop(name) for name in ("true", "other", "changed"))
    areas = {"auc_other": area(true, other), "auc_one_word": area(true[at], one_word)}
    return {name: each.nanmean().item() for name, each in numbers.items()} | areas


def portions(n: int) -> Iterator[range]:
    return (range(start, min(start + EVALUATED_AT_ONCE, n)) for start in range(0, n, EVALUATED_AT_ONCE))
