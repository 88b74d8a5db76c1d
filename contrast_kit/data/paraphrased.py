"""Texts with other wordings of themselves in the same batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from torch import Tensor

from contrast_kit import arguments
from contrast_kit.data.rows import column_names
from contrast_kit.data.texts import Texts

WORDING = "{column}/{k}"
"""The column that holds wording k of a text column: "sentence/0", "sentence/1"."""

_KEPT = ("input_ids", "attention_mask", "maskable", "token_type_ids")


class Paraphrased(Texts):
    """`Texts` whose batches also hold each text's paraphrases: what `CSSL` contrasts.

    The rows have, besides each text column, columns with the same text in other words: `sentence/0` and `sentence/1`
    beside `sentence` (`paraphrase.reworded` adds them). A batch is that of `Texts`, made from the original, and for
    paraphrase k the keys `Tk/input_ids`, `Tk/attention_mask`, `Tk/maskable` (and `Tk/token_type_ids`), [B, T_k] each.
    `text_id`, `label` and the lengths that batches are sorted by are the original's.

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
        names = column_names(rows)
        self.wordings: list[Texts] = []
        while set(wording := _names(self.columns, len(self.wordings))) <= set(names):
            self.wordings.append(Texts(rows, tokenizer, wording, max_length, label=label))
        if not self.wordings:
            raise ValueError(
                f"There is no column {_names(self.columns, 0)[0]!r} with a paraphrase of each text: make it with "
                "paraphrase.reworded(rows, paraphraser)."
            )

    @classmethod
    def of_pairs(cls, pairs: Sequence[tuple[str, str]], tokenizer: Any, max_length: int | None = None) -> Paraphrased:
        """Pairs of texts that say the same: each is a text with itself and the other as its two wordings.

        >>> from contrast_kit.data import Paraphrased, toyshop, train_tokenizer
        >>> pairs = toyshop.probe_pairs(5)
        >>> len(Paraphrased.of_pairs(pairs, train_tokenizer(sum(pairs, ()), vocab_size=99)))
        5
        """
        rows = [{"text": one, "text/0": one, "text/1": other} for one, other in arguments.text_pairs("pairs", pairs)]
        return cls(rows, tokenizer, "text", max_length)

    def batch(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """The rows `indices` as one batch: the originals' entries, and those of each paraphrase by its name."""
        indices = arguments.listed("indices", indices, "row numbers")
        batch = super().batch(indices)
        for k, texts in enumerate(self.wordings):
            again = texts.batch(indices)
            batch |= {f"T{k}/{key}": again[key] for key in _KEPT if key in again}
        return batch

    def fingerprint(self) -> str:
        """Eight hexadecimal digits that differ where a text, a paraphrase, their order or a label does."""
        parts = [super().fingerprint(), *(texts.fingerprint() for texts in self.wordings)]
        return f"{reduce(lambda all_, part: (all_ * 31 + int(part, 16)) % 2**32, parts, 0):08x}"


def _names(columns: Sequence[str], k: int) -> tuple[str, ...]:
    return tuple(WORDING.format(column=column, k=k) for column in columns)
