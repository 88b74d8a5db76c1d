"""What `train` takes where nothing is said: the settings of the notebooks at two scales, the papers' at the others."""

from dataclasses import dataclass, field
from typing import Any

from contrast_kit import objectives
from contrast_kit.objectives import Objective

METHODS: dict[str, type[Objective]] = {
    "mlm": objectives.MLM,
    "cmlm": objectives.CMLM,
    "coco-lm": objectives.COCOLM,
    "electra": objectives.ELECTRA,
    "all-token": objectives.AllTokenMLM,
    "scl": objectives.SCL,
    "fine-tune": objectives.FineTune,
    "capt": objectives.CAPT,
    "cssl": objectives.CSSL,
    "simcse": objectives.SimCSE,
}

SCALES = ("tiny", "small", "base", "large")


@dataclass(frozen=True)
class Recipe:
    """How a method is trained at a scale: its config's changes, the encoder's options, the training's settings."""

    config: dict[str, Any] = field(default_factory=dict)
    encoder: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    words: int = 32_768
    """Size of a vocabulary that is trained on the data."""
    limit: int | None = None
    """Texts taken from the data."""


# tiny is the notebooks' tour speed (a minute on a CPU), small their gpu speed (minutes on one GPU).
_SIZES = {
    "tiny": dict(words=2_000, limit=20_000),
    "small": dict(words=8_000, limit=100_000),
    "base": dict(),
    "large": dict(),
}
_TRAINING = {
    "tiny": dict(batch_size=64, steps=60, lr=2e-3),
    "small": dict(batch_size=512, steps=2_000, lr=5e-4),
    "base": dict(batch_size=2048, chunk_size=64, steps=125_000, lr=5e-4, warmup=0.08, max_length=512),
    "large": dict(batch_size=2048, chunk_size=16, steps=500_000, lr=1e-4, warmup=0.02, max_length=512),
}
# What the notebooks change besides, by method and scale.
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
    "cmlm": dict(contrast="info_nce", tau=0.05, alpha=1.0),
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
    """What `train METHOD --scale SCALE` does where nothing else is said.

    Example:
        >>> from contrast_kit.commands.recipes import recipe
        >>> recipe("cmlm", "small").training
        {'batch_size': 512, 'steps': 2000, 'lr': 0.0005}
        >>> recipe("cmlm", "base").config  # the paper's: nothing changed
        {}
    """
    ours = scale in ("tiny", "small")
    encoder = {"pooling": "mean"} if ours else {}
    if method == "coco-lm":
        encoder["relative_positions"] = True
    return Recipe(
        config=(_CONFIG.get(method, {}) if ours else {}) | _CONFIG_OF.get((method, scale), {}),
        encoder=encoder | _ENCODER_OF.get((method, scale), {}),
        training=_TRAINING[scale] | _TRAINING_OF.get((method, scale), {}),
        **_SIZES[scale],
    )
