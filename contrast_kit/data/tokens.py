"""Texts to token ids, many at a time: on all cores, or from disk if they were made before.

The tokenizers library works on all cores by itself, unless `TOKENIZERS_PARALLELISM=false` or the process was forked
after it had begun; most of the other time went into Python objects that no one reads, so they are not made here.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from contrast_kit.data.cache import cache_folder

_FORM = b"1"  # increase it when the files change, so that no one reads old ones
_PROBE = 4  # texts that are tokenized both ways, to see that they agree
_AT_ONCE = 2_000  # texts: enough for all cores; what the library keeps of each until they are done is ten times its ids

_lock = threading.Lock()  # a tokenizer keeps the length at which it cuts: another thread must not change it meanwhile


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # else a child would wait for a thread that it does not have
    os.register_at_fork(after_in_child=_new_lock)


class Tokens(NamedTuple):
    """The tokens of N texts, one after the other."""

    ids: np.ndarray
    """int32, all of them."""
    lengths: np.ndarray
    """int64, [N]."""
    types: np.ndarray | None
    """uint8, as many as `ids`, where the tokenizer makes them."""


def tokenize(tokenizer: Any, columns: Sequence[list[str]], max_length: int | None) -> Tokens:
    """Tokenize texts (one column) or pairs (two), each with its special tokens and cut to `max_length`.

    Without a `max_length` texts are neither cut nor framed by special tokens. Gives what
    `tokenizer(*columns, truncation=True, max_length=max_length)` gives, to the bit.
    """
    options = dict(return_attention_mask=False, verbose=False)
    options |= dict(add_special_tokens=False) if max_length is None else dict(truncation=True, max_length=max_length)
    parts = []
    for start in range(0, len(columns[0]), _AT_ONCE):
        with _lock:
            parts.append(_some(tokenizer, [column[start : start + _AT_ONCE] for column in columns], options))
    return Tokens(*(None if values[0] is None else np.concatenate(values) for values in zip(*parts, strict=True)))


def _some(tokenizer: Any, columns: Sequence[list[str]], options: dict[str, Any]) -> Tokens:
    """The tokens of some texts, by the tokenizer's own library where that gives what the tokenizer gives."""
    # the call also tells the library where to cut
    few = tokenizer(*(column[:_PROBE] for column in columns), **options)
    types = "token_type_ids" in few
    if getattr(tokenizer, "is_fast", False):
        backend, special = tokenizer.backend_tokenizer, options.get("add_special_tokens", True)
        texts = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        encode = getattr(backend, "encode_batch_fast", backend.encode_batch)
        if [each.ids for each in encode(texts[:_PROBE], add_special_tokens=special)] == few["input_ids"]:
            found = encode(texts, add_special_tokens=special)
            return _flat([each.ids for each in found], [each.type_ids for each in found] if types else None)
    found = tokenizer(*columns, **options)
    return _flat(found["input_ids"], found["token_type_ids"] if types else None)


class TokenCache:
    """Tokens on the disk, under a name made from the texts and the tokenizer: the same texts are tokenized once.

    They lie in the folder `tokens` of `cache.cache_folder()`, which may be deleted at any time. Several processes
    may write at once. Where nothing can be written the texts are tokenized each time.
    """

    def __init__(self, tokenizer: Any, max_length: int | None) -> None:
        self.tokenizer, self.max_length = tokenizer, max_length
        self.folder = cache_folder() / "tokens"
        self._start = hashlib.blake2b(digest_size=16)
        for part in (_FORM, tokenizer_state(tokenizer).encode(), str(max_length).encode()):
            self._start.update(b"%d:" % len(part) + part)

    def key(self, columns: Sequence[list[str]], more: bytes = b"") -> str:
        """The name of the tokens of these texts; `more` is what else they depend on."""
        digest = self._start.copy()
        digest.update(b"%d:%d:%d:" % (len(columns), len(columns[0]), len(more)) + more)
        for text in chain(*columns):
            part = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(part) + part)
        return digest.hexdigest()

    def tokens(self, columns: Sequence[list[str]]) -> Tokens:
        """The tokens of texts, from the disk or new."""
        key = self.key(columns)
        if (found := self.read(key)) is not None:
            return found
        tokens = tokenize(self.tokenizer, columns, self.max_length)
        self.write(key, tokens)
        return tokens

    def read(self, key: str) -> Tokens | None:
        """Tokens by their name; None where they are not there."""
        folder = self.folder / key
        try:
            lengths = np.fromfile(folder / "lengths", np.int64)
            types = np.fromfile(folder / "types", np.uint8) if (folder / "types").is_file() else None
            ids = np.fromfile(folder / "ids", np.int32)
        except FileNotFoundError:
            return None
        if int(lengths.sum()) != len(ids) or self._other_types(types, len(ids)):
            shutil.rmtree(folder, ignore_errors=True)  # damaged
            return None
        return Tokens(ids, lengths, types)

    def _other_types(self, types: np.ndarray | None, count: int) -> bool:
        """Whether types are too few, or lacking where transformers' tokenizers make them; packed texts have none."""
        if types is None:
            names = getattr(self.tokenizer, "model_input_names", ())
            return self.max_length is not None and "token_type_ids" in names
        return len(types) != count

    def write(self, key: str, tokens: Tokens) -> bool:
        """Keep tokens under their name; False where the disk does not take them."""
        draft = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(dir=self.folder, prefix=".draft-"))
            for name, values in zip(Tokens._fields, tokens, strict=True):
                if values is not None:
                    values.tofile(draft / name)
            draft.rename(self.folder / key)
        except OSError:  # full, read-only; or another process was first
            if draft is not None:
                shutil.rmtree(draft, ignore_errors=True)
            return (self.folder / key).is_dir()
        return True


def tokenizer_state(tokenizer: Any) -> str:
    """Everything that the ids of a text depend on, but the length at which it is cut; that the last call left there."""
    if not getattr(tokenizer, "is_fast", False):
        return f"{type(tokenizer).__qualname__} {tokenizer.get_vocab()} {tokenizer.init_kwargs}"
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    state.pop("truncation", None), state.pop("padding", None)
    split = ["split"] if getattr(tokenizer, "split_special_tokens", False) else []  # "[MASK]" in a text as letters
    return json.dumps([state, tokenizer.truncation_side, tokenizer.model_input_names, *split])


def _flat(ids: list[list[int]], types: list[list[int]] | None) -> Tokens:
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    total = int(lengths.sum())
    flat = np.fromiter(chain.from_iterable(ids), np.int32, total)
    return Tokens(flat, lengths, None if types is None else np.fromiter(chain.from_iterable(types), np.uint8, total))
