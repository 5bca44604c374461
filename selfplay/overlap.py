"""Two stages at the same time (``selfplay.overlap``): a network is trained while the next iteration's games are played.

``selfplay.plan.known_networks`` fixes the networks that an iteration plays with, so timing does not change the games.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


class StoppedError(Exception):
    """This stage must stop, because the concurrent stage has failed or the command was interrupted."""


def at_once(aside: Callable[[], A], here: Callable[[], B], stop: threading.Event) -> tuple[A, B]:
    """Run both, ``aside`` in a thread, and return both results.

    If one fails, or a signal interrupts this thread, sets ``stop``, waits for the other and raises the first exception.
    Both must check ``stop`` at intervals, and raise ``StoppedError``.
    """

    def guarded() -> A:
        try:
            return aside()
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(guarded)
        try:
            done_here = here()
            return result.result(), done_here
        except StoppedError:
            raise result.exception() or AssertionError("stopped without a cause") from None
        except BaseException:
            stop.set()
            raise
