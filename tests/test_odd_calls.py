"""Calls with one odd argument, drawn over all rooms: each does what was meant, or is refused in one sentence of ours.

A refusal is ours when the kit itself raises it, as a `TypeError`, `ValueError` or `FileNotFoundError` (`IndexError` for
a row that is not there) of one sentence. What torch, numpy or Python say about an argument that got through is a raw
error, and a failing test. Odd but fine: a number as a title, which a figure can write.

`ROOMS` has a call that works of every public function, with all of its arguments.
`python tests/test_odd_calls.py plots data` tries every odd value in every argument of these rooms (or of all).
"""

import dataclasses
import inspect
import linecache
import math
import os
import signal
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import make_encoder
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import contrast_kit as ck
from contrast_kit import (
    data,
    encoder,
    exercises,
    explore,
    geometry,
    losses,
    masking,
    objectives,
    papers,
    paraphrase,
    planning,
    plots,
    schedules,
    standard,
    tasks,
)
from contrast_kit.data import scenes, squad, toyshop
from contrast_kit.data.pictures import random_pictures
from contrast_kit.masking import noise, regions

pytest.importorskip("anywidget")
KIT = str(Path(ck.__file__).parent)
CALLS = 3_000


def x(*shape, at=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(at))


IDS = torch.tensor([[1, 11, 12, 13, 14, 2], [1, 15, 16, 17, 2, 0]])
FREE = IDS > 2
WORDS = dict(mask_id=3, vocab_size=20)
LOGITS, COPIES, LABELS = x(5, 20), x(5), torch.tensor([4, 5, 6, 7, 8])
VALID = torch.ones(2, 6, dtype=torch.bool)
FOUR, CLASSES = torch.arange(4), torch.tensor([0, 0, 1, 1])
RNG = torch.Generator()

TEXTS = ["the red kite flies", "a small drum", "a green train stops", "the shelf is full"]
TOKENIZER = data.train_tokenizer(TEXTS, vocab_size=60)
ENCODER = make_encoder(TOKENIZER)
MLM = objectives.MLM(ENCODER)
TRAINED, FAST, PACKED, PLAIN = (make_encoder(TOKENIZER) for _ in range(4))  # their calls change them
LABELED = [{"sentence": "a red kite", "label": 0}, {"sentence": "a drum", "label": 1}] * 4
KITE = [{"text": "This kite is charming.", "text/0": "The kite is lovely."}]
SPLIT = (0.8, 0.1, 0.1)

FOLDER = tempfile.TemporaryDirectory()
PAIRS = paraphrase.write_pairs(Path(FOLDER.name, "pairs.tsv"), ["it rains"], ["rain falls"])
TOKENIZER.save_pretrained(Path(FOLDER.name, "tokenizer"))
SAVED = ENCODER.save_pretrained(Path(FOLDER.name, "encoder"))

