"""Other ways to compute the same training step, opted into by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn.modules import module as everywhere
from transformers.models.mpnet.modeling_mpnet import MPNetModel

from contrast_kit import arguments, checks
from contrast_kit._renamed import renamed
from contrast_kit.fast.fixed_capacity import FixedCapacity, draw_words
from contrast_kit.fast.last_layer import as_it_came, listened_to
from contrast_kit.fast.packed import NAME, Packed, can_pack

Objective = TypeVar("Objective", bound=nn.Module)


@renamed(slots="fixed_capacity")
def faster(
    objective: Objective,
    *,
    packing: bool = False,
    fixed_capacity: float | None = None,
    compiled: bool | str = False,
) -> Objective:
    """Choose how the encoders of an objective compute, the auxiliary model's too; options not given are switched off.

    Each is right for some machines and texts, and wrong for others, so nothing is chosen for you (but `fit` packs the
    steps of a plain masked LM on a CPU, `packs`). Values and gradients stay what they were up to rounding; dropout and
    samples of an auxiliary model are drawn in another order.

    Args:
        objective: changed in place.
        packing: compute nothing on padding (`packed`), nor, on a CPU, what a masked LM does not read of its last layer.
            Gains much for masked LM, and where the texts of a batch differ in length, as with
            `fit(…, group_by_length=False)`; little for others where `fit` puts texts of like length together.
        fixed_capacity: how many of the positions are masked, 0.15 for most: word scores are then made in a fixed number
            of rows, so that a GPU is never waited for and shapes are static. Costs some unused rows; not with packing,
            which waits for the device.
        compiled: compile the Transformer, `True` for torch's default backend or a backend's name. Pays on a GPU
            for long runs with few shapes; on a CPU it gained nothing here.

    Returns:
        the objective.

    Raises:
        ValueError: for a share outside (0, 1], packing with either of the others, or a model that cannot compute so.
        RuntimeError: in a step in which far more positions are masked than `fixed_capacity` says.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum", "a green train stops by the door", "full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> objective = ck.faster(ck.objectives.MLM(encoder), packing=True)
        >>> ck.fit(objective, texts, steps=2, batch_size=4, progress=False).steps
        2
    """
    if not isinstance(objective, nn.Module):
        raise TypeError(f"faster changes an objective, such as objectives.MLM(encoder), not {checks.shown(objective)}.")
    checks.switch("packing", packing)
    if isinstance(compiled, str):
        arguments.known(compiled, torch.compiler.list_backends(exclude_tags=()), "backend of torch.compile")
    else:
        checks.switch("compiled", compiled)
    if fixed_capacity is not None and not (checks.is_number(fixed_capacity) and 0 < fixed_capacity <= 1):
        raise ValueError(
            "fixed_capacity is the share of positions that are masked, in (0, 1], such as 0.15, not "
            f"{checks.shown(fixed_capacity)}."
        )
    if packing:
        _refuse_fixed_shapes(fixed_capacity is not None, compiled)
    for encoder in encoders_of(objective):
        encoder.use_packing(packing)
        if fixed_capacity is not None:
            encoder.strategy = FixedCapacity(fixed_capacity)
        _compile(encoder.model.base_model, compiled)
    for module in objective.modules():
        if hasattr(module, "draws_words"):  # an auxiliary model
            vars(module).pop("draws_words", None)
            if fixed_capacity is not None:
                module.draws_words = draw_words
    return objective


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
        and not listened_to(_Everywhere)
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
            _refuse_fixed_shapes(part.strategy.fixed_shapes, any(map(is_compiled, part.modules())))
            part.use_packing()
        yield
    finally:
        for part, strategy, attention in before:
            part.strategy = strategy if attention == NAME else Packed.undone(part.model, strategy)


class _Everywhere:
    """The hooks on all modules at once, by the names that those of one module have."""

    _forward_hooks, _forward_pre_hooks = everywhere._global_forward_hooks, everywhere._global_forward_pre_hooks
    _backward_hooks, _backward_pre_hooks = everywhere._global_backward_hooks, everywhere._global_backward_pre_hooks


def encoders_of(objective: nn.Module) -> list[Any]:
    """An objective's encoder, its auxiliary model's, and others that a method of one's own brings along."""
    return [part for part in objective.modules() if hasattr(part, "strategy") and hasattr(part, "use_packing")]


def is_compiled(part: nn.Module) -> bool:
    """Whether torch compiles a module, in either of two ways."""
    return bool(part._compiled_call_impl) or isinstance(part, torch._dynamo.OptimizedModule)


def _refuse_fixed_shapes(fixed: bool, compiled: Any) -> None:
    if fixed:
        raise ValueError("Packing gives every batch its own shape, a fixed capacity keeps shapes fixed: choose one.")
    if compiled:
        raise ValueError("Packing gives every batch its own shape, each to be compiled anew: choose one.")


def _compile(model: nn.Module, backend: bool | str) -> None:
    model._compiled_call_impl = None
    if backend:
        model.compile(backend=backend) if isinstance(backend, str) else model.compile()
