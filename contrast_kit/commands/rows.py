"""The rows that `train` reads: the split, the columns and the share of the data that were asked for."""

import argparse
from typing import Any

import contrast_kit as ck
from contrast_kit import arguments
from contrast_kit.data import labels
from contrast_kit.training import distributed


def rows_of(options: argparse.Namespace) -> Any:
    """The rows of the split that was asked for, with the names that the kit knows: text, or sentence1 and 2; label."""
    splits = ck.data.load(options.data, **({"unit": options.unit} if options.unit else {}))
    if options.label != "label":
        splits = labels.from_column(splits, options.label, None, hint=str(options.data))
    arguments.known(options.part, splits, "split", f"in {options.data} (--part)")
    rows = splits[options.part]
    if options.columns:
        rows = _renamed(rows, options.columns.split(","), options.data)
    if options.limit is None or options.limit >= len(rows):
        return rows
    if distributed.rank() == 0:
        print(f"Reading the first {options.limit:,} of {len(rows):,} texts (--limit).", flush=True)
    return rows.select(range(options.limit))


def _renamed(rows: Any, columns: list[str], data: str) -> Any:
    if len(columns) > 2:
        raise ValueError("--columns names the column of the text, or the two of a pair: --columns question,answer.")
    for name in columns:
        arguments.known(name, rows.column_names, "column", f"in {data} (--columns)")
    names = dict(zip(columns, ("sentence1", "sentence2") if columns[1:] else ("text",), strict=True))
    for name in rows.column_names:  # review/0 and review/1, the review in other words
        column, stroke, number = name.rpartition("/")
        if stroke and column in columns and number.isdigit():
            names[name] = f"{names[column]}/{number}"
    return rows.select_columns([*names, *({"label"} & set(rows.column_names))]).rename_columns(names)


def in_other_words(rows: Any) -> list[dict[str, Any]]:
    """The rows with two wordings of each text by the toyshop's grammar, which knows its own sentences only."""
    from contrast_kit.paraphrase import Toyshop, reworded

    if (texts := ck.data.sentences(rows)[:1_000]) == Toyshop()(texts):
        raise ValueError(
            "The data holds no paraphrases, and the toyshop's grammar has other words for none of these texts: give a "
            "table with two wordings of each, columns text, text/0 and text/1 (paraphrase.reworded makes them, with "
            "paraphrase.Apertium() say)."
        )
    print("The data holds no paraphrases; the toyshop's grammar makes them. It knows its own sentences only.")
    return reworded(rows, Toyshop())


def too_few(options: argparse.Namespace, count: int, batch_size: int) -> str:
    """A warning for data that does not fill one batch: most often a text that was not cut where its reader thought."""
    if count >= batch_size:
        return ""
    texts = "one text" if count == 1 else f"{count} texts"
    return (
        f"Warning: {options.data} holds {texts} only, fewer than a batch of {batch_size}, so every step sees the same "
        f"{count - 1} other texts. A file is cut at the ends of its sentences: look at ck.data.load({options.data!r})."
    )
