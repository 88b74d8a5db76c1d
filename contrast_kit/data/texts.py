"""From text to a batch: tokenize once, pad each batch only to its own longest row.

A batch is a plain dict of tensors (`B` examples, `T` tokens):

| key | shape | what |
|---|---|---|
| `input_ids` | `[B, T]` long | token ids, padded on the right |
| `attention_mask` | `[B, T]` long | 1 for a token, 0 for padding |
| `maskable` | `[B, T]` bool | a token of the text: neither padding nor a special token such as `[CLS]` |
| `text_id` | `[B]` long | the same id for the same text, equal to the letter: a duplicate is not a negative |
| `label` | `[B]` long or float | only where the data has labels; -1 means unlabeled |
| `token_type_ids` | `[B, T]` long | only where the tokenizer makes them: 1 in the second text of a pair |
| `words` | `[B, T]` long | only with `whole_words`: where in the row the word of a token begins |
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain, count
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from contrast_kit.data.rows import (
    as_rows,
    column,
    column_names,
    given_columns,
    label_tensor,
    text_columns,
)
from contrast_kit.data.tokenizers import continues_word, word_starts

PART = 10_000
"""Texts that are tokenized at once."""
WORDING = "{column}/{k}"
"""The column that holds wording k of a text column: "sentence/0", "sentence/1"."""


class Texts:
    """Texts as token ids, tokenized once and kept in flat arrays: 4 bytes a token (5 with `token_type_ids`).

    `rows` is a `datasets.Dataset` (one split), a list of dicts, or a list of strings. The columns that hold
    the text are found by name (see `rows.TEXT_COLUMNS`) or given as `columns`: one name, or two for pairs, which
    the tokenizer joins as `[CLS] A [SEP] B [SEP]`. Each text is cut to `max_length` tokens, special tokens
    included (by default 128, or what the tokenizer's model takes; of a pair, the longer text is cut first). A column
    `label` (or the one named by `label`) is kept; class numbers become long, scores float32, and a missing label
    (`None`) becomes -1, the hub's mark for "unlabeled". Only texts that are equal to the letter share a `text_id`: "A
    kite" and "a kite" do not, though their tokens may be equal. With `whole_words` dynamic and complementary masks fall
    on whole words (spans do not), and `pad_to_multiple_of=8`, say, pads batches a little further, to lengths that a GPU
    likes.

    `texts[i]` is one example, a dict for `collate`; `texts.batch(indices)` a whole batch; `texts.lengths` the
    tokens of each; `texts.labels` all labels or `None`; `texts.label_names` the names of the classes or
    `None`.

    Raises `TypeError` for a row whose text is no string and `ValueError` for no rows, a column that is not there, or a
    row without a single token of text. `Batches` is its companion: it says which rows make a batch. `Stream` is for
    text larger than memory, and for a source that can only be walked through.

    >>> from contrast_kit.data import Texts, train_tokenizer
    >>> lines = ["a red ball", "a small red box", "a red ball"]
    >>> texts = Texts(lines, train_tokenizer(lines, vocab_size=60))
    >>> len(texts), texts.text_ids.tolist()
    (3, [0, 1, 0])
    >>> texts.batch([0, 1])["attention_mask"].sum(1).tolist()  # [CLS] + words + [SEP]
    [5, 6]
    """

    # As `Stream` leaves them.
    whole_words, pad_to_multiple_of = False, 1

    def __init__(
        self,
        rows: Any,
        tokenizer: Any,
        columns: str | Sequence[str] | None = None,
        max_length: int | None = None,
        *,
        label: str = "label",
        whole_words: bool = False,
        pad_to_multiple_of: int = 1,
    ) -> None:
        self.whole_words, self.pad_to_multiple_of = whole_words, pad_to_multiple_of
        rows = as_rows(rows)
        names = column_names(rows)
        self.columns = given_columns(columns) or text_columns(names)
        self.set_tokenizer(tokenizer, max_length)
        features = getattr(rows, "features", None) or {}
        self.label_names: list[str] | None = getattr(features.get(label), "names", None)
        self.labels = None
        if label in names:
            self.labels = label_tensor(column(rows, label))  # [N]

        texts = [strings(column(rows, name), name) for name in self.columns]
        self.text_ids = torch.tensor(numbered(zip(*texts, strict=True)))  # [N]
        parts = [
            tokenize(
                tokenizer, [part[start : start + PART] for part in texts], self.max_length
            )
            for start in range(0, len(rows), PART)
        ]
        self.set_tokens(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        # [N]
        words = np.add.reduceat(
            self.maskable.numpy(), self.starts.numpy(), dtype=np.int64
        )
        empty = (words == 0).nonzero()[0].tolist()
        if empty:
            raise ValueError(
                f"{len(empty)} rows, the first of them row {empty[0]}, have no token of text in "
                f"{' + '.join(self.columns)}; leave such rows out first, for example with dataset.filter."
            )

    def set_tokenizer(self, tokenizer: Any, max_length: int | None) -> None:
        """Keep the tokenizer, and the length that was asked for or is usual."""
        self.max_length = max_length or min(128, tokenizer.model_max_length)
        self.tokenizer, self.pad_id = tokenizer, tokenizer.pad_token_id
        self.special = torch.tensor(special_ids(tokenizer), dtype=torch.int32)
        if len(self.columns) > 2:
            raise ValueError(
                f"A text has one column, a pair two; {len(self.columns)} columns were given."
            )
        if self.pad_id is None:
            raise ValueError(
                "This tokenizer has no padding token; set tokenizer.pad_token first."
            )

    def set_tokens(self, ids: np.ndarray, types: np.ndarray, lengths: np.ndarray) -> None:
        """Keep the tokens of all texts in one row, and where each text begins."""
        self.ids = torch.from_numpy(ids)  # [tokens of all texts]
        self.types = torch.from_numpy(types) if len(types) else None
        self.lengths = torch.from_numpy(lengths)  # [N]
        self.starts = self.lengths.cumsum(0) - self.lengths  # [N]

    @property
    def maskable(self) -> Tensor:
        """Which tokens of all texts are tokens of a text, and not special ones."""
        return ~torch.isin(self.ids, self.special)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        start = int(self.starts[index])
        stop = start + int(self.lengths[index])
        ids = self.ids[start:stop]  # [T]
        example = {
            "input_ids": ids.long(),
            "maskable": ~torch.isin(ids, self.special),
            "text_id": int(self.text_ids[index]),
            "pad_id": self.pad_id,
        }
        if self.types is not None:
            example["token_type_ids"] = self.types[start:stop].long()
        if self.labels is not None:
            example["label"] = self.labels[index].item()
        return example

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """Give the rows `indices` as one padded batch, the same as `collate([texts[i] for i in indices])`."""
        rows = torch.tensor(list(indices))  # [B]
        lengths = self.lengths[rows, None]  # [B, 1]
        blocks = math.ceil(int(lengths.max()) / self.pad_to_multiple_of)
        places = torch.arange(blocks * self.pad_to_multiple_of)  # [T]
        real = places < lengths  # [B, T]
        where = self.starts[rows, None] + places.minimum(lengths - 1)  # [B, T]
        ids = self.ids[where]
        batch = {
            "input_ids": ids.long().masked_fill_(~real, self.pad_id),
            "attention_mask": real.long(),
            "maskable": real & ~torch.isin(ids, self.special),
            "text_id": self.text_ids[rows],
        }
        if self.types is not None:
            batch["token_type_ids"] = self.types[where].long().masked_fill_(~real, 0)
        if self.labels is not None:
            batch["label"] = self.labels[rows]
        if self.whole_words:
            batch["words"] = word_starts(batch["input_ids"], self.continues)
        return batch

    @cached_property
    def continues(self) -> Tensor:
        """Which ids of the vocabulary continue a word, bool [V]."""
        return continues_word(self.tokenizer)

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where the token ids, their order or the labels do."""
        parts = [self.ids, self.lengths]
        if self.labels is not None:
            parts.append(self.labels)
        # 0 for batches as they usually are.
        start = 2 * (self.pad_to_multiple_of - 1) + self.whole_words
        return f"{reduce(lambda crc, part: crc32(part.numpy(), crc), parts, start):08x}"


class Paraphrased(Texts):
    """`Texts` whose batches also hold each text's paraphrases: what `CSSL` contrasts.

    The rows have, besides each text column, columns with the same text in other words: `sentence/0` and `sentence/1`
    beside `sentence` (`data.paraphrase.reworded` adds them). A batch is that of `Texts`, made from the original, and
    for paraphrase k the keys `Tk/input_ids`, `Tk/attention_mask`, `Tk/maskable` (and `Tk/token_type_ids`), [B, T_k]
    each. `text_id`, `label` and the lengths that batches are sorted by are the original's.

    Raises what `Texts` raises, and `ValueError` where there is no column with a paraphrase.

    >>> from contrast_kit.data import Paraphrased, train_tokenizer
    >>> rows = [{"text": "a red ball", "text/0": "a ball that is red", "text/1": "a scarlet ball"}]
    >>> texts = Paraphrased(rows, train_tokenizer(list(rows[0].values()), vocab_size=60))
    >>> batch = texts.batch([0])
    >>> [tuple(batch[key].shape) for key in ("input_ids", "T0/input_ids", "T1/input_ids")]
    [(1, 5), (1, 7), (1, 5)]

    The columns may hold an anchor, a positive and a hard negative as well: `CSSL` reads the first two only, and an
    objective with "T2" among its views also the third, as a candidate of every anchor.

    >>> import torch
    >>> from torch.nn import functional as F
    >>> import contrast_kit as ck
    >>> class Triplets(ck.objectives.CSSL):
    ...     def views(self, batch, generator=None):
    ...         third = {key[3:]: x for key, x in batch.items() if key.startswith("T2/")}
    ...         return {**super().views(batch, generator), "T2": third}
    ...     def contrast(self, vectors, facts):
    ...         anchor, *others = (F.normalize(vectors[name]["h"]) for name in ("T0", "T1", "T2"))  # [B, D] each
    ...         scores = anchor @ torch.cat(others).T / self.config.tau  # [B, 2B]
    ...         return {"contrast": F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))}
    >>> triple = ("a red ball", "a ball that is red", "a blue ball")  # anchor, positive, hard negative
    >>> rows = [{"text": triple[0]} | {f"text/{k}": text for k, text in enumerate(triple)}] * 4
    >>> tokenizer = train_tokenizer(triple, vocab_size=60)
    >>> objective = Triplets(ck.Encoder.tiny(tokenizer), tau=0.05)
    >>> ck.fit(objective, Paraphrased(rows, tokenizer), steps=2, chunk_size=2, progress=False).steps
    2
    """

    def __init__(
        self,
        rows: Any,
        tokenizer: Any,
        columns: str | Sequence[str] | None = None,
        max_length: int | None = None,
        *,
        label: str = "label",
    ) -> None:
        super().__init__(rows, tokenizer, columns, max_length, label=label)
        names = set(column_names(rows))
        self.wordings: list[Texts] = []
        for k in count():
            columns = tuple(WORDING.format(column=name, k=k) for name in self.columns)
            if not names.issuperset(columns):
                break
            self.wordings.append(Texts(rows, tokenizer, columns, max_length, label=label))
        if not self.wordings:
            raise ValueError(
                f"There is no column {columns[0]!r} with a paraphrase of each text: make it with "
                "data.paraphrase.reworded(rows, paraphraser)."
            )

    @classmethod
    def of_pairs(
        cls,
        pairs: Sequence[tuple[str, str]],
        tokenizer: Any,
        max_length: int | None = None,
    ) -> Paraphrased:
        """Pairs of texts that say the same: each is a text with itself and the other as its two wordings.

        Pairs that share a wording, themselves or by way of other pairs, mean the same and have one `text_id`.

        >>> from contrast_kit.data import Paraphrased, toyshop, train_tokenizer
        >>> pairs = toyshop.probe_pairs(5)
        >>> len(Paraphrased.of_pairs(pairs, train_tokenizer(sum(pairs, ()), vocab_size=99)))
        5
        """
        rows = [
            {"text": first, "text/0": first, "text/1": second} for first, second in pairs
        ]
        texts = cls(rows, tokenizer, "text", max_length)
        texts.text_ids = _meanings(pairs)
        return texts

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The rows `indices` as one batch: the originals' entries, and those of each paraphrase by its name."""
        indices = list(indices)
        batch = super().batch(indices)
        for k, texts in enumerate(self.wordings):
            wording = texts.batch(indices)
            for key in ("input_ids", "attention_mask", "maskable", "token_type_ids"):
                if key in wording:
                    batch[f"T{k}/{key}"] = wording[key]
        return batch

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where a text, a paraphrase, their order or a label does."""
        parts = [super().fingerprint(), *(texts.fingerprint() for texts in self.wordings)]
        return f"{reduce(lambda all_, part: (all_ * 31 + int(part, 16)) % 2**32, parts, 0):08x}"


def _meanings(pairs: Sequence[tuple[str, str]]) -> Tensor:
    """A number for each pair, [N]: the same for all pairs that are linked by wordings they share."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {text: n for n, text in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}
    first, second = ([number[pair[k]] for pair in pairs] for k in (0, 1))  # [N] each
    links = coo_array(
        (np.ones(len(pairs)), (first, second)), shape=(len(number), len(number))
    )
    _, meaning = connected_components(links, directed=False)  # of each wording
    return torch.from_numpy(meaning[first]).long()


def collate(
    examples: Sequence[Mapping[str, Any]], pad_to_multiple_of: int = 1
) -> dict[str, Tensor]:
    """Join examples of `Texts` to one batch (see the top of this file), padded to the longest of them, or further.

    An example carries its `pad_id`, so that the padding is always the tokenizer's own: RoBERTa derives
    positions from it. Fits `torch.utils.data.DataLoader(texts, collate_fn=collate)`.

    >>> import torch
    >>> from contrast_kit.data import collate
    >>> one = {"input_ids": torch.tensor([2, 7, 8, 3]), "text_id": 0, "pad_id": 0}
    >>> two = {"input_ids": torch.tensor([2, 9, 3]), "text_id": 1, "pad_id": 0}
    >>> examples = [{**row, "maskable": row["input_ids"] > 4} for row in (one, two)]
    >>> collate(examples)["input_ids"].tolist()
    [[2, 7, 8, 3], [2, 9, 3, 0]]
    """
    rows = {key: [example[key] for example in examples] for key in examples[0]}
    ones = [torch.ones_like(ids) for ids in rows["input_ids"]]
    more = -max(map(len, ones)) % pad_to_multiple_of

    def padded(rows: list[Tensor], value: int = 0) -> Tensor:
        together = pad_sequence(rows, True, padding_value=value)  # [B, longest]
        return torch.nn.functional.pad(together, (0, more), value=value)  # [B, T]

    batch = {
        "input_ids": padded(rows["input_ids"], examples[0]["pad_id"]),
        "attention_mask": padded(ones),
        "maskable": padded(rows["maskable"]),
        "text_id": torch.tensor(rows["text_id"]),  # [B]
    }
    if "token_type_ids" in rows:
        batch["token_type_ids"] = padded(rows["token_type_ids"])
    if "label" in rows:
        batch["label"] = torch.tensor(rows["label"])  # [B]
    return batch


def numbered(keys: Iterable[Hashable]) -> list[int]:
    """A number for each key, 0, 1, …: equal keys have one."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def tokenize(
    tokenizer: Any, columns: Sequence[list[str]], max_length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts (one column) or pairs (two), cut to `max_length`: ids and token types in one row, and lengths [N].

    There are no token types where the tokenizer makes none.
    """
    options = dict(truncation=True, max_length=max_length, return_attention_mask=False)
    encoded = tokenizer(*columns, **options)
    lengths = np.fromiter(map(len, encoded["input_ids"]), np.int64)
    ids = np.fromiter(chain.from_iterable(encoded["input_ids"]), np.int32)
    types = np.fromiter(chain.from_iterable(encoded.get("token_type_ids", ())), np.uint8)
    return ids, types, lengths


def strings(values: list, name: str, start: int = 0) -> list[str]:
    """The values of a column, from row `start` on; an error names the first that is not text."""
    for row, value in enumerate(values, start):
        if not isinstance(value, str):
            raise TypeError(
                f"Row {row} of column {name!r} is {type(value).__name__}, not text."
            )
    return values


def frame_of(tokenizer: Any) -> tuple[int, int]:
    """How many special tokens the tokenizer puts before a text and after it: (1, 1) for [CLS] … [SEP]."""
    # 1: put there; 0: of the text
    special = tokenizer("a", return_special_tokens_mask=True)["special_tokens_mask"]
    return special.index(0), special[::-1].index(0)


def special_ids(tokenizer: Any) -> list[int]:
    """Give the ids that no masking may touch. `[UNK]` is not among them: it stands for a real word."""
    names = ("cls", "sep", "bos", "eos", "pad", "mask")
    frame = {getattr(tokenizer, f"{name}_token_id") for name in names}
    others = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return sorted((frame | others) - {None})
