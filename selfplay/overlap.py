"""Games beside training and tournaments (``selfplay.staleness``): one thread plays iteration after iteration, another
trains and measures.

``selfplay.plan.known_networks`` fixes the networks that an iteration plays with, so timing does not change the games.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


class StoppedError(Exception):
    """This thread must stop, because the other has failed or the command was interrupted."""


class Milestones:
    """What the two threads have reached, and wait for: an iteration's games, its network (with its gate)."""

    def __init__(self) -> None:
        self._changed, self._stopped = threading.Condition(), False
        self._played, self._learned = set[int](), set[int]()

    def played(self, iteration: int) -> None:
        """Note that an iteration's games are there."""
        self._note(self._played, iteration)

    def learned(self, iteration: int) -> None:
        """Note that an iteration's network is there, and its gate is played."""
        self._note(self._learned, iteration)

    def knows(self, networks: int) -> bool:
        """Whether the first so many iterations have their networks."""
        return self._learned.issuperset(range(networks))

    def wait_for_games(self, iteration: int) -> None:
        """Return when ``played``; ``StoppedError`` after ``stop``."""
        self._wait(lambda: iteration in self._played)

    def wait_for_networks(self, networks: int) -> None:
        """Return when it ``knows`` them; ``StoppedError`` after ``stop``."""
        self._wait(lambda: self.knows(networks))

    def stop(self) -> None:
        """Have both threads stop."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def check(self) -> None:
        """``StoppedError`` after ``stop``; both threads call it at intervals."""
        if self._stopped:
            raise StoppedError

    def _note(self, reached: set[int], iteration: int) -> None:
        with self._changed:
            reached.add(iteration)
            self._changed.notify_all()

    def _wait(self, reached: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or reached())
        self.check()


def at_once(aside: Callable[[], A], here: Callable[[], B], milestones: Milestones) -> tuple[A, B]:
    """Run both, ``aside`` in a thread, and return both results.

    If one fails, or a signal interrupts this thread, calls ``stop``, waits for the other and raises the first
    exception.
    """

    def guarded() -> A:
        try:
            return aside()
        except BaseException:
            milestones.stop()
            raise

    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(guarded)
        try:
            done_here = here()
            return result.result(), done_here
        except StoppedError:
            raise result.exception() or AssertionError("stopped without a cause") from None
        except BaseException:
            milestones.stop()
            raise
