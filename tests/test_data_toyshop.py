"""The toyshop: labels true by construction, nothing to be read off words or lengths, the same bytes everywhere."""

import doctest
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.sparse import hstack
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from contrast_kit.data import toyshop
from contrast_kit.data.toyshop import Opinion, Stock, Visit, makers
from contrast_kit.data.toyshop.words import OTHERSHOP, SHOPS, TOYSHOP

SHIPPED = Path(__file__).parents[1] / "data" / "toyshop"
TASKS = list(makers.MAKERS)
VISIT = Visit("Clara", "buy", 2, "kite")
COLUMNS = dict.fromkeys(TASKS, ["sentence1", "sentence2"]) | {
    "sst2": ["sentence"],
    "cola": ["sentence"],
    "qqp": ["question1", "question2"],
    "mnli": ["premise", "hypothesis"],
    "qnli": ["question", "sentence"],
}


def texts(row):
    return [value for key, value in row.items() if key not in ("label", "idx")]


@cache
def corpus(shop):
    return toyshop.corpus(100_000, shop=shop)


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", TASKS)
def test_columns_labels_and_sizes_are_those_of_glue(task, shop):
    for split, size in toyshop.splits(task).items():
        rows = toyshop.rows(task, split, shop)
        assert len(rows) == size
        assert all(list(row) == [*COLUMNS[task], "label", "idx"] for row in rows)
        labels = [row["label"] for row in rows]
        if task == "stsb":  # the whole scale is used
            assert min(np.histogram(labels, bins=5, range=(0, 5))[0]) > size / 12
        else:
            classes = 3 if task == "mnli" else 2
            assert min(np.bincount(labels, minlength=classes)) > 0.8 * size / classes


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", [*TASKS, pytest.param("text", marks=pytest.mark.full)])
def test_splits_have_no_sentence_in_common(task, shop):
    split_of = {}
    for split in toyshop.splits(task):
        for row in toyshop.rows(task, split, shop):
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
    train = lengths(train)
    held = lengths(held)
    assert linear_accuracy(train, y_train, held, y_held) < chance + 0.06
    any_function = HistGradientBoostingClassifier(
        max_iter=40, min_samples_leaf=80, random_state=0
    ).fit(train, y_train)
    assert any_function.score(held, y_held) < chance + 0.08


@pytest.mark.parametrize("shop", SHOPS)
def test_the_corpus_has_many_words_with_a_zipf_like_spread(shop):
    counts = Counter(
        word for line in corpus(shop) for word in re.findall(r"[a-z'-]+", line.lower())
    )
    assert len(counts) > 1000
    frequencies = np.array(sorted(counts.values(), reverse=True))
    slope = np.polyfit(
        np.log(np.arange(1, len(frequencies) + 1)), np.log(frequencies), 1
    )[0]
    assert -1.5 < slope < -0.6


def test_the_corpus_is_distinct_and_stable():
    lines = corpus("toyshop")
    assert len(set(lines)) == 100_000
    assert toyshop.corpus(50) == lines[:50]
    assert [row["text"] for row in toyshop.rows("text", "train")] == lines
    labelled = toyshop.labelled_corpus(5000)
    topics = Counter(line["topic"] for line in labelled)
    assert set(topics) == {corner["name"] for corner in TOYSHOP.departments}
    assert min(topics.values()) > 100
    assert {line["opinion"] for line in labelled} == {"positive", "negative", "none"}
    labelled[0]["text"] = "changed"  # the caller's copy, not ours
    assert toyshop.labelled_corpus(1)[0]["text"] == lines[0]


def test_inference_labels_follow_from_the_records():
    rng = Random(5)
    for relation in (0, 1, 2) * 700:
        for shop in SHOPS.values():
            premise, claim = makers.inference(rng, shop, relation)
            assert toyshop.entails(premise, claim) == (relation == 0)
            assert toyshop.contradicts(premise, claim) == (relation == 2)


def test_similarity_is_5_for_one_meaning_symmetric_and_ordered():
    rng = Random(3)
    for _ in range(300):
        a = toyshop.draw_record(rng)
        b = toyshop.draw_record(rng)
        assert toyshop.similarity(a, a) == 5
        assert toyshop.similarity(a, b) == toyshop.similarity(b, a) <= 5
    shelf = Stock(3, "drum", "on the top shelf", colour="red")
    near = Stock(3, "drum", "on the top shelf", colour="blue")
    far = Stock(1, "kite", "in the attic", colour="blue")
    assert 5 > toyshop.similarity(shelf, near) > toyshop.similarity(shelf, far)


def test_families_mean_one_thing_each_and_are_about_different_goods():
    families = toyshop.families(5, 12, seed=3)
    assert len(families) == 5
    for good, ways in families.items():
        assert len(set(ways)) == 12
        assert any(good in sentence for sentence in ways)


@pytest.mark.parametrize("change", ["good", "number", "colour"])
def test_an_unkind_test_keeps_the_meaning_in_one_text_and_most_words_in_the_other(change):
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


def test_a_paraphrase_keeps_the_meaning_and_each_kind_has_its_name():
    kinds = {
        Visit: "visit",
        Stock: "shelf",
        Opinion: "opinion",
        tuple: "visit and opinion",
    }
    for shop in SHOPS:
        lines = toyshop.corpus(200, shop=shop)
        again = [toyshop.paraphrase(line, Random(0)) for line in lines]
        assert sum(a != b for a, b in zip(lines, again, strict=True)) > 195
        for a, b in zip(lines, again, strict=True):
            assert toyshop.record_of(a) == toyshop.record_of(b)
            assert toyshop.kind_of(a) == kinds[type(toyshop.record_of(a))]


