"""Two stages at the same time (``selfplay.overlap``): a network is trained while the next iteration's games are played.

What an iteration plays with is planned (``selfplay.plan.known_networks``); no clock decides anything but the wall time.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


class StoppedError(Exception):
    """This stage was told to stop, because the one beside it has failed or the command was interrupted."""


def at_once(aside: Callable[[], A], here: Callable[[], B], stop: threading.Event) -> tuple[A, B]:
    """Do both, ``aside`` in a thread, and return what both return.

    Where one fails, or a signal interrupts this thread, ``stop`` is set, the other is waited for, and the first
    exception is raised. Both must look at ``stop`` now and then, and raise ``StoppedError``.
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
            raise result.exception() or AssertionError("stopped by nobody") from None
        except BaseException:
            stop.set()
            raise