SEEDS = {"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0]}
COSINES = x(20).clamp(-1, 1)
HISTORY = pd.DataFrame({"step": [1, 2], "loss": [1.0, 2.0]})
FILM = plots.animation({"a": x(5, 2), "b": x(5, 2, at=1)})
PIXELS, BOXES = np.ones((8, 8, 3)), [[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 1.0, 1.0]]
PICTURES = random_pictures()
SEEN = [{"text": "a red kite", "image_id": 0, "answer": "red"}, {"text": "a drum", "image_id": 3, "answer": "two"}]
RECORD, SCENE = toyshop.Stock(2, "drum", "in the window"), scenes.scene(0)
ASKED = [{"id": "1", "question": "who flies", "context": TEXTS[0], "answers": {"text": ["kite"], "answer_start": [8]}}]
SHELVES = data.stack_pictures([
    {"image_id": n, "regions": x(len(scenes.scene(n).toys), 6), "boxes": scenes.boxes(scenes.scene(n))} for n in (0, 1)
])  # fmt: skip
ANSWER = objectives.Answer(ck.CrossModalEncoder.tiny(TOKENIZER, features=6, objects=4, attributes=4), answers=2)
SEEING = ANSWER.encoder
SEEING_SAVED = SEEING.save_pretrained(Path(FOLDER.name, "seeing"))
MAP = explore.embedding_map(x(4, 3), TEXTS)
SYNONYMS = [("a red kite", "one red kite"), ("a drum", "the drum"), ("the shelf", "a shelf")]
GRADED = [{"sentence1": one, "sentence2": other, "label": float(n)} for n, (one, other) in enumerate(SYNONYMS)]
MOOD = tasks.TaskData(
    tasks.Task("mood", ("sentence",), ("bad", "good"), ("accuracy",)),
    dict.fromkeys(("train", "validation", "test"), LABELED), "mood",
)  # fmt: skip
QUICK = tasks.Protocol("quick", sizes=(4,), draws=1, seeds=(0,), validation=4, epochs={4: 1}, post_epochs={4: 1})
WHOLE = dataclasses.replace(QUICK, sizes=(None,), epochs={None: 1})
TUNED = tasks.fine_tune(ENCODER, LABELED, LABELED, task=MOOD.task, steps=1)
RUNS = tasks.Results(
    pd.DataFrame([
        dict(method=method, task="mood", n=4, draw=draw, seed=0, metric="accuracy", validation=0.5, test=0.5 + draw / 9)
        for method in ("FT", "SCL") for draw in range(3)
    ]),
    QUICK,
)  # fmt: skip
TWO_ASKED = [*ASKED, {"id": "2", "question": "what", "context": TEXTS[1], "answers": {"text": [], "answer_start": []}}]
SAID = {"1": ("kite", -3.0)}
SUITE = tasks.scoreboard.EvalSuite(SYNONYMS, SYNONYMS, [(one, other, 1.0 + len(one)) for one, other in SYNONYMS])
TO_GLUE = {file.name: np.zeros(file.rows, int) for file in tasks.submission.FILES if file.name != "AX.tsv"}

(BLIMP := Path(FOLDER.name, "blimp")).mkdir()
Path(BLIMP, "noun.jsonl").write_text('{"sentence_good": "a red kite", "sentence_bad": "kite a red"}\n')
STS = {"mine": [(one, other, 1.0 + len(one)) for one, other in SYNONYMS]}
Path(FOLDER.name, "STSBenchmark").mkdir()
for part in ("train", "dev", "test"):
    Path(FOLDER.name, "STSBenchmark", f"sts-{part}.csv").write_text("a\tb\t2012\t1\t4.0\ta red kite\ta kite\n" * 3)

TABLE, STORY = Path(FOLDER.name, "table.csv"), Path(FOLDER.name, "story.txt")
TABLE.write_text("yes,a red kite\nno,a drum\n")
STORY.write_text("It was late. No one came.\n")


def read_table(**options):
    return data.load(TABLE, **options)


def read_story(**options):
    return data.load(STORY, **options)


def hash_of(rows, others):
    return tasks.split_hash(rows, others)


CONFIGS = (
    objectives.AllTokenMLMConfig, objectives.CSSLConfig, objectives.ELECTRAConfig, objectives.FineTuneConfig,
    objectives.SpanConfig, objectives.AnswerConfig, objectives.LXMERTConfig, objectives.CAPTPairsConfig,
    objectives.TwoPicturesConfig,
)  # fmt: skip
METHODS = (objectives.MLM, objectives.CMLM, objectives.CAPT, objectives.SimCSE, objectives.CSSL)


def usual(config):
    """The fields of a config, as they are by default."""
    return {field.name: getattr(config(), field.name) for field in dataclasses.fields(config) if field.init}


# room -> function -> arguments that work, by name
ROOMS = {
    "losses": {
        losses.info_nce: dict(
            anchors=x(4, 3), candidates=x(4, 3, at=1), tau=0.1, negatives=x(5, 3), ids=FOUR, reduction="mean",
            implementation="auto",
        ),
        losses.nt_xent: dict(
            a=x(4, 3), b=x(4, 3, at=1), tau=0.1, queue=x(5, 3), ids=FOUR, queue_ids=torch.arange(5), reduction="mean",
            implementation="auto",
        ),
        losses.nt_xent_anchor_gradient: dict(a=x(4, 3), b=x(4, 3, at=1), tau=0.1, queue=x(5, 3)),
        losses.sup_con: dict(x=x(4, 3), labels=CLASSES, tau=0.1, reduction="mean_valid", implementation="auto"),
        losses.simsiam: dict(
            z_a=x(4, 3), h_a=x(4, 3, at=1), z_b=x(4, 3, at=2), h_b=x(4, 3, at=3), stop_gradient=True, reduction="mean"
        ),
        losses.mlm: dict(logits=LOGITS, labels=LABELS, reduction="mean", ignore_index=-100, rows=FOUR),
        losses.corrective_lm: dict(
            logits=LOGITS, copy_logits=COPIES, corrupted=LABELS, original=LABELS, variant="paper", stop_gradient=True,
            reduction="mean",
        ),
        losses.all_token_lm: dict(
            logits=LOGITS, copy_logits=COPIES, corrupted=LABELS, original=LABELS, reduction="mean"
        ),
        losses.copy: dict(logits=x(2, 6), corrupted=IDS, original=IDS, valid=VALID, reduction="sum"),
        losses.replaced_token_detection: dict(logits=x(2, 6), is_original=VALID, valid=VALID, reduction="none"),
        losses.masked_objects: dict(
            logits=LOGITS, labels=LABELS, confidence=torch.full((5,), 0.5), reduction="mean", ignore_index=-100
        ),
        losses.masked_attributes: dict(
            logits=LOGITS, labels=LABELS, confidence=torch.full((5,), 0.5), reduction="mean", ignore_index=-100
        ),
        losses.masked_features: dict(predicted=x(4, 3), targets=x(4, 3, at=1), reduction="mean"),
        losses.soft_answers: dict(logits=x(4, 3), scores=torch.eye(4)[:, :3], reduction="mean"),
        losses.one_answer: dict(logits=x(4, 3), scores=torch.eye(4)[:, :3], reduction="mean"),
        losses.cosine_matrix: dict(x=x(4, 3), y=x(5, 3)),
        losses.normalise: dict(x=x(4, 3), name="x"),
        losses.unchecked: dict(on=True),
    },
    "geometry": {
        geometry.alignment: dict(a=x(4, 3), b=x(4, 3, at=1), alpha=2.0),
        geometry.anisotropy: dict(x=x(4, 3)),
        geometry.class_cosines: dict(x=x(4, 3), labels=CLASSES),
        geometry.class_spread: dict(x=x(4, 3), labels=CLASSES),
        geometry.effective_rank: dict(x=x(4, 3), center=True),
        geometry.noise_sensitivity: dict(clean=x(4, 3), noisy=x(4, 3, at=1)),
        geometry.pair_cosines: dict(a=x(4, 3), b=x(4, 3, at=1)),
        geometry.random_pair_cosines: dict(x=x(4, 3), n=5, groups=torch.arange(4), seed=0, block=2),
        geometry.separation: dict(similar=x(4), random=x(4, at=1), measure="auc"),
        geometry.triplet_accuracy: dict(anchor=x(4, 3), positive=x(4, 3, at=1), negative=x(4, 3, at=2)),
        geometry.uniformity: dict(x=x(4, 3), t=2.0, block=2),
    },
    "masking": {
        masking.dynamic_random_mask: dict(ids=IDS, maskable=FREE, p=0.5, split=SPLIT, generator=RNG, **WORDS),
        masking.complementary_random_mask: dict(
            ids=IDS, maskable=FREE, selected=IDS > 13, p=0.5, split=SPLIT, generator=RNG, **WORDS
        ),
        masking.span_mask: dict(
            ids=IDS, maskable=FREE, p=0.5, span_p=0.2, max_span=3, split=SPLIT, generator=RNG, **WORDS
        ),
        masking.shuffle: dict(ids=IDS, maskable=FREE, window=3, generator=RNG),
        masking.crop: dict(
            ids=IDS, attention_mask=(IDS > 0).long(), keep=0.9, pad_id=0, specials=(1, 2), generator=RNG
        ),
        masking.replace: dict(ids=IDS, selected=FREE, logits=x(int(FREE.sum()), 20), generator=RNG),
        masking.check_split: dict(split=SPLIT),
        masking.kinds: dict(ids=IDS, masked=masking.Masked(IDS, FREE), mask_id=3),
        masking.allowed: dict(batch={"input_ids": IDS, "maskable": FREE}),
        masking.masked_view: dict(
            batch={"input_ids": IDS, "attention_mask": (IDS > 0).long()}, masked=masking.Masked(IDS, FREE)
        ),
        noise.Mask: dict(p=0.15, split=SPLIT),
        noise.MaskAndShuffle: dict(p=0.15, window=3, split=SPLIT),
        noise.MaskShuffleReplace: dict(p=0.15, window=3, p_replace=0.15),
        noise.Replace: dict(p=0.15),
        noise.MaskSpans: dict(p=0.15, span_p=0.2, max_span=3, split=SPLIT),
        noise.Shuffle: dict(window=3),
        noise.named: dict(noise="mask"),
        regions.MaskRegions: dict(p=0.15, split=SPLIT, overlap=0.4),
        regions.MaskPair: dict(words="mask", regions=regions.MaskRegions(), which="either"),
        regions.overlaps: dict(boxes=torch.tensor([BOXES])),
        regions.mismatched: dict(batch=data.Regions(SEEN, TOKENIZER, PICTURES).batch([0, 1]), p=0.5, generator=RNG),
    },
    "schedules": {
        schedules.constant: dict(step=1, total=10, value=0.1),
        schedules.inverted_triangle: dict(step=1, total=10),
        schedules.linear_warmup_linear_decay: dict(step=1, total=10, warmup=2),
    },
    "papers": {
        papers.cells: dict(paper="cmlm", number=1),
        papers.table: dict(paper="cmlm", number=1),
        papers.training: dict(method="CMLM", setting=20),
        papers.settings.coco_lm_model: dict(setting="base"),
    },
    "data": {
        data.Batches: dict(texts=[3, 4, 5], batch_size=2, seed=0, drop_last=True, group_by_length=True),
        data.Batches([3, 4, 5], 2).epoch: dict(epoch=1),
        data.Paraphrased: dict(rows=KITE, tokenizer=TOKENIZER, columns="text", max_length=8, label="label"),
        data.Paraphrased.of_pairs: dict(pairs=[("a kite", "the kite")], tokenizer=TOKENIZER, max_length=8),
        data.Pictures: {
            name: getattr(PICTURES, name) for name in inspect.signature(data.Pictures).parameters
        },
        PICTURES.rows: dict(ids=[2, 0]),
        PICTURES.standardised: dict(on=[2, 0]),
        PICTURES.only: dict(ids=[2, 0]),
        data.Regions: dict(
            rows=SEEN, tokenizer=TOKENIZER, pictures=PICTURES, columns="text", max_length=8, label="label",
            answers=["red", "two"], truth=None,
        ),
        data.Texts: dict(rows=LABELED, tokenizer=TOKENIZER, columns="sentence", max_length=8, label="label"),
        data.Stream: dict(
            source=TEXTS, tokenizer=TOKENIZER, columns=None, max_length=8, label="label", pack=False,
            whole_texts=False, limit=None,
        ),
        data.Stream(TEXTS, TOKENIZER).batch: dict(indices=[0, 1]),
        data.Texts(TEXTS, TOKENIZER).batch: dict(indices=[0, 1]),
        data.Regions(SEEN, TOKENIZER, PICTURES).batch: dict(indices=[0, 1]),
        data.Paraphrased(KITE, TOKENIZER).batch: dict(indices=[0]),
        squad.Windows: dict(rows=ASKED, tokenizer=TOKENIZER, max_length=40, stride=2, max_question=8),
        read_table: dict(columns=("label", "text"), quoted=True, labels=("no", "yes")),
        read_story: dict(unit="sentence", headings=False),
        toyshop.corpus: dict(n=3, seed=0, shop="toyshop"),
        toyshop.labelled_corpus: dict(n=3, seed=0, shop="toyshop"),
        toyshop.probe_pairs: dict(n=3, seed=0, shop="toyshop"),
        toyshop.families: dict(count=2, ways=2, seed=0, shop="toyshop"),
        toyshop.triples: dict(n=2, seed=0, shop="toyshop", change="good"),
        toyshop.rows: dict(task="sst2", split="validation", shop="toyshop"),
        toyshop.splits: dict(task="sst2"),
        toyshop.tell: dict(record=RECORD, shop="toyshop", seed=0),
        toyshop.ways_to_say: dict(record=RECORD, n=2, seed=0, shop="toyshop"),
        scenes.image_ids: dict(split="test"),
        scenes.split_of: dict(image_id=0),
        scenes.scene: dict(image_id=0),
        scenes.picture: dict(scene=SCENE, noise=None, train=True),
        scenes.boxes: dict(scene=SCENE, noise=None, train=True),
        scenes.rows: dict(task="captions", split="test"),
        data.answer_list: dict(answers=["a"] * 10, least=1),
        data.answer_scores: dict(answers=[["a"] * 10], names=["a"]),
        data.collate: dict(examples=[data.Texts(TEXTS, TOKENIZER)[0]]),
        data.load: dict(
            name="toyshop/stsb", folder=None, config=None, unit="sentence", headings=False, columns=None, quoted=None,
            labels=None,
        ),
        data.number_labels: dict(rows=[{"label": "a"}], names=["a"], label="label"),
        data.open_tokenizer: dict(folder=Path(FOLDER.name, "tokenizer")),
        data.recorded: dict(name="scoreboard", folder=Path(ck.__file__).parents[1] / "data" / "recorded"),
        data.sentences: dict(dataset=TEXTS, columns=None, distinct=True),
        data.split_sentences: dict(text="One. Two."),
        data.stack_pictures: dict(
            pictures=[{"image_id": 7, "regions": x(2, 3), "boxes": BOXES}], object_names=("a",), attribute_names=("b",)
        ),
        data.text_columns: dict(names=["sentence", "label"]),
        data.train_tokenizer: dict(
            texts=["a red kite"], vocab_size=40, kind="wordpiece", lowercase=True, max_length=512
        ),
    },
    "plots": {
        plots.Camera: dict(look=lambda: 1, steps=[1]),
        plots.align: dict(points=x(4, 2), reference=x(4, 2, at=1), center=True),
        plots.alignment_uniformity_plane: dict(methods={"a": [(1, -2)]}, title="t"),
        plots.animation: dict(
            frames={"a": x(5, 3), "b": x(5, 3, at=1)}, labels=list("aabbb"), method="pca", measures={"m": [1, 2]},
            pairs=[[0, 1]], seed=0, perplexity=2, neighbors=2, max_points=4, title="t",
        ),
        FILM.sheet: dict(count=2, columns=2),
        FILM.save: dict(path="film.html"),
        plots.attention: dict(
            picture=PIXELS, boxes=BOXES, weights=[[0.9, 0.1]], words=["drum"], columns=3, title="t"
        ),
        plots.bars_with_errors: dict(
            results=SEEDS, label="score", baseline=0.0, baseline_label="chance", limit=9.0, digits=3, title="t"
        ),
        plots.circle: dict(
            points=x(4, 2), labels=[0, 0, 1, 1], names=list("abcd"), forces=x(4, 2), pairs=[[0, 1]], vectors=False,
            title="t",
        ),
        plots.cosine_histograms: dict(
            pairs={"a": (COSINES, COSINES)}, bins=10, range=(-1, 1), sharey=False, title="t"
        ),
        plots.differences_from: dict(results=SEEDS, reference="a", label="score", level=0.95, digits=3, title="t"),
        plots.embedding_map: dict(
            vectors=x(12, 3), labels=list("abc") * 4, method="pca", seed=0, perplexity=3, neighbors=3, start=None,
            pairs=[[0, 1]], points=x(12, 2), max_points=10, title="t",
        ),
        plots.intervals: dict(results={"a": (1, 0, 2)}, label="d", digits=3, title="t"),
        plots.lines_with_errors: dict(
            results={"a": {1: [1, 2], 2: [2, 3]}}, x_label="x", label="s", even=False, levels={"chance": 1.0},
            log=False, title="t",
        ),
        plots.loss_curves: dict(
            history=HISTORY, parts=["loss"], smooth=1, levels={"loss": {"chance": 1.0}}, ylabel="loss", title="t"
        ),
        plots.mask_heatmap: dict(
            tokens=[["a", "b"]], kinds=[[0, 1]], columns=["c", "d"], legend={"special": "s"}, title="t"
        ),
        plots.mask_kinds: dict(
            tokens=["a", "[M]"], original=["a", "b"], selected=[0, 1], mask_token="[M]", special=("[CLS]",)
        ),
        plots.negative_weights: dict(negatives=COSINES, tau=0.1, positive=0.5, more=COSINES, title="t"),
        plots.plane: dict(methods={"a": [(1, 2)]}, x_label="x", y_label="y", title="t"),
        plots.project: dict(vectors=x(12, 3), method="pca", seed=0, perplexity=3, neighbors=3, start=None),
        plots.schematic: dict(name="cmlm"),
        plots.shares: dict(
            wholes={"a": {"x": 0.5, "y": 0.5}}, label="share", colours=["red", "blue"], points={"here": 0.5}, title="t"
        ),
        plots.shelf: dict(picture=PIXELS, boxes=BOXES, names=["kite", "drum"], masked=[1], title="t"),
        plots.similarity_matrix: dict(
            similarities=x(2, 2), roles=[["positive", "out"]] * 2, rows=["a", "b"], columns=["c", "d"],
            limits=(-1, 1), numbers=True, title="t",
        ),
        plots.tiles: dict(matrix=torch.eye(4), side=2, title="t"),
        plots.trade_off: dict(
            methods={"a": {"1": (1, 2)}}, x_label="x", label="y", levels={"chance": 1.0}, corner="better", title="t"
        ),
    },
    "explore": {
        explore.mask_explorer: dict(
            tokenizer=TOKENIZER, sentence="the red kite", p_m=0.15, p_c=0.7, masker="complementary", seed=0
        ),
        explore.loss_playground: dict(
            loss="nt_xent", tau=0.5, angles=(60.0, 175.0, 290.0, 115.0, 200.0, 20.0), classes=(0, 0, 1)
        ),
        explore.temperature_and_queue: dict(negatives=COSINES, positive=0.7, tau=0.1, batch=8, queue=0, seed=0),
        explore.embedding_map: dict(
            vectors=x(4, 3), texts=TEXTS, labels=list("aabb"), encode=ENCODER, method="pca", points=None, k=3
        ),
        MAP.neighbours: dict(sentence="a small drum", k=2),
        MAP.place: dict(sentence="a small drum"),
        MAP.set: dict(chosen=[1], hovered=1, query="a small drum"),
        MAP.to_html: dict(path="map.html", title="t"),
        explore.live_training: dict(
            objective=MLM, data=TEXTS, pairs=[("a kite", "a drum"), ("red", "a shelf")], texts=TEXTS,
            labels=list("aabb"), every=0.5,
        ),
        explore.shelf: dict(
            objective=ANSWER, answers=["red", "blue"], pictures=SHELVES, question="what colour is the drum", toys={}
        ),
        explore.two_networks: dict(
            model=ENCODER, sentence="the red kite flies", others=TEXTS, p_m=0.3, keep=0.9, tau=0.1, seed=0
        ),
    },
    "paraphrase": {
        paraphrase.Apertium: dict(languages=["spa"], home="eng"),
        paraphrase.FromFile: dict(path=PAIRS, temperature=0.5),
        paraphrase.Toyshop: dict(temperature=0.0),
        paraphrase.Toyshop().__call__: dict(texts=["This kite is charming."], temperature=0.1, seed=0),
        paraphrase.augmented: dict(
            rows=KITE, paraphraser=paraphrase.Toyshop(), columns="text", copies=1, temperature=0.3, seed=0
        ),
        paraphrase.reworded: dict(
            rows=KITE, paraphraser=paraphrase.Toyshop(), columns="text", temperature=0.3, seed=0, keep_original=False
        ),
        paraphrase.same_meaning: dict(first="This kite is very charming.", second="The kite is really lovely."),
        paraphrase.write_pairs: dict(path="pairs.tsv", texts=["it rains"], again=["rain falls"]),
    },
    "planning": {
        ck.plan: dict(objective=MLM, dataset=TEXTS, training=None, processes=1, batch_size=2, max_length=8),
    },
    "exercises": {
        exercises.check: dict(name="00.guess", answer=0.5),
        exercises.judge: dict(name="00.guess", answer=0.5),
        exercises.names: dict(notebook="01"),
        exercises.exercise: dict(name="99.odd", right="Right."),
    },
    "tasks": {
        tasks.accuracy: dict(predicted=[1, 0, 1], labels=[1, 1, 0]),
        tasks.f1: dict(predicted=[1, 0, 1], labels=[1, 1, 0]),
        tasks.macro_f1: dict(predicted=[1, 0, 1], labels=[1, 1, 0]),
        tasks.mcc: dict(predicted=[1, 0, 1], labels=[1, 1, 0]),
        tasks.spearman: dict(predicted=[1.0, 0.0, 3.0], labels=[1.0, 2.0, 3.0]),
        tasks.pearson: dict(predicted=[1.0, 0.0, 3.0], labels=[1.0, 2.0, 3.0]),
        tasks.score: dict(task="mrpc", predicted=[0, 1], labels=[0, 1]),
        tasks.glue_average: dict(
            scores=dict(sst2=1.0, cola=1.0, mrpc=1.0, rte=1.0, qnli=1.0, mnli=1.0), paper="scl"
        ),
        tasks.by_type: dict(scores=[1, 0], types=["a", "b"]),
        tasks.normalise_answer: dict(answer="The Red"),
        tasks.soft_accuracy: dict(predicted=["a"], answers=[["a"] * 10]),
        tasks.soft_accuracies: dict(predicted=["a"], answers=[["a"] * 10]),
        tasks.gqa_scores: dict(
            rows=[{"question_id": 0, "answer": "red", "entailed": [0], "valid": ["red"], "group": "colour"}],
            predicted=["red"],
        ),
        tasks.nlvr2_scores: dict(predicted=[1, 0], labels=[1, 0], identifiers=["test-1-0-0", "test-1-1-0"]),
        tasks.question_only: dict(questions=["is it", "what is"], answers=["no", "red"], asked=["is it"], most=10),
        tasks.picture_only: dict(features=[[0.0, 1.0], [1.0, 0.0]], answers=["no", "yes"], shown=[[0.5, 0.5]]),
        tasks.picture_vectors: dict(pictures=SHELVES, ids=[1, 0, 1]),
        tasks.get_task: dict(name="sst2"),
        tasks.load: dict(name="toyshop/sst2", task="sst2", label="label"),
        tasks.Task: dict(name="mood", columns=("text",), label_names=("bad", "good"), metrics=("accuracy",)),
        tasks.get_task("stsb").reporting: dict(metric="pearson"),
        tasks.TaskData: dict(task="sst2", splits={"train": LABELED}, name="mood"),
        tasks.draw: dict(labels=[0, 1, 0, 1], n=2, seed=[0, 1], stratified=False, per_class=False, among=[0, 1, 2]),
        tasks.hold_out: dict(
            data=MOOD, validation=2, test="rest", most_test=4, stratified=False, seed=0, mismatched=False
        ),
        hash_of: dict(rows=LABELED, others=TEXTS),
        tasks.vectors_of: dict(encoder=ENCODER, texts=TEXTS, progress=False),
        tasks.weights_hash: dict(module=ENCODER),
        tasks.encoder_hash: dict(module=ENCODER),
        tasks.linear_probe: dict(encoder=ENCODER, train=LABELED, test=LABELED, task="sst2", strength=0.1, seed=0),
        tasks.knn_probe: dict(encoder=ENCODER, train=LABELED, test=LABELED, task="sst2", k=2),
        tasks.probe: dict(encoder=ENCODER, data=MOOD, kind="knn", limit=6),
        tasks.zero_shot_sts: dict(encoder=ENCODER, rows=GRADED, columns=("sentence1", "sentence2")),
        tasks.similar_against_random: dict(encoder=ENCODER, pairs=SYNONYMS, n=3),
        tasks.hard_pairs: dict(count=2, seed=1, most_shared=0.3),
        tasks.fill_rate: dict(encoder=ENCODER, texts=TEXTS, k=3),
        tasks.count_words: dict(texts=["red kite", "big drum"], labels=[0, 1], unseen=["a kite"]),
        tasks.baseline: dict(
            protocol=QUICK, data=MOOD, predict=tasks.count_words, name="counting", paraphraser=None
        ),
        tasks.fine_tune: dict(
            start=ENCODER, train=LABELED, validation=LABELED, task="sst2", method=objectives.FineTune, epochs=None,
            steps=1, batch_size=4, lr=1e-3, evaluate_every=1, seed=0, progress=False,
        ),
        tasks.predict: dict(
            objective=TUNED.objective, rows=LABELED, task="sst2", batch_size=4, max_length=8, precision="float32"
        ),
        tasks.best_of_seeds: dict(start=ENCODER, data=MOOD, method="FT", protocol=WHOLE),
        tasks.predict_test: dict(tuned=TUNED, data=MOOD, ax=None),
        tasks.write_submission: dict(path="glue.zip", predictions=TO_GLUE, fill=("AX.tsv",)),
        tasks.Protocol: {field.name: getattr(QUICK, field.name) for field in dataclasses.fields(QUICK)} | dict(
            most_test={"sst2": 5}, metrics={"cola": "accuracy"}, fine_tuning={"clip": 1.0}, choose={"lr": (1e-3,)},
            search={"sst2": {"lr": (1e-3, 1e-4)}},
        ),
        tasks.Sweep: dict(base=QUICK, by="lr", values=(1e-3, 1e-4)),
        tasks.Pipeline: dict(
            tune=objectives.FineTune, post=objectives.MLM, unlabeled=2, frozen=False, prompt=None,
            paraphraser=paraphrase.Toyshop(),
        ),
        tasks.Results: dict(table=RUNS.table, protocol=QUICK, complete=True),
        RUNS.summary: dict(level=0.95),
        RUNS.differences: dict(baseline="FT", level=0.95),
        RUNS.intervals: dict(baseline="FT", methods=["SCL"]),
        RUNS.best: dict(methods=["FT", "SCL"]),
        RUNS.scores: dict(metric="test"),
        RUNS.save: dict(path="runs.csv"),
        tasks.run: dict(
            protocol=QUICK, data=[MOOD], start=ENCODER, methods={"FT": tasks.Pipeline()}, folder=None,
            paraphraser=None, progress=False,
        ),
        tasks.sweep: dict(
            plan=tasks.Sweep(QUICK, "lr", (1e-3,)), data=MOOD, start=ENCODER, methods=["FT"], folder=None,
            progress=False,
        ),
        tasks.search: dict(
            protocol=QUICK, data=MOOD, start=ENCODER, method="FT", grid={"lr": (1e-3, 1e-4)}, budget=1, seconds=None,
            folder=None, progress=False,
        ),
        tasks.transfer: dict(
            source=MOOD, targets=[MOOD], start=ENCODER, methods=["FT"], source_protocol=QUICK, target_protocol=QUICK,
            folder=None, progress=False,
        ),
        tasks.answers.score: dict(predictions={"1": "kite"}, rows=ASKED),
        tasks.answers.best_threshold: dict(answers=SAID, rows=ASKED, metric="f1"),
        tasks.answers.apply_threshold: dict(answers=SAID, threshold=0.0),
        tasks.prompting.Template: dict(
            text="{sentence} It was {mask}.", words=("bad", "good"), demonstrations=True, samples=2, max_length=8
        ),
        tasks.prompting.prompts: dict(
            rows=LABELED, template="{sentence} It was {mask}.", tokenizer=TOKENIZER, words=("bad", "good"),
            demonstrations=LABELED, seed=0,
        ),
        tasks.prompting.demonstrations: dict(
            rows=LABELED, template="{sentence} It was {mask}.", tokenizer=TOKENIZER, words=("bad", "good")
        ),
        tasks.squad.fine_tune: dict(
            start=ENCODER, train=ASKED, epochs=1, batch_size=4, lr=1e-3, max_length=24, stride=2, seed=0, dropout=0.1,
            progress=False,
        ),
        tasks.squad.run: dict(
            data={"train": ASKED, "validation": TWO_ASKED}, start=ENCODER, protocol=WHOLE, name="x", folder=None,
            max_length=24, stride=2,
        ),
        tasks.squad.evaluate_across: dict(answers=SAID | {"2": ("drum", 1.0)}, rows=TWO_ASKED),
        tasks.scoreboard.EvalSuite: dict(
            pairs=SYNONYMS, hard=SYNONYMS, graded=SUITE.graded, probes={"mood": MOOD}, disturb=noise.Mask()
        ),
        tasks.scoreboard.EvalSuite.toyshop: dict(pairs=2, rows=6, tasks=("cola",), seed=1, split="validation"),
        tasks.scoreboard.WordCounts: dict(tokenizer=TOKENIZER, idf=TEXTS),
        tasks.scoreboard.Centred: dict(encoder=ENCODER, texts=TEXTS),
        tasks.scoreboard.measure: dict(encoder=ENCODER, suite=SUITE),
    },
    "standard": {
        standard.ForMTEB: dict(encoder=ENCODER, name="mine/encoder", batch_size=4),
        standard.pseudo_log_likelihoods: dict(encoder=ENCODER, texts=TEXTS, batch_size=4, metric="original"),
        standard.blimp: dict(
            encoder=ENCODER, folder=BLIMP, limit=1, phenomena=["noun"], metric="original", batch_size=4, progress=False
        ),
        standard.read_sts: dict(folder=FOLDER.name),
        standard.sts: dict(encoder=ENCODER, tasks=STS, aggregation="all", controls=True, batch_size=4),
        standard.evaluate: dict(
            name=ENCODER, source=FOLDER.name, parts=("blimp",), limit=10, pairs=1, pooling="mean", progress=False
        ),
    },
    "objectives": {
        objectives.MLMConfig: dict(p_m=0.15, split=SPLIT, mlm_mean="tokens"),
        objectives.CMLMConfig: dict(K=1, p_c=0.7, contrast_weight=0.5, contrast="info_nce", tau=0.1),
        objectives.CAPTConfig: dict(noise="mask", tau=0.1, queue=8, contrast_weight=1.0),
        objectives.COCOLMConfig: dict(p_m=0.15, tau=1.0, contrast_weight=1.0, auxiliary_layers=1),
        objectives.SCLConfig: dict(classes=2, tau=0.3),
        objectives.SimCSEConfig: dict(tau=0.05),
        objectives.MemoryQueue: dict(capacity=4, width=3),
        **{config: usual(config) for config in CONFIGS},
        **{method: dict(encoder=ENCODER) for method in METHODS},
    },
    "encoder": {
        encoder.Encoder: dict(model=ENCODER.model, tokenizer=TOKENIZER, pooling="mean"),
        ENCODER.encode: dict(texts=TEXTS, batch_size=4, max_length=8, normalize=True),
        ENCODER.view_of: dict(texts=TEXTS, max_length=8),
        ENCODER.save_pretrained: dict(folder="saved"),
        PACKED.use_packing: dict(on=True),
        PLAIN.use_plain_head: dict(bias=False),
        encoder.Encoder.build: dict(
            shape="tiny", tokenizer=TOKENIZER, seed=0, pooling="mean", max_length=32, dropout=0.1,
            relative_positions=False, hidden_size=16, num_hidden_layers=1,
        ),
        encoder.Encoder.tiny: dict(tokenizer=TOKENIZER, hidden_size=16),
        encoder.Encoder.from_pretrained: dict(name=SAVED, pooling="mean"),
        encoder.RelativePositions: dict(buckets=32, max_distance=128, rule="t5"),
        encoder.CrossModalEncoder: dict(model=SEEING.model, tokenizer=TOKENIZER),
        SEEING.encode: dict(
            pairs=data.Regions(SEEN, TOKENIZER, PICTURES), batch_size=2, max_length=None, normalize=True
        ),
        SEEING.save_pretrained: dict(folder="saved"),
        SEEING.use_packing: dict(on=False),
        encoder.CrossModalEncoder.build: dict(
            shape="tiny", tokenizer=TOKENIZER, features=6, objects=4, attributes=4, answers=2, seed=0, max_length=32,
            dropout=0.1, hidden_size=16, x_layers=1, initializer_range=0.1,
        ),
        encoder.CrossModalEncoder.tiny: dict(tokenizer=TOKENIZER, features=6),
        encoder.CrossModalEncoder.from_pretrained: dict(name=SEEING_SAVED, pooling="first"),
    },
    "training": {
        ck.Training: usual(ck.Training) | dict(
            steps=3, chunk_size=2, lr=1e-3, warmup=0.1, clip=1.0, precision="bf16", seed=1, betas=(0.9, 0.9)
        ),
        ck.fit: dict(
            objective=objectives.MLM(TRAINED), dataset=TEXTS, training=None, steps=1, progress=False, live=False,
            folder=None, resume=False, callback=None, batch_size=2, max_length=8,
        ),
    },
    "fast": {
        ck.faster: dict(objective=objectives.MLM(FAST), packing=False, fixed_capacity=None, compiled=False),
    },
}  # fmt: skip

GOOD = {function: arguments for room in ROOMS.values() for function, arguments in room.items()}
CALLED = {
    (ck.fit, "dataset"), (ck.fit, "callback"), (ck.plan, "dataset"), (data.Stream, "source"), (plots.Camera, "look"),
    (paraphrase.augmented, "paraphraser"), (paraphrase.reworded, "paraphraser"), (tasks.baseline, "predict"),
    (tasks.fine_tune, "method"),
}  # fmt: skip
"""Where a function of the reader's is called: what it raises is theirs."""
ARGUMENT_FREE_OR_MADE_BY_US = {
    *("available", "progress", "NotFiniteError", "NotYet", "ClassCosines", "Masked", "Cropped", "Animation", "Plan"),
    *("Progress", "Verdict", "Panel", "EmbeddingMap", "LiveTraining", "LossPlayground", "MaskExplorer", "Shelf"),
    *("TemperatureAndQueue", "TwoNetworks", "Paraphraser", "BackTranslation"),
    *("mteb_task", "Report"),
    *("FineTuned", "Found", "HeldOut", "PairCosines", "SweepResults", "split_hash"),
}

NAN = torch.full((4, 3), math.nan)
ODD = [
    None, "odd", "", -1, 0, 1, 0.5, 7, 10**20, -0.5, math.nan, math.inf, True, b"bytes", 1 + 1j,
    [], [1, 2], ["a"], (), (1.0,), {}, {"a": 1}, range(3), object(), len, lambda *a: None,
    torch.tensor(1.0), torch.tensor(-1), torch.zeros(0), torch.zeros(0, 3), torch.zeros(4), torch.zeros(4, 3), NAN,
    torch.ones(4, 3).long(), torch.ones(3, 4), torch.ones(2, 6), torch.ones(2, 6).long(), torch.ones(5, 20),
    torch.full((2, 6), 99), torch.ones(4).bool(), torch.ones(2, 2, 2), torch.ones(4, 3, dtype=torch.complex64),
    torch.arange(5), torch.ones(4, 3).half(),
]  # fmt: skip


def depth_of(value) -> int:
    """How many lists or dicts lie in one another, going by their first entries."""
    if type(value) not in (dict, list, tuple) or not value:
        return 0
    return 1 + depth_of(next(iter(value.values())) if isinstance(value, dict) else value[0])


def with_odd(value, odd, depth):
    """The odd value; at depth 1, 2, … the value with the odd one as its first entry, as the first entry of that, …"""
    if not depth:
        return odd
    if isinstance(value, dict):
        first = next(iter(value))
        return {**value, first: with_odd(value[first], odd, depth - 1)}
    return type(value)([with_odd(value[0], odd, depth - 1), *value[1:]])


def cases(rooms):
    """Function, its arguments, the name of one of them, the number of an odd value, and how deep inside it stands."""
    return [
        (function, arguments, name, i, depth)
        for calls in rooms.values()
        for function, arguments in calls.items()
        for name, value in arguments.items()
        for depth in range(1 + depth_of(value))
        for i, odd in enumerate(ODD)
        if not ((function, name) in CALLED and callable(odd))
    ]


def problem_of(case) -> str | None:
    """The call and its raw error; None where it did what was meant, or was refused."""
    function, arguments, name, i, depth = case
    odd = with_odd(arguments[name], ODD[i], depth)
    problem = raw_error(function, arguments | {name: odd})
    return problem and f"{name_of(function)}({name}={' '.join(repr(odd).split())[:60]}): {problem}"


def raw_error(function, arguments) -> str | None:
    """What went wrong beside a sentence of ours; None if the call worked or was refused."""
    try:
        function(**arguments)
    except (TypeError, ValueError, FileNotFoundError, IndexError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        said = str(error)
        last = frames[-1]
        failed_at = linecache.getline(last.filename, last.lineno)[last.colno :]  # a sentence may fail to be made, too
        if not (last.filename.startswith(KIT) and failed_at.startswith("raise")):
            where = f"{Path(last.filename).name}:{last.lineno}"
            return f"raw {type(error).__name__} in {where}: {said[:100]}"
        if not said or len(said) > 600 or said.count("\n") > 2:
            return f"no sentence: {said[:100]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return None


def name_of(function) -> str:
    return f"{function.__module__.removeprefix('contrast_kit.')}.{function.__qualname__}"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Files that a call writes, such as one named "odd"."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_good_calls_are_good():
    for calls in ROOMS.values():
        for function, arguments in calls.items():
            function(**arguments)


@pytest.mark.parametrize("room", [losses, geometry, masking, papers, data, encoder, plots, explore, paraphrase,
                                  planning, exercises, tasks, standard], ids=lambda room: room.__name__)  # fmt: skip
def test_all_of_a_room_is_called_with_all_of_its_arguments(room):
    for name in set(room.__all__) - ARGUMENT_FREE_OR_MADE_BY_US:
        function = getattr(room, name)
        if callable(function):
            parameters = inspect.signature(function).parameters.values()
            wanted = {each.name for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}
            assert wanted <= GOOD[function].keys(), f"{name_of(function)}: {wanted - GOOD[function].keys()}"


@pytest.mark.filterwarnings("ignore::UserWarning")
@seed(0)
@settings(max_examples=CALLS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(case=st.sampled_from(cases(ROOMS)))
def test_one_odd_argument(case):
    problem = problem_of(case)
    assert problem is None, problem


def try_all(rooms) -> None:
    """Every odd value in every argument: one line for each kind of raw error, and how many there are in a room."""

    def late(*_):
        raise TimeoutError("more than ten seconds")

    if unknown := set(rooms) - ROOMS.keys():
        sys.exit(f"There is no room {unknown.pop()!r}; there are {', '.join(ROOMS)}.")
    os.chdir(FOLDER.name)
    signal.signal(signal.SIGALRM, late)
    for room in rooms or ROOMS:
        tried, kinds, raw = cases({room: ROOMS[room]}), {}, 0
        for case in tried:
            signal.alarm(10)
            with redirect_stdout(None):
                problem = problem_of(case)
            if problem:
                kinds.setdefault((case[0], case[2], problem.rpartition("): ")[2][:40]), f"  {problem}")
                raw += 1
            signal.alarm(0)
        print(*kinds.values(), f"{room}: {raw} of {len(tried)}", sep="\n", flush=True)


if __name__ == "__main__":
    try_all(sys.argv[1:])
