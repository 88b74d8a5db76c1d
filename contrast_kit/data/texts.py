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

Nothing here needs the `datasets` library: a list of strings is enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from contrast_kit import arguments
from contrast_kit.data.rows import (
    as_rows,
    chunks,
    column_names,
    given_columns,
    label_tensor,
    no_column,
    text_columns,
)
from contrast_kit.data.tokenizers import check_is_tokenizer
from contrast_kit.data.tokens import TokenCache, tokenize
from contrast_kit.data.utf8 import is_unicode

CACHED_FROM = 50_000
"""Rows from which tokens are also kept on the disk (`tokens.TokenCache`): tokenizing fewer takes a few seconds."""


class Texts:
    """Texts as token ids, tokenized once and kept in flat arrays: 5 bytes a token (6 with `token_type_ids`).

    `rows` is a `datasets.Dataset` (one split), a list of dicts, or a list of strings. The columns that hold
    the text are found by name (see `rows.TEXT_COLUMNS`) or given as `columns`: one name, or two for pairs, which
    the tokenizer joins as `[CLS] A [SEP] B [SEP]`. Each text is cut to `max_length` tokens, special tokens
    included (by default 128, or what the tokenizer's model takes; of a pair, the longer text is cut first). A column
    `label` (or the one named by `label`) is kept; class numbers become long, scores float32, and a missing label
    (`None`) becomes -1, the hub's mark for "unlabeled". Only texts that are equal to the letter share a `text_id`: "A
    kite" and "a kite" do not, though their tokens may be equal.

    `texts[i]` is one example, a dict for `collate`; `texts.batch(indices)` a whole batch; `texts.lengths` the
    tokens of each; `texts.labels` all labels or `None`; `texts.label_names` the names of the classes or
    `None`.

    Raises `TypeError` for rows of another kind and `ValueError` for no rows, a column that is not there, or a
    row without a single token of text. `Batches` is its companion: it says which rows make a batch. `Stream` is for
    text larger than memory, and for a source that can only be walked through.

    From 50,000 rows on, tokens are kept on the disk and found there the next time (`tokens.TokenCache`).

    >>> from contrast_kit.data import Texts, train_tokenizer
    >>> lines = ["a red ball", "a small red box", "a red ball"]
    >>> texts = Texts(lines, train_tokenizer(lines, vocab_size=60))
    >>> len(texts), texts.text_ids.tolist()
    (3, [0, 1, 0])
    >>> texts.batch([0, 1])["attention_mask"].sum(1).tolist()  # [CLS] + words + [SEP]
    [5, 6]
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
        arguments.string("label", label, "the column of the labels")
        rows = as_rows(rows)
        names = column_names(rows)
        if label not in names and not hasattr(rows, "column_names") and any(label in row for row in rows):
            rows, names = [{label: None, **row} for row in rows], [*names, label]  # the first row may be unlabelled
        self.columns = given_columns(columns) or text_columns(names)
        max_length = usual_length(tokenizer, max_length)
        check_columns(names, self.columns, tokenizer, max_length)
        self.tokenizer, self.pad_id = tokenizer, int(tokenizer.pad_token_id)
        self.label_names: list[str] | None = getattr(getattr(rows, "features", {}).get(label), "names", None)

        cache = TokenCache(tokenizer, max_length) if len(rows) >= CACHED_FROM else None
        seen: dict[tuple[str, ...], int] = {}
        ids, types, lengths, text_ids, labels = [], [], [], [], []
        for start, chunk in chunks(rows, (*self.columns, label) if label in names else self.columns):
            columns_of_text = [strings(chunk[name], name, start) for name in self.columns]
            tokens = cache.tokens(columns_of_text) if cache else tokenize(tokenizer, columns_of_text, max_length)
            lengths.append(tokens.lengths)
            ids.append(tokens.ids)
            if tokens.types is not None:
                types.append(tokens.types)
            text_ids.extend(seen.setdefault(key, len(seen)) for key in zip(*columns_of_text, strict=True))
            labels.extend(chunk.get(label, ()))

        self.ids = torch.from_numpy(np.concatenate(ids))  # [tokens of all texts]
        self.types = torch.from_numpy(np.concatenate(types)) if types else None
        self.lengths = torch.from_numpy(np.concatenate(lengths))  # [N]
        self.starts = self.lengths.cumsum(0) - self.lengths  # [N]
        self.maskable = ~torch.isin(self.ids, torch.tensor(special_ids(tokenizer), dtype=torch.int32))
        self.text_ids = torch.tensor(text_ids)  # [N]
        self.labels = label_tensor(labels)  # [N] or None
        self.highest = int(self.ids.max())
        self._check_all_have_text()

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        index = arguments.place(index, len(self), "text")
        start = int(self.starts[index])
        cut = slice(start, start + int(self.lengths[index]))
        example = {
            "input_ids": self.ids[cut].long(),  # [T]
            "maskable": self.maskable[cut],
            "text_id": int(self.text_ids[index]),
            "pad_id": self.pad_id,
        }
        if self.types is not None:
            example["token_type_ids"] = self.types[cut].long()
        if self.labels is not None:
            example["label"] = self.labels[index].item()
        return example

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """Give the rows `indices` as one padded batch, the same as `collate([texts[i] for i in indices])`."""
        return collate([self[i] for i in arguments.listed("indices", indices, "row numbers")])

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where the token ids, their order or the labels do."""
        parts = (self.ids, self.lengths, *(() if self.labels is None else (self.labels,)))
        return f"{reduce(lambda crc, part: crc32(part.numpy(), crc), parts, 0):08x}"

    def _check_all_have_text(self) -> None:
        row_of_token = torch.repeat_interleave(torch.arange(len(self)), self.lengths)
        words = torch.zeros(len(self), dtype=torch.long).index_add_(0, row_of_token, self.maskable.long())
        empty = (words == 0).nonzero().flatten().tolist()
        if empty:
            others = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
            raise ValueError(
                f"Row {empty[0]}{others} has no token of text in {' + '.join(self.columns)}; "
                "leave such rows out first, for example with dataset.filter."
            )


