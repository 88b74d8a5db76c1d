"""The table, the metrics, the probes, and fine-tuning that never sees the test rows."""

import copy
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.data import toyshop
from contrast_kit.objectives import SCL, FineTune


@pytest.fixture(scope="module")
def opinions():
    return tasks.load("toyshop/sst2")


@pytest.fixture(scope="module")
def vocabulary(opinions):
    return ck.data.train_tokenizer(list(opinions.train["sentence"]), vocab_size=500)


def take(rows, count):
    return rows.select(range(count))


# The table


@pytest.fixture
def lines(tmp_path):
    """Rows with named classes in a file of a user's own; it gives its path."""

    def written(classes=("pos", "neg")):
        rows = [
            {"text": f"text {n}", "label": classes[n % len(classes)]} for n in range(20)
        ]
        (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
        return tmp_path / "mine.jsonl"

    return written


def mine(*names):
    return tasks.Task("mine", ("text",), names, ("accuracy",))


def test_classes_have_the_integers_of_the_task_that_is_given(lines):
    for names in (
        ("pos", "neg"),
        ("neg", "pos"),
        ("neu", "pos", "neg"),
    ):  # not all need occur
        train = tasks.load(lines(), task=mine(*names)).train
        assert [names[label] for label in train["label"][:2]] == ["pos", "neg"]
        assert train.features["label"].names == list(names)
    task = mine("neg", "pos")
    assert tasks.load(lines(), task=task, labels=("pos", "neg")).train["label"][:2] == [
        1,
        0,
    ]
    with pytest.raises(ValueError, match="The label 'neg' is none of good"):
        tasks.load(lines(), task=mine("good", "bad"))
    for unnamed in ((1, 0), ("1", "0")):
        assert tasks.load(lines(unnamed), task=task).train["label"][:2] == [1, 0]


def test_tasks_are_found_by_the_names_of_their_data():
    names = {"toyshop/mnli": "mnli", "SST-2": "sst2", "amazon_kitchen": "amazon"}
    for name, task in (names | {Path("glue") / "STS-B": "stsb"}).items():
        assert tasks.get_task(name) is tasks.TASKS[task]
    with pytest.raises(
        ValueError, match="There is no task .*'sst3'; did you mean 'sst2'"
    ):
        tasks.get_task("sst3")


def test_secret_labels_are_not_scored(opinions):
    for secret in (None, -1):
        rows = [{"sentence": "a red kite", "label": secret}] * 5
        with pytest.raises(ValueError, match="are secret"):
            tasks.TaskData(opinions.task, {"test": rows}).test  # noqa: B018
    with pytest.raises(ValueError, match="secret"):
        tasks.score(opinions.task, [0, 1], [1, -1])


# Metrics


def test_metrics_of_constant_predictions_are_zero():
    assert tasks.mcc([1, 1, 1], [0, 1, 0]) == tasks.mcc([0, 1, 0], [1, 1, 1]) == 0
    assert tasks.f1([0, 0], [0, 0]) == 0
    assert tasks.pearson([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]) == 0
    assert tasks.spearman(np.full(4, 0.3, np.float32), [1.0, 2.0, 3.0, 3.0]) == 0
    assert (
        tasks.spearman([0.3, 0.3 + 1e-9, 0.3], [1.0, 3.0, 2.0]) == 0
    )  # equal but for rounding


def test_pearson_and_spearman_are_not_exchanged():
    scores, truth = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 100.0]
    assert tasks.spearman(scores, truth) == pytest.approx(1.0)
    assert tasks.pearson(scores, truth) < 0.8


