"""Packing for the length of a training step: by itself where it pays and nobody can notice, or by name.

What a reader runs between two steps, such as a callback, meets the encoder as it was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from transformers.models.mpnet.modeling_mpnet import MPNetModel

from contrast_kit.fast.noticed import as_it_came, is_compiled, listened_to, listened_to_everywhere
from contrast_kit.fast.packed import NAME, Packed, can_pack
from contrast_kit.method_checks import is_encoder


def packs(objective: Any) -> bool:
    """Whether the steps of `fit` leave out padding by themselves: they gain by it and nobody can notice.

    The method says so of itself (`Objective.packed`; its subclasses do not inherit it); its only encoder is the kit's
    own, in its plain form on a CPU; and nothing in it is changed, listened to or compiled, for it would meet other
    shapes.
    """
    encoder, parts = objective.encoder, list(objective.modules())
    model, own = encoder.model, vars(objective)
    return (
        vars(type(objective)).get("packed", False)
        and not any(callable(value) and hasattr(type(objective), name) for name, value in own.items())
        and encoders_of(objective) == [encoder]
        and encoder.device.type == "cpu"
        and type(encoder.strategy).__module__.startswith("contrast_kit.encoder.")
        and can_pack(model)
        and (model.config._attn_implementation == "sdpa" or isinstance(model.base_model, MPNetModel))
        and all(map(as_it_came, encoder.modules()))
        and not any(listened_to(part) or is_compiled(part) for part in parts)
        and not listened_to_everywhere()
    )


@contextmanager
def packing(objective: Any, on: bool | None) -> Iterator[None]:
    """While it lasts, the encoders of an objective leave padding out: if `on`, or if None and they do so by themselves.

    Afterwards they compute as before; `fit` enters it anew for each step, so that a callback meets them as they are.
    """
    on = packs(objective) if on is None else on
    padded = [part for part in encoders_of(objective) if on and not isinstance(part.strategy, Packed)]
    before = [(part, part.strategy, part.model.config._attn_implementation) for part in padded]
    try:
        for part in padded:
            refuse_fixed_shapes(part.strategy.fixed_shapes, any(map(is_compiled, part.modules())))
            part.use_packing()
        yield
    finally:
        for part, strategy, attention in before:
            part.strategy = strategy if attention == NAME else Packed.undone(part.model, strategy)


def encoders_of(objective: nn.Module) -> list[Any]:
    """An objective's encoder, its auxiliary model's, and others that a method of one's own brings along."""
    return [part for part in objective.modules() if is_encoder(part)]


def refuse_fixed_shapes(fixed: bool, compiled: Any) -> None:
    """Raise where packing is asked for beside what needs shapes that stay."""
    if fixed:
        raise ValueError("Packing gives every batch its own shape, a fixed capacity keeps shapes fixed: choose one.")
    if compiled:
        raise ValueError("Packing gives every batch its own shape, each to be compiled anew: choose one.")
