"""Names of classes get the integers of their task, not of the alphabet; names that cannot apply are refused."""

import json

import pytest

from contrast_kit import data
from contrast_kit.data import Texts, glue, train_tokenizer

NAMED = [task for task in glue.TASKS.values() if task.label_names]


def write(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize("task", NAMED, ids=lambda task: task.name)
def test_every_named_task_of_glue_gets_glues_integers(task, tmp_path):
    rows = [
        {"text": f"Text {name}", "label": name} for name in reversed(task.label_names)
    ]
    text = "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows)
    found = data.load(write(tmp_path, f"{task.folder.replace('-', '_')}/some.csv", text))[
        "train"
    ]
    assert found.features["label"].names == list(task.label_names)
    assert found["label"][:] == list(reversed(range(len(task.label_names))))


def test_multinlis_own_json_lines(tmp_path):
    gold = ["neutral", "-", "entailment", "contradiction"]
    rows = [
        {"gold_label": name, "sentence1": f"p{i}", "sentence2": f"h{i}"}
        for i, name in enumerate(gold)
    ]
    write(tmp_path, "multinli_1.0_dev_matched.jsonl", "\n".join(map(json.dumps, rows)))
    write(tmp_path, "multinli_1.0_dev_mismatched.jsonl", json.dumps(rows[0]))
    write(tmp_path, "test.jsonl", json.dumps({**rows[0], "gold_label": "hidden"}))
    splits = data.load(tmp_path)
    assert splits["validation_matched"][:] == {
        "label": [1, 0, 2],
        "premise": ["p0", "p2", "p3"],
        "hypothesis": ["h0", "h2", "h3"],
    }
    assert splits["validation_matched"].features["label"].names == [
        "entailment",
        "neutral",
        "contradiction",
    ]
    assert splits["validation_mismatched"]["label"][:] == [1] and splits["test"]["label"][
        :
    ] == [-1]
    write(
        tmp_path, "test.jsonl", '{"sentence1": "p", "sentence2": "h"}'
    )  # no column of labels at all
    assert "label" not in data.load(tmp_path)["test"].column_names


def test_two_tasks_have_the_same_names_in_another_order(tmp_path):
    text = "sentence1,sentence2,label\nA,B,entailment\nC,D,not_entailment\n"
    assert data.load(write(tmp_path, "WNLI/mine.csv", text))["train"]["label"][:] == [
        1,
        0,
    ]
    for name in (
        "rte_small.csv",
        "WNLI/rte_small.csv",
    ):  # what stands nearest to the rows decides
        assert data.load(write(tmp_path, name, text))["train"]["label"][:] == [0, 1]
    unknown = write(tmp_path, "mine.csv", text)
    with pytest.raises(
        ValueError,
        match=r"qnli and rte and wnli, which number them differently.*labels=\(",
    ):
        data.load(unknown)
    assert data.load(unknown, labels=("not_entailment", "entailment"))["train"]["label"][
        :
    ] == [
        1,
        0,
    ]


def test_names_that_are_a_tasks_only_in_part_are_refused(tmp_path):
    rows = write(
        tmp_path, "a.csv", "text,label\na,entailment\nb,contradiction\nc,unknown\n"
    )
    with pytest.raises(ValueError, match="only in part.*labels="):
        data.load(rows)
    names = ("unknown", "contradiction", "entailment")
    assert data.load(rows, labels=names)["train"]["label"][:] == [2, 1, 0]


def test_other_names_are_alphabetical_and_numbers_stay_what_they_are(tmp_path):
    three = data.load(
        write(tmp_path, "a.csv", "text,label\na,positive\nb,neutral\nc,negative\n")
    )["train"]
    assert three.features["label"].names == ["negative", "neutral", "positive"]
    rows = [{"text": "a", "label": str(number)} for number in (10, 9, -1)]
    assert data.load(write(tmp_path, "b.json", json.dumps(rows)))["train"]["label"][
        :
    ] == [
        10,
        9,
        -1,
    ]


def test_names_that_cannot_apply_are_refused(tmp_path):
    numbers = write(tmp_path, "a.csv", "text,label\na,1\nb,0\n")
    for source in (numbers, write(tmp_path, "b.csv", "text,mood\na,good\n")):
        with pytest.raises(ValueError, match="name the column that has them"):
            data.load(source, labels=("bad", "good"))
    with pytest.raises(ValueError, match="numbered as .'negative', 'positive'.*, not as"):
        data.load("toyshop/sst2", labels=("positive", "negative"))
    assert (
        data.load("toyshop/sst2", labels=("negative", "positive"))["train"]
        .features["label"]
        .num_classes
        == 2
    )


def test_names_are_refused_as_labels_of_rows():
    rows = [{"text": name, "label": name} for name in ("contradiction", "entailment")]
    with pytest.raises(ValueError, match="row 0 has 'contradiction'"):
        Texts(rows, train_tokenizer(["contradiction", "entailment"], vocab_size=60))


@pytest.mark.parametrize("word", ["", "NA"])
def test_what_programs_write_for_no_value_is_no_class(tmp_path, word):
    """R writes NA, pandas nan, Python None; as a class it would be one more, and might move the others."""
    rows = [{"text": "a", "label": label} for label in ("neg", word, "pos")]
    file = write(tmp_path, "a.json", json.dumps(rows))
    with pytest.raises(
        ValueError, match=f"Row 1 of 'train' has the label '{word}', which often says"
    ):
        data.load(file)
    assert data.load(file, labels=("neg", word, "pos"))["train"]["label"][:] == [
        0,
        1,
        2,
    ]  # it is a class, then
    test = write(tmp_path, "test.csv", f"text,label\na,{word}\n")
    assert data.load(test)["test"]["label"][:] == [-1]


# Rows


def test_labels_in_a_column_of_another_name(tmp_path):
    news = write(tmp_path, "news.csv", "text,topic\nRain,weather\nGoal,sport\n")
    found = data.load(news, label="topic", labels=("weather", "sport"))["train"]
    assert found[:] == {"text": ["Rain", "Goal"], "label": [0, 1]}
    assert data.load(news, label="topic")["train"].features["label"].names == [
        "sport",
        "weather",
    ]
    assert data.load(news, label="topic", labels=())["train"]["label"][:] == [
        "weather",
        "sport",
    ]
