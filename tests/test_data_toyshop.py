"""The toyshop: labels true by construction, nothing to be read off words or lengths, the same bytes everywhere."""

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

from contrast_kit.data import toyshop
from contrast_kit.data.toyshop import (
    Opinion,
    Stock,
    Visit,
    __main__,
    makers,
    unlabeled,
)
from contrast_kit.data.toyshop.shops import OTHERSHOP, SHOPS, TOYSHOP

SHIPPED = Path(__file__).parents[1] / "data" / "toyshop"
TASKS = list(makers.MAKERS)
VISIT = Visit("Clara", "buy", 2, "kite")
COLUMNS = {
    "sst2": ["sentence"],
    "cola": ["sentence"],
    "qqp": ["question1", "question2"],
    "mnli": ["premise", "hypothesis"],
    "qnli": ["question", "sentence"],
}  # the others: sentence1, sentence2


def texts(row):
    return [value for key, value in row.items() if key not in ("label", "idx")]


def held_out(task):
    return "validation_matched" if task == "mnli" else "validation"


def tokens(text):
    return re.findall(r"[a-z'-]+", text.lower())


@cache
def corpus(shop):
    return toyshop.corpus(100_000, shop=shop)


@cache
def word_counts(shop):
    return Counter(word for line in corpus(shop) for word in tokens(line))


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", TASKS)
def test_columns_labels_and_sizes_are_those_of_glue(task, shop):
    columns = [*COLUMNS.get(task, ["sentence1", "sentence2"]), "label", "idx"]
    for split, size in toyshop.splits(task).items():
        rows = toyshop.rows(task, split, shop)
        assert len(rows) == size and all(list(row) == columns for row in rows)
        labels = [row["label"] for row in rows]
        if task == "stsb":
            assert (
                min(np.histogram(labels, bins=5, range=(0, 5))[0]) > size / 12
            )  # the whole scale is used
        else:
            classes = 3 if task == "mnli" else 2
            assert min(np.bincount(labels, minlength=classes)) > 0.8 * size / classes


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", [*TASKS, pytest.param("text", marks=pytest.mark.full)])
def test_splits_have_no_sentence_in_common(task, shop):
    seen: dict[str, str] = {}
    for split in toyshop.splits(task):
        for row in toyshop.rows(task, split, shop):
            for text in texts(row):
                assert seen.setdefault(text, split) == split, text


