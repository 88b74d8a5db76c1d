"""LM-BFF's protocol as data and as it runs: shots, splits, a grid for each split, the population's deviation."""

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.tasks import TASKS, Pipeline, prompting, protocols, splits

ASKED = replace(prompting.MNLI, samples=2, max_length=128)


@pytest.fixture(scope="module")
def mnli():
    return tasks.load("toyshop/mnli")


@pytest.fixture(scope="module")
def start(mnli):
    lines = [
        *mnli.train["premise"][:600],
        *mnli.train["hypothesis"][:600],
        *["Yes Maybe No ? ,"] * 300,
    ]
    return make_encoder(ck.data.train_tokenizer(lines, vocab_size=900), max_length=128)


def test_the_protocol_says_what_lm_bff_prints():
    plan = protocols.LM_BFF_MNLI
    assert (plan.shots, plan.seeds, plan.draws) == (16, (13, 21, 42, 87, 100), 1)
    assert (plan.steps, plan.evaluate_every, plan.ddof, plan.report) == (
        1000,
        100,
        0,
        "mean",
    )
    assert (
        plan.choose == {"lr": (1e-5, 2e-5, 5e-5), "batch_size": (2, 4, 8)}
        and plan.mismatched
    )
    coco = (
        protocols.COCO_LM_PROMPTS
    )  # COCO-LM 5.3: "{3e-6, 4e-6, 5e-6} for the learning rate search"
    assert coco.choose["lr"] == (3e-6, 4e-6, 5e-6)
    assert (
        replace(coco, name=plan.name, lr=plan.lr, choose=plan.choose) == plan
    )  # "everything else kept same"
    assert plan.training(None)["steps"] == 1000 and "epochs" not in plan.training(None)


def test_label_words_stand_in_the_order_of_the_classes():
    words = {
        name: dict(zip(TASKS[name].label_names, asked.words, strict=True))
        for name, asked in prompting.TEMPLATES.items()
    }
    assert words == {
        "cola": {"unacceptable": "incorrect", "acceptable": "correct"},
        "sst2": {"negative": "terrible", "positive": "great"},
        "mrpc": {"not_equivalent": "No", "equivalent": "Yes"},
        "qqp": {"not_duplicate": "No", "duplicate": "Yes"},
        "mnli": {"entailment": "Yes", "neutral": "Maybe", "contradiction": "No"},
        "qnli": {"entailment": "Yes", "not_entailment": "No"},
        "rte": {"entailment": "Yes", "not_entailment": "No"},
    }


def test_shots_are_drawn_as_lm_bff_draws_them():
    """Its script: seed numpy, shuffle the lines, then of each label the first k, and the next k to select by."""
    labels = np.random.default_rng(0).integers(3, size=400)
    for seed in (13, 100):
        lines = [f"{row}\t{label}" for row, label in enumerate(labels)]
        np.random.seed(seed)  # noqa: NPY002
        np.random.shuffle(lines)  # noqa: NPY002
        by_label: dict = {}
        for line in lines:
            row, label = line.split("\t")
            by_label.setdefault(label, []).append(int(row))
        train, validation = splits.shots(labels, 16, seed)
        assert train == [row for found in by_label.values() for row in found[:16]]
        assert validation == [row for found in by_label.values() for row in found[16:32]]
        assert set(Counter(labels[train]).values()) == {16} and not set(train) & set(
            validation
        )
    with pytest.raises(ValueError, match="fewer than the 32 that are wanted"):
        splits.shots([0] * 100 + [1] * 20, 16, 13)


QUICK = dict(
    seeds=(13, 21),
    shots=4,
    steps=2,
    evaluate_every=1,
    choose={"lr": (1e-4, 1e-2), "batch_size": (4,)},
    head=None,
)


def fewer(data):
    """The task with 30 rows to test on."""
    parts = {
        name: rows if name == "train" else rows.select(range(30))
        for name, rows in data.splits.items()
    }
    return tasks.TaskData(data.task, parts, data.name)


def test_every_split_chooses_its_own_point_by_its_own_rows(
    mnli, start, tmp_path, monkeypatch
):
    plan = replace(protocols.LM_BFF_MNLI, **QUICK)
    methods = {
        "prompt": ASKED.pipeline(),
        "alone": ASKED.alone().pipeline(),
        "FT": Pipeline(),
    }
    seen, real = [], prompting.fine_tuning.fine_tune

    def watched(*args, **options):
        seen.append((options["lr"], real(*args, **options)))
        return seen[-1][1]

    monkeypatch.setattr(prompting.fine_tuning, "fine_tune", watched)
    go = dict(folder=tmp_path, progress=False)
    result = tasks.run(plan, fewer(mnli), start, methods, **go)
    table = result.table.set_index(["method", "seed"])
    assert (
        result.complete
        and set(result.table["n"]) == {12}
        and (result.table["steps"] == 2).all()
    )
    lr, best = max(
        seen[:2], key=lambda each: each[1].best["accuracy"]
    )  # the first split's prompt
    assert table.loc[("prompt", 13), "chosen"] == f"lr={lr} batch_size=4"
    assert table.loc[("prompt", 13), "validation"] == best.best["accuracy"]
    assert table["split"].nunique() == 2
    assert (result.table.groupby("seed")["split"].nunique() == 1).all()
    assert table["test_mismatched"].between(0, 1).all()
    reported = result.summary().set_index(["task", "method"])["reported_sd"]
    assert reported["toyshop/mnli", "prompt"] == pytest.approx(
        np.std(table.loc["prompt", "test"])
    )
    assert ("toyshop/mnli-mm", "prompt") in reported.index
    monkeypatch.setattr(prompting, "fine_tune", None)  # another run would now be an error
    again = tasks.run(plan, fewer(mnli), start, methods, **go)
    assert again.table["chosen"].tolist() == result.table["chosen"].tolist()


