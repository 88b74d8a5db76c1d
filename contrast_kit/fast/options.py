"""Other ways to compute the same training step, opted into by name."""

from typing import TypeVar

import torch
from torch import nn

from contrast_kit import arguments, checks
from contrast_kit._renamed import renamed
from contrast_kit.fast.fixed_capacity import FixedCapacity, draw_words
from contrast_kit.fast.within_steps import encoders_of, refuse_fixed_shapes

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
    steps of a plain masked LM on a CPU, `within_steps`). Values and gradients stay what they were up to rounding;
    dropout and samples of an auxiliary model are drawn in another order.

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
        refuse_fixed_shapes(fixed_capacity is not None, compiled)
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


def _compile(model: nn.Module, backend: bool | str) -> None:
    model._compiled_call_impl = None
    if backend:
        model.compile(backend=backend) if isinstance(backend, str) else model.compile()
