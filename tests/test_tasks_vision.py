"""Scores of answers about pictures, against loops written from their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import random_pictures

from contrast_kit import tasks
from contrast_kit.data import recorded, scenes
from contrast_kit.tasks.vision import normalise_answer

PEOPLE = st.lists(
    st.sampled_from(["red", "blue", "two", "2", "a dog"]), min_size=10, max_size=10
)


# -- VQA -------------------------------------------------------------------------------------------------------------


@given(PEOPLE, st.sampled_from(["red", "blue", "2", "dog", "none"]))
def test_soft_accuracy_is_the_mean_over_the_ten_subsets_that_leave_one_person_out(
    people, one
):
    people = [normalise_answer(each) for each in people]
    subsets = [people[:left_out] + people[left_out + 1 :] for left_out in range(10)]
    loops = (
        sum(min(subset.count(normalise_answer(one)) / 3, 1) for subset in subsets) / 10
    )
    assert tasks.soft_accuracies([one], [people])[0] == pytest.approx(loops)


@pytest.mark.parametrize("answer, same", [
    ("Yes", "yes"), ("the red kite", "red kite"), ("two", "2"), ("1,000 toys", "1000 toys"), ("2.50", "2.50"),
    ("top-shelf", "top shelf"), ("it's", "it's"), ("dont", "don't"), ("red.", "red"), ("10:30", "10:30"),
    ("black/white", "black white"), ("  many   toys ", "many toys"), ("none", "0"), ("A", ""), ("its", "its"),
])  # fmt: skip
def test_answers_are_compared_in_their_normal_form(answer, same):
    assert normalise_answer(answer) == same == normalise_answer(same)


# -- NLVR2 -----------------------------------------------------------------------------------------------------------


def test_consistency_asks_for_all_pairs_of_a_sentence():
    rows, random = scenes.rows("nlvr2", "test"), np.random.default_rng(0)
    labels, names = [row["label"] for row in rows], [row["identifier"] for row in rows]
    predicted = [label if random.random() < 0.8 else 1 - label for label in labels]
    scores = tasks.nlvr2_scores(predicted, labels, names)
    right = np.array(predicted) == np.array(labels)
    assert scores["consistency"] == pytest.approx(right.reshape(-1, 4).all(1).mean())
    assert scores["consistency"] < scores["accuracy"] - 0.2
    shuffled = random.permutation(len(rows))
    parts = ([part[i] for i in shuffled] for part in (predicted, labels, names))
    assert tasks.nlvr2_scores(*parts) == pytest.approx(scores)


def test_two_sentences_on_the_same_pictures_are_two():
    names = ["dev-850-0-0", "dev-850-1-0", "dev-850-0-1", "dev-850-1-1"]
    assert tasks.nlvr2_scores([1, 1, 1, 0], [1, 1, 1, 1], names) == {
        "accuracy": 0.75,
        "consistency": 0.5,
    }


# -- without looking -------------------------------------------------------------------------------------------------


def test_a_prior_reads_what_is_in_the_question_and_in_the_picture():
    asked = ["what colour is it", "how many are there"] * 20
    assert tasks.question_only(asked, ["red", "2"] * 20, ["how many"]) == ["2"]
    pictures = random_pictures(30, regions=4, width=6)
    vectors = tasks.picture_vectors(pictures, range(30))
    assert np.array_equal(tasks.picture_vectors(pictures, [4, 4, 1]), vectors[[4, 4, 1]])
    assert vectors.shape == (30, 13) and np.isfinite(vectors).all()
    for row, found in enumerate(vectors):
        here = pictures.regions[row][pictures.region_mask[row]].numpy()  # without padding
        assert np.allclose(found, [*here.mean(0), *here.max(0), len(here)], atol=1e-6)
    many = ["many" if n > 3 else "few" for n in vectors[:, -1]]
    assert (
        np.mean(np.array(tasks.picture_only(vectors, many, vectors)) == np.array(many))
        > 0.8
    )


def test_rarer_answers_than_the_most_frequent_are_not_learnt():
    asked, said = (
        ["which colour"] * 3 + ["how many"] * 3 + ["what kind"],
        ["red"] * 3 + ["2"] * 3 + ["toy"],
    )
    assert tasks.question_only(asked, said, ["what kind"]) == ["toy"]
    assert tasks.question_only(asked, said, ["what kind"], most=2) != ["toy"]


def test_recorded_priors_are_where_the_card_says():
    table = recorded("vision_priors")
    names = {f"scenes/{task}" for task in ("vqa", "gqa", "nlvr2", "captions")}
    assert names | {"VQA v2 questions"} <= set(table["data"])
    assert {"question only", "picture only", "caption only"} <= set(table["sees"])
    assert table["score"].between(0, 1).all()
