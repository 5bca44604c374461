"""The one thread that players, networks and searches run on, as engines are never used by two at once: what is due
first is done first, and what takes long is done in slices."""

import asyncio
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from queue import Empty, PriorityQueue
from typing import Any, TypeVar

T = TypeVar("T")
LATER = 5.0
"""Most seconds that work waits while people at tables wait for other work."""
_SLICE = 0.05
"""Seconds of work in slices before others' comes first."""
_SEARCHES = 8


class Thinker:
    """Does work on a background thread, what is due first before what is due later."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "kibitz-thinks")
        self._waiting = PriorityQueue[tuple[float, int, Callable[[], Any], Future[Any]]]()
        self._numbers, self._closed = count(), False
        self.places = asyncio.Semaphore(_SEARCHES)
        """For searches, which hold memory of an engine while others take their turns; more wait in line."""

    async def __call__(self, work: Callable[[], T], patience: float = 0.0) -> T:
        """The result of work that is due in ``patience`` seconds: what is due earlier is done before it."""
        if self._closed:
            raise asyncio.CancelledError
        done = Future[T]()
        self._waiting.put((time.monotonic() + patience, next(self._numbers), work, done))
        self._pool.submit(self._do_next)
        return await asyncio.wrap_future(done)

    async def slices(
        self, steps: Generator[T | None, None, None], found: Callable[[T], None] = lambda result: None
    ) -> None:
        """Go through all ``steps``, a slice at a time, and call ``found`` with each result; several such take turns."""
        try:
            going = True
            while going:
                result, going = await self(partial(_slice, steps), LATER)
                if result is not None:
                    found(result)
        finally:
            self.soon(steps.close)

    def soon(self, work: Callable[[], Any]) -> None:
        """Do work that nobody waits for."""
        with suppress(RuntimeError):  # closed
            self._pool.submit(work)

    def close(self) -> None:
        """Begin nothing more."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        with suppress(Empty):
            while True:
                self._waiting.get_nowait()[-1].cancel()

    def _do_next(self) -> None:
        *_, work, done = self._waiting.get()
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)


def _slice(steps: Iterator[T | None]) -> tuple[T | None, bool]:
    """What steps find next, or None after a slice of them; and whether there may be more."""
    until = time.monotonic() + _SLICE
    for found in steps:
        if found is not None or time.monotonic() >= until:
            return found, True
    return None, False
