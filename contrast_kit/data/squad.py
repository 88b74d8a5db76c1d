"""SQuAD's paragraphs as windows: a long paragraph becomes several inputs, and an answer two places in each.

A row has `id`, `question`, `context` and `answers`, `{"text": […], "answer_start": […]}` as on the hub. No answer at
all means that the question cannot be answered (SQuAD 2.0). Several answers are several people's; training takes the
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from contrast_kit.data.rows import as_rows
from contrast_kit.data.texts import Texts, numbered


class Windows(Texts):
    """Questions with windows of their paragraphs, `[CLS] question [SEP] window [SEP]`, as `fit` and `Span` read them.

    Args:
        rows: with the columns above; of `data.load("toyshop/squad")`, a SQuAD json file, the hub's `squad_v2`.
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
        ValueError: for an answer that is not where `answer_start` says.

    Example:
        >>> import contrast_kit as ck
        >>> row = {"id": "1", "question": "who bought it", "context": "on monday clara bought a kite"}
        >>> row["answers"] = {"text": ["clara"], "answer_start": [10]}
        >>> tokenizer = ck.data.train_tokenizer([row["question"], row["context"]] * 9, vocab_size=90)
        >>> windows = Windows([row], tokenizer)
        >>> windows.answer(0, int(windows.start[0]), int(windows.end[0]))
        'clara'
    """

    def __init__(
        self,
        rows: Any,
        tokenizer: Any,
        max_length: int = 384,
        *,
        stride: int = 128,
        max_question: int = 64,
    ):
        self.rows = list(map(dict, as_rows(rows)))
        self.columns, self.labels, self.label_names = ("question", "context"), None, None
        self.set_tokenizer(tokenizer, max_length)
        questions = [
            _cut(row["question"].lstrip(), tokenizer, max_question) for row in self.rows
        ]
        contexts = [row["context"] for row in self.rows]
        encoded = tokenizer(
            questions,
            contexts,
            truncation="only_second",
            max_length=max_length,
            stride=stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_token_type_ids="token_type_ids" in tokenizer.model_input_names,
        )
        ids = encoded["input_ids"]
        types = np.concatenate(encoded.get("token_type_ids", [[]])).astype(np.uint8)
        lengths = np.array([len(window) for window in ids])
        self.set_tokens(np.concatenate(ids).astype(np.int32), types, lengths)
        self.row_of = torch.tensor(encoded["overflow_to_sample_mapping"])  # [N]
        offsets = np.concatenate(encoded["offset_mapping"])
        self.offsets = torch.tensor(offsets, dtype=torch.int32)  # [tokens, 2]
        parts = [
            part for window in range(len(ids)) for part in encoded.sequence_ids(window)
        ]
        # [tokens]: those of the context, and [CLS], which means no answer
        self.answerable = torch.tensor([part == 1 for part in parts])
        self.answerable[self.starts] = True
        keys = numbered(zip(questions, contexts, strict=True))
        self.text_ids = torch.tensor(keys)[self.row_of]  # [N]
        for number, row in enumerate(self.rows):
            answers = row["answers"]
            for text, start in zip(answers["text"], answers["answer_start"], strict=True):
                if start < 0 or not text or not row["context"].startswith(text, start):
                    raise ValueError(
                        f"Row {number}: the answer {text!r} is not at character {start} of its context."
                    )
        places = [self._places(window) for window in range(len(ids))]
        self.start, self.end = torch.tensor(places).T.contiguous()  # [N] each

    def _tokens(self, window: int) -> slice:
        start = int(self.starts[window])
        return slice(start, start + int(self.lengths[window]))

    def _places(self, window: int) -> tuple[int, int]:
        """The first and last token of the row's first answer; (0, 0) where they are not both in this window."""
        answers = self.rows[int(self.row_of[window])]["answers"]
        if not answers["text"]:
            return 0, 0
        text = answers["text"][0]
        first = answers["answer_start"][0] + len(text) - len(text.lstrip())
        last = first + len(text.strip())
        tokens = self._tokens(window)
        # [T] each
        inside, (begins, ends) = (self.answerable[tokens].clone(), self.offsets[tokens].T)
        inside[0] = False
        touched = (inside & (begins < last) & (ends > first)).nonzero().flatten()
        if not len(touched) or begins[touched[0]] > first or ends[touched[-1]] < last:
            return 0, 0
        return int(touched[0]), int(touched[-1])

    def answer(self, window: int, start: int, end: int) -> str:
        """The context's characters from token `start` to token `end` of a window; "" for [CLS]."""
        if start == 0 or end == 0:
            return ""
        offsets = self.offsets[self._tokens(window)]
        context = self.rows[int(self.row_of[window])]["context"]
        # to some tokenizers the space before a word is a part of it
        return context[offsets[start, 0] : offsets[end, 1]].strip()

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """Windows as one padded batch: the keys of `Texts`, and `start`, `end` [B], `answerable` [B, T]."""
        indices = list(indices)
        answerable = [self.answerable[self._tokens(window)] for window in indices]
        return super().batch(indices) | {
            "start": self.start[indices],
            "end": self.end[indices],
            "answerable": pad_sequence(answerable, batch_first=True),  # [B, T]
        }

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where the token ids, their order or the answers do."""
        places = np.concatenate([self.start.numpy(), self.end.numpy()])
        return f"{crc32(places, int(super().fingerprint(), 16)):08x}"


def _cut(question: str, tokenizer: Any, most: int) -> str:
    """A question cut to at most `most` tokens."""
    encoded = tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)
    ends = [end for _, end in encoded["offset_mapping"]]
    return question[: ends[most - 1]] if len(ends) > most else question
