"""Batches made ahead of their steps by threads, so that a GPU does not wait for the rule inputs of a batch.

The kernels of the rules release Python's lock, so several batches are made side by side. A batch is a function of its
step alone: with threads or without, the same steps see the same batches.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")

_AHEAD = 2
"""Batches a thread is ahead: one in the making, one made."""


class Prefetch(Generic[T]):
    """What ``made(step)`` gives for consecutive steps, a few steps ahead."""

    def __init__(self, num_threads: int, begin: Callable[[], None] = lambda: None) -> None:
        """``num_threads``: 0 makes each batch when it is asked for. Each thread calls ``begin`` first."""
        self._ahead = _AHEAD * num_threads
        self._threads = ThreadPoolExecutor(num_threads, "batches", begin) if num_threads else None
        self._coming: dict[int, Future[T]] = {}

    def get(self, made: Callable[[int], T], step: int, end: int) -> T:
        """``made(step)``; none from ``end`` on is made ahead. An exception of making it comes here."""
        if self._threads is None:
            return made(step)
        for coming in range(step, min(step + self._ahead + 1, end)):
            if coming not in self._coming:
                self._coming[coming] = self._threads.submit(made, coming)
        return self._coming.pop(step).result()
