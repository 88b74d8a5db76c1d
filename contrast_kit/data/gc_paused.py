"""Pauses Python's garbage collector while many objects are made at once (docstrings read, figures drawn)."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused(then_collect: bool = False) -> Iterator[None]:
    """Inside, no garbage is collected: else the collector would walk through all objects of torch again and again.

    Args:
        then_collect: collect the youngest objects at the end, where what was made is full of cycles (figures).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
        if then_collect:
            gc.collect(1)
