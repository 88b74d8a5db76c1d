"""Text in, batches out: `load` text, `train_tokenizer` on it, tokenize once (`Texts`), cut up (`Batches`)."""

from contrast_kit.data import squad
from contrast_kit.data.batches import Batches
from contrast_kit.data.paraphrased import Paraphrased
from contrast_kit.data.prose import split_sentences
from contrast_kit.data.recorded import recorded
from contrast_kit.data.rows import text_columns
from contrast_kit.data.sources import available, load, sentences
from contrast_kit.data.texts import Texts, collate
from contrast_kit.data.tokenizers import open_tokenizer, train_tokenizer

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
    "squad",
    "text_columns",
    "train_tokenizer",
]
