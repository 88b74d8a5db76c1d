"""Text in, batches out: `load` text, `train_tokenizer` on it, tokenize once (`Texts`), cut up (`Batches`)."""

from .batches import Batches, Texts, collate, text_columns
from .tokenizers import open_tokenizer, train_tokenizer

__all__ = ["Batches", "Texts", "collate", "open_tokenizer", "text_columns", "train_tokenizer"]