ANEW = """
import json, runpy
from contrast_kit.data import toyshop
print(json.dumps(toyshop.rows("rte", "test")))
runpy.run_module("contrast_kit.data.toyshop", run_name="__main__")
"""


@pytest.mark.full
def test_shipped_files_are_made_again_byte_for_byte_wherever_and_whatever_was_made_before(
    tmp_path,
):
    """One process, with another hash seed, in another folder: it makes rows and obeys the command line."""
    command = [sys.executable, "-c", ANEW, "--write", "files"]
    env = os.environ | {"PYTHONHASHSEED": "7"}
    run = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, check=True, text=True
    )
    rows, message = run.stdout.splitlines()
    assert json.loads(rows) == toyshop.rows("rte", "test") and "MB written" in message
    made, shipped = (
        {path.relative_to(folder): path.read_bytes() for path in folder.glob("*/*/*")}
        for folder in (tmp_path / "files", SHIPPED)
    )
    assert made.keys() == shipped.keys() and len(made) > 25
    changed = [str(name) for name in made if made[name] != shipped[name]]
    assert not changed, "run: python -m contrast_kit.data.toyshop --write data/toyshop"


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", TASKS)
def test_rows_are_those_of_the_shipped_files_and_the_callers_copy(task, shop):
    split = "validation_matched" if task == "mnli" else "validation"
    rows = toyshop.rows(task, split, shop)
    header, *lines = (SHIPPED / shop / task / f"{split}.tsv").read_text().splitlines()
    assert header.split("\t") == list(rows[0])
    assert lines == ["\t".join(map(str, row.values())) for row in rows]
    rows[0]["label"] = 99
    assert toyshop.rows(task, split, shop)[0]["label"] != 99


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(toyshop.rows, "wnli", "train"), "task 'wnli'; did you mean 'qnli'"),
        (
            partial(toyshop.rows, "mnli", "validation"),
            "no mnli split 'validation'; did you mean",
        ),
        (
            partial(toyshop.corpus, 1, shop="bakery"),
            "no shop 'bakery'; there are toyshop, other",
        ),
        (
            partial(toyshop.triples, 3, change="size"),
            "no change 'size'; there are good, number",
        ),
        (
            partial(toyshop.record_of, "To be or not to be."),
            "not a sentence of the toyshop",
        ),
        (partial(toyshop.families, 2, 10_000), "No 2 meanings can be said in 10000 ways"),
    ],
)
def test_what_is_not_there_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_examples_of_the_data_card_run():
    results = doctest.testfile(str(SHIPPED / "README.md"), module_relative=False)
    assert results.attempted >= 4 and results.failed == 0


def test_an_opinion_tells_one_from_many_only():
    """Pairs that read alike are paraphrases: an opinion on three drums is told as one on two."""
    two = Opinion(good="drum", axis="making", polarity=1, intensity=1, number=2)
    three = replace(two, number=3)
    one = replace(two, number=1)
    assert toyshop.tell(two) == toyshop.tell(three) != toyshop.tell(one)
    assert toyshop.entails(two, three) and not toyshop.entails(two, one)


def test_each_seed_and_each_shop_has_draws_of_its_own():
    for make in (partial(toyshop.triples, 9), partial(toyshop.probe_pairs, 9)):
        assert make() == make() != make(seed=1)
        there = make(shop="othershop")
        goods = {good for corner in OTHERSHOP.departments for good in corner["good"]}
        assert all(toyshop.record_of(text[0]).good in goods for text in there)
    families = partial(toyshop.families, 3, 3)
    assert families() == families() != families(seed=1) != families(shop="othershop")
    assert toyshop.ways_to_say(VISIT, 5) != toyshop.ways_to_say(VISIT, 5, seed=1)
    assert len({toyshop.tell(VISIT, seed=seed) for seed in range(9)}) > 3


def test_an_opinion_is_of_one_person_on_one_part_and_a_weak_one_denies_a_strong_one():
    whole = Opinion("drum", "strength", 1, 2, who="Tom")
    lid = replace(whole, part="lid")
    for other in (
        whole,
        *(replace(lid, **each) for each in ({"part": "strap"}, {"who": "Ada"})),
    ):
        assert not toyshop.entails(lid, other) and not toyshop.entails(other, lid)
        assert not toyshop.contradicts(lid, replace(other, polarity=-1))
    assert toyshop.contradicts(
        replace(lid, intensity=1), replace(lid, intensity=3, polarity=-1)
    )
    assert not toyshop.entails(VISIT, Stock(2, "kite", "in the attic"))


def test_what_may_both_be_true_is_no_contradiction():
    told = replace(VISIT, reason="as a joke", colour="red", size="tall")
    may = {
        "reason": "for a party",
        "action": "return",
        "colour": "scarlet",
        "size": "big",
    }
    cannot = {"colour": "blue", "size": "short", "good": "scooter", "who": "Tom"}
    for others, contradicted in ((may, False), (cannot, True)):
        for field, value in others.items():
            assert (
                toyshop.contradicts(told, replace(told, **{field: value})) == contradicted
            ), value
    assert not toyshop.entails(replace(told, good="scooter"), told), (
        "two goods of one department"
    )
