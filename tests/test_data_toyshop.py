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
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from contrast_kit import geometry
from contrast_kit.data import toyshop
from contrast_kit.data.toyshop import Opinion, Stock, Visit, __main__, files, grammar, makers, unlabeled, words
from contrast_kit.data.toyshop.errors import corrupt
from contrast_kit.data.toyshop.shops import OTHERSHOP, SHOPS, TOYSHOP
from contrast_kit.data.toyshop.world import as_told

SHIPPED = Path(__file__).parents[1] / "data" / "toyshop"
TASKS = list(makers.MAKERS)
VISIT = Visit("Clara", "buy", 2, "kite")
COLUMNS = {
    "sst2": ["sentence", "label", "idx"],
    "cola": ["sentence", "label", "idx"],
    "mrpc": ["sentence1", "sentence2", "label", "idx"],
    "qqp": ["question1", "question2", "label", "idx"],
    "stsb": ["sentence1", "sentence2", "label", "idx"],
    "mnli": ["premise", "hypothesis", "label", "idx"],
    "rte": ["sentence1", "sentence2", "label", "idx"],
    "qnli": ["question", "sentence", "label", "idx"],
}


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
    for split, size in toyshop.splits(task).items():
        rows = toyshop.rows(task, split, shop)
        assert len(rows) == size >= (2000 if split == "train" else 500)
        assert all(list(row) == COLUMNS[task] for row in rows)
        assert [row["idx"] for row in rows] == list(range(size))
        labels = Counter(row["label"] for row in rows)
        if task == "stsb":
            assert all(isinstance(label, float) and 0 <= label <= 5 for label in labels)
            assert min(np.histogram([row["label"] for row in rows], bins=5)[0]) > size / 12  # the whole scale is used
        else:
            assert set(labels) == set(range(3 if task == "mnli" else 2))
            assert min(labels.values()) > 0.8 * size / len(labels)


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", [*TASKS, "text"])
def test_splits_have_no_sentence_in_common(task, shop):
    seen: dict[str, str] = {}
    for split in toyshop.splits(task):
        for row in toyshop.rows(task, split, shop):
            for text in texts(row):
                assert seen.setdefault(text, split) == split, text


@pytest.mark.parametrize("task", TASKS)
def test_sentences_look_like_sentences(task):
    for row in toyshop.rows(task, "train"):
        for text in texts(row):
            assert re.fullmatch(r"[A-Z][A-Za-z' ,:;-]*[a-z][.?]", text), text
            assert "  " not in text and " i " not in text and " ," not in text
            assert 3 <= len(text.split()) <= 45
        if len(texts(row)) == 2:
            assert texts(row)[0] != texts(row)[1]
    lengths = [len(text.split()) for row in toyshop.rows(task, "train") for text in texts(row)]
    assert np.quantile(lengths, 0.01) >= 4 and np.quantile(lengths, 0.95) <= 30


