"""LXMERT and CAPT on drawn shelves: do they look? The tables of notebook 13.

    python benchmarks/words_and_pictures.py --out data/recorded          # five seeds

Every run is written as it ends, so that a stopped script continues. One thread; seconds are processor seconds.

| table | what | controls |
|---|---|---|
| `pictures_pretraining` | masked words, masked regions, matching | wrong picture, no picture, no text |
| `pictures_vqa`, `pictures_gqa` | answers along fine-tuning | question alone, picture alone, shuffled pictures |
| `pictures_nlvr2` | statements about two pictures, along fine-tuning | shuffled pictures |

What is measured before fine-tuning, on the test captions:

* **words**: one content word of each caption is masked (a good, a colour, a shelf) and named, with the right
  picture, with another one, and with none: one hidden region as large as the picture.
* **objects**: one toy that the caption mentions is hidden and named, with the caption and with all its words masked.
  `seen_object`: the same where the region is *not* hidden, which is copying.
* **matching**: the area under the curve of the matching score, of the true caption against another scene's, and against
  the same caption with one colour or shelf changed so that it is false.
* **cosines** of [CLS]: a pair and its masked self, and random pairs.

CAPT encodes a pair twice: it stands beside LXMERT with equally many steps, and with equally many passes.

LXMERT also answers questions while it is pre-trained (`qa`), which CAPT leaves out: "LXMERT, then questions" continues
from LXMERT at equal passes with the training questions of VQA and GQA, for as many steps again.
"""

import argparse
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from _origin import write_origin
from _table import Table
from torch import Tensor

import contrast_kit as ck
from contrast_kit.data import scenes
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, SHELVES
from contrast_kit.data.toyshop.words import plural
from contrast_kit.masking.noise import Mask
from contrast_kit.vision import LXMERT, Answer, CAPTPairs, TwoPictures
from contrast_kit.vision.noise import PICTURE, MaskPair

BATCH, SHARES = 64, (8, 4, 2, 1)
QUESTIONS = "LXMERT, then questions"
EVALUATED_AT_ONCE = 100
KINDS = {
    "good": {word for good in GOODS for form in (good, plural(good)) for word in form.split()},
    "colour": set(COLOURS),
    "shelf": {"top", "middle", "bottom"},
}
"""Content words by what they tell. Not the sizes: "big" has synonyms, and any of them fits."""


def methods(passes: int, masked: float) -> dict[str, tuple[partial | None, int, str | None]]:
    """By name: the objective, its steps, and the method whose encoder it continues. A step of CAPT is two passes."""
    both = MaskPair(words=Mask(masked), which="both")
    lxmert = partial(LXMERT, noise=both, recover_mismatched=False)
    capt = partial(CAPTPairs, noise=both, recover_mismatched=False, queue=0)
    queue = partial(capt, queue=4 * 2 * BATCH)  # four steps
    half = passes // 2
    return {
        "random": (None, 0, None),
        "LXMERT, equal passes": (lxmert, passes, None),
        "LXMERT, equal steps": (lxmert, half, None),
        "CAPT": (capt, half, None),
        QUESTIONS: (partial(lxmert, qa=True), passes, "LXMERT, equal passes"),
        "CAPT, queue": (queue, half, None),
        "CAPT, queue, after LXMERT": (queue, half, "LXMERT, equal steps"),
        "CAPT, words or regions": (partial(capt, noise=replace(both, which="either")), half, None),
        "LXMERT, wrong pairs recovered too": (partial(lxmert, recover_mismatched=True), half, None),
        "LXMERT, losses on all regions": (partial(lxmert, regions="lxmert"), half, None),
    }


FINE_TUNED = ("random", "LXMERT, equal passes", "LXMERT, equal steps", "CAPT", QUESTIONS)


