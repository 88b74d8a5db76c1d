"""The defaults of `train`: at two scales the settings of the notebooks, at the others those of the papers.

They stand in `recipes.toml`, a table for each scale and method.
"""

import importlib
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import contrast_kit as ck
from contrast_kit.encoder.relative_positions import RelativePositions
from contrast_kit.objectives import METHODS, Objective
from contrast_kit.training.settings import PRETRAINED_LR

SCALES = ("tiny", "small", "base", "large")
TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


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
    table = dict(TABLES[scale][method])
    source = table.pop("source", None)
    printed = ck.papers.training(*source) if source else {}
    made = Recipe(**table | {"training": printed | table.get("training", {})})
    buckets = made.encoder.get("relative_positions")
    if isinstance(buckets, dict):
        made = replace(made, encoder={"relative_positions": RelativePositions(**buckets)})
    return _post_training(made, method, scale) if start else made


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
    made = recipe(name, scale, start=start)
    if cls is METHODS[name]:
        return made
    config = {}
    if issubclass(cls, METHODS[name]):
        own = cls.Config.__dataclass_fields__
        config = {
            setting: value for setting, value in made.config.items() if setting in own
        }
    ours = f"{cls.__name__} is none of the kit's: what differs from its own defaults is {name}'s."
    return replace(made, config=config, ours=ours)


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
