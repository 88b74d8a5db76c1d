"""Several threads that take turns at training, one step each, so that runs can be watched side by side."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class Turns:
    """Hands the turn from one thread to the next; only the thread whose turn it is works.

    Each thread has torch's random numbers (on the CPU) to itself, from their state when the turns were made: on a CPU a
    run beside others gives the same numbers as a run alone.

    Example:
        >>> turns, said = Turns(2), []
        >>> def count(i):
        ...     with turns.taken_by(i):
        ...         for number in range(3):
        ...             said.append((i, number))
        ...             turns.hand_on(i)
        >>> threads = [threading.Thread(target=count, args=[i]) for i in range(2)]
        >>> for thread in threads: thread.start()
        >>> for thread in threads: thread.join()
        >>> said
        [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    """

    def __init__(self, count: int):
        self._random = torch.get_rng_state()
        self._calls = [threading.Semaphore(i == 0) for i in range(count)]  # the first one may begin
        self._here = list(range(count))

    @contextmanager
    def taken_by(self, i: int) -> Iterator[None]:
        """Wait for the first turn; at the end leave, and let the next one go on."""
        self._wait(i, self._random)
        try:
            yield
        finally:
            after = self._next(i)
            self._here.remove(i)
            self._calls[after].release()

    def hand_on(self, i: int) -> None:
        """Let the others take their turns; returns when it is the turn of `i` again."""
        if len(self._here) == 1:
            return
        random = torch.get_rng_state()
        self._calls[self._next(i)].release()
        self._wait(i, random)

    def _wait(self, i: int, random: torch.Tensor) -> None:
        self._calls[i].acquire()
        torch.set_rng_state(random)

    def _next(self, i: int) -> int:
        return self._here[(self._here.index(i) + 1) % len(self._here)]
