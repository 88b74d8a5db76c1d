"""Other ways to compute the same training step, opted into by name."""

from typing import TypeVar

from torch import nn

from contrast_kit.fast.fixed_capacity import FixedCapacity
from contrast_kit.fast.on_gpu import Compiled, encoders

Objective = TypeVar("Objective", bound=nn.Module)


def faster(
    objective: Objective,
    *,
    packing: bool = False,
    fixed_capacity: float | None = None,
    compiled: bool | str = False,
) -> Objective:
    """Choose how the encoders of an objective compute, the auxiliary model's too; options not given are switched off.

    Each is right for some machines and texts, and wrong for others; on a GPU `fit` chooses where nobody did
    (`Training.compiled`). Values and gradients stay what they were up to rounding; dropout is drawn in another order.

    Args:
        objective: changed in place.
        packing: compute nothing on padding (`packed`). Gains where the texts of a batch differ in length, as with
            `fit(…, group_by_length=False)`; little where `fit` puts texts of like length together.
        fixed_capacity: how many of the positions are masked, 0.15 for most: word scores are then made in a fixed number
            of rows, so that a GPU is never waited for and shapes are static. Costs some unused rows.
        compiled: compile the Transformer for training, `True` for torch's default backend or a backend's name. Pays on
            a GPU for long runs; on a CPU it gained nothing here.

    Returns:
        the objective.

    Raises:
        ValueError: for a share outside (0, 1], or a model that cannot compute so.
        RuntimeError: in a step in which far more positions are masked than `fixed_capacity` says.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum", "a green train stops by the door", "full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> objective = ck.faster(ck.objectives.MLM(encoder), packing=True)
        >>> ck.fit(objective, texts, steps=2, batch_size=4, progress=False).steps
        2
    """
    if fixed_capacity is not None and not 0 < fixed_capacity <= 1:
        raise ValueError(
            f"fixed_capacity is the share of positions that are masked, in (0, 1], not {fixed_capacity}."
        )
    parts = encoders(objective)
    if not parts:
        raise ValueError(
            "Only encoders of texts compute in other ways: words and regions are padded separately."
        )
    for encoder in parts:
        encoder.use_packing(packing)
        if fixed_capacity is not None:
            encoder.strategy = FixedCapacity(encoder.strategy, fixed_capacity)
        if compiled:
            options = {} if compiled is True else {"backend": compiled}
            encoder.strategy = Compiled(encoder.strategy, **options)
    return objective