def collate(examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
    """Join examples of `Texts` to one batch (see the top of this file), padded to the longest of them.

    An example carries its `pad_id`, so that the padding is always the tokenizer's own: RoBERTa derives
    positions from it. Fits `torch.utils.data.DataLoader(texts, collate_fn=collate)`. Raises `ValueError` for
    no examples.

    >>> import torch
    >>> from contrast_kit.data import collate
    >>> one = {"input_ids": torch.tensor([2, 7, 8, 3]), "text_id": 0, "pad_id": 0}
    >>> two = {"input_ids": torch.tensor([2, 9, 3]), "text_id": 1, "pad_id": 0}
    >>> examples = [{**row, "maskable": row["input_ids"] > 4} for row in (one, two)]
    >>> collate(examples)["input_ids"].tolist()
    [[2, 7, 8, 3], [2, 9, 3, 0]]
    """
    examples = arguments.listed("examples", examples, "dicts, such as texts[0]")
    if not examples:
        raise ValueError("A batch needs at least one example.")
    if not all(map(_is_example, examples)):
        raise TypeError("Examples must be dicts with input_ids, maskable and text_id, such as texts[0] of Texts.")
    ids = [example["input_ids"] for example in examples]
    batch = {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=examples[0]["pad_id"]),  # [B, T]
        "attention_mask": pad_sequence([torch.ones_like(row) for row in ids], batch_first=True),  # [B, T]
        "maskable": pad_sequence([example["maskable"] for example in examples], batch_first=True),  # [B, T]
        "text_id": torch.tensor([example["text_id"] for example in examples]),  # [B]
    }
    if "token_type_ids" in examples[0]:
        batch["token_type_ids"] = pad_sequence([e["token_type_ids"] for e in examples], batch_first=True)  # [B, T]
    if "label" in examples[0]:
        batch["label"] = torch.tensor([example["label"] for example in examples])  # [B]
    return batch


def _is_example(one: Any) -> bool:
    if not isinstance(one, Mapping) or not {"input_ids", "maskable", "text_id"} <= one.keys():
        return False
    return isinstance(one["input_ids"], Tensor) and one["input_ids"].dim() == 1


def check_columns(names: Sequence[str], columns: Sequence[str], tokenizer: Any, max_length: int) -> None:
    """Refuse columns that are not there, and a length or a tokenizer with which no text can be made."""
    missing = [name for name in columns if name not in names]
    if missing:
        raise no_column(missing[0], names)
    if len(columns) > 2:
        raise ValueError(f"A text has one column, a pair two; {len(columns)} columns were given.")
    if tokenizer.pad_token_id is None:
        raise ValueError("This tokenizer has no padding token; set tokenizer.pad_token first.")
    special = tokenizer.num_special_tokens_to_add(pair=len(columns) == 2)
    if max_length <= special:
        raise ValueError(f"max_length={max_length} leaves no room for text beside {special} special tokens.")
    if max_length > tokenizer.model_max_length:
        raise ValueError(f"max_length={max_length} is above this tokenizer's limit of {tokenizer.model_max_length}.")


def usual_length(tokenizer: Any, max_length: int | None) -> int:
    """The length asked for; by default 128 tokens, or fewer where the tokenizer's model takes fewer."""
    check_is_tokenizer(tokenizer)
    if max_length is not None:
        arguments.length(max_length)
    return min(128, tokenizer.model_max_length) if max_length is None else max_length


def strings(values: list, name: str, start: int) -> list[str]:
    """The values of a column, from row `start` on; an error names the first that is not text, or not whole."""
    for at, value in enumerate(values, start):
        if not isinstance(value, str):
            raise TypeError(f"Row {at} of column {name!r} is {type(value).__name__}, not text.")
    if not is_unicode("".join(values)):
        at = next(at for at, value in enumerate(values, start) if not is_unicode(value))
        raise ValueError(
            f"Row {at} of column {name!r} has half a character, such as the first part of an emoji: write it whole, or "
            "leave it out."
        )
    return values


def frame_of(tokenizer: Any) -> tuple[int, int]:
    """How many special tokens the tokenizer puts before a text and after it: (1, 1) for [CLS] … [SEP]."""
    special = tokenizer("a", return_special_tokens_mask=True)["special_tokens_mask"]  # 1: put there; 0: of the text
    return special.index(0), special[::-1].index(0)


def special_ids(tokenizer: Any) -> list[int]:
    """Give the ids that no masking may touch. `[UNK]` is not among them: it stands for a real word."""
    frame = {tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id}
    frame |= {tokenizer.pad_token_id, tokenizer.mask_token_id}
    others = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return sorted((frame | others) - {None})
