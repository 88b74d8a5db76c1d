"""SQuAD's paragraphs as windows: a long paragraph becomes several inputs, and an answer two places in each.

A row has `id`, `question`, `context` and `answers`, `{"text": […], "answer_start": […]}` as on the hub. No answer at
all means that the question cannot be answered (SQuAD 2.0). Several answers are several people's; training takes the
first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from numbers import Integral
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from contrast_kit import arguments, checks
from contrast_kit.data.rows import as_rows, column_names
from contrast_kit.data.texts import Texts, special_ids

COLUMNS = ("id", "question", "context", "answers")


class Windows(Texts):
    """Questions with windows of their paragraphs, `[CLS] question [SEP] window [SEP]`, as `fit` and `Span` read them.

    Args:
        rows: with the columns above; of `data.load("toyshop/squad")`, a SQuAD json file, the hub's `squad_v2`. Answers
            may also be a list of dicts, as SQuAD's own files have them.
        tokenizer: a fast one: the places of an answer come from its character offsets.
        max_length: tokens of a window, question and special tokens included. COCO-LM, table 8: 512.
        stride: tokens that two consecutive windows share. Not printed; 128 is usual.
        max_question: tokens at which a question is cut. Not printed; 64 is usual.

    Attributes (N windows):
        rows: the rows. row_of: the row of each window, [N].
        start, end: the answer's first and last token in each window, [N]; both 0, the [CLS], where the window does not
            hold the whole answer, or there is none.
        offsets: of each token, where its characters are in the context, [tokens, 2].
        answerable: whether an answer may start or end there: the context's tokens, and [CLS], [tokens].

    Raises:
        ValueError: for a column that is not there, a question that is no text, an answer that is not where
            `answer_start` says, a slow tokenizer, or a stride that leaves a window no new token.

    Example:
        >>> import contrast_kit as ck
        >>> row = {"id": "1", "question": "who bought it", "context": "on monday clara bought a kite"}
        >>> row["answers"] = {"text": ["clara"], "answer_start": [10]}
        >>> tokenizer = ck.data.train_tokenizer([row["question"], row["context"]] * 9, vocab_size=90)
        >>> windows = Windows([row], tokenizer)
        >>> windows.answer(0, int(windows.start[0]), int(windows.end[0]))
        'clara'
    """

    def __init__(self, rows: Any, tokenizer: Any, max_length: int = 384, *, stride: int = 128, max_question: int = 64):
        self.rows = _checked(as_rows(rows), tokenizer)
        for name, value in (("max_length", max_length), ("max_question", max_question)):
            checks.count(name, value, "a number of tokens")
        checks.count("stride", stride, "a number of tokens", least=0)
        questions = [_cut(row["question"].lstrip(), tokenizer, max_question) for row in self.rows]
        special = tokenizer.num_special_tokens_to_add(pair=True)
        longest = max(len(tokenizer(question, add_special_tokens=False)["input_ids"]) for question in set(questions))
        if max_length - special - longest <= stride:
            raise ValueError(
                f"With max_length={max_length}, a question of {longest} tokens and stride={stride} a window has no new "
                "token: take a larger max_length, or a smaller stride or max_question."
            )
        encoded = tokenizer(
            questions,
            [row["context"] for row in self.rows],
            truncation="only_second",
            max_length=max_length,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_token_type_ids="token_type_ids" in tokenizer.model_input_names,
            verbose=False,
        )
        self.pad_id, self.label_names, self.labels, self.columns = tokenizer.pad_token_id, None, None, COLUMNS[1:3]
        self.row_of = torch.tensor(encoded["overflow_to_sample_mapping"])  # [N]
        ids = encoded["input_ids"]
        self.lengths = torch.tensor([len(row) for row in ids])  # [N]
        self.starts = self.lengths.cumsum(0) - self.lengths  # [N]
        self.ids = torch.tensor(np.concatenate(ids), dtype=torch.int32)  # [tokens]
        self.tokenizer, self.highest = tokenizer, int(self.ids.max())
        types = encoded.get("token_type_ids")
        self.types = torch.tensor(np.concatenate(types), dtype=torch.uint8) if types is not None else None
        self.offsets = torch.tensor(np.concatenate(encoded["offset_mapping"]), dtype=torch.int32)  # [tokens, 2]
        sequences = [encoded.sequence_ids(i) for i in range(len(ids))]
        of_context = np.concatenate([[part == 1 for part in one] for one in sequences])  # [tokens]
        self.answerable = torch.from_numpy(of_context)
        self.answerable[self.starts] = True  # [CLS]: no answer
        self.maskable = ~torch.isin(self.ids, torch.tensor(special_ids(tokenizer), dtype=torch.int32))
        known: dict[tuple[str, str], int] = {}
        keys = [known.setdefault((q, r["context"]), len(known)) for q, r in zip(questions, self.rows, strict=True)]
        self.text_ids = torch.tensor(keys)[self.row_of]  # [N]
        places = [self._places(i) for i in range(len(ids))]
        self.start, self.end = torch.tensor(places).T.contiguous()  # [N] each

    def _places(self, window: int) -> tuple[int, int]:
        """The first and last token of the row's first answer; (0, 0) where they are not both in this window."""
        answers = self.rows[int(self.row_of[window])]["answers"]
        if not answers["text"]:
            return 0, 0
        text = answers["text"][0]
        first = answers["answer_start"][0] + len(text) - len(text.lstrip())
        last = first + len(text.strip())
        cut = slice(int(self.starts[window]), int(self.starts[window] + self.lengths[window]))
        inside, (begins, ends) = self.answerable[cut].clone(), self.offsets[cut].T  # [T] each
        inside[0] = False
        touched = (inside & (begins < last) & (ends > first)).nonzero().flatten()
        if not len(touched) or begins[touched[0]] > first or ends[touched[-1]] < last:
            return 0, 0
        return int(touched[0]), int(touched[-1])

    def answer(self, window: int, start: int, end: int) -> str:
        """The context's characters from token `start` to token `end` of a window; "" for [CLS]."""
        if start == 0 or end == 0:
            return ""
        first, context = int(self.starts[window]), self.rows[int(self.row_of[window])]["context"]
        cut = slice(int(self.offsets[first + start, 0]), int(self.offsets[first + end, 1]))
        return context[cut].strip()  # to some tokenizers the space before a word is a part of it

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """Windows as one padded batch: the keys of `Texts`, and `start`, `end` [B], `answerable` [B, T]."""
        at = [slice(int(self.starts[i]), int(self.starts[i] + self.lengths[i])) for i in indices]
        chosen = torch.as_tensor(list(indices))
        answerable = pad_sequence([self.answerable[cut] for cut in at], batch_first=True)  # [B, T]
        return super().batch(indices) | {
            "start": self.start[chosen],
            "end": self.end[chosen],
            "answerable": answerable,
        }

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where the token ids, their order or the answers do."""
        places = np.concatenate([self.start.numpy(), self.end.numpy()])
        return f"{crc32(places, int(super().fingerprint(), 16)):08x}"


def in_lists(answers: Any) -> Any:
    """Answers as the hub has them, a list of texts and one of starts, from the list of dicts of SQuAD's own files."""
    names = ("text", "answer_start")
    if isinstance(answers, list) and all(isinstance(one, Mapping) and one.keys() >= set(names) for one in answers):
        return {name: [one[name] for one in answers] for name in names}
    return answers


