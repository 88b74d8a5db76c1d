"""Few large messages between processes in place of many small ones."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

NUMBERS = 2**23
"""Numbers in one message: 32 MiB in float32."""


def in_large_messages(tensors: list[Tensor], operation: Callable[[Tensor], None]) -> None:
    """Apply an operation that works in place, such as a sum over processes, to many tensors at a time.

    Example:
        >>> import torch
        >>> tensors = [torch.ones(2), torch.ones(1, 3)]
        >>> in_large_messages(tensors, lambda flat: flat.mul_(2))
        >>> tensors
        [tensor([2., 2.]), tensor([[2., 2., 2.]])]
    """
    for bucket in _buckets(tensors):
        flat = torch.cat([tensor.flatten() for tensor in bucket])
        operation(flat)
        for tensor, changed in zip(bucket, flat.split([t.numel() for t in bucket]), strict=True):
            tensor.copy_(changed.view_as(tensor))


def _buckets(tensors: list[Tensor]) -> Iterator[list[Tensor]]:
    """Neighbouring tensors of one dtype, about `NUMBERS` numbers together."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        if bucket and (tensor.dtype != bucket[0].dtype or sum(t.numel() for t in bucket) + tensor.numel() > NUMBERS):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket
