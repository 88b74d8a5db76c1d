"""Text larger than memory: read once, its tokens kept on the disk, drawn from there in any order.

A source is walked through once, ten thousand texts at a time. Their tokens go to the folder of `tokens.TokenCache`;
24 bytes per text stay in memory (length, place and id). After that a `Stream` is `Texts` to everyone: batches sorted
by length, a new order in each epoch, and a resumed run that finds the same batches, to the bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
import torch

from contrast_kit import arguments, checks
from contrast_kit._warn import warn
from contrast_kit.data.lines import Line, walk
from contrast_kit.data.rows import given_columns, label_tensor, text_columns
from contrast_kit.data.texts import Texts, check_columns, frame_of, special_ids, strings, usual_length
from contrast_kit.data.tokens import TokenCache, Tokens, tokenize

_ROWS, _CHARACTERS = 10_000, 8_000_000  # of a part, whichever comes first


class Stream(Texts):
    """Texts from a source that need not fit into memory; `fit` trains on it as on `Texts`, to the same weights.

    Args:
        source: a file or a folder (`Path`, or its name) of running text, `.jsonl` or `.parquet`, read line by line or
            row by row; a `datasets.IterableDataset` or memory-mapped `Dataset`; any iterable or generator of strings or
            dicts; or a function that returns one.
        tokenizer, columns, max_length, label: as for `Texts`.
        pack: join texts to blocks of `max_length` tokens, as RoBERTa and COCO-LM pre-train: [CLS], tokens, [SEP], with
            a [SEP] after the last text of each document. Each string or dict is a document; in a file of running text
            an empty line or the end of the file ends one. Labels are left out.
        whole_texts: with `pack`, never cut a text that fits a block (RoBERTa's "full sentences": blocks have at most
            `max_length` tokens). By default all blocks but the last are full.
        limit: take at most so many texts; a source without an end needs it.

    `len(stream)` is the number of texts, or blocks. `left_out` counts texts without a token, which are passed over with
    a warning.

    Raises `TypeError` for a source of another kind, `ValueError` for one without text, and what `Texts` raises.

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
        label: str = "label",
        pack: bool = False,
        whole_texts: bool = False,
        limit: int | None = None,
    ) -> None:
        max_length = usual_length(tokenizer, max_length)
        arguments.string("label", label, "the column of the labels")
        for name, value in {"pack": pack, "whole_texts": whole_texts}.items():
            checks.switch(name, value)
        if limit is not None:
            checks.count("limit", limit, "a number of texts")
        if pack and (tokenizer.cls_token_id is None or tokenizer.sep_token_id is None):
            raise ValueError("Packing frames a block by [CLS] and [SEP], and this tokenizer lacks one of them.")
        if pack and frame_of(tokenizer) != (1, 1):
            raise ValueError("Packing frames a block by [CLS] and [SEP], and this tokenizer frames a text otherwise.")
        self.tokenizer, self.frame = tokenizer, (tokenizer.cls_token_id, tokenizer.sep_token_id)
        self.pad_id, self.pack, self.max_length, self.left_out = tokenizer.pad_token_id, pack, max_length, 0
        self.columns = given_columns(columns)
        self.cache = TokenCache(tokenizer, None if pack else max_length)
        self._special = torch.tensor(special_ids(tokenizer), dtype=torch.int32)
        self.keys: list[str] = []
        self.label_names = getattr((getattr(source, "features", None) or {}).get(label), "names", None)
        parts = _Parts(self, tokenizer, label)
        for part in _parts(islice(walk(source), limit)):
            parts.add(part)
        parts.finish(whole_texts)
        if self.left_out:
            warn(f"{self.left_out} texts of the source hold no token and were left out.")

    def __getitem__(self, index: int) -> dict[str, Any]:
        index = arguments.place(index, len(self), "text")
        start, length = int(self.starts[index]), int(self.lengths[index])
        ids = self._read("ids", np.int32, start, length - 2 if self.pack else length)
        if self.pack:
            cls, sep = self.frame
            ids = np.concatenate([[cls], ids, [sep]]).astype(np.int32)  # [T]
        ids = torch.from_numpy(ids)
        example = {
            "input_ids": ids.long(),  # [T]
            "maskable": ~torch.isin(ids, self._special),
            "text_id": int(self.text_ids[index]),
            "pad_id": self.pad_id,
        }
        if self.types is not None:
            types = self._read("types", np.uint8, start, length)
            example["token_type_ids"] = torch.from_numpy(types).long()
        if self.labels is not None:
            example["label"] = self.labels[index].item()
        return example

    def fingerprint(self) -> str:
        """Eight hexadecimal digits, those of `Texts` with the same tokens, lengths and labels."""
        found = self.crc
        for part in (self.lengths, *(() if self.labels is None else (self.labels,))):
            found = crc32(part.numpy(), found)
        return f"{found:08x}"

    def _read(self, name: str, kind: type, start: int, count: int) -> np.ndarray:
        """`count` values from `start` on, out of one or more parts. Each call opens its files: safe after a fork."""
        found, part = [], int(np.searchsorted(self.ends, start, side="right"))
        while count:
            offset = start - int(self.ends[part - 1] if part else 0)
            take = min(count, int(self.ends[part]) - start)
            file = self.cache.folder / self.keys[part] / name
            try:
                found.append(np.fromfile(file, kind, take, offset=offset * np.dtype(kind).itemsize))
            except FileNotFoundError as error:
                raise FileNotFoundError(
                    f"{file.parent} is gone, which held a part of this stream's tokens: make the Stream anew."
                ) from error
            start, count, part = start + take, count - take, part + 1
        return found[0] if len(found) == 1 else np.concatenate(found)


class _Parts:
    """Puts parts of a source on the disk, one after the other, and remembers what a `Stream` needs to know of them."""

    def __init__(self, stream: Stream, tokenizer: Any, label: str) -> None:
        self.stream, self.tokenizer, self.label = stream, tokenizer, label
        self.special = np.array(special_ids(tokenizer))
        self.lengths: list[np.ndarray] = []
        self.words: list[np.ndarray] = []  # whether a text has any
        self.text_ids: list[np.ndarray] = []
        self.labels: list[Any] = []
        self.closed: list[np.ndarray] = []  # whether a text is followed by a [SEP]
        self.ends: list[int] = []  # tokens so far
        self.rows = self.highest = self.crc = 0
        self.types = self.separated = False  # whether the last text so far is followed by a [SEP]

    def add(self, part: list[Line]) -> None:
        """Take in the next texts of the source."""
        stream, cache = self.stream, self.stream.cache
        rows = [{"text": line.row} if isinstance(line.row, str) else line.row for line in part]
        texts = self._texts(rows)
        ends = np.array([line.ends for line in part]) if stream.pack else None
        self.separated = part[-1].ends
        key = cache.key(texts, b"" if ends is None else np.packbits(ends).tobytes())
        if (tokens := cache.read(key)) is None:
            tokens = tokenize(self.tokenizer, texts, cache.max_length)
            tokens = tokens if ends is None else _with_separators(tokens, ends, stream.frame[1])
            if not cache.write(key, tokens):
                raise OSError(f"The tokens of a stream are kept in {cache.folder}, but it takes no files.")
        stream.keys.append(key)
        self.ends.append((self.ends[-1] if self.ends else 0) + len(tokens.ids))
        self.crc, self.types = crc32(tokens.ids, self.crc), tokens.types is not None
        self.highest = max(self.highest, int(tokens.ids.max(initial=0)))
        self.lengths.append(tokens.lengths.astype(np.int32))
        if stream.pack:
            self.closed.append(ends)
            return
        words = np.concatenate([[0], (~np.isin(tokens.ids, self.special)).cumsum()])
        last = tokens.lengths.cumsum()
        self.words.append(words[last] > words[last - tokens.lengths])
        self.text_ids.append(np.array([_hash(text) for text in zip(*texts, strict=True)], np.int64))
        labels = [row.get(self.label) for row in rows]
        if self.rows == len(rows):
            label_tensor(labels)  # refuses what are no labels now, not after a walk of hours
        if self.labels or any(label is not None for label in labels):  # the first labels of all: those before have none
            self.labels += [None] * (self.rows - len(rows) - len(self.labels)) + labels

    def _texts(self, rows: list[Mapping]) -> list[list[str]]:
        """The texts of rows, by column; the first rows of all also decide which columns hold them."""
        stream, names = self.stream, list(rows[0])
        if not self.rows:
            stream.columns = stream.columns or text_columns(names)
            check_columns(names, stream.columns, self.tokenizer, stream.max_length)
        for at, row in enumerate(rows, self.rows):
            if lacking := [name for name in stream.columns if name not in row]:
                raise ValueError(f"Row {at} has no column {lacking[0]!r}, which the first row has.")
        texts = [strings([row[name] for row in rows], name, self.rows) for name in stream.columns]
        self.rows += len(rows)
        return texts

    def finish(self, whole_texts: bool) -> None:
        """Tell the stream what was found."""
        stream = self.stream
        lengths = _joined(self.lengths)  # [N]
        stream.ends, stream.crc, stream.highest = np.array(self.ends), self.crc, self.highest
        stream.types = True if self.types and not stream.pack else None
        if stream.pack and lengths.sum():
            room, closed = stream.max_length - 2, _joined(self.closed)
            starts, lengths = _whole_blocks(lengths, closed, room) if whole_texts else _blocks(lengths, room)
            if lengths[-1] == 1 and len(lengths) > 1 and self.separated:
                starts, lengths = starts[:-1], lengths[:-1]  # no text, only the [SEP] after the last one
            text_ids, stream.labels = np.arange(len(starts)), None
            lengths = lengths + 2  # [CLS] and [SEP]
        else:
            words = _joined(self.words).astype(bool)
            if not words.any():
                raise ValueError("There are no rows: the source holds no text.")
            starts, text_ids = lengths.cumsum(), _joined(self.text_ids)
            starts -= lengths
            stream.left_out = int((~words).sum())
            if stream.left_out:
                starts, lengths, text_ids = starts[words], lengths[words], text_ids[words]
                self.labels = [label for label, kept in zip(self.labels, words, strict=bool(self.labels)) if kept]
            stream.labels = label_tensor(self.labels)
        stream.starts, stream.lengths = torch.from_numpy(starts), torch.from_numpy(lengths)
        stream.text_ids = torch.from_numpy(text_ids)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """The parts as one array; the list is emptied, so that a stream's numbers stand in memory once."""
    whole = np.empty(sum(map(len, parts)), np.int64)
    parts.reverse()
    place = 0
    while parts:
        part = parts.pop()
        whole[place : place + len(part)] = part
        place += len(part)
    return whole


def _parts(lines: Iterator[Line]) -> Iterator[list[Line]]:
    part, size = [], 0
    for line in lines:
        part.append(line)
        size += len(line.row) if isinstance(line.row, str) else sum(len(str(v)) for v in line.row.values())
        if len(part) == _ROWS or size >= _CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _with_separators(tokens: Tokens, ends: np.ndarray, separator: int) -> Tokens:
    """A [SEP] after each text that ends its document."""
    ids = np.insert(tokens.ids, tokens.lengths.cumsum()[ends], separator).astype(np.int32)
    return Tokens(ids, tokens.lengths + ends, None)


def _blocks(lengths: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Where blocks begin in the row of all tokens, and how many they hold: at most `room`."""
    total = int(lengths.sum())
    starts = np.arange(0, total, room)
    return starts, np.minimum(room, total - starts)


def _whole_blocks(lengths: np.ndarray, closed: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for whole texts; only one that is longer than a block is cut. No block begins with a text's [SEP]."""
    blocks, start, stop, place = [], 0, 0, 0
    for length, ends in zip(lengths.tolist(), closed.tolist(), strict=True):
        if stop > start and place + length - ends - start > room:
            blocks.append((start, stop))
            start = place
        stop = place + length - ends
        while stop - start > room:
            blocks.append((start, start + room))
            start += room
        place += length
        if start < stop < start + room:
            stop = place  # its [SEP] has room
        elif ends:
            blocks.append((start, stop))
            start = stop = place  # and here it falls away
    blocks = np.array([*blocks, (start, stop)]).reshape(-1, 2)
    blocks = blocks[blocks[:, 1] > blocks[:, 0]]
    return blocks[:, 0], blocks[:, 1] - blocks[:, 0]


def _hash(texts: tuple[str, ...]) -> int:
    """64 bits that are equal for equal texts."""
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        part = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(part) + part)
    return int.from_bytes(digest.digest(), "little", signed=True)
