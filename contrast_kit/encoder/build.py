"""New models of named shapes: randomly initialised, for the vocabulary of a tokenizer."""

import tomllib
from pathlib import Path
from typing import Any

from torch import nn
from transformers import (
    MPNetConfig,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaForMaskedLM,
)

from contrast_kit._util import choose, meant
from contrast_kit.encoder.relative_positions import RelativePositions, masked_lm, speed_up

_SHAPES = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text("utf-8"))
SHAPES, PAIR_SHAPES = _SHAPES["texts"], _SHAPES["pairs"]
"""The shapes by name: keyword arguments of transformers' configs."""


def text_model(
    shape: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_length: int = 512,
    dropout: float = 0.1,
    relative_positions: bool | RelativePositions = False,
    **changes: int,
) -> nn.Module:
    """A RoBERTa of a named shape.

    Args:
        max_length: the longest input, in tokens; the tokenizer's limit holds, too.
        dropout: of hidden states and attention (0.1 in all four papers).
        relative_positions: True adds T5's relative positions (COCO-LM's models; the model is then an MPNet: RoBERTa
            with these, and without its type vector); a `RelativePositions` says how many buckets.
        changes: single changes to the shape.
    """
    sizes = choose(SHAPES, shape, "shape of an encoder")
    options = dict(
        **changed(sizes, changes, RobertaConfig().to_dict()),
        vocab_size=len(tokenizer),
        hidden_dropout_prob=float(dropout),
        attention_probs_dropout_prob=float(dropout),
        layer_norm_eps=1e-5,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )
    if relative_positions is True:
        relative_positions = RelativePositions()
    if relative_positions:
        return masked_lm(relative_positions, max_length=max_length, **options)
    # RoBERTa counts from the padding id on.
    places = int(max_length) + tokenizer.pad_token_id + 1
    config = RobertaConfig(**options, max_position_embeddings=places, type_vocab_size=1)
    return RobertaForMaskedLM(config)


def changed(
    sizes: dict[str, Any], changes: dict[str, Any], known: dict[str, Any]
) -> dict:
    """A shape with single changes. TypeError: transformers would take a name that it does not know, and ignore it."""
    for name in changes.keys() - known.keys():
        raise TypeError(f"A shape has no {name!r}; {meant(name, sizes, 0.3)}")
    return sizes | changes


def check_tokenizer(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise a ValueError for a tokenizer that cannot mask, or pad a batch of texts of different lengths."""
    for name in ("mask", "pad"):
        if getattr(tokenizer, f"{name}_token_id") is None:
            raise ValueError(
                f"This tokenizer has no {name} token, and training here needs one."
            )


def checked_model(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
    """The model, ready to be trained here. ValueError: it counts positions from another token than the padding."""
    check_tokenizer(tokenizer)
    words, pad = model.get_input_embeddings(), tokenizer.pad_token_id
    if isinstance(model.config, MPNetConfig):
        speed_up(model)
    else:  # MPNet's padding id is fixed
        counted = getattr(
            getattr(model.base_model, "embeddings", None), "padding_idx", None
        )
        if counted not in (None, pad):
            raise ValueError(
                f"The model counts positions from its padding, token {counted}, and the tokenizer pads with {pad}: "
                "open both from one folder, or build the model's config with pad_token_id=tokenizer.pad_token_id."
            )
    words.padding_idx = pad  # the only word without a gradient
    return model
