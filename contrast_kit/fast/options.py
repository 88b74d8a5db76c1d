"""A leaner training step, opted into by name: the same loss and gradient, other ways to compute them."""

from contrast_kit.encoder.encoder import Encoder
from contrast_kit.objectives.base import Objective


def faster(
    objective: Objective,
    *,
    packing: bool = False,
    slots: float | None = None,
    joined: bool = False,
    compiled: bool | str = False,
) -> Objective:
    """Choose how the encoders of an objective compute, the auxiliary model's too; what is not named is switched off.

    Each is right for some machines and texts, and wrong for others, so nothing is chosen for you. Values and gradients
    stay what they were up to rounding; dropout and samples of an auxiliary model are drawn in another order.

    Args:
        objective: changed in place.
        packing: compute nothing on padding (`packed`). Wins where the texts of a batch differ in length: `fit` puts
            texts of like length together, so there it wins little.
        slots: how many of the positions are masked, 0.15 for most: word scores are then made in a fixed number of
            slots, so that a GPU is never waited for and shapes are static. Costs some unused slots; not with packing,
            which waits for the device.
        joined: encode the views of a batch in one pass (`joined`), where they are of one length. Wins where a batch is
            small for the machine; needs the memory of both at once either way, and does nothing with `chunk_size`.
        compiled: compile the Transformer, `True` for torch's default backend or a backend's name. Pays on a GPU
            for long runs with few shapes; on a CPU it gave nothing here.

    Returns:
        the objective.

    Raises:
        ValueError: for a share of slots outside (0, 1], slots together with packing, or a model that cannot be packed.

    Example:
        >>> import contrast_kit as ck
        >>> texts = ["the red kite flies over the shelf", "a small drum", "a green train stops by the door", "full"]
        >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(texts, vocab_size=60))
        >>> objective = ck.faster(ck.objectives.MLM(encoder), packing=True)
        >>> ck.fit(objective, texts, steps=2, batch_size=4, progress=False).steps
        2
    """
    if slots is not None and not 0 < slots <= 1:
        raise ValueError(f"slots is the share of positions that are masked, in (0, 1], such as 0.15, not {slots}.")
    if slots is not None and packing:
        raise ValueError("Packing makes a shape of its own for every batch and slots fix the shapes: choose one.")
    for module in objective.modules():
        if isinstance(module, Encoder):
            module.use_packing(packing)
            module.slots, module.joined = slots, joined
            base = module.model.base_model
            base._compiled_call_impl = None
            if compiled:
                base.compile(backend=compiled) if isinstance(compiled, str) else base.compile()
    return objective
