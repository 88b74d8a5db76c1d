"""Tokenizers: train a small one on the text at hand; where words begin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
"""The five special tokens, with the ids 0 to 4 in this order; the names are BERT's."""
# Training takes quadratic time in the length of a word.
_LONG_WORD = re.compile(r"(\S{1000})(?=\S)")


def train_tokenizer(
    texts: Iterable[str],
    vocab_size: int = 4096,
    lowercase: bool = True,
    max_length: int = 512,
) -> PreTrainedTokenizerFast:
    """Train a small tokenizer on `texts`, ready for masked language modelling.

    It splits as BERT does: a piece inside a word begins with `##`. A small vocabulary keeps the output layer small,
    which is most of the cost of a small model. `lowercase` also strips accents, as `bert-base-uncased` does.

    One text becomes `[CLS] A [SEP]`, a pair `[CLS] A [SEP] B [SEP]`, without `token_type_ids`, like RoBERTa.
    The same texts always give the same vocabulary. `save_pretrained(folder)` writes what
    `AutoTokenizer.from_pretrained(folder)` opens; `max_length` is its `model_max_length`.

    Raises `ValueError` for no text, or a `vocab_size` too small for the alphabet of the texts.

    >>> from contrast_kit.data import train_tokenizer
    >>> tokenizer = train_tokenizer(["a red ball", "the red box"], vocab_size=60)
    >>> tokenizer.tokenize("the red ball")
    ['the', 'red', 'ball']
    >>> tokenizer.decode(tokenizer("red", "box")["input_ids"])
    '[CLS] red [SEP] box [SEP]'
    """
    if isinstance(texts, str):
        texts = [texts]
    texts = [_LONG_WORD.sub(r"\1 ", text) for text in texts]
    if not any(text.strip() for text in texts):
        raise ValueError(
            "A tokenizer needs text to be trained on; these texts are empty."
        )
    backend = _wordpiece(texts, vocab_size, lowercase)
    if backend.get_vocab_size() > vocab_size:
        raise ValueError(
            f"vocab_size={vocab_size} (on the command line --words {vocab_size}) is too small: the characters of these "
            f"texts alone need {backend.get_vocab_size()} entries; take a larger one."
        )
    _frame(backend)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=max_length,
        # transformers would else turn "word ." into "word." when it decodes
        clean_up_tokenization_spaces=False,
        **SPECIAL_TOKENS,
    )


def _wordpiece(texts: list[str], vocab_size: int, lowercase: bool) -> Tokenizer:
    """Train BERT's kind of tokenizer.

    The trainer numbers the pieces `##a`, `##b`, … in the order of a hash table, which varies, and
    breaks ties between pairs by these numbers. So they are handed in first, in order, and the trained
    vocabulary is moved into a tokenizer that knows only the five special tokens. A word of known letters can
    then always be spelled.
    """
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        trainers,
    )

    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    words = pre_tokenizers.BertPreTokenizer()
    alphabet = _alphabet(texts, normalizer)
    inner = [
        f"##{letter}"
        for letter in alphabet
        if len(words.pre_tokenize_str(f"a{letter}a")) == 1
    ]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        special_tokens=[*SPECIAL_TOKENS.values(), *inner],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer, trained.pre_tokenizer = normalizer, words
    trained.train_from_iterator(texts, trainer, length=len(texts))

    backend = Tokenizer(models.WordPiece(trained.get_vocab(), unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = normalizer, words
    backend.decoder = decoders.WordPiece(cleanup=False)
    return backend


def _alphabet(texts: list[str], normalizer: Any) -> list[str]:
    """Give the characters of the texts in order, without the rarest where there are over a thousand."""
    counts: Counter[str] = Counter()
    for start in range(0, len(texts), 10_000):
        counts.update(normalizer.normalize_str("\n".join(texts[start : start + 10_000])))
    letters = [letter for letter in counts if not letter.isspace()]
    return sorted(sorted(letters, key=lambda letter: (-counts[letter], letter))[:1000])


def _frame(backend: Tokenizer) -> None:
    """Let the tokenizer put `[CLS]` and `[SEP]` around a text or a pair."""
    from tokenizers import processors

    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[
            (token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")
        ],
    )


def continues_word(tokenizer: Any) -> Tensor:
    """Which ids continue a word, bool [V]: "##ing"; or "ing", in a vocabulary where "▁" or "Ġ" begins words."""
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    begins = [token.startswith(("▁", "Ġ")) for token in tokens]
    continues = [token.startswith("##") for token in tokens]
    if any(begins):
        continues = [not begun for begun in begins]
    special = torch.tensor(tokenizer.all_special_ids)
    return torch.tensor(continues).index_fill(0, special, False)


def word_starts(ids: Tensor, continues: Tensor) -> Tensor:
    """Where in its row the word of each token begins, [B, T], of ids [B, T] and what `continues_word` says.

    A first word without a mark of its own shares the place of what opens the text, which is never masked.

    >>> import torch
    >>> from contrast_kit.data.tokenizers import continues_word, train_tokenizer, word_starts
    >>> tokenizer = train_tokenizer(["a ball"], vocab_size=11)
    >>> tokenizer.tokenize("a ball")
    ['a', 'b', '##a', '##l', '##l']
    >>> ids = tokenizer("a ball", return_tensors="pt")["input_ids"]
    >>> word_starts(ids, continues_word(tokenizer))
    tensor([[0, 1, 2, 2, 2, 2, 6]])
    """
    places = torch.arange(ids.shape[1]).expand(ids.shape)  # [B, T]
    return places.masked_fill(continues[ids], 0).cummax(1).values
