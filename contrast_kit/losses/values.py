"""Whether losses look at the values they are given: a look makes the program wait for the device.

On a CPU nothing is there to wait for, and every loss checks that its numbers are finite and its ids in range. On a GPU
the work of a training step is queued, and each look empties the queue; so a trainer leaves the looks out
(`unchecked`) and looks once itself, at the end of a step, at the loss and the gradient norm.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_checked = True


def checked() -> bool:
    """Whether values are to be looked at."""
    return _checked


@contextmanager
def unchecked(on: bool = True) -> Iterator[None]:
    """Inside, losses check kinds and shapes, never values; `unchecked(False)` changes nothing.

    Example:
        >>> import torch
        >>> import contrast_kit as ck
        >>> logits, labels = torch.full((1, 5), torch.nan), torch.tensor([3])
        >>> with ck.losses.unchecked():
        ...     print(ck.losses.mlm(logits, labels))
        tensor(nan)
        >>> ck.losses.mlm(logits, labels)
        Traceback (most recent call last):
        contrast_kit.losses.similarity.NotFiniteError: mlm is nan: the logits hold NaN or infinity, ...
    """
    global _checked
    before, _checked = _checked, _checked and not on
    try:
        yield
    finally:
        _checked = before
