"""New encoders of named shapes: randomly initialised, for the vocabulary of a tokenizer."""

from typing import Self

import torch
from transformers import PreTrainedTokenizerBase, RobertaConfig, RobertaForMaskedLM

from contrast_kit import arguments, checks
from contrast_kit._names import meant
from contrast_kit.encoder.inputs import check_tokenizer, whole_sizes
from contrast_kit.encoder.relative_positions import RelativePositions, masked_lm

# RoBERTa's own shapes for base and large; CAPT Table 4's small; tiny is ours, for a minute on a laptop.
SHAPES = {
    "tiny": dict(num_hidden_layers=2, hidden_size=128, num_attention_heads=2, intermediate_size=512),
    "small": dict(num_hidden_layers=6, hidden_size=256, num_attention_heads=4, intermediate_size=1024),
    "base": dict(num_hidden_layers=12, hidden_size=768, num_attention_heads=12, intermediate_size=3072),
    "large": dict(num_hidden_layers=24, hidden_size=1024, num_attention_heads=16, intermediate_size=4096),
}
# Names in transformers' configuration that are set in another way here.
INSTEAD = {
    **dict.fromkeys(("vocab_size", "pad_token_id", "bos_token_id", "eos_token_id"), "the tokenizer decides it."),
    **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), "say dropout=."),
    "max_position_embeddings": "say max_length=.",
    "type_vocab_size": "there is one type, as in RoBERTa.",
}


class Presets:
    """The named shapes, as constructors of `Encoder`."""

    @classmethod
    def tiny(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """2 layers × 128, 2 heads, FFN 512: the size that a laptop trains in a minute. Options as in `build`."""
        return cls.build("tiny", tokenizer, **options)

    @classmethod
    def small(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """6 layers × 256, 4 heads, FFN 1024 (CAPT Table 4, small). Options as in `build`."""
        return cls.build("small", tokenizer, **options)

    @classmethod
    def base(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """12 layers × 768, 12 heads, FFN 3072 (RoBERTa-base). Options as in `build`."""
        return cls.build("base", tokenizer, **options)

    @classmethod
    def large(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """24 layers × 1024, 16 heads, FFN 4096 (RoBERTa-large). Options as in `build`."""
        return cls.build("large", tokenizer, **options)

    @classmethod
    def build(
        cls,
        shape: str,
        tokenizer: PreTrainedTokenizerBase,
        *,
        seed: int = 0,
        pooling: str = "first",
        max_length: int = 512,
        dropout: float = 0.1,
        relative_positions: bool | RelativePositions = False,
        **shape_changes: int,
    ) -> Self:
        """A randomly initialised RoBERTa of a named shape, for the vocabulary of `tokenizer`.

        Args:
            shape: a key of `SHAPES`.
            tokenizer: decides the size of the embedding table.
            seed: of the initial weights; the caller's random state is left as it was.
            pooling: `"first"` or `"mean"`. max_length: the longest input, in tokens; the tokenizer's limit holds, too.
            dropout: of hidden states and attention (0.1 in all four papers).
            relative_positions: True adds T5's relative positions (COCO-LM's models; the model is then an MPNet: RoBERTa
                with these, and without its type vector); a `RelativePositions` says how many buckets.
            shape_changes: single changes to the shape, for example `num_hidden_layers=4`.

        Raises:
            TypeError, ValueError: an unknown shape; no tokenizer, or one without a mask or a padding token.
        """
        check_tokenizer(tokenizer)
        arguments.known(shape, SHAPES, "shape", "of an encoder")
        checks.seed(seed)
        checks.probability("dropout", dropout)
        if not isinstance(positions := relative_positions, RelativePositions | None):
            checks.switch("relative_positions", positions)
            positions = RelativePositions() if positions else None
        known = RobertaConfig().to_dict().keys() - INSTEAD
        for name in shape_changes:
            if name not in known:
                raise TypeError(f"A shape has no {name!r}; {INSTEAD.get(name) or meant(name, SHAPES['tiny'], 0.3)}")
        sizes = {name: shape_changes.get(name, size) for name, size in SHAPES[shape].items()}
        sizes = whole_sizes({"max_length": max_length} | sizes)
        options = dict(
            vocab_size=len(tokenizer),
            hidden_dropout_prob=float(dropout),
            attention_probs_dropout_prob=float(dropout),
            layer_norm_eps=1e-5,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.cls_token_id,
            eos_token_id=tokenizer.sep_token_id,
        )
        options |= shape_changes | sizes
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU: no other stream is touched
            torch.default_generator.manual_seed(int(seed))
            if positions:
                return cls(masked_lm(positions, **options), tokenizer, pooling)
            places = options.pop("max_length") + tokenizer.pad_token_id + 1  # RoBERTa counts from the padding id on
            config = RobertaConfig(**options | dict(max_position_embeddings=places, type_vocab_size=1))
            return cls(RobertaForMaskedLM(config), tokenizer, pooling)
