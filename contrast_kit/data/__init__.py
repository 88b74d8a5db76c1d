"""Text in, batches out: `load` text, `train_tokenizer` on it, tokenize once (`Texts`), cut up (`Batches`)."""

from importlib import import_module
from types import ModuleType

from contrast_kit.data import squad
from contrast_kit.data.answers import answer_list, answer_scores
from contrast_kit.data.batches import Batches
from contrast_kit.data.labels import number_labels
from contrast_kit.data.paraphrased import Paraphrased
from contrast_kit.data.pictures import Pictures, stack_pictures
from contrast_kit.data.prose import split_sentences
from contrast_kit.data.recorded import recorded
from contrast_kit.data.regions import Regions
from contrast_kit.data.rows import text_columns
from contrast_kit.data.sources import available, load, sentences
from contrast_kit.data.streams import Stream
from contrast_kit.data.texts import Texts, collate
from contrast_kit.data.tokenizers import open_tokenizer, train_tokenizer

LATER = ("docstrings", "scenes", "toyshop")
"""Modules that are imported when they are first named."""


def __getattr__(name: str) -> ModuleType:
    if name in LATER:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Batches",
    "Paraphrased",
    "Stream",
    "Pictures",
    "Regions",
    "Texts",
    "answer_list",
    "answer_scores",
    "available",
    "collate",
    "load",
    "number_labels",
    "open_tokenizer",
    "recorded",
    "sentences",
    "split_sentences",
    "stack_pictures",
    "squad",
    "text_columns",
    "train_tokenizer",
]
