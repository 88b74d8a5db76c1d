"""Folders of sentence-transformers, old and new: what they do to a text is done here too, or said."""

import json

import pytest
import torch
from conftest import make_encoder

import contrast_kit as ck

TEXTS = ["The Red KITE flies", "a small drum stands by the door"]


@pytest.fixture
def folder(tokenizer, tmp_path):
    make_encoder(tokenizer, pooling="mean").save_pretrained(tmp_path)
    return tmp_path


def put(folder, file, **entries):
    file = folder / file
    had = json.loads(file.read_text()) if file.exists() else {}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(had | entries))


def theirs(folder):
    from sentence_transformers import SentenceTransformer

    return torch.from_numpy(SentenceTransformer(str(folder), device="cpu").encode(TEXTS))


def ours(folder):
    return ck.Encoder.from_pretrained(folder).encode(TEXTS)


def test_the_pooling_lies_where_the_modules_say(folder):
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = "pooling"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").rename(folder / "pooling")
    assert ck.Encoder.from_pretrained(folder).pooling == "mean"
    assert torch.allclose(ours(folder), theirs(folder), atol=1e-5)


def test_small_letters_are_made_where_the_folder_makes_them_and_stay_when_saved(
    texts, tmp_path
):
    cased = ck.data.train_tokenizer([*texts, *TEXTS], vocab_size=300, lowercase=False)
    make_encoder(cased, pooling="mean").save_pretrained(tmp_path / "one")
    as_written = ours(tmp_path / "one")
    put(tmp_path / "one", "sentence_bert_config.json", do_lower_case=True)
    small = ours(tmp_path / "one")
    assert not torch.allclose(small[0], as_written[0], atol=1e-3)
    assert torch.allclose(small, theirs(tmp_path / "one"), atol=1e-5)
    ck.Encoder.from_pretrained(tmp_path / "one").save_pretrained(tmp_path / "two")
    assert torch.allclose(ours(tmp_path / "two"), small, atol=1e-5)


def test_a_prompt_that_the_folder_puts_before_each_text_is_told(folder):
    prompts = {"query": "query: ", "text": "about: "}
    put(
        folder,
        "config_sentence_transformers.json",
        prompts=prompts,
        default_prompt_name="text",
    )
    with pytest.warns(
        UserWarning, match="puts 'about: ' before each text, and this kit does not"
    ):
        encoder = ck.Encoder.from_pretrained(folder)
    assert torch.allclose(
        encoder.encode([f"about: {text}" for text in TEXTS]), theirs(folder), atol=1e-5
    )


def test_a_folder_that_normalises_gives_vectors_of_length_one_and_is_saved_so(folder):
    encoder = ck.Encoder.from_pretrained(folder)
    encoder.normalizes = True
    assert torch.allclose(encoder.encode(TEXTS), theirs(encoder.save_pretrained(folder)))
    assert torch.allclose(ours(folder).norm(dim=1), torch.ones(2))
