"""Prompting: label words are one token after a space, and demonstrations are averaged over draws."""

import numpy as np
import pytest
import torch
from byte_pairs import byte_pairs
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit.tasks import prompting
from contrast_kit.tasks.prompt import Prompt, word_id

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
    batch = ck.data.Texts(
        prompting.prompts(rows(9), TEMPLATE, vocabulary), vocabulary
    ).batch(range(9))
    with torch.no_grad():
        hidden = objective.encoder(batch)
        by_hand = 0.0
        for b in range(9):
            at = batch["input_ids"][b].tolist().index(vocabulary.mask_token_id)
            scores = objective.encoder.mlm_logits(hidden[b, at][None])[0]
            two = torch.stack([scores[word_id(vocabulary, word)] for word in WORDS])
            by_hand -= two.log_softmax(0)[batch["label"][b]] / 9
        assert torch.allclose(objective(batch)["loss"], by_hand, atol=1e-5)
    assert {name.split(".")[0] for name, _ in objective.named_parameters()} == {
        "encoder"
    }  # no new weight


@pytest.mark.parametrize("kind", ["wordpiece", "bpe"])
def test_label_words_are_tokens_after_a_space(kind):
    text = ["it was great", "greatly great", "so it was terrible"] * 9
    if kind == "bpe":
        tokenizer = byte_pairs(text, 330)
    else:
        tokenizer = ck.data.train_tokenizer(text, vocab_size=60)
    inside = tokenizer("it was great")["input_ids"]
    assert word_id(tokenizer, "great") == word_id(tokenizer, " great") == inside[-2]
    if (
        kind == "bpe"
    ):  # as in RoBERTa: the word without its space is another token, or several
        from tokenizers.pre_tokenizers import ByteLevel

        tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        assert word_id(tokenizer, "great") == tokenizer("it was great")["input_ids"][-2]
        assert tokenizer("great", add_special_tokens=False)["input_ids"] != [
            word_id(tokenizer, "great")
        ]
    with pytest.raises(ValueError, match="'incomprehensible' is no single token"):
        word_id(tokenizer, "incomprehensible")


def pool(rows, vocabulary):
    return prompting.demonstrations(rows, TEMPLATE, vocabulary, WORDS)


def test_demonstrations_are_drawn_afresh_at_each_use_and_from_the_generator(vocabulary):
    """One solved row of each class after each text, each set apart; the generator draws, so resuming is exact."""
    train = rows(24)
    objective = Prompt(
        make_encoder(vocabulary), words=WORDS, demonstrations=pool(train, vocabulary)
    )
    batch = ck.data.Texts(
        prompting.prompts(train, TEMPLATE, vocabulary), vocabulary
    ).batch(range(24))
    generator = torch.Generator().manual_seed(0)
    first, second = (objective.views(batch, generator)["text"] for _ in range(2))
    again = objective.views(batch, torch.Generator().manual_seed(0))["text"]
    assert torch.equal(first["input_ids"], again["input_ids"])
    texts = [vocabulary.batch_decode(view["input_ids"]) for view in (first, second)]
    assert sum(a != b for a, b in zip(*texts, strict=True)) > 18
    solved = [
        {vocabulary.decode(ids) for ids in of_class}
        for of_class in objective.demonstrations.solved
    ]
    for row, text, label in zip(train, texts[0], batch["label"], strict=True):
        own, bad, good = [
            part.strip() for part in text.replace("[PAD]", "").split("[SEP]")[:3]
        ]
        assert own == f"[CLS] {row['sentence']} it was [MASK] ."
        assert f"{bad} [SEP]" in solved[0] and f"{good} [SEP]" in solved[1]
        alike = [
            other
            for other in train
            if other["label"] == label and other["sentence"] != row["sentence"]
        ]
        assert (
            not alike
            or (bad, good)[int(label)]
            != f"{row['sentence']} it was {WORDS[int(label)]} ."
        )
    masks = (first["input_ids"] == vocabulary.mask_token_id).sum(1)
    assert (masks == 1).all() and set(first) == {
        "input_ids",
        "attention_mask",
        "text_id",
        "label",
    }


def test_predictions_average_the_logits_of_fresh_draws(vocabulary):
    train, test = rows(24), rows(15, seed=2)
    encoder = make_encoder(vocabulary, initializer_range=0.5)
    objective = Prompt(
        encoder, words=WORDS, samples=4, demonstrations=pool(train, vocabulary)
    ).eval()
    batch = ck.data.Texts(
        prompting.prompts(test, TEMPLATE, vocabulary), vocabulary
    ).batch(range(15))
    with torch.no_grad():
        mean = objective.predicted_logits(batch, torch.Generator().manual_seed(0))
        generator, each = torch.Generator().manual_seed(0), []
        for _ in range(4):
            each.append(objective.logits(objective.with_demonstrations(batch, generator)))
    assert torch.allclose(mean, torch.stack(each).mean(0), atol=1e-5)
    assert not torch.allclose(each[0], each[1], atol=1e-2)
    # One sure draw against three that lean the other way: by logits the first wins, by probabilities it would not.
    draws = [torch.tensor([[5.0, 0.0]])] + [torch.tensor([[0.0, 1.0]])] * 3
    assert torch.stack(draws).softmax(2).mean(0).argmax() == 1
    left = iter(draws)
    objective.logits = lambda view: next(left)
    assert objective.predicted_logits(batch).argmax() == 0


def test_a_prompt_with_its_demonstrations_is_cut_behind_the_mask(vocabulary):
    train = rows(24)
    options = dict(words=WORDS, demonstrations=pool(train, vocabulary), max_length=14)
    view = Prompt(make_encoder(vocabulary), **options).views(
        ck.data.Texts(prompting.prompts(train, TEMPLATE, vocabulary), vocabulary).batch(
            range(9)
        )
    )["text"]
    assert view["input_ids"].shape == (9, 14)
    short = Prompt(
        make_encoder(vocabulary, max_length=15), **options | {"max_length": 128}
    )
    assert short.with_demonstrations(
        ck.data.Texts(prompting.prompts(train, TEMPLATE, vocabulary), vocabulary).batch(
            range(9)
        ),
        None,
    )["input_ids"].shape == (9, 15)


def test_coco_lms_main_model_is_prompted(vocabulary):
    encoder = make_encoder(vocabulary, relative_positions=True)
    ck.objectives.COCOLM(encoder)
    objective = Prompt(encoder, words=WORDS).eval()
    batch = ck.data.Texts(
        prompting.prompts(rows(5), TEMPLATE, vocabulary), vocabulary
    ).batch(range(5))
    with torch.no_grad():
        hidden = encoder(batch)[batch["input_ids"] == vocabulary.mask_token_id]
        words = encoder.model.get_input_embeddings().weight[
            [word_id(vocabulary, word) for word in WORDS]
        ]
        assert torch.allclose(
            objective.logits(batch), hidden @ words.T, atol=1e-5
        )  # h · x, no projection
