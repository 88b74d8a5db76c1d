"""Whatever a user trains on, as `Texts` for an encoder."""

from __future__ import annotations

from typing import Any

from contrast_kit import checks
from contrast_kit.data.lines import is_source
from contrast_kit.data.rows import TEXT_COLUMNS, as_rows, column_names
from contrast_kit.data.streams import Stream
from contrast_kit.data.texts import Texts


def prepare_texts(encoder: Any, dataset: Any, max_length: int) -> Texts:
    """The data as `Texts` that this encoder can read; ready `Texts` are checked and returned as they are.

    A path, a generator, or another source that can only be walked through becomes a `Stream`.
    """
    if is_source(dataset):
        return Stream(dataset, encoder.tokenizer, max_length=min(max_length, encoder.max_length))
    if not isinstance(dataset, Texts):
        return Texts(with_text(dataset), encoder.tokenizer, max_length=min(max_length, encoder.max_length))
    every = [dataset, *getattr(dataset, "wordings", ())]
    longest = max(int(texts.lengths.max()) for texts in every)
    highest = max(texts.highest for texts in every)
    given = "rows, encoder.tokenizer" + (", pictures" if hasattr(dataset, "pictures") else "")
    if longest > encoder.max_length:
        raise ValueError(
            f"The longest of these Texts has {longest} tokens, but the encoder takes {encoder.max_length}: make "
            f"them with {type(dataset).__name__}({given}, max_length={encoder.max_length})."
        )
    theirs, ours = getattr(dataset, "tokenizer", None), encoder.tokenizer
    same = theirs is None or theirs is ours or theirs.get_vocab() == ours.get_vocab()
    if highest >= len(ours) or dataset.pad_id != ours.pad_token_id or not same:
        raise ValueError(
            f"These Texts were made with another tokenizer than the encoder's: use {type(dataset).__name__}({given})."
        )
    return dataset


def with_text(rows: Any) -> Any:
    """Rows whose text is in a known column; otherwise a `ValueError` that says how to make them `Texts`."""
    rows = as_rows(rows)
    names = column_names(rows)
    if not any(set(wanted) <= set(names) for wanted in TEXT_COLUMNS):
        likely = next((name for name in names if isinstance(rows[0].get(name), str)), "name")
        raise ValueError(
            f"Cannot tell which column holds the text among {checks.shown(names)}: train on "
            f"Texts(rows, encoder.tokenizer, columns={likely!r})."
        )
    return rows
