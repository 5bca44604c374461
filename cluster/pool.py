"""A pool of Ray actors that finishes its work though actors die.

Items of work must be idempotent: one whose actor died is done again, elsewhere, from the beginning. Every item's
result is yielded exactly once.
"""

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, TypeVar

import ray
from ray.actor import ActorHandle
from ray.exceptions import GetTimeoutError, ObjectLostError, RayActorError, RayTaskError, WorkerCrashedError

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
class _Worker:
    """One place of the pool and the actor that holds it."""

    index: int
    actor: ActorHandle
    ready: Any
    """Reference that is done once the actor's constructor is; None when that is known."""
    started: int = 1
    """Actors that this place has had without finishing an item since."""
    pending: dict[Any, int] = field(default_factory=dict)
    """Result reference -> number of the item, oldest first."""
    question: Any = None
    """Reference of the answer to what ``ask`` has asked; None when it has come."""


class _Work(Generic[T]):
    """The items of one run: which are under way, which wait to be done again."""

    def __init__(self, items: Iterable[T]) -> None:
        self._source = enumerate(items)
        self._again: deque[int] = deque()
        self._more = True
        self.items: dict[int, T] = {}
        """Items drawn and not finished, by number."""
        self.attempts: dict[int, int] = {}

    def draw(self, alone: bool) -> int | None:
        """The number of the next item to do, None if there is none now; suspects are for actors that are ``alone``
        with them."""
        for number in self._again:
            if alone or not self.suspect(number):
                self._again.remove(number)
                return number
        if self._more:
            for number, item in self._source:
                self.items[number] = item
                return number
            self._more = False
        return None

    def suspect(self, number: int) -> bool:
        """Whether an actor died over this item. It may have finished it: the result of an actor that dies at once
        afterwards is lost too. With nothing behind it, another death is its own."""
        return number in self.attempts

    def give_back(self, numbers: Iterable[int]) -> None:
        """Do these again."""
        self._again.extend(numbers)

    @property
    def finished(self) -> bool:
        """Whether every item is done; True only after ``draw`` has returned None."""
        return not self._more and not self.items


