"""Paraphrasers: the same meaning, the noise of a temperature, a tiny Marian, a file; and rows made with them."""

import math
import runpy
from pathlib import Path

import pytest
import torch
from conftest import Asked

import contrast_kit as ck
from contrast_kit.data import paraphrase, toyshop
from contrast_kit.data.paraphrase import (
    BackTranslation,
    Toyshop,
    augmented,
    reworded,
)
from contrast_kit.data.toyshop import wordings
from contrast_kit.data.toyshop.wordings import meanings


@pytest.fixture(scope="module")
def reviews():
    return [row["sentence"] for row in toyshop.rows("sst2", "train")[:600]]


# The toyshop's paraphraser


def test_meaning_is_lost_as_the_temperature_rises(reviews):
    kept = {}
    for T in (0.0, 0.3, 0.5, 0.7, 0.9):
        again = Toyshop()(reviews, temperature=T)
        kept[T] = sum(
            meanings(a) == meanings(b) for a, b in zip(reviews, again, strict=True)
        ) / len(reviews)
    assert kept[0.0] == 1 and kept[0.3] > 0.8 and kept[0.9] < 0.25
    assert list(kept.values()) == sorted(kept.values(), reverse=True)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("This kite is a joy.", {"a treat", "a delight", "a gem"}),
        (
            "The kite is very flimsy.",
            {"really fragile", "truly rickety", "extremely brittle"},
        ),
        ("There is a big kite.", {"a large kite"}),
        (
            "Clara bought a huge kite.",
            {"purchased an enormous kite", "paid for a gigantic kite"},
        ),
        ("The kite is far from dull.", {"by no means boring", "not at all tedious"}),
    ],
)
def test_phrases_are_exchanged_for_their_equals(text, again):
    said = [Toyshop()([text], seed=seed)[0] for seed in range(150)]
    assert all(any(phrase in one for one in said) for phrase in again)
    assert all(
        meanings(text) == meanings(one) and one[0].isupper() and one.endswith(".")
        for one in said
    )
    alien = ["iPhone cases are fine", "so i said, and I meant it"]  # nothing to exchange
    assert Toyshop()(alien, temperature=0.5) == alien


def test_the_answer_is_a_function_of_text_temperature_and_seed(reviews):
    say = Toyshop(temperature=0.5)
    assert say(reviews) == say(reviews, temperature=0.5) != say(reviews, seed=1)
    assert say(reviews[3:9]) == say(reviews)[3:9]  # whoever its neighbours are


# Rows


def test_one_to_three(reviews):
    rows = [
        {"sentence": text, "label": i % 2, "idx": i}
        for i, text in enumerate(reviews[:20])
    ]
    found = augmented(rows, Toyshop(), temperature=0.3)
    assert found[:20] == rows and len(found) == 80
    assert [row["label"] for row in found] == [row["label"] for row in rows] * 4
    assert len({row["sentence"] for row in found if row["idx"] == 7}) >= 3


def test_temperature_and_seed_reach_the_paraphraser_and_no_two_seeds_share_a_draw():
    say = Asked()
    for seed in (0, 1):
        reworded(["a kite"], say, temperature=0.3, seed=seed)
    assert say.asked == [(0.3, 0), (0.3, 1), (0.3, 2), (0.3, 3)]
    say = Asked()
    rows = [{"sentence1": "a", "sentence2": "b", "label": 1}]
    found = [
        augmented(rows, say, copies=2, temperature=0.9, seed=seed) for seed in (0, 1)
    ]
    assert say.asked == [(0.9, seed) for seed in (0, 0, 1, 1, 2, 2, 3, 3)]
    assert found[1][1] == {"sentence1": "a 2", "sentence2": "b 2", "label": 1}


# Marian

ENGLISH = ["the", "a", "red", "blue", "big", "small", "kite", "drum", "flies", "stands"]
GERMAN = [
    "der",
    "ein",
    "rot",
    "blau",
    "gross",
    "klein",
    "drachen",
    "trommel",
    "fliegt",
    "steht",
]


