"""New encoders of named shapes: randomly initialised, for the vocabulary of a tokenizer."""

from typing import Any, Self

import torch
from torch import nn
from transformers import (
    LxmertConfig,
    LxmertForPreTraining,
    MPNetConfig,
    PreTrainedTokenizerBase,
    RobertaConfig,
    RobertaForMaskedLM,
)

from contrast_kit._util import choose, meant
from contrast_kit.encoder.relative_positions import (
    RelativePositions,
    masked_lm,
    speed_up,
)

# RoBERTa's own shapes for base and large; CAPT Table 4's small; tiny is ours, for a minute on a laptop.
SHAPES = {
    "tiny": dict(
        num_hidden_layers=2,
        hidden_size=128,
        num_attention_heads=2,
        intermediate_size=512,
    ),
    "small": dict(
        num_hidden_layers=6,
        hidden_size=256,
        num_attention_heads=4,
        intermediate_size=1024,
    ),
    "base": dict(
        num_hidden_layers=12,
        hidden_size=768,
        num_attention_heads=12,
        intermediate_size=3072,
    ),
    "large": dict(
        num_hidden_layers=24,
        hidden_size=1024,
        num_attention_heads=16,
        intermediate_size=4096,
    ),
}
# LXMERT's own shape, which is CAPT's (4.1); small has CAPT's small width (table 4); tiny is ours, for a laptop. Weights
# begin with deviation 1/√D: with LXMERT's 0.02, meant for 768, attention of width 96 begins as a plain mean over all
# regions, and a small model takes several times as long to learn where to look.
PAIR_SHAPES = {
    "tiny": dict(
        l_layers=1, r_layers=1, x_layers=2, hidden_size=96, num_attention_heads=4, intermediate_size=384,
        initializer_range=0.1,
    ),
    "small": dict(
        l_layers=3, r_layers=2, x_layers=2, hidden_size=256, num_attention_heads=4, intermediate_size=1024,
        initializer_range=0.06,
    ),
    "lxmert": dict(
        l_layers=9, r_layers=5, x_layers=5, hidden_size=768, num_attention_heads=12, intermediate_size=3072,
        initializer_range=0.02,
    ),
}  # fmt: skip


class Shapes:
    """The named shapes, as constructors of an encoder; `new_model` is `text_model` or `pair_model`."""

    @classmethod
    def tiny(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """2 layers × 128, 2 heads (pairs: 1 language, 1 vision and 2 cross layers × 96, 4 heads): for a laptop."""
        return cls.build("tiny", tokenizer, **options)

    @classmethod
    def small(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """6 layers × 256, 4 heads, FFN 1024 (CAPT Table 4; pairs: 3 language, 2 vision and 2 cross layers × 256)."""
        return cls.build("small", tokenizer, **options)

    @classmethod
    def build(
        cls,
        shape: str,
        tokenizer: PreTrainedTokenizerBase,
        *,
        seed: int = 0,
        pooling: str = "first",
        **options: Any,
    ) -> Self:
        """A randomly initialised encoder of a named shape, for the vocabulary of `tokenizer`.

        Args:
            shape: a key of `SHAPES`, or, for pairs, of `PAIR_SHAPES`.
            tokenizer: decides the size of the embedding table.
            seed: of the initial weights; the caller's random state is left as it was.
            pooling: `"first"` or `"mean"`.
            options: those of `text_model` (or `pair_model`), and single changes to the shape, for example
                `num_hidden_layers=4`.

        Raises:
            ValueError: an unknown shape, or a tokenizer without a mask or a padding token. TypeError: no such option.
        """
        check_tokenizer(tokenizer)
        with torch.random.fork_rng(
            devices=[]
        ):  # weights are drawn on the CPU: no other stream is touched
            torch.default_generator.manual_seed(int(seed))
            model = cls.new_model(shape, tokenizer, **options)
        return cls(model, tokenizer, pooling)


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
    sizes = changed(
        choose(SHAPES, shape, "shape of an encoder"),
        changes,
        RobertaConfig().to_dict(),
    )
    options = sizes | dict(
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
    places = int(max_length) + tokenizer.pad_token_id + 1  # RoBERTa counts from the padding id on
    return RobertaForMaskedLM(
        RobertaConfig(**options, max_position_embeddings=places, type_vocab_size=1)
    )


def pair_model(
    shape: str,
    tokenizer: PreTrainedTokenizerBase,
    *,
    features: int = 2048,
    objects: int = 1600,
    attributes: int = 400,
    answers: int = 2,
    max_length: int = 512,
    dropout: float = 0.1,
    **changes: int | float,
) -> nn.Module:
    """An LXMERT of a named shape, for a detector's regions.

    Args:
        features: F, the width of a region's feature. objects, attributes: how many of each the detector names.
            The defaults of these three are those of LXMERT's detector.
        answers: A, how many answers pre-training knows, if it asks questions (LXMERT: 9500). `Answer` has its own.
        max_length: the longest text, in tokens; the tokenizer's limit holds, too.
        dropout: of hidden states and attention (CAPT: 0.1).
        changes: single changes to the shape, for example `x_layers=1` or `initializer_range=0.02`.
    """
    sizes = choose(PAIR_SHAPES, shape, "shape of a CrossModalEncoder")
    config = LxmertConfig(
        vocab_size=len(tokenizer),
        visual_feat_dim=features,
        num_object_labels=objects,
        num_attr_labels=attributes,
        num_qa_labels=answers,
        hidden_dropout_prob=float(dropout),
        attention_probs_dropout_prob=float(dropout),
        max_position_embeddings=max_length,
        pad_token_id=tokenizer.pad_token_id,
        **changed(sizes, changes, sizes),
    )
    return LxmertForPreTraining(config)


def changed(
    sizes: dict[str, Any], changes: dict[str, Any], known: dict[str, Any]
) -> dict[str, Any]:
    """A shape with single changes. TypeError: transformers would take a name that it does not know, and ignore it."""
    for name in changes:
        if name not in known:
            raise TypeError(f"A shape has no {name!r}; {meant(name, sizes, 0.3)}")
    return sizes | changes


def check_tokenizer(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise a ValueError for a tokenizer that cannot mask or pad."""
    for name, reason in (
        ("mask", "masked language modelling"),
        ("pad", "a batch of texts of different lengths"),
    ):
        if getattr(tokenizer, f"{name}_token_id") is None:
            raise ValueError(f"This tokenizer has no {name} token; {reason} needs one.")


def checked_model(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
    """The model, ready to be trained here. ValueError: it embeds fewer tokens than the tokenizer has, or counts
    positions from another token than the tokenizer's padding."""
    check_tokenizer(tokenizer)
    words, pad = model.get_input_embeddings(), tokenizer.pad_token_id
    if len(tokenizer) > words.num_embeddings:
        raise ValueError(
            f"The tokenizer has {len(tokenizer)} tokens but the model embeds only {words.num_embeddings}: "
            "open both from the same folder, or train the tokenizer first and build the model for it."
        )
    if isinstance(model.config, MPNetConfig):
        speed_up(model)
    else:  # MPNet's padding id is fixed
        counted = getattr(getattr(model.base_model, "embeddings", None), "padding_idx", None)
        if counted not in (None, pad):
            raise ValueError(
                f"The model counts positions from its padding, token {counted}, and the tokenizer pads with {pad}: "
                "open both from one folder, or build the model's config with pad_token_id=tokenizer.pad_token_id."
            )
    words.padding_idx = pad  # the only word without a gradient
    return model
