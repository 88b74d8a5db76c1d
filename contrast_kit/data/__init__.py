"""Text in, batches out: `load` text, `train_tokenizer` on it, tokenize once (`Texts`), cut up (`Batches`)."""

from importlib import import_module
from types import ModuleType

from contrast_kit.data import papers, squad
from contrast_kit.data.batches import Batches, make_batches
from contrast_kit.data.load import load, sentences
from contrast_kit.data.pictures import (
    Pictures,
    Regions,
    answer_list,
    answer_scores,
    stack_pictures,
)
from contrast_kit.data.prose import split_sentences
from contrast_kit.data.recorded import recorded
from contrast_kit.data.rows import text_columns
from contrast_kit.data.stream import Stream, prepare_texts
from contrast_kit.data.texts import Paraphrased, Texts, collate
from contrast_kit.data.tokenizers import train_tokenizer

LATER = ("docstrings", "paraphrase", "scenes", "toyshop")
"""Modules that are imported when they are first named."""


def __getattr__(name: str) -> ModuleType:
    if name in LATER:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Batches",
    "Paraphrased",
    "Pictures",
    "Regions",
    "Stream",
    "Texts",
    "answer_list",
    "answer_scores",
    "collate",
    "load",
    "make_batches",
    "papers",
    "prepare_texts",
    "recorded",
    "sentences",
    "split_sentences",
    "squad",
    "stack_pictures",
    "text_columns",
    "train_tokenizer",
]
