"""The defaults of `train`: at two scales the settings of the notebooks, at the others those of the papers.

They stand in `recipes.toml`, a table for each scale and method.
"""

import importlib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import contrast_kit as ck
from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.objectives import METHODS, Objective
from contrast_kit.training.settings import PRETRAINED_LR

SCALES = ("tiny", "small", "base", "large")
TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@dataclass
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


def recipe(method: str, scale: str, *, start: bool = False) -> Recipe:
    """The defaults of `train METHOD --scale SCALE`; with `start`, those for post-training from a checkpoint.

    A method of one's own has those of its nearest base among the kit's, or else of SimCSE. From a checkpoint, the
    method is as its paper has it, at no rate above what pre-trained weights can bear: a higher one is left to
    `Training`, which then takes `PRETRAINED_LR`. CSSL has no head that would have to learn before the body does.

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
    cls = class_of(method)
    names = {known: name for name, known in METHODS.items()}
    name = next((names[base] for base in cls.__mro__ if base in names), "simcse")
    table = dict(TABLES[scale][name])
    source = table.pop("source", None)
    printed = ck.papers.training(*source) if source else {}
    made = Recipe(**table | {"training": printed | table.get("training", {})})
    buckets = made.encoder.get("relative_positions")
    if isinstance(buckets, dict):
        made.encoder = {"relative_positions": RelativePositions(**buckets)}
    if cls is not METHODS[name]:
        own = made.config.keys() & cls.Config.__dataclass_fields__
        made.config = {key: made.config[key] for key in own}
        made.ours = f"{cls.__name__} is none of the kit's: what differs from its own defaults is {name}'s."
    if start:
        made.encoder = {}
        if made.training.get("lr", 0) > PRETRAINED_LR:
            del made.training["lr"]
        if scale in ("tiny", "small"):
            made.config = {}
            made.training |= dict(batch_size=32, steps=500)
            if name != "cssl":
                made.training["warm_heads"] = 0.1
    return made


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