def bags(task, shop):
    """Train and held-out bags of words (a vocabulary for each column) and labels; the scores of stsb cut at 2.5."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import CountVectorizer

    train, held = toyshop.rows(task, "train", shop), toyshop.rows(task, held_out(task), shop)
    parts = []
    for column in COLUMNS[task][:-2]:
        count = CountVectorizer(binary=True, token_pattern=r"[a-z'-]+").fit(row[column] for row in train)
        parts.append([count.transform(row[column] for row in rows) for rows in (train, held)])
    labels = [np.array([row["label"] for row in rows]) for rows in (train, held)]
    if task == "stsb":
        labels = [scores > 2.5 for scores in labels]
    return hstack([a for a, _ in parts]).tocsc(), hstack([b for _, b in parts]).tocsc(), *labels


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

    train, held = toyshop.rows(task, "train"), toyshop.rows(task, held_out(task))
    *_, y_train, y_held = bags(task, "toyshop")
    chance = max(np.bincount(y_held.astype(int))) / len(y_held)
    assert linear_accuracy(lengths(train), lengths(held), y_train, y_held) < chance + 0.06
    trees = HistGradientBoostingClassifier(max_iter=40, min_samples_leaf=80, random_state=0)  # any function of length
    assert trees.fit(lengths(train), y_train).score(lengths(held), y_held) < chance + 0.08


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("task", ["cola", "mnli", "qqp", "mrpc", "rte", "qnli"])
def test_no_giveaway_word(task, shop):
    bag, _, labels, _ = bags(task, shop)
    for word in range(bag.shape[1]):
        having = labels[bag[:, word].indices]
        if len(having) >= 30:
            assert np.bincount(having).max() / len(having) < 0.9


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
    assert toyshop.corpus(50, seed=1) != lines[:50]
    assert [row["text"] for row in toyshop.rows("text", "train")] == lines
    topics = Counter(line["topic"] for line in toyshop.labelled_corpus(5000))
    assert set(topics) == set(TOYSHOP.departments) and min(topics.values()) > 100
    assert {line["opinion"] for line in toyshop.labelled_corpus(500)} == {"positive", "negative", "none"}


def test_the_other_shop_has_other_words():
    here, there = word_counts("toyshop"), word_counts("othershop")
    assert len(set(there) - set(here)) > 300
    matched, mismatched = (
        {word for row in toyshop.rows("mnli", f"validation_{kind}") for word in tokens(row["premise"])}
        for kind in ("matched", "mismatched")
    )
    assert "wheelbarrow" not in matched and len(mismatched - matched) > 100


def test_inference_labels_follow_from_the_records():
    rng = Random(5)
    for relation in (0, 1, 2) * 700:
        for shop in SHOPS.values():
            premise, claim = makers.inference(rng, shop, relation)
            assert toyshop.entails(premise, claim, shop) == (relation == 0)
            assert toyshop.contradicts(premise, claim, shop) == (relation == 2)


def test_entailment_by_hand():
    said = Visit("Clara", "buy", 2, "drum", colour="red", place="window")
    assert toyshop.entails(said, Visit("Clara", "buy", 2, "musical toy"))
    assert not toyshop.entails(Visit("Clara", "buy", 2, "musical toy"), said)
    assert toyshop.contradicts(said, Visit("Clara", "buy", 3, "drum"))
    assert not toyshop.contradicts(said, Visit("Clara", "buy", 2, "drum", day="on Monday"))
    very = Opinion("drum", "strength", 1, 3, who="Tom")
    plain = Opinion("drum", "strength", 1, 2, who="Tom")
    assert toyshop.entails(very, plain) and not toyshop.entails(plain, very)
    assert toyshop.contradicts(very, Opinion("drum", "strength", -1, 1, who="Tom"))
    assert not toyshop.contradicts(very, Opinion("drum", "strength", -1, 1, who="Ada"))


def test_opinions_say_what_their_record_says():
    rng = Random(0)
    good, bad = words.AXES["strength"]
    denials = {"not", "far", "anything", "hardly", "scarcely", "by", "never", "none"}
    for polarity, intensity in [(1, 1), (1, 2), (1, 3), (-1, 1), (-1, 2), (-1, 3)] * 50:
        said = grammar.judged("strength", polarity, intensity, rng)
        denied = said.split()[0] in denials
        assert said.split()[-1] in (good if (polarity > 0) != denied else bad), said


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


def test_a_record_is_drawn_from_a_shop_not_from_its_name():
    with pytest.raises(TypeError, match="shop is a shop itself, such as toyshop.shops.OTHERSHOP, not 'othershop'"):
        toyshop.draw_record(Random(0), "othershop")
    assert toyshop.draw_record(Random(0), OTHERSHOP, Stock).good in OTHERSHOP.department_of


def test_paraphrase_pairs_mean_the_same():
    pairs = toyshop.probe_pairs(200)
    assert len(set(pairs)) == 200 and pairs == toyshop.probe_pairs(200)
    for a, b in pairs:
        assert a != b and toyshop.record_of(a) == toyshop.record_of(b)


def test_families_mean_one_thing_each_and_are_about_different_goods():
    told = toyshop.families(5, 12, seed=3)
    assert told == toyshop.families(5, 12, seed=3) and len(told) == 5
    for good, said in told.items():
        assert len(set(said)) == 12
        assert any(good in sentence for sentence in said)
    with pytest.raises(ValueError, match="fewer families or fewer ways"):
        toyshop.families(1, 5_000)


@pytest.mark.parametrize("change", ["good", "number", "colour"])
def test_an_unkind_test_keeps_the_meaning_in_one_text_and_most_words_in_the_other(change):
    found = toyshop.triples(100, seed=3, change=change)
    assert len(set(found)) == 100 and found == toyshop.triples(100, seed=3, change=change)
    for said, again, other in found:
        meaning, another = toyshop.record_of(said), toyshop.record_of(other)
        assert toyshop.record_of(again) == meaning and again != said
        assert replace(another, **{change: getattr(meaning, change)}) == meaning != another
        assert len(set(said.split()) - set(other.split())) == 1  # one word is another one


def test_weighing_rare_words_finds_another_good_and_not_another_number():
    texts = toyshop.corpus(3_000)
    tfidf = TfidfVectorizer().fit(texts)
    accuracy = {}
    for change in ("good", "number"):
        columns = zip(*toyshop.triples(200, change=change), strict=True)
        vectors = (torch.tensor(tfidf.transform(column).toarray()).float() for column in columns)
        accuracy[change] = geometry.triplet_accuracy(*vectors).item()
    assert accuracy["good"] > 0.9 and accuracy["number"] < 0.2


def test_an_unkind_test_refuses_what_it_cannot_change():
    with pytest.raises(ValueError, match="no change 'size'; there are good, number, colour"):
        toyshop.triples(3, change="size")


def test_every_error_changes_the_sentence_and_keeps_its_length():
    rng = Random(1)
    for _ in range(500):
        clause = grammar.clause(toyshop.draw_record(rng), rng, TOYSHOP)
        wrong = corrupt(clause, rng)
        if wrong is not None:
            assert wrong != clause and len(wrong.split()) == len(clause.split())


def test_paraphrase_keeps_the_meaning_until_it_is_heated():
    lines = toyshop.corpus(200)
    cold = [toyshop.paraphrase(line, Random(0)) for line in lines]
    assert sum(a != b for a, b in zip(lines, cold, strict=True)) > 195
    assert all(toyshop.record_of(a) == toyshop.record_of(b) for a, b in zip(lines, cold, strict=True))
    kept = []
    for temperature in (0.05, 0.5, 5.0):
        hot = [toyshop.paraphrase(line, Random(0), temperature) for line in lines]
        kept.append(sum(toyshop.record_of(a) == toyshop.record_of(b) for a, b in zip(lines, hot, strict=True)))
    assert kept[0] > kept[1] > kept[2] and kept[2] < 10


def test_shipped_files_are_made_again_byte_for_byte(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["toyshop", "--write", str(tmp_path)])  # here, where most rows are made already
    __main__.main()
    assert f"MB written under {tmp_path}" in capsys.readouterr().out
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    shipped = {p.relative_to(SHIPPED): p.read_bytes() for p in SHIPPED.rglob("*") if p.suffix in (".tsv", ".sha256")}
    assert made.keys() == shipped.keys() and len(made) > 25
    changed = [str(name) for name in made if made[name] != shipped[name]]
    assert not changed, "run: python -m contrast_kit.data.toyshop --write data/toyshop"


def test_shipped_files_are_small_and_read_back_as_rows():
    def sizes(room):
        return [path.stat().st_size for path in (SHIPPED.parent / room).rglob("*") if path.is_file()]

    assert 1e4 < sum(sizes("recorded")) <= 1e6  # tables
    assert sum(sizes(".")) - sum(sizes("recorded")) - sum(sizes("checkpoints")) <= 5e6
    assert 1e6 < max(sizes("checkpoints")) <= 12e6 and sum(sizes("checkpoints")) <= 40e6
    header, *lines = (SHIPPED / "toyshop/mnli/train.tsv").read_text(encoding="utf-8").splitlines()
    rows = toyshop.rows("mnli", "train")
    assert header.split("\t") == list(rows[0]) and len(lines) == len(rows)
    assert lines[7].split("\t") == [str(value) for value in rows[7].values()]


ANEW = """
import json, runpy
from contrast_kit.data import toyshop
print(json.dumps(toyshop.rows("rte", "test")))
runpy.run_module("contrast_kit.data.toyshop", run_name="__main__")
"""


def test_rows_do_not_depend_on_the_files_nor_on_what_was_made_before(tmp_path):
    """One process, with another hash seed, in another folder: it makes rows and obeys the command line."""
    command = [sys.executable, "-c", ANEW, "--show", "300"]
    env = os.environ | {"PYTHONHASHSEED": "7"}
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True, text=True)
    rows, *shown = run.stdout.splitlines()
    assert json.loads(rows) == toyshop.rows("rte", "test")
    assert shown == toyshop.corpus(300)
    toyshop.rows("rte", "test")[0]["label"] = 99  # the caller's copy, not ours
    assert toyshop.rows("rte", "test")[0]["label"] != 99


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: toyshop.rows("wnli", "train"), "no task 'wnli' of a shop; did you mean 'qnli'"),
        (lambda: toyshop.rows("mnli", "validation"), "no split 'validation' in toyshop/mnli; did you mean"),
        (lambda: toyshop.rows("sst2", "train", shop="bakery"), "no shop 'bakery'.*toyshop, othershop"),
        (lambda: toyshop.splits("glue"), "no task 'glue'"),
        (lambda: toyshop.corpus(-1), "at least 0"),
        (lambda: toyshop.corpus(1, seed=-1), "seed is a number to draw by, at least 0"),
        (lambda: toyshop.paraphrase(toyshop.corpus(1)[0], Random(0), temperature=-1), "at least 0"),
        (lambda: toyshop.record_of("To be or not to be."), "not a sentence of the toyshop"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, says):
    with pytest.raises(ValueError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (replace(VISIT, who="Alice"), "who must be one that toyshop has, such as the grandmother, .*, not 'Alice'"),
        (replace(VISIT, action="eat"), "action must be one .* such as buy, admire, choose, not 'eat'"),
        (replace(VISIT, number=-1), "number is .* from 0 to 12, not -1"),  # it was told as twelve
        (Stock(13, "drum", "on the top shelf"), "number is .* from 0 to 12, not 13"),
        (Stock(1, "drum", "on the top shelf", price=20), "price is .* not 20"),
        (Opinion("kite", "goodness", 1), "axis must be one .* not 'goodness'"),
        (Opinion("kite", "strength", 0), "polarity must be one of 1, -1"),
        (Opinion("kite", "strength", 1, 4), "intensity is .* from 1 to 3"),
        (Opinion("kite", ["strength"], 1), "axis must be one"),
        ((VISIT, VISIT), "or a Visit and an Opinion in a tuple"),
        ((VISIT,), "or a Visit and an Opinion in a tuple"),
    ],
)
def test_a_record_that_cannot_be_told_is_refused(record, says):
    for tell in (toyshop.tell, partial(toyshop.ways_to_say, n=2), partial(toyshop.paraphrase, rng=Random(0))):
        with pytest.raises((ValueError, TypeError), match=says):
            tell(record)


def test_only_goods_of_the_shop_can_be_misremembered():
    gizmo = replace(VISIT, good="gizmo")
    assert "gizmos" in toyshop.tell(gizmo) and "gizmos" in toyshop.paraphrase(gizmo, Random(0))
    with pytest.raises(ValueError, match="good must be one that toyshop has"):
        toyshop.paraphrase(gizmo, Random(0), temperature=0.5)


def test_files_hold_no_tab_inside_a_text():
    assert files.tsv([{"sentence": "The kite is red.", "label": 1}]).count(b"\t") == 2


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


def test_two_statements_are_paraphrases_where_their_records_tell_the_same(monkeypatch):
    express, by_text = makers.express, {}

    def noted(record, rng, shop):
        text = express(record, rng, shop)
        by_text[text] = as_told(record)
        return text

    monkeypatch.setattr(makers, "express", noted)
    rng = Random(0)
    for _ in range(3_000):  # one in two hundred has opinions that differ in a number alone
        by_text.clear()
        row = makers.mrpc(rng, TOYSHOP)
        assert row["label"] == (by_text[row["sentence1"]] == by_text[row["sentence2"]]), row


def test_relations_find_the_shop_of_the_goods():
    """Garden goods fall under their own kinds, whether or not the shop is named."""
    gnome = toyshop.Visit("Flora", "buy", 2, "gnome")
    ornament = replace(gnome, good="ornament")
    for where in ({}, {"shop": SHOPS["othershop"]}):
        assert toyshop.entails(gnome, ornament, **where) and not toyshop.entails(ornament, gnome, **where)
        assert not toyshop.contradicts(gnome, ornament, **where)
        assert toyshop.similarity(gnome, toyshop.Stock(1, "gnome", "by the door"), **where) == 1.0
    assert toyshop.similarity(gnome, replace(gnome, good="kite")) < toyshop.similarity(gnome, ornament) < 5


def test_each_seed_and_each_shop_has_draws_of_its_own():
    for made in (partial(toyshop.families, 3, 3), partial(toyshop.triples, 9), partial(toyshop.probe_pairs, 9)):
        assert made() == made() != made(seed=1)
        there = made(shop="othershop")
        goods = there if isinstance(there, dict) else [toyshop.record_of(texts[0]).good for texts in there]
        assert there != made() and all(good in OTHERSHOP.department_of for good in goods)
    assert toyshop.ways_to_say(VISIT, 5) != toyshop.ways_to_say(VISIT, 5, seed=1)
    assert len({toyshop.tell(VISIT, seed=seed) for seed in range(9)}) > 3


def test_an_opinion_is_of_one_person_on_one_part_and_a_weak_one_denies_a_strong_one():
    whole = Opinion("drum", "strength", 1, 2, who="Tom")
    lid = replace(whole, part="lid")
    for other in (whole, replace(lid, part="strap"), replace(lid, who="Ada"), replace(lid, who="")):
        assert not toyshop.entails(lid, other) and not toyshop.entails(other, lid)
        assert not toyshop.contradicts(lid, replace(other, polarity=-1))
    assert toyshop.contradicts(replace(lid, intensity=1), replace(lid, intensity=3, polarity=-1))
    assert not toyshop.entails(VISIT, Stock(2, "kite", "in the attic"))


def test_what_may_both_be_true_is_no_contradiction():
    told = replace(VISIT, reason="as a joke", colour="red", size="tall")
    for other in ({"reason": "for a party"}, {"action": "return"}, {"colour": "scarlet"}, {"size": "big"}):
        assert not toyshop.contradicts(told, replace(told, **other)), other
    for other in ({"colour": "blue"}, {"size": "short"}, {"good": "scooter"}, {"who": "Tom"}):
        assert toyshop.contradicts(told, replace(told, **other)), other
    assert not toyshop.entails(replace(told, good="scooter"), told), "two goods of one department"


def test_records_of_two_kinds_are_alike_by_their_goods():
    likeness = [toyshop.similarity(VISIT, Stock(1, good, "in the attic")) for good in ("kite", "scooter", "drum")]
    assert likeness == [1.0, 0.4, 0.0]


def test_heat_is_the_chance_that_a_field_is_misremembered_and_only_details_are_forgotten():
    stock = Stock(3, "drum", "in the attic", "big", "red", "tin", 5)
    hot = [unlabeled.misremember(stock, 1.0, Random(seed), TOYSHOP) for seed in range(60)]
    for name in ("number", "good", "shelf"):
        assert all(getattr(each, name) not in ("", 0, getattr(stock, name)) for each in hot)
    for name in ("size", "colour", "material", "price"):
        left_out = sum(not getattr(each, name) for each in hot)
        assert 15 < left_out < 45 and all(getattr(each, name) != getattr(stock, name) for each in hot)
    warm = [toyshop.record_of(toyshop.paraphrase(VISIT, Random(seed), temperature=0.7)) for seed in range(400)]
    assert np.mean([each.who != "Clara" for each in warm]) == pytest.approx(1 - np.exp(-0.7), abs=0.08)
    pair = (VISIT, Opinion("kite", "strength", 1, who="Clara", number=2))
    for seed in range(20):
        first, second = unlabeled.misremember(pair, 1.0, Random(seed), TOYSHOP)
        assert (first.good, first.who, first.number) == (second.good, second.who, second.number)


def test_a_sentence_of_the_other_shop_is_said_again_there_and_each_kind_has_its_name():
    for text in toyshop.corpus(20, shop="othershop"):
        assert toyshop.record_of(toyshop.paraphrase(text, Random(0))) == toyshop.record_of(text)
    kinds = {Visit: "visit", Stock: "shelf", Opinion: "opinion", tuple: "visit and opinion"}
    for line in toyshop.corpus(60):
        assert toyshop.kind_of(line) == kinds[type(toyshop.record_of(line))]
    toyshop.labelled_corpus(1)[0]["text"] = "changed"  # the caller's copy, not ours
    assert toyshop.labelled_corpus(1)[0]["text"] != "changed"
