"""What the trainer asks of a method before and while it trains it: refused, or warned of, in one sentence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from contrast_kit import checks
from contrast_kit._warn import warn
from contrast_kit.method_checks import is_encoder


def step(method: Any, batches: Any, chunk_size: int | None, total: Any) -> None:
    """What `gradient` is given. It sums the parts of the loss piece by piece, so a method keeps the base's `total`."""
    if chunk_size is not None:
        checks.count("chunk_size", chunk_size, "a number of examples")
    if not isinstance(batches, list | tuple):
        raise TypeError(f"batches is a list of batches, [batch], not {type(batches).__name__}.")
    if type(method).total is not total or "total" in vars(method):
        raise TypeError(
            f"{type(method).__name__} has a total of its own, and the trainer sums the parts piece by piece: give "
            "`weights` instead (they may be learned), and what belongs to no part as a part of `contrast` (with "
            "contrastive = True)."
        )


def by_example(
    method: Any, autocast: Callable[[], Any], batches: list[Any], chunk_size: int | None, processes: int
) -> Callable[[], Any]:
    """`autocast`; where batches are encoded in pieces, no BatchNorm trains in it: its mean would be the piece's.

    A SyncBatchNorm sees the shares of all processes.
    """
    chunks = chunk_size is not None and any(len(next(iter(batch.values()))) > chunk_size for batch in batches)
    norms = [part for part in method.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    norms = norms if chunks else [norm for norm in norms if not isinstance(norm, nn.SyncBatchNorm)]
    if not norms or not (chunks or processes > 1):
        return autocast

    def refuse(norm: nn.Module, _: Any) -> None:
        if norm.training or norm.running_mean is None:
            raise ValueError(
                f"{type(method).__name__} has a {type(norm).__name__} that would see one piece of the batch at a time, "
                "not the batch: take a LayerNorm, use it in `contrast`, or train on one process without chunk_size."
            )

    @contextmanager
    def context() -> Iterator[None]:
        hooks = [norm.register_forward_pre_hook(refuse) for norm in norms]
        try:
            with autocast():
                yield
        finally:
            for hook in hooks:
                hook.remove()

    return context


def trainable(method: Any, device: torch.device) -> None:
    """Refuse to train, or to plan it, where nothing would be learned."""
    if torch.is_autocast_enabled(device.type):  # its copies of the weights outlive each update
        raise ValueError(
            "Inside torch.autocast fit would go on reading copies of the weights from before the first update, so that "
            "nothing is learned: leave that context and pass precision='bf16' instead."
        )
    if not any(weight.requires_grad for weight in method.parameters()):
        raise ValueError("Every weight is frozen, so nothing can be trained: set requires_grad where it should.")


def is_method(method: Any, kind: type) -> None:
    """Refuse to train anything but an objective."""
    if not isinstance(method, kind):
        given = method.__name__ if isinstance(method, type) else type(method).__name__
        raise TypeError(f"fit trains an objective, such as ck.objectives.CMLM(encoder), not {given}.")


def at_rest(method: Any) -> list[str]:
    """The names of the weights that are not trained now; a callback may freeze some and set others free."""
    return [name for name, weight in method.named_parameters() if not weight.requires_grad]


def let_rest(method: Any, names: list[str] | None) -> None:
    """Train all weights but these; None leaves them as they are."""
    for name, weight in method.named_parameters() if names is not None else ():
        weight.requires_grad_(name not in names)


def warn_idle(method: Any, step: int) -> None:
    """Warn in the first step where no weight has a gradient: the body of the encoder rests, and there is no head."""
    if step == 0 and all(weight.grad is None for weight in method.parameters()):
        name = type(method).__name__
        warn(f"{name} has no head, so nothing is trained while the body rests: take warm_heads=0 for it.")


def warn_untrained(method: Any, parts: dict[str, Any]) -> None:
    """Warn of weights that name no part of the loss: the part that was meant is then logged, but not trained. And warn
    where no weight of the network has a gradient after the first backward pass.

    Only in a user's own methods: CAPT has a weight for a masked LM, for which a user's own noise may have no targets.
    Raises a ValueError where they name none at all, so that nothing would be trained.
    """
    if type(method).__module__.startswith("contrast_kit."):
        return
    have = [name for name in parts if name != "loss"]
    if lost := [name for name, weight in method.weights.items() if weight and name not in parts]:
        told = f"weights names {lost[0]!r}, but no part of the loss is named so; there are {', '.join(have) or 'none'}."
        if not method.contrastive and not type(method).contrast.__module__.startswith("contrast_kit."):
            told += " Its contrast is asked only with contrastive = True."
        if not any(method.weights.get(name) for name in have):
            raise ValueError(f"{told} Nothing would be trained.")
        warn(told)
    name, idle = type(method).__name__, [key for key, weight in method.named_parameters() if weight.grad is None]
    if len(idle) == len(list(method.parameters())):
        warn(f"No weight has a gradient from {name}, so nothing is trained: look for a detach() or no_grad() in it.")
        return
    encoders = [f"{key}." for key, part in method.named_modules() if is_encoder(part)]  # which may have spare heads
    rests = {*at_rest(method), *(key for key in idle if key.startswith(tuple(encoders)))}
    if unread := [key for key in idle if key not in rests]:
        warn(
            f"{name}'s weight {unread[0]!r} has no gradient in the first step. If nothing is to train it, say so with "
            "requires_grad_(False); if a part of the loss is to, none reads it yet."
        )


def warn_high_rate(lr: float, usual: float) -> None:
    """Warn of a rate far above the usual one of an encoder opened from a checkpoint."""
    if lr >= 10 * usual:
        warn(
            f"lr={lr:g} is high for an encoder opened from a checkpoint, which may forget what it knew. "
            f"Without lr= it is {usual:g}."
        )


def something_for_all(smallest: int, processes: int) -> None:
    """Refuse batches of which some processes would get no example."""
    if smallest < processes:
        raise ValueError(
            f"A batch of {smallest} gives nothing to do to some of {processes} processes: take a larger batch_size, "
            "more text, fewer processes, or steps in place of epochs."
        )
