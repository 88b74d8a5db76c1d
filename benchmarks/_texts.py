"""Batches of random ids and encoders for them: what the step benchmarks train on."""

import numpy as np
import torch
from tokenizers import Tokenizer, models
from torch import Tensor
from transformers import PreTrainedTokenizerFast

import contrast_kit as ck

SHAPE = dict(
    num_hidden_layers=4, hidden_size=256, num_attention_heads=4, intermediate_size=1024, max_length=128
)
SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def tokenizer(words: int) -> PreTrainedTokenizerFast:
    """A vocabulary of `words` made-up words, the special ones first."""
    names = [*SPECIAL.values(), *(f"w{i}" for i in range(words - len(SPECIAL)))]
    core = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    return PreTrainedTokenizerFast(tokenizer_object=core, **SPECIAL)


def encoder(words: int, **options: object) -> ck.Encoder:
    """4 layers × 256 with dropout 0.1, for `words` words."""
    return ck.Encoder.build("small", tokenizer(words), **(SHAPE | options)).train()


def texts(words: int, examples: int, shortest: int, longest: int, seed: int = 0) -> ck.data.Texts:
    """As `batch`, as texts for `fit`; every second one has label 1."""
    made = batch(words, examples, shortest, longest, seed)
    real = made["attention_mask"].bool()
    return of_tokens(made["input_ids"][real].numpy(), real.sum(1).numpy(), tokenizer(words))


def of_tokens(ids: np.ndarray, lengths: np.ndarray, tokenizer: PreTrainedTokenizerFast) -> ck.data.Texts:
    """Texts of ids that are made already, one after another; no two are the same text."""
    texts = ck.data.Texts(["w0"], tokenizer)
    texts.set_tokens(ids.astype(np.int32), ids[:0], lengths.astype(np.int64))
    texts.text_ids = torch.arange(len(lengths))
    texts.labels = texts.text_ids % 2
    return texts


def batch(words: int, examples: int, shortest: int, longest: int, seed: int = 0) -> dict[str, Tensor]:
    """Texts of random words; lengths are uniform from `shortest` to `longest`, one of them the longest."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(shortest, longest + 1, (examples,), generator=g)
    lengths[0] = longest
    real = torch.arange(longest) < lengths[:, None]  # [B, T]
    ids = torch.randint(len(SPECIAL), words, (examples, longest), generator=g)
    ids[:, 0] = 2
    ids[torch.arange(examples), lengths - 1] = 3
    ids = ids.masked_fill(~real, 0)
    maskable = real & (ids >= len(SPECIAL))
    texts = torch.arange(examples)
    return {"input_ids": ids, "attention_mask": real.long(), "maskable": maskable, "text_id": texts}