class World:
    """Pictures, texts and tokenizer, the same for all."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.pictures = args, scenes.pictures()
        splits = ("train", args.split)
        self.rows = {(task, split): scenes.rows(task, split) for task in scenes.TASKS for split in splits}
        texts = [row[key] for (_, split), rows in self.rows.items() if split == "train" for row in rows
                 for key in ("text", "question", "sentence") if key in row]  # fmt: skip
        self.tokenizer = ck.data.train_tokenizer(texts, vocab_size=2_000)
        self.answers = {
            task: ck.data.answer_list([row.get("answers", row["answer"]) for row in self.rows[task, "train"]], least=9)
            for task in ("vqa", "gqa")
        }
        asked = [
            {key: row[key] for key in ("question", "image_id")} | {"answers": row.get("answers", [row["answer"]] * 10)}
            for task in ("vqa", "gqa")
            for row in self.rows[task, "train"]
        ]
        self.rows["questions", "train"] = asked
        self.answers["questions"] = ck.data.answer_list([row["answers"] for row in asked], least=9)
        self.kinds = {kind: self._ids(words) for kind, words in KINDS.items()}

    def data(self, task: str, split: str, rows: list | None = None) -> ck.data.Regions:
        rows = self.rows[task, split] if rows is None else rows
        truth = scenes.truth(rows) if task == "captions" else None
        return ck.data.Regions(rows, self.tokenizer, self.pictures, answers=self.answers.get(task), truth=truth)

    def encoder(self, seed: int) -> ck.CrossModalEncoder:
        sizes = dict(features=self.pictures.width, objects=len(GOODS), attributes=len(COLOURS))
        return ck.CrossModalEncoder.build(
            self.args.scale, self.tokenizer, seed=seed, dropout=self.args.dropout, **sizes
        )

    def _ids(self, words: set[str]) -> Tensor:
        """The tokens of words that are one token each."""
        ids = [self.tokenizer(word, add_special_tokens=False)["input_ids"] for word in sorted(words)]
        return torch.tensor([tokens[0] for tokens in ids if len(tokens) == 1])


# -- before fine-tuning ------------------------------------------------------------------------------------------------


def pretrained(world: World, name: str, seed: int) -> tuple[ck.CrossModalEncoder, dict[str, float]]:
    """The encoder of a method and seed, trained once and kept in `--work`; with steps, passes and seconds."""
    args = world.args
    make, steps, start = methods(args.passes, args.masked)[name]
    folder = args.work / f"{re.sub('[^a-z]+', '-', name.lower())}-{args.passes}-{seed}"
    if make is None:
        return world.encoder(seed), {"steps": 0, "passes": 0, "seconds": 0.0}
    encoder, clock = pretrained(world, start, seed)[0] if start else world.encoder(seed), folder / "seconds"
    spent = float(clock.read_text("utf-8")) if clock.exists() else 0.0
    began = time.process_time() - spent

    def note(run: ck.Run) -> None:
        clock.parent.mkdir(parents=True, exist_ok=True)
        clock.write_text(f"{time.process_time() - began:.1f}", encoding="utf-8")

    if name == QUESTIONS:
        torch.manual_seed(seed)
        encoder.new_answer_head(len(world.answers["questions"]))
    objective = make(encoder, seed=seed)
    settings = dict(steps=steps, batch_size=BATCH, lr=args.lr, seed=seed, log_every=100, save_every=100, progress=False)
    data = world.data("questions" if name == QUESTIONS else "captions", "train")
    ck.fit(objective, data, folder=folder / "run", resume=True, callback=note, **settings)
    encoder.save_pretrained(folder / "encoder")
    passes = steps * (2 if issubclass(make.func, CAPTPairs) else 1)
    return encoder, {"steps": steps, "passes": passes, "seconds": float(clock.read_text("utf-8"))}


@torch.no_grad()
def measure(world: World, encoder: ck.CrossModalEncoder) -> dict[str, float]:
    """The numbers before fine-tuning, on captions of scenes that were not trained on."""
    encoder.eval()
    split = world.args.split
    rows, draw = world.rows["captions", split], random.Random(0)
    false = [one_word_changed(row, draw) for row in rows]
    able = [i for i, text in enumerate(false) if text]
    data = world.data("captions", split)
    changed = world.data("captions", split, [rows[i] | {"text": false[i]} for i in able])
    generator = torch.Generator().manual_seed(0)
    found: dict[str, list[Tensor]] = {}
    for indices in portions(len(data)):
        batch = data.batch(indices)
        numbers = named_words(world, encoder, batch, generator)
        numbers |= named_objects(world, encoder, batch, [told(rows[i]) for i in indices])
        numbers |= {"true": match_score(encoder, batch), "other": match_score(encoder, other_pictures(batch))}
        for name, each in (numbers | cosines(world, encoder, batch, generator)).items():
            found.setdefault(name, []).append(each.double())
    numbers = {name: torch.cat(each) for name, each in found.items()}
    one_word = torch.cat([match_score(encoder, changed.batch(indices)) for indices in portions(len(changed))])
    true, other = numbers.pop("true"), numbers.pop("other")
    areas = {"auc_other": area(true, other), "auc_one_word": area(true[torch.tensor(able)], one_word)}
    return {name: each.nanmean().item() for name, each in numbers.items()} | areas


def portions(n: int) -> Iterator[range]:
    return (range(start, min(start + EVALUATED_AT_ONCE, n)) for start in range(0, n, EVALUATED_AT_ONCE))


def other_pictures(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """The batch with the picture of a row half a batch further on; both captions of a picture stand together."""
    return batch | {key: batch[key].roll(len(batch["regions"]) // 2, 0) for key in PICTURE}


def no_picture(batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """The batch with one hidden region, as large as the picture."""
    size, _, width = batch["regions"].shape
    whole = torch.tensor([0.0, 0.0, 1.0, 1.0]).expand(size, 1, 4)
    real = torch.ones(size, 1, dtype=torch.bool)
    return batch | {"regions": torch.zeros(size, 1, width), "boxes": whole, "region_mask": real, "region_hidden": real}


def named_words(world: World, encoder: ck.CrossModalEncoder, batch: dict, generator: torch.Generator) -> dict:
    """Whether one masked content word is named right, [B]: with the right picture, another, and none."""
    ids, each = batch["input_ids"], torch.arange(len(batch["input_ids"]))
    content = torch.isin(ids, torch.cat(list(world.kinds.values())))  # [B, T]
    at = (torch.rand(ids.shape, generator=generator) * content).argmax(1)  # [B]
    label, masked = ids[each, at], ids.clone()
    masked[each, at] = world.tokenizer.mask_token_id
    view, found = batch | {"input_ids": masked}, {}
    for name, seen in (("right", view), ("wrong", other_pictures(view)), ("none", no_picture(view))):
        hit = (encoder.mlm_logits(encoder(seen)[each, at]).argmax(1) == label).double()
        found[f"word_{name}"] = hit.masked_fill(~content.any(1), torch.nan)
        if name != "none":
            for kind, words in world.kinds.items():
                found[f"{kind}_{name}"] = hit.masked_fill(~torch.isin(label, words), torch.nan)
    return found


def told(row: dict[str, Any]) -> int:
    """The place among the regions of a toy that a caption mentions."""
    fact = row["facts"][0]
    fields = ("good", "colour", "size", "price")
    for at, toy in enumerate(scenes.scene(row["image_id"]).toys):
        if SHELVES[toy.shelf] == fact["shelf"] and all(fact[f] in ("", 0, getattr(toy, f)) for f in fields):
            return at
    raise ValueError(f"No toy of the scene fits the caption {row['text']!r}.")


def named_objects(world: World, encoder: ck.CrossModalEncoder, batch: dict, at: list[int]) -> dict[str, Tensor]:
    """Whether the good of a toy is named right, [B]: hidden, beside its caption or without a word; and seen."""
    each, at = torch.arange(len(at)), torch.tensor(at)
    hidden = torch.zeros_like(batch["region_mask"])
    hidden[each, at] = True
    silent = torch.where(batch["maskable"], world.tokenizer.mask_token_id, batch["input_ids"])
    views = {"object_with_text": batch | {"region_hidden": hidden}, "object_seen": batch}
    views["object_without_text"] = views["object_with_text"] | {"input_ids": silent}
    right = {}
    for name, view in views.items():
        logits = encoder.region_logits(encoder.states(view).regions[each, at])["objects"]
        right[name] = logits.argmax(1) == batch["objects"][each, at]
    return right


def match_score(encoder: ck.CrossModalEncoder, view: dict) -> Tensor:
    """How much more a pair looks matched than mismatched, [B]."""
    logits = encoder.match_logits(encoder(view))
    return (logits[:, 1] - logits[:, 0]).double()


def one_word_changed(row: dict[str, Any], draw: random.Random) -> str | None:
    """The caption with another colour or shelf, so that it is false; None where no word can be changed so."""
    text, facts, able = row["text"], row["facts"], []
    for at, fact in enumerate(facts):
        for field, values in (("colour", COLOURS), ("shelf", SHELVES)):
            word = fact[field].removeprefix("on the ").removesuffix(" shelf")
            for value in values:
                other = value.removeprefix("on the ").removesuffix(" shelf")
                now = [*facts[:at], fact | {field: value}, *facts[at + 1 :]]
                once = word and len(re.findall(rf"\b{word}\b", text, re.I)) == 1
                if once and not scenes.truth([{"facts": now}])([0], torch.tensor([row["image_id"]])):
                    able.append(re.sub(rf"\b{word}\b", other, text, flags=re.I))
    changed = draw.choice(able) if able else None
    return changed and re.sub(r"\b(a|an) (?=orange\b)", "an ", re.sub(r"\ban (?!orange\b)(?=[^aeiou])", "a ", changed))


def area(positive: Tensor, negative: Tensor) -> float:
    """The area under the ROC curve: how often a positive scores higher than a negative."""
    from sklearn.metrics import roc_auc_score

    labels = torch.cat([torch.ones(len(positive)), torch.zeros(len(negative))])
    return float(roc_auc_score(labels, torch.cat([positive, negative])))


def cosines(world: World, encoder: ck.CrossModalEncoder, batch: dict, generator: torch.Generator) -> dict[str, Tensor]:
    """Cosine of [CLS] of a pair with its masked self, and with that of another pair, [B] each."""
    noisy = MaskPair(which="both")(batch, generator, encoder.vocabulary)
    vectors = (encoder.pool(encoder(view), view) for view in (batch, noisy))  # [B, D] each
    clean, masked = (torch.nn.functional.normalize(x, dim=1) for x in vectors)
    return {"cos_pair": (clean * masked).sum(1), "cos_random": (clean * masked.roll(len(clean) // 2, 0)).sum(1)}


# -- fine-tuning -------------------------------------------------------------------------------------------------------


def task_data(world: World, task: str, split: str, given: str) -> ck.data.Regions:
    """The rows of a task: both question and picture, or one of them alone."""
    rows, pictures = world.rows[task, split], world.pictures
    if given == "picture alone":
        rows = [row | {"question": "what?"} for row in rows]
    if given == "question alone":
        one = {"regions": torch.zeros(1, pictures.width), "boxes": [[0.0, 0.0, 1.0, 1.0]]}
        pictures = ck.data.stack_pictures([one | {"image_id": int(number)} for number in pictures.ids])
    return ck.data.Regions(rows, world.tokenizer, pictures, answers=world.answers.get(task))


@torch.no_grad()
def answered(objective: Answer | TwoPictures, data: ck.data.Regions, shuffled: bool) -> list[int]:
    """The best answer to each row, in order; with `shuffled` on the pictures of a row half a split further on."""
    objective.eval()
    kept = data.picture_rows
    if shuffled:
        data.picture_rows = kept.roll(len(kept) // 2, 0)
    batches = [data.batch(indices) for indices in portions(len(data))]
    data.picture_rows = kept
    return torch.cat([objective.logits(batch).argmax(1) for batch in batches]).tolist()


def scores(world: World, task: str, predicted: list[int]) -> dict[str, float]:
    """VQA's accuracy, of all and by type of question; GQA's accuracy; NLVR2's two numbers."""
    rows = world.rows[task, world.args.split]
    if task == "nlvr2":
        labels, identifiers = ([row[key] for row in rows] for key in ("label", "identifier"))
        return ck.tasks.nlvr2_scores(predicted, labels, identifiers)
    names = [world.answers[task][one] for one in predicted]
    if task == "gqa":
        right = [name == row["answer"] for name, row in zip(names, rows, strict=True)]
        return {"accuracy": sum(right) / len(right)}
    each = ck.tasks.soft_accuracies(names, [row["answers"] for row in rows])
    of_types = pd.Series(each).groupby([row["question_type"] for row in rows]).mean()
    return {"accuracy": each.mean(), **of_types}


