"""Back-translation by Apertium: a stand-in for the program shows what is asked of it, the program what it says."""

import shutil

import pytest

import contrast_kit as ck
from contrast_kit.data.paraphrase import Apertium, reworded

STAND_IN = r"""#!/bin/sh
# apertium -f txt -u MODE, in small: a word for a word, and nothing else changes
[ "$1 $2 $3" = "-f txt -u" ] || exit 2
case "$4" in
  eng-spa) sed 's/film/pelicula/g; s/slow/lento/g' ;;
  spa-eng) sed 's/pelicula/movie/g; s/lento/slow/g' ;;
  eng-cat) sed 's/film/cinta/g; s/slow/lent/g' ;;
  cat-eng) sed 's/cinta/picture/g; s/lent/unhurried/g; s/^nothing$//' ;;
  eng-eus) cat; printf '\n\nand one more\n' ;;
  *) echo "Error: Mode $4 does not exist. Try one of:"; exit 1 ;;
esac
"""
TEXTS = ["The film is slow.", "A kite\n\nflies.", "", "nothing"]


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    program = tmp_path / "apertium"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


@pytest.mark.usefixtures("stand_in")
def test_the_seed_is_the_language_and_every_text_keeps_its_place():
    by_way_of = [Apertium()(TEXTS, seed=seed) for seed in (0, 1, 2)]
    assert by_way_of[0] == ["The movie is slow.", "A kite flies.", "", "nothing"] == by_way_of[2]
    assert by_way_of[1] == ["The picture is unhurried.", "A kite flies.", "", "nothing"]  # said nothing: as it was
    row = reworded(["The film is slow."], Apertium())[0]
    assert (row["text/0"], row["text/1"]) == ("The movie is slow.", "The picture is unhurried.")
    assert Apertium(languages=["cat"])(TEXTS[:1]) == ["The picture is unhurried."] and Apertium()([]) == []


@pytest.mark.usefixtures("stand_in")
def test_what_cannot_be_translated_is_said():
    with pytest.raises(FileNotFoundError, match="cannot translate eng-deu here .*Mode eng-deu does not exist.*apt i"):
        Apertium(languages=["deu"])(TEXTS)
    with pytest.raises(RuntimeError, match="gave 5 answers to 4 texts"):
        Apertium(languages=["eus"])(TEXTS)
    with pytest.raises(ValueError, match="samples nothing"):
        Apertium()(TEXTS, temperature=0.0)
    with pytest.raises(ValueError, match="give one or more"):
        Apertium(languages=[])
    with pytest.raises(TypeError):
        Apertium(languages="spa")


def test_without_the_program_one_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="no program apertium here: apt install .* or take paraphrase.Toyshop"):
        Apertium()(TEXTS)


@pytest.mark.skipif(not shutil.which("apertium"), reason="the program Apertium is not installed")
def test_the_program_rewords_and_its_wordings_train_cssl():
    texts = ["She was glad that the acting, the costumes and the music were astounding.", "I had to look for my keys."]
    texts += ["He allows us to hope that we would meet again.", "Suddenly a light came through the mist."]
    rows = reworded([*texts, "I said: [x] <b> ^a$ \\ {q} @ #1 / *star", "日本語"], Apertium())
    assert len(rows) == 6 and rows[5]["text/0"] == "日本語" and "{q}" in rows[4]["text/0"]
    assert sum(row["text/0"] != row["text/1"] for row in rows[:4]) >= 3
    assert all("light" in rows[3][f"text/{k}"] for k in (0, 1))
    tokenizer = ck.data.train_tokenizer([text for row in rows for text in row.values()], vocab_size=120)
    objective = ck.objectives.CSSL(ck.Encoder.tiny(tokenizer, dropout=0.0), tau=0.05)
    run = ck.fit(objective, ck.data.Paraphrased(rows, tokenizer), steps=12, batch_size=6, lr=2e-3, progress=False)
    assert run.history["loss"].iloc[-1] < run.history["loss"].iloc[0]