class ActorPool(Generic[T]):
    """``size`` actors that share work; a dead one is replaced and its work handed out again.

    Actors are started at once. Use as a context manager, or call ``close``.
    """

    def __init__(
        self, factory: Callable[[int], ActorHandle], size: int, max_attempts: int = 3, in_flight: int = 2
    ) -> None:
        """Start the actors.

        Args:
            factory: makes the actor of a place ``0 .. size - 1``, with ``max_restarts=0`` (Ray's default).
            size: number of actors, at least 1.
            max_attempts: how often an item is tried whose actor dies under it, and how many actors in a row may die in
                a place without finishing anything.
            in_flight: items given to an actor at a time; 2 keep it busy while the driver handles a result.
        """
        if size < 1:
            raise ValueError(f"a pool needs at least 1 actor, not {size}")
        self._factory = factory
        self._max_attempts = max_attempts
        self._in_flight = in_flight
        self.lost_items = 0
        """Items done again so far because their actor died."""
        self._workers: list[_Worker] = []
        for index in range(size):
            actor = factory(index)
            self._workers.append(_Worker(index, actor, actor.__ray_ready__.remote()))

    def run(
        self,
        items: Iterable[T],
        call: Callable[[ActorHandle, T], Any],
        while_waiting: Callable[[], None] | None = None,
    ) -> Iterator[tuple[T, Any]]:
        """Do every item, in any order, and yield each with its result as it comes.

        Args:
            items: drawn as actors become free.
            call: starts one item on an actor and returns the reference of its result, e.g.
                ``lambda actor, item: actor.play.remote(item)``.
            while_waiting: called about once a second while nothing has come.

        Raises:
            WorkFailedError: an item raised, its actor died ``max_attempts`` times, or an actor cannot be constructed.
            UserError: an item raised one.
        """
        work = _Work(items)
        try:
            while True:
                self._hand_out(work, call)
                if work.finished:
                    return
                for worker, reference in self._finished(while_waiting):
                    number = worker.pending.get(reference)
                    if number is None:
                        continue  # its worker has been found dead a moment ago, and the item is to be done again
                    try:
                        result = ray.get(reference)
                    except RayTaskError as error:
                        raise _failure(work.items[number], error) from error
                    except _LOST as error:
                        self._give_back(work, worker, error)
                        continue
                    del worker.pending[reference]
                    worker.started = 1
                    yield work.items.pop(number), result
        finally:
            for worker in self._workers:
                worker.pending.clear()

    def ask(self, call: Callable[[ActorHandle], Any], timeout_seconds: float = 1.0) -> list[Any]:
        """Answers to a quick question from the actors that are up. An answer that does not come in time is among those
        of a later call.

        An actor answers while it works only if it has more than one thread (``max_concurrency``).
        """
        for worker in self._workers:
            if worker.ready is None and worker.question is None:
                worker.question = call(worker.actor)
        asked = {worker.question: worker for worker in self._workers if worker.question is not None}
        done, _ = ray.wait([*asked], num_returns=len(asked), timeout=timeout_seconds) if asked else ([], [])
        answers = []
        for reference in done:
            asked[reference].question = None
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hand_out(self, work: _Work[T], call: Callable[[ActorHandle, T], Any]) -> None:
        """Give items to actors that have started, first to those that have least."""
        free = [worker for worker in self._workers if worker.ready is None]
        for depth in range(self._in_flight):
            for worker in free:
                if len(worker.pending) > depth or any(map(work.suspect, worker.pending.values())):
                    continue
                number = work.draw(alone=not worker.pending)
                if number is None:
                    continue
                worker.pending[call(worker.actor, work.items[number])] = number

    def _give_back(self, work: _Work[T], worker: _Worker, error: Exception) -> None:
        """An actor died: replace it and have its items done again, unless the one it was at has used its tries."""
        number = next(iter(worker.pending.values()))  # actors work in the order they are asked
        item = work.items[number]
        tries = work.attempts[number] = work.attempts.get(number, 0) + 1
        if tries >= self._max_attempts:
            raise WorkFailedError(f"{item}: {tries} actors died over it ({error})") from error
        log.warning("%s: its actor died (%s); doing it again", item, str(error).partition("\n")[0])
        self.lost_items += 1
        work.give_back(worker.pending.values())
        self._replace(worker, error)

    def _finished(self, while_waiting: Callable[[], None] | None) -> list[tuple[_Worker, Any]]:
        """Results that have come, waiting for at least one or for an actor to start."""
        waited = time.monotonic()
        while True:
            starting = {worker.ready: worker for worker in self._workers if worker.ready is not None}
            owners = {reference: worker for worker in self._workers for reference in worker.pending}
            references = [*owners, *starting]
            done, _ = ray.wait(references, num_returns=len(references), timeout=0)
            if not done:
                seconds = _SAY_WAITING_SECONDS if while_waiting is None else _TICK_SECONDS
                done, _ = ray.wait(references, num_returns=1, timeout=seconds)
            if not done and while_waiting is not None:
                while_waiting()
            for reference in done:
                if reference in starting:
                    self._note_start(starting[reference])
            if done:
                come = set(done)
                return [
                    (worker, reference) for reference, worker in owners.items() if reference in come
                ]  # oldest first
            if starting and time.monotonic() - waited >= _SAY_WAITING_SECONDS:
                waited = time.monotonic()
                log.warning("%d of %d actors wait for room in the cluster", len(starting), len(self._workers))

    def _note_start(self, worker: _Worker) -> None:
        """An actor has started, or has died in its constructor."""
        try:
            ray.get(worker.ready, timeout=0)
            worker.ready = None
        except _LOST as error:
            if isinstance(error, RayActorError) and error.actor_init_failed:
                raise WorkFailedError(f"actor {worker.index} cannot start: {error}") from error
            self._replace(worker, error)
        except GetTimeoutError:
            pass

    def _replace(self, worker: _Worker, error: Exception) -> None:
        """Put a new actor in the place of a dead one."""
        if worker.started > self._max_attempts:
            raise WorkFailedError(f"actor {worker.index}: {worker.started} died in a row ({error})") from error
        ray.kill(worker.actor)  # one that is merely out of reach must not go on
        worker.pending.clear()
        worker.actor = self._factory(worker.index)
        worker.ready = worker.actor.__ray_ready__.remote()
        worker.started += 1


def _failure(item: Any, error: RayTaskError) -> Exception:
    """The exception to raise for an item that raised."""
    cause = error.cause
    if isinstance(cause, UserError):
        return UserError(f"{item}: {cause}")
    return WorkFailedError(f"{item}: {error}")
