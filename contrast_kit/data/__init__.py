"""Text in, batches out: `load` text, `train_tokenizer` on it, tokenize once (`Texts`), cut up (`Batches`)."""

from .batches import Batches
from .paraphrased import Paraphrased
from .prose import split_sentences
from .recorded import recorded
from .rows import text_columns
from .sources import available, load, sentences
from .texts import Texts, collate
from .tokenizers import open_tokenizer, train_tokenizer

__all__ = [
    "Batches",
    "Paraphrased",
    "Texts",
    "available",
    "collate",
    "load",
    "open_tokenizer",
    "recorded",
    "sentences",
    "split_sentences",
    "text_columns",
    "train_tokenizer",
]