def test_classes_with_names_are_numbered_as_the_task_numbers_them():
    """Else F1 would be of the other class."""
    from datasets import ClassLabel, Dataset, Features, Value

    mine = tasks.Task("mine", ("text",), ("bad", "good"), ("f1",))
    features = Features(
        {"text": Value("string"), "label": ClassLabel(names=["good", "bad"])}
    )
    rows = Dataset.from_dict(
        {"text": ["fine", "dull", "poor"], "label": [0, 1, 1]}, features=features
    )
    data = tasks.TaskData(mine, {"train": rows})
    assert data.train["label"] == [1, 0, 0] and rows["label"] == [0, 1, 1]
    with pytest.raises(ValueError, match="The label 'good' is none of bad, fair"):
        tasks.TaskData(
            tasks.Task("mine", ("text",), ("bad", "fair"), ("f1",)), {"train": rows}
        )


def test_metrics_that_there_are_not_or_that_labels_do_not_have_are_refused():
    with pytest.raises(ValueError, match="no metric 'acuracy'; did you mean 'accuracy'"):
        tasks.Task("mine", ("text",), ("a", "b"), ("acuracy",))
    with pytest.raises(ValueError, match="these are scores"):
        tasks.accuracy([0.3, 1.0], [0, 1])
    with pytest.raises(ValueError, match="multiclass"):
        tasks.f1([0, 1, 2], [0, 1, 2])
    with pytest.raises(ValueError, match="two lists of one length"):
        tasks.accuracy([1, 1], [1])


def test_a_metric_of_ones_own_selects_and_is_reported(start, monkeypatch):
    def nearness(predicted, labels):
        return -float(np.abs(predicted - labels).mean())

    monkeypatch.setitem(tasks.METRICS, "nearness", nearness)
    of_classes = tasks.Task(
        "mine", ("review",), ("bad", "meh", "good"), ("nearness", "accuracy")
    )
    of_scores = tasks.Task("stars", ("review",), None, ("nearness", "spearman"))
    assert tasks.score(of_classes, [0, 2, 2], [0, 0, 2]) == {
        "nearness": -2 / 3,
        "accuracy": 2 / 3,
    }
    rows = [{"review": text, "label": len(text) % 3} for text in toyshop.corpus(24)]
    for task in (of_classes, of_scores):
        tuned = tasks.fine_tune(
            start, rows[:16], rows[16:], task=task, steps=2, evaluate_every=1
        )
        assert (
            tuned.best["nearness"]
            == max(row["nearness"] for row in tuned.validation)
            <= 0
        )


@pytest.mark.parametrize("test", ["review,mood\nx,\ny,\n", "review\nx\ny\n"])
def test_a_test_split_may_have_no_labels(test, tmp_path):
    """And labels may stand in a column of another name."""
    (tmp_path / "train.csv").write_text("review,mood\nfine,good\ndull,bad\n")
    (tmp_path / "test.csv").write_text(test)
    mine = tasks.Task("mine", ("review",), ("good", "bad"), ("accuracy",))
    data = tasks.load(tmp_path, task=mine, label="mood")
    assert data.train["label"][:] == [0, 1] and data.splits["test"]["review"][:] == [
        "x",
        "y",
    ]
    with pytest.raises(ValueError, match="test labels of mine are secret"):
        _ = data.test


def test_a_table_without_labels_or_splits_says_what_to_do(tmp_path):
    (tmp_path / "mine.csv").write_text("review,mood\nfine,good\ndull,bad\n")
    mine = tasks.Task("mine", ("review",), ("good", "bad"), ("accuracy",))
    words = (
        "no column 'label' with what mine predicts: name it, label='…', of review, mood"
    )
    with pytest.raises(ValueError, match=words):
        tasks.load(tmp_path / "mine.csv", task=mine)
    data = tasks.load(tmp_path / "mine.csv", task=mine, label="mood")
    with pytest.raises(ValueError, match="no split 'validation', it has train: divide"):
        _ = data.validation


def test_mnli_counts_once_in_the_average():
    eight = dict(qqp=0, qnli=0, sst2=0, cola=0, rte=0, mrpc=0, stsb=0)
    both = eight | {"mnli_matched": 80, "mnli_mismatched": 84}
    assert tasks.glue_average(both) == pytest.approx(82 / 8)
    assert (
        tasks.glue_average(eight | {"mnli": 80, "mnli_matched": 90, "wnli": None}) == 10
    )
    with pytest.raises(KeyError, match="mnli"):
        tasks.glue_average(eight)