def tiny_marian(folder, source, target, seed):
    """A MarianMT model of 20,000 weights that has learnt a dictionary of ten words, saved with its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    pieces = ["</s>", "<pad>", "<unk>", *source, *target]
    words = Tokenizer(
        models.WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token="<unk>")
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 0)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )
    torch.manual_seed(seed)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(pieces), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32,
            pad_token_id=1, eos_token_id=0, forced_eos_token_id=0, decoder_start_token_id=1, dropout=0.0,
            init_std=0.2,
        )
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    known = 0  # steps in a row: how many it takes differs from one CPU to the next
    for _ in range(2_000):
        picks = torch.randint(len(source), (32, 4))  # [B, T], T = 4
        ends = torch.zeros(32, 1, dtype=torch.long)
        inputs = torch.cat([3 + picks, ends], 1)  # [B, T + 1]
        labels = torch.cat([3 + len(source) + picks, ends], 1)
        optimizer.zero_grad()
        loss = model(
            input_ids=inputs, attention_mask=torch.ones_like(inputs), labels=labels
        ).loss
        loss.backward()
        optimizer.step()
        known = known + 1 if loss < 0.005 else 0
        if known == 20:
            break
    else:
        raise AssertionError("the dictionary of ten words was not learnt")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def back_translation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    to = tiny_marian(folder / "en-de", ENGLISH, GERMAN, seed=0)
    back = tiny_marian(folder / "de-en", GERMAN, ENGLISH, seed=1)
    return BackTranslation(to=to, back=back, batch_size=4, max_length=8)


TEXTS = [
    "the red kite flies",
    "a small drum stands",
    "the big blue kite",
    "a red drum flies",
    "the big drum stands",
]  # four words, as it learnt


@pytest.mark.full
def test_a_marian_translates_there_and_back(back_translation):
    model = paraphrase._open(back_translation.to)
    there = back_translation._translate(TEXTS, *model, 0)
    assert there[0] == "der rot drachen fliegt"
    again = back_translation(TEXTS, temperature=0)
    assert (
        again[0] == TEXTS[0]
        and sum(a == b for a, b in zip(again, TEXTS, strict=True)) >= 4
    )


@pytest.mark.full
def test_a_marian_s_temperature_is_noise_and_its_seed_decides(back_translation):
    right = {}
    for T in (0.2, 5.0):
        again = [
            text
            for seed in range(4)
            for text in back_translation(TEXTS, temperature=T, seed=seed)
        ]
        right[T] = sum(a == b for a, b in zip(again, TEXTS * 4, strict=True))
    assert right[0.2] > 12 > 3 > right[5.0]
    before = torch.get_rng_state()
    first = back_translation(TEXTS, temperature=3.0, seed=2)
    assert torch.equal(
        before, torch.get_rng_state()
    )  # the caller's random stream is left alone
    assert first == back_translation(TEXTS, temperature=3.0, seed=2)
    assert first != back_translation(TEXTS, temperature=3.0, seed=3)


def test_two_wordings_that_are_one_are_not_passed_over_in_silence():
    text = "nothing here has other words"
    with pytest.warns(UserWarning, match="differ by dropout only.*keep_original=True"):
        reworded([text], Toyshop())


def corpus(n=2_500):
    return [
        row["text"]
        for row, _ in zip(ck.data.load("toyshop/text")["train"], range(n), strict=False)
    ]


@pytest.mark.full
@pytest.mark.parametrize("temperature", [0.3, 0.5, 0.7, 0.9])
def test_mistakes_are_as_frequent_as_the_temperature_says_in_any_text(temperature):
    """Many sentences of the corpus can be said in one way only; they are not mistaken until they differ."""
    texts, phrases = corpus(), wordings._phrases()
    wrong = whole = 0
    for text, again in zip(texts, Toyshop()(texts, temperature=temperature), strict=True):
        meant, said = wordings.meanings(text), wordings.meanings(again)
        known = [
            group
            for group in meant
            if isinstance(group, tuple) and len(phrases.alike[group[0]]) > 1
        ]
        whole += sum(meant[group] for group in known)
        wrong += sum((meant - said)[group] for group in known)
    chance = math.exp(-1 / temperature)
    assert wrong / whole == pytest.approx(
        chance, abs=4 * (chance * (1 - chance) / whole) ** 0.5
    )


STAND_IN = r"""#!/bin/sh
# apertium -f txt -u MODE, in small: a word for a word, and nothing else changes
case "$4" in
  eng-spa) sed 's/film/pelicula/g' ;;
  spa-eng) sed 's/pelicula/movie/g' ;;
  eng-cat) sed 's/film/cinta/g' ;;
  cat-eng) sed 's/cinta/picture/g; s/^nothing$//' ;;
esac
"""


def test_the_example_paraphrases_by_way_of_two_languages(tmp_path, monkeypatch, capsys):
    script = Path(__file__).parents[1] / "examples" / "apertium.py"
    (tmp_path / "apertium").write_text(STAND_IN)
    (tmp_path / "apertium").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    names = runpy.run_path(str(script), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) == 6
    say, texts = names["Apertium"](), ["The film is slow.", "A kite\n\nflies.", "nothing"]
    assert (
        say(texts)
        == say(texts, seed=2)
        == ["The movie is slow.", "A kite flies.", "nothing"]
    )
    assert say(texts, seed=1) == [
        "The picture is slow.",
        "A kite flies.",
        "nothing",
    ]  # said nothing: as it was
