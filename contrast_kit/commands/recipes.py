"""The defaults of `train`: at two scales the settings of the notebooks, at the others those of the papers.

At base and large `PRINTED` says which printed setting a method trains by; `OURS` and `BORROWED` say what no paper
prints, and `Recipe.ours` says it in words.
"""

import importlib
from dataclasses import dataclass, field, replace
from typing import Any

import contrast_kit as ck
from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.objectives import CAPT, METHODS, Objective
from contrast_kit.training.settings import PRETRAINED_LR

SCALES = ("tiny", "small", "base", "large")


@dataclass(frozen=True)
class Recipe:
    """How a method is trained at a scale: changes of its config, options of the encoder, settings of `Training`."""

    config: dict[str, Any] = field(default_factory=dict)
    encoder: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    vocab_size: int = 32_768
    """The size of the vocabulary that is trained on the data for a new encoder."""
    limit: int | None = None
    """How many texts are taken from the data; None takes all."""
    ours: str = ""
    """What in this recipe is in no paper, where the rest is a paper's."""


# tiny is the notebooks' tour speed (a minute on a CPU), small their gpu speed (minutes on one GPU); scl and fine-tune,
# whose encoder in notebook 07b is another, have numbers of their own.
_DATA = {
    "tiny": dict(vocab_size=2_000, limit=20_000),
    "small": dict(vocab_size=8_000, limit=100_000),
}
_DATA_OF = {("mlm", "small"): dict(vocab_size=4_000)}
_TRAINING = {
    "tiny": dict(batch_size=64, steps=60, lr=2e-3),
    "small": dict(batch_size=512, steps=2_000, lr=5e-4),
}
# Further changes of the notebooks, by method and scale.
_TRAINING_OF = {
    ("mlm", "tiny"): dict(batch_size=16, steps=1_400, lr=1e-3),
    ("mlm", "small"): dict(batch_size=64, steps=10_000),
    ("cmlm", "tiny"): dict(steps=40),
    ("coco-lm", "tiny"): dict(steps=50, lr=4e-3),
    ("coco-lm", "small"): dict(batch_size=256, steps=1_500),
    ("capt", "tiny"): dict(steps=50, lr=3e-3),
    ("capt", "small"): dict(steps=1_500),
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
    ("mlm", "small"): dict(p_m=0.3),
    ("capt", "small"): dict(queue=8192),
}
_ENCODER_OF = {
    ("mlm", "tiny"): dict(dropout=0.0, initializer_range=0.05),
    ("mlm", "small"): dict(dropout=0.0, initializer_range=0.035),
}


# The methods that COCO-LM trains beside its own, "under exactly the same setting" (section 4).
_COCO_LM = ("coco-lm", "mlm", "electra", "all-token")
PRINTED: dict[tuple[str, str], tuple[str, str]] = {
    **{(method, "base"): (METHODS[method].in_tables, "base") for method in _COCO_LM},
    ("coco-lm", "large"): ("COCO-LM", "large++"),
    ("capt", "large"): ("CAPT", "large"),
    **{
        (method, "base"): (METHODS[method].in_tables, "full size")
        for method in ("cmlm", "cssl", "fine-tune")
    },
    **{("scl", scale): ("SCL", "full data") for scale in ("base", "large")},
}
"""The printed settings: by method and scale, a method of `papers.TRAINING` and its setting."""

BORROWED: dict[tuple[str, str], tuple[tuple[str, str], str]] = {
    **{
        (m, "large"): (("COCO-LM", "large++"), "No paper prints it; it is COCO-LM's large++.")
        for m in _COCO_LM[1:]
    },
    ("capt", "base"): (
        ("CAPT", "small"),
        "CAPT prints a small and a large model; this is the small one's training.",
    ),
    **{
        (m, "large"): (
            (METHODS[m].in_tables, "full size"),
            "The paper trains base models only; this is base's.",
        )
        for m in ("cmlm", "cssl", "fine-tune")
    },
}
"""Where nothing is printed for a scale: whose setting stands in, and the sentence that says so."""

_CHUNKS = {"base": 64, "large": 16}
OURS: dict[str, tuple[dict[str, Any], str]] = {
    "scl": (
        dict(epochs=10),
        "Not in print: the epochs (RoBERTa's), warm-up, λ and τ; a mean over anchors, not a sum.",
    ),
    "simcse": (
        dict(batch_size=2048, steps=125_000, lr=5e-4, warmup=0.08, max_length=512),
        "SimCSE is in none of the four papers: these are COCO-LM base's numbers.",
    ),
}
"""Values of training that no paper prints, by method, and the sentence that says so. Large batches also get a
`chunk_size`: it changes memory, and the numbers only by rounding."""