# Probes


class Reader:
    """Stands in for an encoder: a text's vector is the numbers written in it."""

    def encode(self, texts):
        return torch.tensor([[float(x) for x in text.split()] for text in texts])


def dots(count, seed):
    x = np.random.default_rng(seed).normal(size=(count, 2))
    return [{"sentence": f"{a:.4f} {b:.4f}", "label": int(a > 0.2)} for a, b in x]


def test_probes_find_only_what_the_vectors_hold():
    train, test, other = dots(200, 0), dots(200, 1), dots(200, 2)
    shuffled = [
        row | {"label": of["label"]} for row, of in zip(train, other, strict=True)
    ]
    for look, least in ((tasks.linear_probe, 0.93), (partial(tasks.knn_probe, k=7), 0.8)):
        assert look(Reader(), train, test, task="sst2")["accuracy"] > least
        assert look(Reader(), shuffled, test, task="sst2")["accuracy"] < 0.7


def test_pairs_are_read_as_senteval_reads_them():
    rows = [{"sentence1": "1 2", "sentence2": "3 1", "label": 0}]
    vectors = tasks.probes.features(Reader(), rows, tasks.get_task("mrpc"))
    assert vectors.tolist() == [[1, 2, 3, 1, 2, 1, 3, 2]]


def labelled(*rows):
    return [{"sentence": text, "label": label} for text, label in rows]


def test_the_nearest_by_cosine_vote():
    train = labelled(("9 1", 0), ("5 1", 0), ("1 1", 1), ("1 3", 1))
    test = labelled(("2 0.1", 0), ("0.1 0.2", 1))
    assert tasks.knn_probe(Reader(), train, test, task="sst2", k=2)["accuracy"] == 1


def test_the_nearer_neighbours_win_a_tie_in_a_narrow_cone_too():
    """Cosines there differ by less than float32 keeps beside a vote of 1."""
    train = labelled(("1 0.0", 0), ("1 0.009", 1))
    test = labelled(*((f"1 {0.0046 + 0.0001 * i}", 1) for i in range(20)))
    assert tasks.knn_probe(Reader(), train, test, task="sst2", k=2)["accuracy"] == 1


def test_two_neighbours_outvote_a_nearer_one():
    """The majority decides, however near the one is; cosines only break ties."""
    train = labelled(("9 0", 1), ("1 1", 0), ("1 -1", 0), ("-1 0", 1))
    found = tasks.knn_probe(Reader(), train, labelled(("1 0", 0)), task="sst2", k=3)
    assert found["accuracy"] == 1


# Fine-tuning


def test_the_weights_of_the_best_evaluation_are_returned(opinions, vocabulary):
    start = make_encoder(vocabulary, dropout=0.1, pooling="mean")
    before = tasks.weights_hash(start)
    rows = (take(opinions.train, 200), take(opinions.validation, 100))
    how = dict(task="sst2", lr=5e-3, evaluate_every=10, steps=65)
    tuned = tasks.fine_tune(start, *rows, **how)
    assert [row["step"] for row in tuned.validation] == [10, 20, 30, 40, 50, 60, 65]
    best = max(
        tuned.validation, key=lambda row: row["accuracy"]
    )  # of equals, the earliest
    assert tuned.best == best and tuned.best_step == best["step"]
    assert tuned.evaluate(rows[1])["accuracy"] == best["accuracy"]
    assert tasks.weights_hash(start) == before != tasks.weights_hash(tuned.encoder)
    again = tasks.fine_tune(start, *rows, **how)
    assert again.validation == tuned.validation  # the same seed, the same run
    still = tasks.fine_tune(
        start, *rows, **how | dict(steps=4, lr=1e-12, evaluate_every=2)
    )
    assert (
        still.validation[0]["accuracy"] == still.best["accuracy"] and still.best_step == 2
    )


