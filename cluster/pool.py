"""A pool of Ray actors that finishes its work though actors die.

Items of work must be idempotent: one whose actor died is done again, elsewhere, from the beginning. Every item's
result is yielded exactly once.
"""

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import ray
from ray.actor import ActorHandle
from ray.exceptions import ObjectLostError, RayActorError, RayTaskError, WorkerCrashedError

from cluster.errors import UserError

T = TypeVar("T")

_LOST = (RayActorError, ObjectLostError, WorkerCrashedError)
"""What says that an actor or its machine has gone, and nothing about the item."""
_SAY_WAITING_SECONDS = 60.0
_TICK_SECONDS = 1.0

log = logging.getLogger(__name__)


class WorkFailedError(RuntimeError):
    """An item raised, or its actors kept dying; the message names it."""


@dataclass
class _Item(Generic[T]):
    """A piece of work."""

    value: T
    deaths: int = 0
    """Actors that have died over it."""


@dataclass
class _Worker(Generic[T]):
    """One place of the pool and the actor that holds it."""

    index: int
    actor: ActorHandle
    reference: Any
    """Done once the actor has what it is at behind it: its constructor or an item; None if it is at nothing."""
    item: _Item[T] | None = None
    """What it is at; None for its constructor, and for an item that nobody waits for any more."""
    deaths: int = 0
    """Actors that have died in this place since it finished an item."""


class ActorPool(Generic[T]):
    """``size`` actors that share work; a dead one is replaced and its work handed out again.

    Actors are started at once. Use as a context manager, or call ``close``.
    """

    def __init__(self, factory: Callable[[int], ActorHandle], size: int, max_attempts: int = 3) -> None:
        """Start the actors.

        Args:
            factory: makes the actor of a place ``0 .. size - 1``, with ``max_restarts=0`` (Ray's default).
            size: number of actors, at least 1.
            max_attempts: how often an item is tried whose actor dies under it, and how many actors in a row may die in
                a place without finishing anything.
        """
        self._factory = factory
        self._max_attempts = max_attempts
        self.lost_items = 0
        """Items done again so far because their actor died."""
        self._workers: list[_Worker[T]] = []
        for index in range(size):
            actor = factory(index)
            self._workers.append(_Worker(index, actor, actor.__ray_ready__.remote()))

    def run(
        self,
        items: Iterable[T],
        call: Callable[[ActorHandle, T], Any],
        while_waiting: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[T, Any]]:
        """Do every item, in any order, and yield each with its result as it comes.

        Args:
            call: starts one item on an actor and returns the reference of its result, e.g.
                ``lambda actor, item: actor.play.remote(item)``.
            while_waiting: called about once a second while nothing has come.

        Raises:
            WorkFailedError: an item raised, its actor died ``max_attempts`` times, or an actor cannot be constructed.
            UserError: an item raised one.
        """
        waiting = deque(_Item(value) for value in items)
        try:
            self._hand_out(waiting, call)
            while waiting or any(worker.item for worker in self._workers):
                finished = self._finish(self._next_done(while_waiting), waiting)
                self._hand_out(waiting, call)  # before the caller takes its time over a result
                yield from finished
        finally:
            for worker in self._workers:
                worker.item = None

    def ask(self, call: Callable[[ActorHandle], Any]) -> list[Any]:
        """Answers to a quick question from the actors that are at an item, as far as they come within a second.

        An actor answers while it works only if it has more than one thread (``max_concurrency``).
        """
        asked = [call(worker.actor) for worker in self._workers if worker.item is not None]
        done, _ = ray.wait(asked, num_returns=len(asked), timeout=_TICK_SECONDS)
        answers = []
        for reference in done:
            with contextlib.suppress(*_LOST):
                answers.append(ray.get(reference))
        return answers

    def close(self) -> None:
        """End the actors."""
        for worker in self._workers:
            ray.kill(worker.actor)
        self._workers.clear()

    def __enter__(self) -> "ActorPool[T]":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _hand_out(self, waiting: deque[_Item[T]], call: Callable[[ActorHandle, T], Any]) -> None:
        """Give items to actors that are at nothing."""
        for worker in self._workers:
            if waiting and worker.reference is None:
                worker.item = waiting.popleft()
                worker.reference = call(worker.actor, worker.item.value)

    def _next_done(self, while_waiting: Callable[[], None]) -> _Worker[T]:
        """The next worker that has behind it what it was at."""
        busy = {worker.reference: worker for worker in self._workers if worker.reference is not None}
        starting = sum(worker.item is None for worker in busy.values())
        said = time.monotonic()
        while True:
            done, _ = ray.wait([*busy], timeout=_TICK_SECONDS)
            if done:
                return busy[done[0]]
            while_waiting()
            if starting and time.monotonic() - said >= _SAY_WAITING_SECONDS:
                said = time.monotonic()
                log.warning("%d of %d actors wait for room in the cluster", starting, len(self._workers))

    def _finish(self, worker: _Worker[T], waiting: deque[_Item[T]]) -> list[tuple[T, Any]]:
        """The item of a worker that is done, and its result; nothing where the worker has started, or has died."""
        item, reference = worker.item, worker.reference
        worker.item = worker.reference = None
        try:
            result = ray.get(reference)
        except RayTaskError as error:
            if item is None:
                return []
            raise _failure(item.value, error) from error
        except _LOST as error:
            if item is not None:
                self._note_death(item, error)
                waiting.appendleft(item)
            self._replace(worker, error)
            return []
        if item is None:
            return []
        worker.deaths = 0
        return [(item.value, result)]

    def _note_death(self, item: _Item[T], error: Exception) -> None:
        """An actor has died over an item: it is to be done again, unless it has used its tries."""
        item.deaths += 1
        if item.deaths >= self._max_attempts:
            raise WorkFailedError(f"{item.value}: {item.deaths} actors died over it ({error})") from error
        log.warning("%s: its actor died (%s); doing it again", item.value, str(error).partition("\n")[0])
        self.lost_items += 1

    def _replace(self, worker: _Worker[T], error: Exception) -> None:
        """Put a new actor in the place of a dead one."""
        worker.deaths += 1
        if isinstance(error, RayActorError) and error.actor_init_failed:
            raise WorkFailedError(f"actor {worker.index} cannot start: {error}") from error
        if worker.deaths > self._max_attempts:
            raise WorkFailedError(f"actor {worker.index}: {worker.deaths} died in a row ({error})") from error
        ray.kill(worker.actor)  # one that is merely out of reach must not go on
        worker.actor = self._factory(worker.index)
        worker.reference = worker.actor.__ray_ready__.remote()


def _failure(item: Any, error: RayTaskError) -> Exception:
    """The exception to raise for an item that raised."""
    cause = error.cause
    if isinstance(cause, UserError):
        return UserError(f"{item}: {cause}")
    return WorkFailedError(f"{item}: {error}")
