"""Text larger than memory: read once, its tokens kept in a file, drawn from there in any order.

A source is walked through once, ten thousand texts at a time. Their tokens go to an unnamed file in the cache folder,
which is gone when the program ends; 24 bytes per text stay in memory (length, place and id). After that a `Stream` is
`Texts` to everyone: batches sorted by length, a new order in each epoch, and a resumed run that finds the same batches,
to the bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import torch

from contrast_kit._util import warn
from contrast_kit.data.cache import cache_folder
from contrast_kit.data.load import PROSE, files_of
from contrast_kit.data.rows import given_columns, text_columns
from contrast_kit.data.texts import PART, Texts, frame_of, strings, tokenize
from contrast_kit.fast.shapes import rounded_up


class Stream(Texts):
    """Texts from a source that need not fit into memory; `fit` trains on it as on `Texts`, to the same weights.

    Args:
        source: a file or a folder (`Path`, or its name) of running text, read line by line; a
            `datasets.IterableDataset`, as of `load_dataset("json", data_files=…, split="train", streaming=True)`, or a
            memory-mapped `Dataset`; any iterable or generator of strings or dicts; or a function that returns one.
        tokenizer, columns, max_length: as for `Texts`. Labels are left out.
        pack: join texts to blocks of `max_length` tokens, as RoBERTa and COCO-LM pre-train: [CLS], tokens, [SEP], with
            a [SEP] after the last text of each document. All blocks but the last are full. Each string or dict is a
            document; in a file of running text an empty line or the end of the file ends one.

    `len(stream)` is the number of texts, or blocks. `left_out` counts texts without a token, which are passed over with
    a warning.

    Raises `ValueError` for a source without text, and what `Texts` raises.

    Relation to its neighbours: `Texts` holds all tokens in memory and has small numbers as `text_id`; here a `text_id`
    is a hash of the text (64 bits), and equal texts have equal ones as well.

    >>> from contrast_kit.data import Stream, train_tokenizer
    >>> tokenizer = train_tokenizer(["a red ball", "the red box"], vocab_size=60)
    >>> stream = Stream((f"a red ball {'red ' * i}" for i in range(4)), tokenizer)
    >>> len(stream), stream.batch([3, 0])["attention_mask"].sum(1).tolist()
    (4, [8, 5])
    >>> blocks = Stream(iter(["a red ball", "the red box"] * 8), tokenizer, max_length=16, pack=True)
    >>> blocks.lengths.tolist(), tokenizer.decode(blocks[0]["input_ids"][:9])
    ([16, 16, 16, 16, 10], '[CLS] a red ball [SEP] the red box [SEP]')
    """

    def __init__(
        self,
        source: Any,
        tokenizer: Any,
        columns: str | Sequence[str] | None = None,
        max_length: int | None = None,
        *,
        pack: bool = False,
    ) -> None:
        if pack and frame_of(tokenizer) != (1, 1):
            raise ValueError(
                "Packing frames a block by [CLS] and [SEP], and this tokenizer frames a text otherwise."
            )
        self.columns = given_columns(columns)
        self.set_tokenizer(tokenizer, max_length)
        self.left_out, self.labels, self.label_names = 0, None, None
        parts = self._parts(walk(source))
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as ids, TemporaryFile(dir=folder) as types:
            if pack:
                lengths, text_ids = self._write_blocks(parts, ids)
            else:
                lengths, text_ids = self._write_texts(parts, ids, types)
            if not len(lengths):
                raise ValueError("There are no rows: the source holds no text.")
            self.set_tokens(_mapped(ids, np.int32), _mapped(types, np.uint8), lengths)
        self.text_ids = torch.from_numpy(text_ids)
        if self.left_out:
            warn(f"{self.left_out} texts of the source hold no token and were left out.")

    def _parts(
        self, lines: Iterator[tuple[Any, bool]]
    ) -> Iterator[tuple[list[list[str]], Sequence[bool]]]:
        """Some thousand rows at a time: their texts by column, and whether a document ends with each."""
        start = 0
        while part := list(islice(lines, PART)):
            rows, ends = zip(*part, strict=True)
            if isinstance(rows[0], str):
                rows = [{"text": row} for row in rows]
            self.columns = self.columns or text_columns(list(rows[0]))
            yield (
                [
                    strings([row.get(name) for row in rows], name, start)
                    for name in self.columns
                ],
                ends,
            )
            start += len(rows)

    def _write_texts(
        self, parts: Iterable, ids_file: Any, types_file: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Write each text that holds a token; its length and its id, [N] each."""
        numbers = [np.empty((2, 0), np.int64)]  # lengths and ids
        for texts, _ in parts:
            ids, types, lengths = tokenize(self.tokenizer, texts, self.max_length)
            starts = lengths.cumsum() - lengths
            words = ~np.isin(ids, self.special.numpy())
            filled = np.add.reduceat(words, starts, dtype=np.int64) > 0
            kept = np.repeat(filled, lengths)  # [tokens]
            ids[kept].tofile(ids_file)
            types[kept[: len(types)]].tofile(types_file)
            keys = [_hash(text) for text in zip(*texts, strict=True)]
            numbers.append(np.array([lengths, keys], np.int64)[:, filled])
            self.left_out += int((~filled).sum())
        lengths, text_ids = np.concatenate(numbers, 1)
        return lengths, text_ids

    def _write_blocks(self, parts: Iterable, file: Any) -> tuple[np.ndarray, np.ndarray]:
        """Write the texts as blocks; the length of each, and a number as its id, [N] each."""
        first, last = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        options = dict(
            add_special_tokens=False, return_attention_mask=False, verbose=False
        )
        texts = (
            text
            for columns, ends in parts
            for text in zip(
                self.tokenizer(*columns, **options)["input_ids"], ends, strict=True
            )
        )
        lengths = []
        for block in packed(texts, self.max_length - 2, last):
            np.array([first, *block, last], np.int32).tofile(file)
            lengths.append(len(block) + 2)
        return np.array(lengths, np.int64), np.arange(len(lengths))


def packed(
    texts: Iterable[tuple[list[int], bool]], room: int, separator: int
) -> Iterator[list[int]]:
    """Blocks of `room` tokens, the last of fewer, from texts; after one that ends a document a separator follows.

    >>> list(packed([([7, 8, 9], False), ([5, 6], True), ([7, 8], True)], 4, 3))
    [[7, 8, 9, 5], [6, 3, 7, 8]]
    """
    block: list[int] = []
    for ids, ends in texts:
        block = block + ids
        if ends:
            block.append(separator)
        while len(block) >= room:
            yield block[:room]
            block = block[room:]
    if block and block != [separator]:
        yield block


def walk(source: Any) -> Iterator[tuple[Any, bool]]:
    """The rows of a source, in order, and whether a document ends with each; `Stream` says what a source may be.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("One.\\nTwo.\\n\\nThree.")
    ...     list(walk(folder))
    [('One.', False), ('Two.', True), ('Three.', True)]
    """
    if isinstance(source, Path | str):
        splits = files_of(Path(source).expanduser())
        for file in splits.get("train") or chain.from_iterable(splits.values()):
            if file.suffix.lower() not in PROSE:
                raise ValueError(
                    f"{file} is no running text: open a table by datasets.load_dataset(…, streaming=True)."
                )
            yield from _lines(file)
        return
    if callable(source) and not isinstance(source, Iterable):
        source = source()
    yield from zip(source, repeat(True), strict=False)


def is_source(data: Any) -> bool:
    """Whether data can only be walked through: a path, a generator, a data set without a length, a function."""
    if isinstance(data, Path) or (
        isinstance(data, str) and Path(data).expanduser().exists()
    ):
        return True
    return not hasattr(data, "__len__") and (isinstance(data, Iterable) or callable(data))


def _lines(file: Path) -> Iterator[tuple[str, bool]]:
    """The lines of running text; an empty one, or the end of the file, ends a document."""
    before = ""
    with file.open(encoding="utf-8-sig") as lines:
        for line in lines:
            text = line.strip()
            if before:
                yield before, not text
            before = text
    if before:
        yield before, True


def _mapped(file: Any, kind: type) -> np.ndarray:
    """A file of numbers as an array that is read where it is looked at."""
    file.flush()
    if file.seek(0, 2) == 0:
        return np.empty(0, kind)
    return np.memmap(file, kind, "r+")


def _hash(texts: tuple[str, ...]) -> int:
    """64 bits that are equal for equal texts."""
    digest = hashlib.blake2b(repr(texts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def prepare_texts(encoder: Any, dataset: Any, max_length: int) -> Texts:
    """The data as `Texts` that this encoder can read; ready `Texts` are checked and returned as they are.

    A path, a generator, or another source that can only be walked through becomes a `Stream`.
    """
    shortest = min(max_length, encoder.max_length)
    if is_source(dataset):
        return Stream(dataset, encoder.tokenizer, max_length=shortest)
    if not isinstance(dataset, Texts):
        return Texts(dataset, encoder.tokenizer, max_length=shortest)
    every = [dataset, *getattr(dataset, "wordings", ())]
    longest = max(
        rounded_up(int(texts.lengths.max()), texts.pad_to_multiple_of) for texts in every
    )
    if longest > encoder.max_length:
        raise ValueError(
            f"The longest of these Texts has {longest} tokens, but the encoder takes {encoder.max_length}: make "
            f"them with max_length={encoder.max_length}."
        )
    vocabularies = [
        (t.get_vocab(), t.pad_token_id) for t in {dataset.tokenizer, encoder.tokenizer}
    ]
    if vocabularies[0] != vocabularies[-1]:
        raise ValueError(
            f"These Texts were made with another tokenizer than the encoder's: make the {type(dataset).__name__} with "
            "encoder.tokenizer."
        )
    return dataset