def bags(task, shop):
    """Train and held-out bags of words (a vocabulary for each column) and labels; the scores of stsb cut at 2.5."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import CountVectorizer

    train, held = (
        toyshop.rows(task, "train", shop),
        toyshop.rows(task, held_out(task), shop),
    )
    parts = []
    for column in COLUMNS.get(task, ["sentence1", "sentence2"]):
        count = CountVectorizer(binary=True, token_pattern=r"[a-z'-]+").fit(
            row[column] for row in train
        )
        parts.append([count.transform(row[column] for row in rows) for rows in (train, held)])
    labels = [np.array([row["label"] for row in rows]) for rows in (train, held)]
    if task == "stsb":
        labels = [scores > 2.5 for scores in labels]
    return (
        hstack([a for a, _ in parts]).tocsc(),
        hstack([b for _, b in parts]).tocsc(),
        *labels,
    )


def linear_accuracy(train, held, y_train, y_held):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500, C=0.3).fit(train, y_train).score(held, y_held)


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", TASKS)
def test_a_bag_of_words_does_not_solve_the_task(task, shop):
    accuracy = linear_accuracy(*bags(task, shop))
    low, high = {"sst2": (0.65, 0.95), "mnli": (0.2, 0.5)}.get(task, (0.4, 0.65))
    assert low < accuracy < high


@pytest.mark.parametrize("task", TASKS)
def test_length_tells_nothing(task):
    from sklearn.ensemble import HistGradientBoostingClassifier

    def lengths(rows):
        counts = np.array([[len(text.split()) for text in texts(row)] for row in rows])
        return np.c_[counts, counts[:, 0] - counts[:, -1]]

    train, held = (
        toyshop.rows(task, "train"),
        toyshop.rows(task, held_out(task)),
    )
    *_, y_train, y_held = bags(task, "toyshop")
    chance = max(np.bincount(y_held.astype(int))) / len(y_held)
    assert linear_accuracy(lengths(train), lengths(held), y_train, y_held) < chance + 0.06
    trees = HistGradientBoostingClassifier(
        max_iter=40, min_samples_leaf=80, random_state=0
    )  # any function of length
    assert trees.fit(lengths(train), y_train).score(lengths(held), y_held) < chance + 0.08


@pytest.mark.parametrize("shop", SHOPS)
def test_the_corpus_has_many_words_with_a_zipf_like_spread(shop):
    counts = word_counts(shop)
    assert len(counts) > 1000
    frequencies = np.array(sorted(counts.values(), reverse=True))
    slope = np.polyfit(np.log(np.arange(1, len(frequencies) + 1)), np.log(frequencies), 1)[0]
    assert -1.5 < slope < -0.6


def test_the_corpus_is_distinct_and_stable():
    lines = corpus("toyshop")
    assert len(set(lines)) == 100_000
    assert toyshop.corpus(50) == lines[:50]
    assert [row["text"] for row in toyshop.rows("text", "train")] == lines
    topics = Counter(line["topic"] for line in toyshop.labelled_corpus(5000))
    assert set(topics) == set(TOYSHOP.departments) and min(topics.values()) > 100
    assert {line["opinion"] for line in toyshop.labelled_corpus(500)} == {
        "positive",
        "negative",
        "none",
    }


def test_inference_labels_follow_from_the_records():
    rng = Random(5)
    for relation in (0, 1, 2) * 700:
        for shop in SHOPS.values():
            premise, claim = makers.inference(rng, shop, relation)
            assert toyshop.entails(premise, claim, shop) == (relation == 0)
            assert toyshop.contradicts(premise, claim, shop) == (relation == 2)


def test_similarity_is_5_for_one_meaning_symmetric_and_ordered():
    rng = Random(3)
    for _ in range(300):
        a, b = toyshop.draw_record(rng), toyshop.draw_record(rng)
        assert toyshop.similarity(a, a) == 5
        assert toyshop.similarity(a, b) == toyshop.similarity(b, a) <= 5
    shelf = Stock(3, "drum", "on the top shelf", colour="red")
    near = Stock(3, "drum", "on the top shelf", colour="blue")
    far = Stock(1, "kite", "in the attic", colour="blue")
    assert 5 > toyshop.similarity(shelf, near) > toyshop.similarity(shelf, far)


def test_families_mean_one_thing_each_and_are_about_different_goods():
    told = toyshop.families(5, 12, seed=3)
    assert told == toyshop.families(5, 12, seed=3) and len(told) == 5
    for good, said in told.items():
        assert len(set(said)) == 12
        assert any(good in sentence for sentence in said)


@pytest.mark.parametrize("change", ["good", "number", "colour"])
def test_an_unkind_test_keeps_the_meaning_in_one_text_and_most_words_in_the_other(
    change,
):
    found = toyshop.triples(100, seed=3, change=change)
    assert len(set(found)) == 100 and found == toyshop.triples(100, seed=3, change=change)
    for said, again, other in found:
        meaning, another = toyshop.record_of(said), toyshop.record_of(other)
        assert toyshop.record_of(again) == meaning and again != said
        assert replace(another, **{change: getattr(meaning, change)}) == meaning != another
        assert len(set(said.split()) - set(other.split())) == 1  # one word is another one


def test_paraphrase_keeps_the_meaning_until_it_is_heated():
    lines = toyshop.corpus(200)
    cold = [toyshop.paraphrase(line, Random(0)) for line in lines]
    assert sum(a != b for a, b in zip(lines, cold, strict=True)) > 195
    assert all(
        toyshop.record_of(a) == toyshop.record_of(b) for a, b in zip(lines, cold, strict=True)
    )
    kept = []
    for temperature in (0.05, 0.5, 5.0):
        hot = [toyshop.paraphrase(line, Random(0), temperature) for line in lines]
        kept.append(
            sum(
                toyshop.record_of(a) == toyshop.record_of(b)
                for a, b in zip(lines, hot, strict=True)
            )
        )
    assert kept[0] > kept[1] > kept[2] and kept[2] < 10


def test_shipped_files_are_made_again_byte_for_byte(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["toyshop", "--write", str(tmp_path)]
    )  # here, where most rows are made already
    __main__.main()
    assert f"MB written under {tmp_path}" in capsys.readouterr().out
    made = {
        path.relative_to(tmp_path): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    shipped = {
        p.relative_to(SHIPPED): p.read_bytes()
        for p in SHIPPED.rglob("*")
        if p.suffix in (".tsv", ".sha256")
    }
    assert made.keys() == shipped.keys() and len(made) > 25
    changed = [str(name) for name in made if made[name] != shipped[name]]
    assert not changed, "run: python -m contrast_kit.data.toyshop --write data/toyshop"


ANEW = """
import json, runpy
from contrast_kit.data import toyshop
print(json.dumps(toyshop.rows("rte", "test")))
runpy.run_module("contrast_kit.data.toyshop", run_name="__main__")
"""


@pytest.mark.full
def test_rows_do_not_depend_on_the_files_nor_on_what_was_made_before(tmp_path):
    """One process, with another hash seed, in another folder: it makes rows and obeys the command line."""
    command = [sys.executable, "-c", ANEW, "--show", "300"]
    env = os.environ | {"PYTHONHASHSEED": "7"}
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env=env,
        capture_output=True,
        check=True,
        text=True,
    )
    rows, *shown = run.stdout.splitlines()
    assert json.loads(rows) == toyshop.rows("rte", "test")
    assert shown == toyshop.corpus(300)
    toyshop.rows("rte", "test")[0]["label"] = 99  # the caller's copy, not ours
    assert toyshop.rows("rte", "test")[0]["label"] != 99


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: toyshop.rows("wnli", "train"),
            "no toyshop task 'wnli'; did you mean 'qnli'",
        ),
        (
            lambda: toyshop.rows("mnli", "validation"),
            "no mnli split 'validation'; did you mean",
        ),
        (
            lambda: toyshop.corpus(1, shop="bakery"),
            "no shop 'bakery'; there are toyshop, othershop",
        ),
        (
            lambda: toyshop.triples(3, change="size"),
            "no change 'size'; there are good, number, colour",
        ),
        (
            lambda: toyshop.record_of("To be or not to be."),
            "not a sentence of the toyshop",
        ),
    ],
)
def test_what_is_not_there_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            replace(VISIT, who="Alice"),
            "who must be one that toyshop has, such as .*, not 'Alice'",
        ),
        (
            replace(VISIT, action="eat"),
            "action must be one .* such as buy, admire, choose",
        ),
        (
            replace(VISIT, number=-1),
            "number must be one .* not -1",
        ),  # it would be told as twelve
        (Opinion("kite", "strength", 0), "polarity must be one"),
        (
            (VISIT, Opinion("kite", "strength", 1, intensity=4)),
            "intensity must be one",
        ),
    ],
)
def test_a_record_that_the_grammar_would_tell_wrongly_is_refused(record, message):
    for tell in (
        toyshop.tell,
        partial(toyshop.ways_to_say, n=2),
        partial(toyshop.paraphrase, rng=Random(0)),
    ):
        with pytest.raises(ValueError, match=message):
            tell(record)


def test_the_examples_of_the_data_card_run():
    import doctest

    done = doctest.testfile(str(SHIPPED / "README.md"), module_relative=False)
    assert done.attempted >= 4 and done.failed == 0


def test_an_opinion_tells_one_from_many_only():
    """Pairs that read alike are paraphrases: an opinion on three drums is told as one on two."""
    two = toyshop.Opinion(good="drum", axis="making", polarity=1, intensity=1, number=2)
    three, one = replace(two, number=3), replace(two, number=1)
    assert toyshop.tell(two) == toyshop.tell(three) != toyshop.tell(one)
    assert toyshop.entails(two, three) and not toyshop.entails(two, one)


def test_each_seed_and_each_shop_has_draws_of_its_own():
    for made in (
        partial(toyshop.families, 3, 3),
        partial(toyshop.triples, 9),
        partial(toyshop.probe_pairs, 9),
    ):
        assert made() == made() != made(seed=1)
        there = made(shop="othershop")
        goods = (
            there
            if isinstance(there, dict)
            else [toyshop.record_of(texts[0]).good for texts in there]
        )
        assert there != made() and all(good in OTHERSHOP.department_of for good in goods)
    assert toyshop.ways_to_say(VISIT, 5) != toyshop.ways_to_say(VISIT, 5, seed=1)
    assert len({toyshop.tell(VISIT, seed=seed) for seed in range(9)}) > 3


def test_an_opinion_is_of_one_person_on_one_part_and_a_weak_one_denies_a_strong_one():
    whole = Opinion("drum", "strength", 1, 2, who="Tom")
    lid = replace(whole, part="lid")
    for other in (
        whole,
        replace(lid, part="strap"),
        replace(lid, who="Ada"),
        replace(lid, who=""),
    ):
        assert not toyshop.entails(lid, other) and not toyshop.entails(other, lid)
        assert not toyshop.contradicts(lid, replace(other, polarity=-1))
    assert toyshop.contradicts(replace(lid, intensity=1), replace(lid, intensity=3, polarity=-1))
    assert not toyshop.entails(VISIT, Stock(2, "kite", "in the attic"))


def test_what_may_both_be_true_is_no_contradiction():
    told = replace(VISIT, reason="as a joke", colour="red", size="tall")
    for other in (
        {"reason": "for a party"},
        {"action": "return"},
        {"colour": "scarlet"},
        {"size": "big"},
    ):
        assert not toyshop.contradicts(told, replace(told, **other)), other
    for other in (
        {"colour": "blue"},
        {"size": "short"},
        {"good": "scooter"},
        {"who": "Tom"},
    ):
        assert toyshop.contradicts(told, replace(told, **other)), other
    assert not toyshop.entails(replace(told, good="scooter"), told), "two goods of one department"


def test_heat_is_the_chance_that_a_field_is_misremembered_and_only_details_are_forgotten():
    stock = Stock(3, "drum", "in the attic", "big", "red", "tin", 5)
    hot = [unlabeled.misremember(stock, 1.0, Random(seed), TOYSHOP) for seed in range(60)]
    for name in ("number", "good", "shelf"):
        assert all(getattr(each, name) not in ("", 0, getattr(stock, name)) for each in hot)
    for name in ("size", "colour", "material", "price"):
        left_out = sum(not getattr(each, name) for each in hot)
        assert 15 < left_out < 45 and all(
            getattr(each, name) != getattr(stock, name) for each in hot
        )
    warm = [
        toyshop.record_of(toyshop.paraphrase(VISIT, Random(seed), temperature=0.7))
        for seed in range(400)
    ]
    assert np.mean([each.who != "Clara" for each in warm]) == pytest.approx(
        1 - np.exp(-0.7), abs=0.08
    )
    pair = (VISIT, Opinion("kite", "strength", 1, who="Clara", number=2))
    for seed in range(20):
        first, second = unlabeled.misremember(pair, 1.0, Random(seed), TOYSHOP)
        assert (first.good, first.who, first.number) == (
            second.good,
            second.who,
            second.number,
        )


def test_a_sentence_of_the_other_shop_is_said_again_there_and_each_kind_has_its_name():
    for text in toyshop.corpus(20, shop="othershop"):
        assert toyshop.record_of(toyshop.paraphrase(text, Random(0))) == toyshop.record_of(text)
    kinds = {
        Visit: "visit",
        Stock: "shelf",
        Opinion: "opinion",
        tuple: "visit and opinion",
    }
    for line in toyshop.corpus(60):
        assert toyshop.kind_of(line) == kinds[type(toyshop.record_of(line))]
    toyshop.labelled_corpus(1)[0]["text"] = "changed"  # the caller's copy, not ours
    assert toyshop.labelled_corpus(1)[0]["text"] != "changed"
