"""Randomly initialised masked-LM models of named shapes."""

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase, RobertaConfig, RobertaForMaskedLM

from contrast_kit.encoder import relative_positions as relative
from contrast_kit.encoder.relative_positions import RelativePositions

# RoBERTa's own shapes for base and large; CAPT Table 4's small; tiny is ours, for a minute on a laptop.
SHAPES = {
    "tiny": dict(num_hidden_layers=2, hidden_size=128, num_attention_heads=2, intermediate_size=512),
    "small": dict(num_hidden_layers=6, hidden_size=256, num_attention_heads=4, intermediate_size=1024),
    "base": dict(num_hidden_layers=12, hidden_size=768, num_attention_heads=12, intermediate_size=3072),
    "large": dict(num_hidden_layers=24, hidden_size=1024, num_attention_heads=16, intermediate_size=4096),
}


def new_model(
    shape: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    seed: int,
    max_length: int,
    dropout: float,
    relative_positions: bool | RelativePositions,
    **shape_changes: int,
) -> nn.Module:
    """A RoBERTa of a named shape, or with relative positions an MPNet, for the vocabulary of `tokenizer`.

    The caller's random state is left as it was. Arguments and errors as for `Encoder.build`.
    """
    if shape not in SHAPES:
        raise ValueError(f"No shape is called {shape!r}; there are {', '.join(SHAPES)}.")
    options = dict(
        **(SHAPES[shape] | shape_changes),
        vocab_size=len(tokenizer),
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        layer_norm_eps=1e-5,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )
    with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU: no other stream is touched
        torch.default_generator.manual_seed(seed)
        if relative_positions:
            positions = RelativePositions() if relative_positions is True else relative_positions
            return relative.masked_lm(positions, max_length=max_length, **options)
        # RoBERTa counts positions from the padding id upwards.
        places = max_length + tokenizer.pad_token_id + 1
        return RobertaForMaskedLM(RobertaConfig(max_position_embeddings=places, type_vocab_size=1, **options))