def test_prompting_learns_and_answers_rows_as_they_are():
    """A rule of one word, asked with demonstrations."""
    rng, lines = np.random.default_rng(0), []
    for _ in range(80):
        label, toy = int(rng.integers(2)), rng.choice(["kite", "drum", "owl"])
        lines.append({"sentence": f"a {('poor', 'fine')[label]} {toy} .", "label": label})
    words = [row["sentence"] + " It was bad . It was good ." for row in lines]
    encoder = make_encoder(ck.data.train_tokenizer(words, 150), pooling="mean")
    asked = prompting.Template("{sentence} It was {mask} .", ("bad", "good"), samples=3)
    task = tasks.Task("mine", ("sentence",), ("bad", "good"), ("accuracy",))
    before = tasks.weights_hash(encoder)
    how = dict(template=asked, task=task, steps=60, lr=5e-3, evaluate_every=30)
    tuned = prompting.fine_tune(encoder, lines[:40], lines[40:50], **how)
    assert (
        tuned.evaluate(lines[50:])["accuracy"] > 0.9
        and tasks.weights_hash(encoder) == before
    )
    first, second = (tuned.predict(lines[50:]).tolist() for _ in range(2))
    assert first == second  # the same draws each time
    assert (
        tuned.objective.config.samples == 3 and tuned.objective.demonstrations is not None
    )


def test_a_template_writes_numbers_and_says_what_it_cannot_write(start):
    rows = [{"text": "A kite.", "stars": 4, "price": 2.5, "note": None, "label": 0}]
    ask = partial(prompting.prompts, tokenizer=start.tokenizer)
    written = ask(rows, "{text:cut} ({stars} stars) for {price:.2f}. It was {mask}.")[0][
        "text"
    ]
    assert written == "A kite (4 stars) for 2.50. It was [MASK]."
    with pytest.raises(ValueError, match="Row 0 has no note"):
        ask(rows, "{text} {note} It was {mask}.")
    yes_or_no = [row | {"label": bool(n)} for n, row in enumerate(rows * 2)]
    assert prompting.demonstrations(
        yes_or_no, "{text} It was {mask}.", start.tokenizer, ["Yes", "No"]
    )


def test_fractions_of_mnli(mnli, start):
    """COCO-LM, figure 7 (c, d): with 1 %, with 10 % and 20 % of the labels, five runs, mean with lowest and highest."""
    assert set(protocols.MNLI_FRACTIONS) == {0.01, 0.1, 0.2, 1.0}
    plan = protocols.MNLI_FRACTIONS[0.01]
    assert (plan.fraction, plan.draws, len(plan.seeds)) == (0.01, 1, 5)
    assert plan.report == "mean" and plan.mismatched
    quick = replace(plan, seeds=(0, 1), epochs={None: 1}, lr=1e-3, fine_tuning={})
    results = tasks.run(quick, fewer(mnli), start, ["FT"], progress=False)
    assert set(results.table["n"]) == {40} and len(set(results.table["split"])) == 1
    row, test = results.summary().iloc[0], results.table["test"]
    found = (row["lowest"], row["highest"], row["reported"])
    assert found == (test.min(), test.max(), pytest.approx(test.mean()))
    assert results.summary()["task"].tolist() == ["toyshop/mnli", "toyshop/mnli-mm"]


@pytest.mark.parametrize("demonstrations", [True, False])
def test_a_prediction_needs_no_labels(mnli, start, demonstrations):
    asked = replace(ASKED, demonstrations=demonstrations)
    few, rows = mnli.train.select(range(12)), mnli.train.select(range(20))
    tuned = prompting.fine_tune(start, few, template=asked, task="mnli", steps=1, lr=1e-3)
    bare, wrong = (
        rows.remove_columns("label"),
        rows.map(lambda row: {"label": (row["label"] + 1) % 3}),
    )
    said = tuned.predict(rows)
    assert (tuned.predict(bare) == said).all() and (tuned.predict(wrong) == said).all()
    with pytest.raises(ValueError, match="no column 'label'"):
        prompting.prompts(bare, asked.text, start.tokenizer)
