"""The toyshop: labels true by construction, nothing to be read off words or lengths, the same rows everywhere."""

import doctest
import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.sparse import hstack
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from contrast_kit.data import toyshop
from contrast_kit.data.toyshop import Opinion, Stock, Visit
from contrast_kit.data.toyshop.words import SHOPS, TOYSHOP

SHIPPED = Path(__file__).parents[1] / "data" / "toyshop"
TASKS = toyshop.tasks()[:-2]  # those with labels
COLUMNS = dict.fromkeys(TASKS, ["sentence1", "sentence2"]) | {
    "sst2": ["sentence"],
    "cola": ["sentence"],
    "qqp": ["question1", "question2"],
    "mnli": ["premise", "hypothesis"],
    "qnli": ["question", "sentence"],
}


def texts(row):
    return [value for key, value in row.items() if key not in ("label", "idx")]


# The files


def digest(rows):
    text = "\n".join(json.dumps(row, sort_keys=True) for row in rows)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "task", [*TASKS, "squad", pytest.param("text", marks=pytest.mark.full)]
)
def test_rows_are_those_that_results_were_recorded_with(task):
    lines = (SHIPPED / "rows.sha256").read_text().splitlines()
    recorded = dict(reversed(line.split()) for line in lines)
    for shop in SHOPS:
        for split in toyshop.splits(task):
            rows = toyshop.rows(task, split, shop)
            assert digest(rows) == recorded[f"{shop}/{task}/{split}"]


@pytest.mark.full
def test_rows_are_made_again_wherever_and_whatever_was_made_before(tmp_path):
    """In a process with another hash seed, in another folder."""
    command = [sys.executable, SHIPPED / "make.py", "files"]
    env = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run(command, cwd=tmp_path, env=env, check=True)
    from pyarrow.parquet import read_table

    files = sorted(SHIPPED.glob("*/*/*.parquet"))
    assert len(files) == 58
    for file in files:
        again = tmp_path / "files" / file.relative_to(SHIPPED)
        assert read_table(again).equals(read_table(file)), file


@pytest.mark.parametrize("task", TASKS)
def test_tasks_are_those_of_glue_and_their_splits_share_no_sentence(task):
    for shop in SHOPS:
        split_of = {}
        for split in toyshop.splits(task):
            rows = toyshop.rows(task, split, shop)
            assert all(list(row) == [*COLUMNS[task], "label", "idx"] for row in rows)
            labels = [row["label"] for row in rows]
            if task == "stsb":  # the whole scale is used
                counts = np.histogram(labels, bins=5, range=(0, 5))[0]
                assert min(counts) > len(rows) / 12
            else:
                classes = 3 if task == "mnli" else 2
                counts = np.bincount(labels, minlength=classes)
                assert min(counts) > 0.8 * len(rows) / classes
            for row in rows:
                for text in texts(row):
                    assert split_of.setdefault(text, split) == split, text


def train_and_held_out(task, shop="toyshop"):
    """Rows and labels of two splits; the scores of stsb cut at 2.5."""
    held_out = "validation_matched" if task == "mnli" else "validation"
    for split in ("train", held_out):
        rows = toyshop.rows(task, split, shop)
        labels = np.array([row["label"] for row in rows])
        yield rows, labels > 2.5 if task == "stsb" else labels


def linear_accuracy(train, y_train, held, y_held):
    return LogisticRegression(max_iter=500, C=0.3).fit(train, y_train).score(held, y_held)


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", TASKS)
def test_a_bag_of_words_does_not_solve_the_task(task, shop):
    (train, y_train), (held, y_held) = train_and_held_out(task, shop)
    bags = []
    for column in COLUMNS[task]:  # a vocabulary for each
        count = CountVectorizer(binary=True, token_pattern=r"[a-z'-]+")
        count.fit(row[column] for row in train)
        bags.append(
            [count.transform(row[column] for row in rows) for rows in (train, held)]
        )
    x_train, x_held = (hstack(parts).tocsc() for parts in zip(*bags, strict=True))
    low, high = {"sst2": (0.65, 0.95), "mnli": (0.2, 0.5)}.get(task, (0.4, 0.65))
    assert low < linear_accuracy(x_train, y_train, x_held, y_held) < high


@pytest.mark.parametrize("task", TASKS)
def test_length_tells_nothing(task):
    def lengths(rows):
        counts = np.array([[len(text.split()) for text in texts(row)] for row in rows])
        return np.c_[counts, counts[:, 0] - counts[:, -1]]

    (train, y_train), (held, y_held) = train_and_held_out(task)
    chance = max(np.bincount(y_held.astype(int))) / len(y_held)
    any_function = HistGradientBoostingClassifier(
        max_iter=40, min_samples_leaf=80, random_state=0
    ).fit(lengths(train), y_train)
    assert any_function.score(lengths(held), y_held) < chance + 0.08