def _checked(rows: Any, tokenizer: Any) -> list[dict[str, Any]]:
    """The rows as dicts, their answers in two lists; refuses what cannot be read."""
    lacking = [name for name in COLUMNS if name not in column_names(rows)]
    if lacking:
        raise ValueError(f"SQuAD's rows have the columns {', '.join(COLUMNS)}, and {lacking[0]!r} is not there.")
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError("Answers are found by character offsets, which only fast tokenizers give.")
    rows = [dict(row) | {"answers": in_lists(row["answers"])} for row in rows]
    for number, row in enumerate(rows):
        for name in ("question", "context"):
            if not isinstance(row[name], str):
                raise ValueError(f"Row {number}: its {name} is {row[name]!r:.60}, not text.")
        answers = row["answers"]
        if not isinstance(answers, Mapping) or not {"text", "answer_start"} <= answers.keys():
            raise ValueError(
                f"Row {number}: its answers are {answers!r:.60}, not texts and their starts; no answer is written []."
            )
        texts, starts = (arguments.listed(f"answers of row {number}", answers[n], n) for n in ("text", "answer_start"))
        for text, start in zip_longest(texts, starts):
            whole = isinstance(text, str) and isinstance(start, Integral) and text
            if not whole or start < 0 or row["context"][start : start + len(text)] != text:
                raise ValueError(f"Row {number}: the answer {text!r} is not at character {start} of its context.")
        row["answers"] = {"text": texts, "answer_start": starts}
    return rows


def _cut(question: str, tokenizer: Any, most: int) -> str:
    """A question cut to at most `most` tokens."""
    offsets = tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return question if len(offsets) <= most else question[: offsets[most - 1][1]]
