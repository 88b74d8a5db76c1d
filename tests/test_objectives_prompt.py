"""Prompting: label words are one token after a space, and demonstrations are averaged over draws."""

import numpy as np
import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.objectives import Prompt
from contrast_kit.objectives.prompt import word_id
from contrast_kit.tasks import prompting

GOOD, BAD = ("fine", "nice", "lovely"), ("dull", "poor", "ugly")
TEMPLATE = "{sentence} it was {mask} ."
WORDS = ("bad", "good")


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        label = int(rng.integers(2))
        toy, how = rng.choice(["kite", "drum", "owl"]), rng.choice((BAD, GOOD)[label])
        found.append({"sentence": f"a {how} {toy} .", "label": label})
    return found


@pytest.fixture(scope="module")
def vocabulary():
    texts = [row["sentence"] + " it was good . it was bad ." for row in rows(60)]
    return ck.data.train_tokenizer(texts, vocab_size=120)


def test_the_loss_is_the_masked_lms_choice_between_the_label_words(vocabulary):
    objective = Prompt(make_encoder(vocabulary), words=WORDS).eval()
    batch = ck.data.Texts(prompting.prompts(rows(9), TEMPLATE, vocabulary), vocabulary).batch(range(9))
    with torch.no_grad():
        hidden = objective.encoder(batch)
        by_hand = 0.0
        for b in range(9):
            at = batch["input_ids"][b].tolist().index(vocabulary.mask_token_id)
            scores = objective.encoder.mlm_logits(hidden[b, at][None])[0]
            two = torch.stack([scores[word_id(vocabulary, word)] for word in WORDS])
            by_hand -= two.log_softmax(0)[batch["label"][b]] / 9
        assert torch.allclose(objective(batch)["loss"], by_hand, atol=1e-5)
    assert {name.split(".")[0] for name, _ in objective.named_parameters()} == {"encoder"}  # no new weight


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_label_words_are_tokens_after_a_space(kind):
    text = ["it was great", "greatly great", "so it was terrible"] * 9
    tokenizer = ck.data.train_tokenizer(text, vocab_size=330 if kind == "bpe" else 60, kind=kind)
    inside = tokenizer("it was great")["input_ids"]
    assert word_id(tokenizer, "great") == word_id(tokenizer, " great") == inside[-2]
    if kind == "bpe":  # as in RoBERTa: the word without its space is another token, or several
        from tokenizers.pre_tokenizers import ByteLevel

        tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        assert word_id(tokenizer, "great") == tokenizer("it was great")["input_ids"][-2]
        assert tokenizer("great", add_special_tokens=False)["input_ids"] != [word_id(tokenizer, "great")]
    with pytest.raises(ValueError, match="'incomprehensible' is no single token"):
        word_id(tokenizer, "incomprehensible")


def test_it_learns_by_its_own_words(vocabulary):
    tuned = tasks.fine_tune(
        make_encoder(vocabulary, pooling="mean"),
        prompting.prompts(rows(40), TEMPLATE, vocabulary),
        task=tasks.Task("mine", ("text",), WORDS, ("accuracy",)),
        method=lambda encoder, **options: Prompt(encoder, words=WORDS, **options),
        steps=60,
        lr=5e-3,
    )
    test = rows(60, seed=1)
    assert tuned.evaluate(prompting.prompts(test, TEMPLATE, vocabulary))["accuracy"] > 0.95
    said = prompting.predict(tuned.objective, test, TEMPLATE)
    assert (said == [row["label"] for row in test]).mean() > 0.95


def test_demonstrations_are_solved_examples_of_each_class_and_never_the_row_itself(vocabulary):
    train = rows(12)
    asked = prompting.prompts(train, TEMPLATE, vocabulary, words=WORDS, demonstrations=train)
    for row, prompt in zip(train, asked, strict=True):
        head, _, tail = prompt["text"].partition("[MASK] . ")
        assert head == f"{row['sentence']} it was " and row["sentence"] not in tail.split(" it was ")[0]
        assert tail.index("it was bad .") < tail.index("it was good .") and "[MASK]" not in tail
    other = prompting.prompts(train, TEMPLATE, vocabulary, words=WORDS, demonstrations=train, seed=1)
    assert other != asked
    assert asked == prompting.prompts(train, TEMPLATE, vocabulary, words=WORDS, demonstrations=train)


def test_predictions_are_the_mean_of_the_logits_over_draws_of_demonstrations(vocabulary, monkeypatch):
    objective = Prompt(make_encoder(vocabulary, initializer_range=0.5), words=WORDS).eval()
    train, test = rows(30), rows(20, seed=2)
    each = []
    for seed in range(4):
        asked = prompting.prompts(test, TEMPLATE, vocabulary, words=WORDS, demonstrations=train, seed=seed)
        with torch.no_grad():
            each.append(objective.logits(ck.data.Texts(asked, vocabulary).batch(range(20))))
    assert not torch.allclose(each[0], each[1], atol=1e-3)  # the draw matters
    draws, write = [], prompting.prompts
    monkeypatch.setattr(prompting, "prompts", lambda *a, **k: draws.append(k["seed"]) or write(*a, **k))
    said = prompting.predict(objective, test, TEMPLATE, demonstrations=train, samples=4)
    assert said.tolist() == torch.stack(each).mean(0).argmax(1).tolist()
    assert draws == [0, 1, 2, 3]


def test_what_cannot_be_asked_is_said(vocabulary):
    encoder = make_encoder(vocabulary)
    with pytest.raises(ValueError, match="a word for each of the 2 classes"):
        Prompt(encoder)
    with pytest.raises(ValueError, match="no word twice"):
        Prompt(encoder, words=("good", "good"))
    for template in ("{sentence}", "{sentence}({mask})", "{sentence} {mask} or {mask}"):
        with pytest.raises(ValueError, match="once, after a space"):
            prompting.prompts(rows(2), template, vocabulary)
    with pytest.raises(ValueError, match="The template names text, but the columns are sentence, label"):
        prompting.prompts(rows(2), "{text} {mask}", vocabulary)
    with pytest.raises(ValueError, match="no column 'label'"):
        prompting.prompts([{"sentence": "a kite"}], "{sentence} {mask}", vocabulary)
    with pytest.raises(ValueError, match="at least one row for each class"):
        only = [row for row in rows(9) if row["label"] == 1]
        prompting.prompts(rows(2), TEMPLATE, vocabulary, words=WORDS, demonstrations=only)
    objective = Prompt(encoder, words=WORDS)
    with pytest.raises(ValueError, match="exactly one mask token, but a text here has 0"):
        objective(ck.data.Texts(rows(2), vocabulary).batch([0, 1]))
    with pytest.raises(ValueError, match="max_length"):
        prompting.predict(objective, rows(2), TEMPLATE, max_length=5)