@pytest.mark.full
def test_labels_follow_from_the_records(monkeypatch):
    """What the maker of inference draws, asked of what it takes inference to be."""
    monkeypatch.syspath_prepend(SHIPPED)
    import make
    import records

    rng = Random(5)
    for relation in (0, 1, 2) * 700:
        for shop in SHOPS.values():
            premise, claim = make.inference(rng, shop, relation)
            assert records.entails(premise, claim) == (relation == 0)
            assert records.contradicts(premise, claim) == (relation == 2)


# The corpus


@pytest.mark.full
@pytest.mark.parametrize("shop", SHOPS)
def test_the_corpus_is_distinct_and_its_many_words_have_a_zipf_like_spread(shop):
    lines = toyshop.corpus(102_000, shop=shop)
    assert len(set(lines)) == 102_000
    counts = Counter(
        word for line in lines for word in re.findall(r"[a-z'-]+", line.lower())
    )
    assert len(counts) > 1000
    frequencies = np.array(sorted(counts.values(), reverse=True))
    ranks = np.arange(1, len(frequencies) + 1)
    slope = np.polyfit(np.log(ranks), np.log(frequencies), 1)[0]
    assert -1.5 < slope < -0.6


def test_a_longer_corpus_begins_with_the_shorter_one_and_its_lines_have_labels():
    labelled = toyshop.labelled_corpus(5000)
    assert toyshop.corpus(50) == [line["text"] for line in labelled[:50]]
    topics = Counter(line["topic"] for line in labelled)
    assert set(topics) == {corner["name"] for corner in TOYSHOP.departments}
    assert min(topics.values()) > 100
    assert {line["opinion"] for line in labelled} == {"positive", "negative", "none"}
    first = dict(labelled[0])
    labelled[0]["text"] = "changed"  # the caller's copy, not ours
    assert toyshop.labelled_corpus(1) == [first]


def test_families_mean_one_thing_each_and_are_about_different_goods():
    families = toyshop.families(5, 12, seed=3)
    assert len(families) == 5
    for good, ways in families.items():
        assert len(set(ways)) == 12
        assert any(good in sentence for sentence in ways)


@pytest.mark.parametrize("change", ["good", "number", "colour"])
def test_a_trick_test_keeps_the_meaning_in_one_text_and_most_words_in_the_other(change):
    triples = toyshop.triples(100, seed=3, change=change)
    assert len(set(triples)) == 100
    for text, again, other in triples:
        meaning = toyshop.record_of(text)
        another = toyshop.record_of(other)
        assert toyshop.record_of(again) == meaning and again != text
        assert (
            replace(another, **{change: getattr(meaning, change)}) == meaning != another
        )
        assert len(set(text.split()) - set(other.split())) == 1  # one word is another one


def test_each_seed_has_draws_of_its_own_and_each_kind_its_name():
    for make in (partial(toyshop.triples, 9), partial(toyshop.probe_pairs, 9)):
        assert make() == make() != make(seed=1)
    families = partial(toyshop.families, 3, 3)
    assert families() == families() != families(seed=1)
    kinds = {
        Visit: "visit",
        Stock: "shelf",
        Opinion: "opinion",
        tuple: "visit and opinion",
    }
    for shop in SHOPS:
        for line in toyshop.corpus(200, shop=shop):
            assert toyshop.kind_of(line) == kinds[type(toyshop.record_of(line))]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(toyshop.rows, "wnli", "train"), "task 'wnli'; did you mean 'qnli'"),
        (
            partial(toyshop.record_of, "To be or not to be."),
            "no sentence that the toyshop has told",
        ),
        (partial(toyshop.families, 300, 1), "No 300 meanings can be said in 1 ways"),
    ],
)
def test_what_is_not_there_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("folder", ["toyshop", "scenes"])
def test_the_examples_of_data_cards_and_scripts_run(folder, monkeypatch):
    monkeypatch.syspath_prepend(SHIPPED)
    monkeypatch.syspath_prepend(SHIPPED.with_name("scenes"))
    card, *scripts = sorted(SHIPPED.with_name(folder).glob("[!m]*.[mp][dy]"))
    results = [doctest.testfile(str(card), module_relative=False)]
    for script in scripts:
        results.append(doctest.testmod(importlib.import_module(script.stem)))
    assert sum(each.attempted for each in results) > 15
    assert sum(each.failed for each in results) == 0