def test_an_epoch_is_every_row_once(opinions, vocabulary):
    start, rows = make_encoder(vocabulary), take(opinions.train, 20)
    tuned = tasks.fine_tune(start, rows, task="sst2", epochs=3)
    assert tuned.run.steps == 6  # ceil(20 / 16) = 2 updates an epoch
    assert (
        tasks.fine_tune(start, rows, task="sst2").run.steps == 2
    )  # one epoch by default


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_run_is_evaluated_in_its_own_precision(opinions, vocabulary, precision):
    seen = []

    class Watched(FineTune):
        def predicted_logits(self, view, generator=None):
            seen.append(torch.is_autocast_enabled("cpu"))
            return super().predicted_logits(view, generator)

    rows, start = take(opinions.train, 20), make_encoder(vocabulary)
    tuned = tasks.fine_tune(
        start, rows, rows, task="sst2", method=Watched, steps=1, precision=precision
    )
    assert tuned.predict(rows).shape == (20,)
    assert seen == [precision == "bf16"] * 2  # while it selects, and when it is asked


def test_a_task_model_takes_its_head_along(opinions, vocabulary):
    rows = take(opinions.train, 40)
    first = tasks.fine_tune(make_encoder(vocabulary), rows, task="sst2", steps=5, lr=1e-3)
    moved = tasks.fine_tuning.prepare(
        first.objective, SCL, tasks.get_task("yelp"), seed=9
    )
    assert torch.equal(moved.head.out.weight, first.objective.head.out.weight)
    assert moved.head.out.weight is not first.objective.head.out.weight
    fresh = tasks.fine_tuning.prepare(
        first.objective, SCL, tasks.get_task("mnli"), seed=9
    )
    assert fresh.head.out.weight.shape == (3, 32)


def test_fine_tuning_learns_scores_of_a_new_task():
    mood, rows = tasks.Task("mood", ("text",), None, ("spearman", "pearson")), []
    for line in toyshop.labelled_corpus(1000, 3):
        rows.append({"text": line["text"], "label": 4.0 * (line["opinion"] != "none")})
    words = ck.data.train_tokenizer([row["text"] for row in rows], vocab_size=500)
    how = dict(task=mood, steps=100, lr=3e-3, evaluate_every=50)
    tuned = tasks.fine_tune(
        make_encoder(words, pooling="mean"), rows[:600], rows[600:800], **how
    )
    metrics = tuned.evaluate(rows[800:])
    assert metrics["pearson"] > 0.5 and set(metrics) == {"spearman", "pearson"}


def test_predictions_keep_the_order_of_the_rows(opinions, vocabulary):
    objective = FineTune(make_encoder(vocabulary, pooling="mean")).eval()
    rows = take(opinions.validation, 30)
    together = tasks.predict(objective, rows, task="sst2", batch_size=7)
    alone = [
        tasks.predict(objective, rows.select([i]), task="sst2")[0] for i in range(30)
    ]
    assert together.tolist() == alone
    one = copy.deepcopy(objective)
    one.head.out.bias.data[1] += 100
    assert set(tasks.predict(one, rows, task="sst2")) == {1}


def test_the_seed_makes_head_and_order(opinions, vocabulary):
    start, sst2, seen = make_encoder(vocabulary), tasks.get_task("sst2"), []
    heads = [
        tasks.fine_tuning.prepare(start, FineTune, sst2, seed).head.out.weight
        for seed in (0, 0, 1)
    ]
    assert torch.equal(heads[0], heads[1]) and not torch.equal(heads[0], heads[2])

    class Spied(FineTune):
        def views(self, batch, generator=None):
            seen.append(batch["text_id"].tolist())
            return super().views(batch, generator)

    for seed in (0, 1):
        tasks.fine_tune(
            start, take(opinions.train, 40), task="sst2", method=Spied, steps=1, seed=seed
        )
    assert seen[0] != seen[1]