def fine_tune(world: World, task: str, start: str, given: str, seed: int) -> Iterator[dict[str, Any]]:
    """Fine-tune from the encoder of a method; a row of scores at 1/8, 1/4, 1/2 and all of the steps."""
    args, encoder = world.args, pretrained(world, start, seed)[0]
    if task == "nlvr2":
        objective = TwoPictures(encoder, seed=seed)
    else:
        objective = Answer(encoder, answers=len(world.answers[task]), seed=seed)
    train, test = (task_data(world, task, split, given) for split in ("train", args.split))
    steps, rows, paused = args.task_steps, [], 0.0
    began = time.process_time()

    def look(run: ck.Run) -> None:
        nonlocal paused
        if steps % run.steps or steps // run.steps not in SHARES:
            return
        now = time.process_time()
        row = {"share": f"1/{steps // run.steps}", "seconds": now - began - paused}
        row |= scores(world, task, answered(objective, test, shuffled=False))
        row["shuffled"] = scores(world, task, answered(objective, test, shuffled=True))["accuracy"]
        rows.append(row)
        paused += time.process_time() - now

    settings = dict(steps=steps, batch_size=BATCH, lr=args.task_lr, seed=seed, progress=False)
    ck.fit(objective, train, callback=look, log_every=steps // SHARES[0], **settings)
    return iter(rows)


# -- all of it ---------------------------------------------------------------------------------------------------------


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    world, began = World(args), time.process_time()
    before = Table(args.out / "pictures_pretraining.csv", ("method", "seed"))
    answers = {
        task: Table(args.out / f"pictures_{task}.csv", ("start", "given", "seed", "share"))
        for task in ("vqa", "gqa", "nlvr2")
    }
    for seed in args.seeds:
        for name in args.methods:
            if not before.has(name, seed):
                encoder, cost = pretrained(world, name, seed)
                before.add({"method": name, "seed": seed} | cost | measure(world, encoder))
        for task in args.tasks:
            plans = [(name, "both") for name in FINE_TUNED if name in args.methods]
            if task != "nlvr2":
                plans += [("random", "question alone"), ("random", "picture alone")]
            for start, given in plans:
                if not answers[task].has(start, given, seed, "1/1"):
                    for row in fine_tune(world, task, start, given, seed):
                        answers[task].add({"start": start, "given": given, "seed": seed} | row)
    settings = {k: v for k, v in vars(args).items() if k not in ("out", "work", "methods")}
    for table in (before, *answers.values()):
        if table.grew:
            write_origin(table.path, "words_and_pictures", time.process_time() - began, settings)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = list(methods(0, 0.15))
    parser.add_argument("--out", type=Path, default=Path("runs/words_and_pictures"), help="folder of the tables")
    parser.add_argument("--work", type=Path, default=Path("runs/words_and_pictures"), help="folder of the encoders")
    parser.add_argument("--methods", nargs="+", default=every, choices=every, metavar="NAME")
    parser.add_argument("--tasks", nargs="*", default=["vqa", "gqa", "nlvr2"], choices=["vqa", "gqa", "nlvr2"])
    parser.add_argument("--split", default="test", choices=["validation", "test"], help="validation: for settings")
    parser.add_argument("--scale", default="tiny", help="size of the encoder: tiny, small, lxmert")
    parser.add_argument("--passes", type=int, default=3_000, help="of batches in pre-training, CAPT's two a step")
    parser.add_argument("--task-steps", type=int, default=1_600, help="of fine-tuning")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--task-lr", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.0, help="papers: 0.1, with which it takes twice the steps")
    parser.add_argument("--masked", type=float, default=0.3, help="share of the words that are masked")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    return parser.parse_args()


if __name__ == "__main__":
    main()
