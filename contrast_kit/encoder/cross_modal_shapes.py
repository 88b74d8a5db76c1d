"""New encoders of words and pictures in named shapes: randomly initialised, for a vocabulary and a detector."""

from typing import Self

import torch
from transformers import LxmertConfig, LxmertForPreTraining, PreTrainedTokenizerBase

from contrast_kit import arguments, checks
from contrast_kit.encoder.inputs import check_tokenizer, whole_sizes

# LXMERT's own shape, which is CAPT's (4.1); small has CAPT's small width (table 4); tiny is ours, for a laptop. Weights
# begin with deviation 1/√D: with LXMERT's 0.02, meant for 768, attention of width 96 begins as a plain mean over all
# regions, and a small model takes several times as long to learn where to look.
SHAPES = {
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


class CrossModalShapes:
    """The named shapes, as constructors of `CrossModalEncoder`; they override `Presets`, whose shapes are for texts."""

    @classmethod
    def tiny(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """1 language, 1 vision and 2 cross layers × 96, 4 heads: for minutes on a laptop. Options as in `build`."""
        return cls.build("tiny", tokenizer, **options)

    @classmethod
    def small(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """3 language, 2 vision and 2 cross layers × 256, 4 heads: for one GPU. Options as in `build`."""
        return cls.build("small", tokenizer, **options)

    @classmethod
    def lxmert(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """9 language, 5 vision and 5 cross layers × 768, 12 heads: LXMERT's and CAPT's. Options as in `build`."""
        return cls.build("lxmert", tokenizer, **options)

    @classmethod
    def base(cls, tokenizer: PreTrainedTokenizerBase, **options) -> Self:
        """ValueError: pairs have no such shape."""
        raise ValueError(
            f"A CrossModalEncoder comes in the shapes {', '.join(SHAPES)}; base and large are an Encoder's."
        )

    large = base

    @classmethod
    def build(
        cls,
        shape: str,
        tokenizer: PreTrainedTokenizerBase,
        *,
        features: int = 2048,
        objects: int = 1600,
        attributes: int = 400,
        answers: int = 2,
        seed: int = 0,
        max_length: int = 512,
        dropout: float = 0.1,
        **shape_changes: int | float,
    ) -> Self:
        """A randomly initialised LXMERT of a named shape, for the vocabulary of `tokenizer` and a detector's regions.

        Args:
            shape: a key of `SHAPES`.
            features: F, the width of a region's feature. objects, attributes: how many of each the detector names.
                The defaults of these three are those of LXMERT's detector.
            answers: A, how many answers pre-training knows, if it asks questions (LXMERT: 9500). `Answer` has its own.
            seed: of the initial weights; the caller's random state is left as it was.
            max_length: the longest text, in tokens; the tokenizer's limit holds, too.
            dropout: of hidden states and attention (CAPT: 0.1).
            shape_changes: single changes to the shape, for example `x_layers=1` or `initializer_range=0.02`.

        Raises:
            TypeError, ValueError: an unknown shape, or no suitable tokenizer.
        """
        check_tokenizer(tokenizer)
        arguments.known(shape, SHAPES, "shape", "of a CrossModalEncoder")
        for name in shape_changes:
            arguments.known(name, SHAPES[shape], "size", "of a CrossModalEncoder")
        checks.seed(seed)
        checks.probability("dropout", dropout)
        sizes = SHAPES[shape] | shape_changes
        deviation = sizes.pop("initializer_range")
        checks.number("initializer_range", deviation, "the deviation of new weights", least=0)
        given = {"features": features, "objects": objects, "attributes": attributes, "answers": answers}
        sizes = whole_sizes(sizes | given | {"max_length": max_length})
        config = LxmertConfig(
            vocab_size=len(tokenizer),
            visual_feat_dim=sizes.pop("features"),
            num_object_labels=sizes.pop("objects"),
            num_attr_labels=sizes.pop("attributes"),
            num_qa_labels=sizes.pop("answers"),
            hidden_dropout_prob=float(dropout),
            attention_probs_dropout_prob=float(dropout),
            max_position_embeddings=sizes.pop("max_length"),
            pad_token_id=tokenizer.pad_token_id,
            initializer_range=float(deviation),
            **sizes,
        )
        with torch.random.fork_rng(devices=[]):  # weights are drawn on the CPU: no other stream is touched
            torch.default_generator.manual_seed(int(seed))
            return cls(LxmertForPreTraining(config), tokenizer)
