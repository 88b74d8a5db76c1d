"""The rows that `train` reads: the split, the columns and the share of the data that were asked for."""

import argparse
import sys
from typing import Any

import contrast_kit as ck
from contrast_kit import arguments
from contrast_kit.commands import methods
from contrast_kit.data.rows import text_columns
from contrast_kit.objectives import FineTune
from contrast_kit.training import distributed


def rows_of(options: argparse.Namespace) -> Any:
    """The rows of the split that was asked for, with the names that the kit knows: text, or sentence1 and 2; label.

    The kit's methods that read no labels get none, so that no label can stop them.
    """
    cls = methods.class_of(options.method)
    labelled = issubclass(cls, FineTune) or not cls.__module__.startswith("contrast_kit.")
    how = ({"unit": options.unit} if options.unit else {}) | ({} if labelled else {"labels": ()})
    if labelled:
        how["label"] = options.label
    splits = ck.data.load(options.data, **how)
    arguments.known(options.part, splits, "split", f"in {options.data} (--part)")
    rows = splits[options.part]
    if options.columns:
        rows = _renamed(rows, options)
    if issubclass(cls, FineTune) and "label" not in rows.column_names:
        there = ", ".join(splits[options.part].column_names)
        raise ValueError(
            f"{options.method} learns labels, and {options.data} has no column {options.label!r}: name theirs with "
            f"--label (there is {there})."
        )
    if not labelled:
        rows = rows.remove_columns({"label"} & set(rows.column_names))
    if options.limit is not None and options.limit < len(rows):
        if distributed.rank() == 0:
            print(f"Reading the first {options.limit:,} of {len(rows):,} texts (--limit).", flush=True)
        rows = rows.select(range(options.limit))
    return _with_text(rows, options.data)


def _with_text(rows: Any, data: str) -> Any:
    """The rows that hold text; says which are left out."""
    columns = text_columns(rows.column_names)
    texts = zip(*(rows[name][:] for name in columns), strict=True)
    empty = [at for at, row in enumerate(texts) if not any(str(text or "").strip() for text in row)]
    for kind in map(rows.features.get, columns if len(rows) else ()):
        if "string" not in (said := getattr(kind, "dtype", type(kind).__name__)) and said != "null":
            raise ValueError(f"{data} holds {said} where its text is read: name the column of the text with --columns.")
    if len(empty) == len(rows):
        raise ValueError(f"No row of {data} holds a text.")
    if not empty:
        return rows
    if distributed.rank() == 0:
        told = "1 row holds no text and is" if len(empty) == 1 else f"{len(empty):,} rows hold no text and are"
        print(f"Warning: {told} left out, row {empty[0]} first.", file=sys.stderr, flush=True)
    return rows.select(sorted(set(range(len(rows))) - set(empty)))


def _renamed(rows: Any, options: argparse.Namespace) -> Any:
    columns = [name.strip() for name in options.columns.split(",")]
    if len(columns) > 2 or len(set(columns)) < len(columns):
        raise ValueError("--columns names the column of the text, or the two of a pair: --columns question,answer.")
    for name in columns:
        if name in ("label", options.label):
            raise ValueError(f"--columns names columns of text, and {name!r} is that of the labels: leave it out.")
        arguments.known(name, rows.column_names, "column", f"in {options.data} (--columns)")
    names = dict(zip(columns, ("sentence1", "sentence2") if columns[1:] else ("text",), strict=True))
    for name in rows.column_names:  # review/0 and review/1, the review in other words
        column, stroke, number = name.rpartition("/")
        if stroke and column in columns and number.isdigit():
            names[name] = f"{names[column]}/{number}"
    return rows.select_columns([*names, *({"label"} & set(rows.column_names))]).rename_columns(names)


def in_other_words(rows: Any) -> list[dict[str, Any]]:
    """The rows with two wordings of each text by the toyshop's grammar, which knows its own sentences only."""
    from contrast_kit.data.paraphrase import Toyshop, reworded

    if (texts := ck.data.sentences(rows)[:1_000]) == Toyshop()(texts):
        raise ValueError(
            "The data holds no paraphrases, and the toyshop's grammar has other words for none of these texts: give a "
            "table with two wordings of each, columns text, text/0 and text/1 (data.paraphrase.reworded makes "
            "them, with data.paraphrase.BackTranslation() say)."
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