def recipe(method: str, scale: str, *, start: bool = False) -> Recipe:
    """The defaults of `train METHOD --scale SCALE`; with `start`, those for post-training from a checkpoint.

    Example:
        >>> from contrast_kit.commands.recipes import recipe
        >>> recipe("cmlm", "small").training
        {'batch_size': 512, 'steps': 2000, 'lr': 0.0005}
        >>> recipe("cmlm", "base").config  # the paper's: nothing changed
        {}
        >>> recipe("cmlm", "base").training["epochs"], recipe("capt", "base").ours[:42]
        (3, 'CAPT prints a small and a large model; thi')
        >>> recipe("cmlm", "tiny", start=True)
        Recipe(config={}, encoder={}, training={'batch_size': 32, 'steps': 500, 'warm_heads': 0.1}, ...)
    """
    if start:
        return _post_training(recipe(method, scale), method, scale)
    if scale in ("base", "large"):
        return _of_the_papers(method, scale)
    encoder = {"pooling": "mean"} | ({"relative_positions": True} if method == "coco-lm" else {})
    return Recipe(
        config=_CONFIG.get(method, {}) | _CONFIG_OF.get((method, scale), {}),
        encoder=encoder | _ENCODER_OF.get((method, scale), {}),
        training=_TRAINING[scale] | _TRAINING_OF.get((method, scale), {}),
        **_DATA[scale] | _DATA_OF.get((method, scale), {}),
    )


def class_of(method: str) -> type[Objective]:
    """The class of a method: one of the kit's, or `module:Class` of one's own.

    Example:
        >>> from contrast_kit.commands.recipes import class_of
        >>> class_of("cmlm") is class_of("contrast_kit.objectives.cmlm:CMLM")
        True
    """
    if method in METHODS:
        return METHODS[method]
    module, _, name = method.partition(":")
    return getattr(importlib.import_module(module), name)


def recipe_of(cls: type[Objective], scale: str, *, start: bool = False) -> Recipe:
    """The `recipe` of a class: of the kit's method that it is, or else of its nearest base; without any, SimCSE's.

    Example:
        >>> from contrast_kit.commands.recipes import recipe_of
        >>> from contrast_kit.objectives import CAPT, Objective
        >>> recipe_of(CAPT, "tiny").config, recipe_of(type("Mine", (CAPT,), {}), "tiny").ours
        ({'tau': 0.05, 'queue': 256}, "Mine is none of the kit's: what differs from its own defaults is capt's.")
    """
    names = {known: name for name, known in METHODS.items()}
    name = next((names[base] for base in cls.__mro__ if base in names), "simcse")
    found = recipe(name, scale, start=start)
    if cls is METHODS[name]:
        return found
    config = found.config if issubclass(cls, METHODS[name]) else {}
    known = {
        setting: value
        for setting, value in config.items()
        if setting in cls.Config.__dataclass_fields__
    }
    ours = f"{cls.__name__} is none of the kit's: what differs from its own defaults is {name}'s."
    return replace(found, config=known, ours=ours)


def _post_training(new: Recipe, method: str, scale: str) -> Recipe:
    """From a checkpoint: the method as its paper has it, and no rate above what pre-trained weights can bear.

    Where the recipe's rate is higher, the rate is left to `Training`, which then takes `PRETRAINED_LR`. CSSL has no
    head that would have to learn before the body does.
    """
    training = dict(new.training)
    if training.get("lr", 0) > PRETRAINED_LR:
        del training["lr"]
    if scale in ("base", "large"):
        return replace(new, encoder={}, training=training)
    training |= dict(batch_size=32, steps=500)
    if method != "cssl":
        training["warm_heads"] = 0.1
    return replace(new, config={}, encoder={}, training=training)


def _of_the_papers(method: str, scale: str) -> Recipe:
    """A printed setting, or the one that stands in for it, with what is ours named."""
    source, borrowed = PRINTED.get((method, scale)), ""
    if (method, scale) in BORROWED:
        source, borrowed = BORROWED[method, scale]
    training = {} if source is None else ck.papers.training(*source)
    own, reason = OURS.get(method, ({}, ""))
    training |= own
    if training["batch_size"] > 1_000:
        training["chunk_size"] = _CHUNKS[scale]
    config, encoder, vocab_size = {}, {}, 32_768
    if source == ("COCO-LM", "large++"):
        vocab_size = 64_000
    if method == "capt":
        config["reduction"] = CAPT.paper("large").reduction
        if scale == "large":
            config["inner"] = CAPT.paper("large").inner
    if method == "coco-lm":
        model = ck.papers.coco_lm_model({"base": "base", "large": "large++"}[scale])
        config["auxiliary_layers"] = model["auxiliary_layers"]
        encoder["relative_positions"] = RelativePositions(model["buckets"], model["max_distance"])
    return Recipe(config, encoder, training, vocab_size, ours=f"{borrowed} {reason}".strip())
