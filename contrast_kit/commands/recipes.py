"""The defaults of `train`: at two scales the settings of the notebooks, at the others those of the papers."""

from dataclasses import dataclass, field
from typing import Any

SCALES = ("tiny", "small", "base", "large")


@dataclass(frozen=True)
class Recipe:
    """How a method is trained at a scale: changes of its config, options of the encoder, settings of `Training`."""

    config: dict[str, Any] = field(default_factory=dict)
    encoder: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    vocab_size: int = 32_768
    """Of the tokenizer that is trained on the data for a new encoder."""
    limit: int | None = None
    """How many texts are taken from the data; None takes all."""


# tiny is the notebooks' tour speed (a minute on a CPU), small their gpu speed (minutes on one GPU).
_DATA = {"tiny": dict(vocab_size=2_000, limit=20_000), "small": dict(vocab_size=8_000, limit=100_000)}
_TRAINING = {
    "tiny": dict(batch_size=64, steps=60, lr=2e-3),
    "small": dict(batch_size=512, steps=2_000, lr=5e-4),
    "base": dict(batch_size=2048, chunk_size=64, steps=125_000, lr=5e-4, warmup=0.08, max_length=512),
    "large": dict(batch_size=2048, chunk_size=16, steps=500_000, lr=1e-4, warmup=0.02, max_length=512),
}
# Further changes of the notebooks, by method and scale.
_TRAINING_OF = {
    ("mlm", "tiny"): dict(batch_size=16, steps=1_400, lr=1e-3),
    ("cmlm", "tiny"): dict(batch_size=128),
    ("coco-lm", "tiny"): dict(steps=50),
    ("coco-lm", "small"): dict(batch_size=256, steps=1_500),
    ("capt", "tiny"): dict(steps=50, lr=3e-3),
    ("capt", "small"): dict(steps=1_500),
    ("capt", "large"): dict(batch_size=8192, lr=6e-4, warmup=0.06),
    ("scl", "tiny"): dict(batch_size=32, steps=100, lr=1e-3),
    ("fine-tune", "tiny"): dict(batch_size=32, steps=100, lr=1e-3),
}
_CONFIG = {
    "cmlm": dict(contrast="info_nce", tau=0.05, contrast_weight=1.0),
    "coco-lm": dict(tau=0.05),
    "capt": dict(tau=0.05, queue=256),
    "cssl": dict(tau=0.05),
}
_CONFIG_OF = {
    ("mlm", "tiny"): dict(p_m=0.3),
    ("coco-lm", "small"): dict(tau=1.0),
    ("capt", "small"): dict(queue=8192),
}
_ENCODER_OF = {("mlm", "tiny"): dict(dropout=0.0, initializer_range=0.05)}


def recipe(method: str, scale: str) -> Recipe:
    """The defaults of `train METHOD --scale SCALE`.

    Example:
        >>> from contrast_kit.commands.recipes import recipe
        >>> recipe("cmlm", "small").training
        {'batch_size': 512, 'steps': 2000, 'lr': 0.0005}
        >>> recipe("cmlm", "base").config  # the paper's: nothing changed
        {}
    """
    notebooks = scale in ("tiny", "small")
    encoder = {"pooling": "mean"} if notebooks else {}
    if method == "coco-lm":
        encoder["relative_positions"] = True
    return Recipe(
        config=(_CONFIG.get(method, {}) if notebooks else {}) | _CONFIG_OF.get((method, scale), {}),
        encoder=encoder | _ENCODER_OF.get((method, scale), {}),
        training=_TRAINING[scale] | _TRAINING_OF.get((method, scale), {}),
        **_DATA.get(scale, {}),
    )
