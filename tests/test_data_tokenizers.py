"""Tokenizers: the same every time, whole when reopened, right on special tokens."""

import os
import subprocess
import sys

import pytest

from contrast_kit.data import train_tokenizer

LINES = [f"the {size} {thing} number {n} isn't on shelf {n % 7}!" for n in range(60) for size, thing in
         (("red", "ball"), ("small", "box"), ("naïve", "puppet"))]  # fmt: skip


def test_frame_and_special_tokens():
    tokenizer = train_tokenizer(LINES, vocab_size=400)
    special = (
        tokenizer.pad_token_id,
        tokenizer.unk_token_id,
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
    )
    assert (*special, tokenizer.mask_token_id) == (0, 1, 2, 3, 4)
    a, b = (
        tokenizer(text, add_special_tokens=False)["input_ids"]
        for text in ("red ball", "the box")
    )
    assert tokenizer("red ball")["input_ids"] == [2, *a, 3]
    pair = tokenizer("red ball", "the box")
    assert pair["input_ids"] == [2, *a, 3, *b, 3]
    types = tokenizer("red ball", "the box", return_token_type_ids=True)["token_type_ids"]
    assert types == [0] * (len(a) + 2) + [1] * (len(b) + 1)
    assert tokenizer("red [MASK] ball")["input_ids"].count(4) == 1
    assert len(tokenizer("red [MASK] ball")["input_ids"]) == len(a) + 3
    assert len(tokenizer) <= 400 and tokenizer.model_max_length == 512


VOCABULARIES = """
import hashlib, json, random
from contrast_kit.data import train_tokenizer

def digest():
    rng = random.Random(0)
    lines = [' '.join(''.join(rng.choices('abcdefgh', k=5)) for _ in range(8)) for _ in range(300)]
    vocab = train_tokenizer(lines, 500).get_vocab()
    return hashlib.md5(json.dumps(sorted(vocab.items())).encode()).hexdigest()
"""


@pytest.mark.full
def test_training_is_deterministic_across_processes():
    """Two of them, of which this is one, with another hash seed."""
    # the plain WordPiece trainer fails this: it numbers the pieces in the order of a hash table
    exec(VOCABULARIES, here := {})
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    command = [sys.executable, "-c", VOCABULARIES + "print(digest())"]
    environment = {**os.environ, "PYTHONHASHSEED": other}
    run = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == here["digest"]()


def test_one_long_word_is_cut_before_it_is_learned():
    """Learning its pieces takes quadratic time in its length."""
    pieces = train_tokenizer(["a" * 4096], vocab_size=30).get_vocab()
    assert 500 < max(map(len, pieces)) <= 1002


def test_case():
    assert train_tokenizer(LINES).tokenize("The NAÏVE ball") == ["the", "naive", "ball"]
    assert train_tokenizer(LINES, lowercase=False).tokenize("naïve") == ["naïve"]
