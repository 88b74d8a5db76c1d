"""Errors that docstrings name, each with the sentence that it says."""

from types import SimpleNamespace

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import losses, masking, standard, tasks
from contrast_kit.data.paraphrase import FromFile
from contrast_kit.data.squad import Windows
from contrast_kit.objectives import Span
from contrast_kit.tasks import Pipeline, pipelines, prompting, scoreboard

ROWS = [{"sentence": "a red kite", "label": 0}, {"sentence": "a small drum", "label": 1}]
QUESTION = {
    "id": "1", "question": "who ?", "context": "the red kite", "answers": {"text": ["red"], "answer_start": [4]},
}  # fmt: skip

SAID = {
    "f1 of three classes": (
        lambda: tasks.f1([0, 2], [0, 1]),
        ValueError,
        "class 1 of the classes 0 and 1; there is also class 2",
    ),
    "pearson of one": (lambda: tasks.pearson([1.0], [1.0]), ValueError, "at least 2 examples, not 1"),
    "spearman of one": (lambda: tasks.spearman([1.0], [1.0]), ValueError, "at least 2 examples, not 1"),
    "accuracy of scores": (lambda: tasks.accuracy([0.5], [1]), ValueError, "0.5 is no class number: round a score"),
    "a type called all": (lambda: tasks.by_type([1, 0], ["all", "yes/no"]), ValueError, "A type is called 'all'"),
    "a mean of infinity": (lambda: tasks.by_type([float("inf")], ["number"]), ValueError, "score is not finite"),
    "no methods": (lambda: pipelines.pipelines_by_name([]), ValueError, "methods is empty: give at least one"),
    "a tune that is none": (lambda: Pipeline(tune="FT"), TypeError, "tune makes an objective, as FineTune or MLM"),
    "a post that is none": (lambda: Pipeline(post=3), TypeError, "post makes an objective.* and 3 does not"),
    "a prompt that is text": (lambda: Pipeline(prompt="it was"), TypeError, "prompt is a prompting.Template"),
    "rows of objects": (
        lambda: tasks.split_hash([{"sentence": object(), "label": 0}]),
        TypeError,
        "only texts, numbers and lists",
    ),
    "nothing to count": (lambda: tasks.count_words(["a", "b"], [0, 1], ["c"]), ValueError, "No text has a word of two"),
    "pictures of another width": (
        lambda: tasks.picture_only([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"], [[1.0]]),
        ValueError,
        "have 2 features, the shown ones 1",
    ),
    "graded without a score": (
        lambda: scoreboard.EvalSuite(pairs=[("a", "b")] * 2, hard=[("a", "b")] * 2, graded=[("a", "b")], probes={}),
        TypeError,
        "graded must be pairs with a score",
    ),
    "a reduction that is no word": (
        lambda: losses.mlm(torch.zeros(2, 5), torch.tensor([1, 2]), reduction=3),
        ValueError,
        "reduction is a word, such as 'mean', not 3",
    ),
    "a view of no batch": (lambda: masking.masked_view([1, 2], None), TypeError, "A view takes a batch"),
    "specials that are one": (
        lambda: masking.crop(torch.ones(1, 5).long(), torch.ones(1, 5).long(), 0.9, pad_id=0, specials=1),
        ValueError,
        r"such as \(1, 1\), not 1",
    ),
    "examples that are none": (lambda: ck.data.collate([{"input_ids": [1]}]), TypeError, "Examples must be dicts with"),
}


@pytest.mark.parametrize("name", SAID)
def test_it_says_so(name):
    call, error, words = SAID[name]
    with pytest.raises(error, match=words):
        call()


def test_files_that_hold_nothing_or_lack_their_partner(encoder, tmp_path):
    (tmp_path / "anaphora.jsonl").write_text("")
    with pytest.raises(ValueError, match="holds no minimal pair"):
        standard.blimp(encoder, tmp_path)
    (year := tmp_path / "STS12-en-test").mkdir()
    (year / "STS.input.news.txt").write_text("a\tb\n")
    with pytest.raises(FileNotFoundError, match=r"STS\.gs\.news\.txt is lacking"):
        standard.read_sts(tmp_path)
    (tmp_path / "pairs.tsv").write_text("a red kite\n")
    with pytest.raises(ValueError, match="is no pair: text, tab, paraphrase"):
        FromFile(tmp_path / "pairs.tsv")


def test_labels_beyond_the_words(tokenizer):
    with pytest.raises(ValueError, match="Demonstrations of 1 classes have the labels 0 to 0"):
        prompting.demonstrations(ROWS, "*sent_0*_It_was*mask*.", tokenizer, ["bad"])


def test_answers_outside_the_paragraph_and_slow_tokenizers():
    vocabulary = ck.data.train_tokenizer([QUESTION["context"], QUESTION["question"]] * 5, vocab_size=60)
    batch = Windows([QUESTION], vocabulary, 32, stride=8).batch([0])
    batch["start"] = torch.tensor([1])  # a word of the question
    assert not batch["answerable"][0, 1]
    with pytest.raises(ValueError, match="The start of an answer lies outside the paragraph"):
        Span(make_encoder(vocabulary)).views(batch)
    batch = Windows([QUESTION], vocabulary, 32, stride=8).batch([0])
    batch["end"] = torch.tensor([1])
    with pytest.raises(ValueError, match="The end of an answer lies outside the paragraph"):
        Span(make_encoder(vocabulary)).views(batch)
    with pytest.raises(ValueError, match="only fast tokenizers"):
        Windows([QUESTION], SimpleNamespace(is_fast=False), 32)


def test_a_tokenizer_without_padding():
    vocabulary = ck.data.train_tokenizer(["a red kite"], vocab_size=60)
    vocabulary.pad_token = None
    with pytest.raises(ValueError, match="no padding token"):
        ck.data.Texts(["a red kite"], vocabulary)


def test_runs_without_validation_rows_choose_no_setting():
    import pandas as pd

    row = dict(method="FT", task="sst2", n=20, draw=0, seed=0, metric="accuracy", validation=None, test=0.5)
    results = tasks.results.Results(pd.DataFrame([row]), tasks.protocols.COCO_LM)
    with pytest.raises(ValueError, match="had no validation rows"):
        results.best()


def test_losses_without_a_reduction_have_a_number_each():
    x, zeros = torch.randn(3, 4), torch.zeros(4, 3)
    assert losses.simsiam(x, x, x, x, reduction="none").shape == (3,)
    assert losses.masked_features(torch.zeros(5, 6), torch.ones(5, 6), reduction="none").shape == (5,)
    assert losses.soft_answers(zeros, zeros, reduction="none").shape == (4,)
    answered = torch.tensor([[1.0, 0, 0], [0, 0, 0], [0.5, 0.5, 0], [0, 0, 0]])
    found = losses.one_answer(zeros, answered, reduction="none")
    assert found.tolist() == pytest.approx([1.0986, 0, 1.0986, 0], abs=1e-4)  # 0 where no answer is known
