"""A pool of Ray actors that finishes its work though actors die or hang.

Items of work must be idempotent: an item whose actor died is done again by another, from the beginning. Every item's
result is yielded exactly once. Where nothing waits any more, an item that takes unusually long, as on a slow machine,
is given to an idle actor too, and the first result counts.

A hang is a death that goes unreported. An actor that does not answer a progress query was stopped or lost its machine.
An actor that answers with the same progress for many times the slowest item so far is stuck. The pool kills both, and
any actor whose constructor never returns.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayActorError, RayError, RayTaskError

from cluster.actors.hangs import FEW_ITEMS, MOST_SECONDS, Pace, hung
from cluster.actors.room import has_process
from cluster.actors.worker import Ask, Item, Worker
from cluster.errors import UserError, WorkFailedError

T = TypeVar("T")

_TICK_SECONDS = 1.0
_ASKED_A_TICK = 100
"""Most workers that one tick looks after, so that a driver of a thousand has time for their results."""
_SAY_WAITING_SECONDS = 60.0
_LATE, _LATE_SECONDS = 2.0, 30.0
"""Multiple of the mean duration, and seconds at least, after which an item is given to a second actor."""
log = logging.getLogger(__name__)


class ActorPool(Generic[T]):
    """At most ``size`` actors that share work; a dead one is replaced and its work handed out again.

    Work starts as many as it can occupy, and they stay. Use as a context manager, or call ``close``.
    """

    def __init__(
        self,
        factory: Callable[[int], ActorHandle],
        size: int,
        max_attempts: int = 3,
        ask: Ask | None = None,
        item_timeout_s: float = 0.0,
        pace: Pace | None = None,
        has_room: Callable[[ActorHandle], bool] = has_process,
        on_waiting: Callable[[int, bool], None] = lambda count, long: None,
    ) -> None:
        """Start no actor yet.

        Args:
            factory: makes the actor of a place ``0 .. size - 1``, with ``max_restarts=0`` (Ray's default).
            size: most actors, at least 1.
            max_attempts: tries of an item whose actors die, and deaths in a row of actors in one place that finish no
                item.
            ask: queries an actor's progress, about once a second; the answer is any value that changes as it works.
                Without it a hang inside an item goes unnoticed.
            item_timeout_s: seconds without an answer after which an actor counts as hung; 0 for two minutes. An actor
                that answers counts as hung when its progress has not changed for ten times the slowest item so far, and
                at least for these seconds (0: ten minutes); before three items are done, for an hour.
            pace: of earlier items of the same kind, if there were any.
            has_room: whether the cluster has found room for an actor that has not started yet.
            on_waiting: called about once a second while actors wait for room, with their number; the flag is true once
                a minute.
        """
        self._factory, self._size = factory, size
        self._max_attempts = max_attempts
        self._ask = ask
        self._item_timeout_s = item_timeout_s
        self._pace = pace or Pace()
        self._has_room, self._on_waiting = has_room, on_waiting
        self._watched = self._said = time.monotonic()
        self._took: list[float] = []
        """Seconds of the items of the present work."""
        self.lost_items = 0
        """Items done again so far because their actor died."""
        self._worked, self._wanted = 0.0, 0
        self._workers: list[Worker[T]] = []

    def run(
        self,
        items: Iterable[T],
        call: Callable[[ActorHandle, T], Any],
        on_answers: Callable[[list[Any]], None] = lambda answers: None,
        name: Callable[[T], str] = str,
        keep_going: bool = False,
    ) -> Iterator[tuple[T, Any]]:
        """Do every item, in any order, and yield each with its result as it comes.

        Args:
            items: drawn one at a time, as actors become free. Where their number is known, no more actors are started
                than there are items.
            call: starts one item on an actor and returns the reference of its result, e.g.
                ``lambda actor, item: actor.play.remote(item)``.
            on_answers: called about once a second with the last answers to ``ask`` of the actors that work on an item.
            name: the item's name in messages.
            keep_going: yield a failed item with its exception as the result, and do the others.

        Raises:
            WorkFailedError: an item raised or its actors died ``max_attempts`` times, unless ``keep_going``; an actor
                cannot be constructed, or the cluster has lost the driver's machine.
            UserError: an item raised one, unless ``keep_going``.
        """
        waiting, later, self._took = deque[Item[T]](), map(Item, items), []
        self._start(min(self._size, len(items)) if isinstance(items, Sized) else self._size)
        try:
            self._hand_out(waiting, later, call)
            while _more(waiting, later) or any(worker.item and not worker.item.done for worker in self._workers):
                done = self._done(on_answers, lambda: self._double(call, name))
                finished, failure = self._take_back(done, waiting, name, keep_going)
                if not failure:
                    self._hand_out(waiting, later, call)  # before the caller takes its time over a result
                yield from finished
                if failure:
                    raise failure
        finally:
            for worker in self._workers:
                worker.item = None

    @property
    def seconds_at_work(self) -> float:
        """Seconds that actors have worked on items so far, those of all added up."""
        now = time.monotonic()
        return self._worked + sum(now - one.began for one in self._workers if one.item and not one.item.done)

    def close(self) -> None:
        """End the actors."""
        for worker in self._workers:
            ray.kill(worker.actor)
        self._workers.clear()

    def __enter__(self) -> "ActorPool[T]":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ---- handing out and taking back

    def _start(self, count: int) -> None:
        """Start the actors that are missing to ``count``, and knock on those that were kept: one that has died idle is
        noticed before an item is handed to it, which would pay for it."""
        self._wanted = count
        for worker in self._workers:
            if worker.reference is None:
                worker.set_to(worker.actor.__ray_ready__.remote())
        there = {worker.index for worker in self._workers}
        unused = (index for index in range(self._size) if index not in there)
        for index in islice(unused, max(count - len(there), 0)):
            self._workers.append(Worker(index))
            self._fill(self._workers[-1])
            self._said = time.monotonic()

    def _fill(self, worker: Worker[T]) -> None:
        """Start an actor in a place; whoever had it is ended."""
        if worker.actor is not None:
            ray.kill(worker.actor)
        worker.actor, worker.started, worker.killed_for = self._factory(worker.index), False, ""
        worker.set_to(worker.actor.__ray_ready__.remote())

    def _hand_out(
        self, waiting: deque[Item[T]], later: Iterator[Item[T]], call: Callable[[ActorHandle, T], Any]
    ) -> None:
        """Hand waiting items to idle actors."""
        for worker in self._workers:
            if worker.reference is None and _more(waiting, later):
                item = waiting.popleft()
                worker.set_to(call(worker.actor, item.value), item)

    def _double(self, call: Callable[[ActorHandle, T], Any], name: Callable[[T], str]) -> None:
        """Give late items to idle actors too, those first that are under way longest."""
        if len(self._took) < FEW_ITEMS:
            return
        now, late = time.monotonic(), max(_LATE * sum(self._took) / len(self._took), _LATE_SECONDS)
        slow = [one for one in self._workers if one.item and not one.item.doubled and now - one.began > late]
        idle = (worker for worker in self._workers if worker.started and worker.reference is None)
        for worker, other in zip(idle, sorted(slow, key=lambda one: one.began), strict=False):
            assert other.item
            log.warning("%s: takes unusually long; another actor does it too", name(other.item.value))
            other.item.doubled = True
            worker.set_to(call(worker.actor, other.item.value), other.item)

    def _done(self, on_answers: Callable[[list[Any]], None], double: Callable[[], None]) -> dict[Any, Worker[T]]:
        """Wait until a running call has finished; all that have, with their workers. ``double``: gives late items to
        idle actors."""
        while True:
            busy = {worker.reference: worker for worker in self._workers if worker.reference is not None}
            done, _ = ray.wait([*busy], timeout=_TICK_SECONDS)
            if time.monotonic() - self._watched >= _TICK_SECONDS:
                self._watch(list(busy.values()))
                on_answers(self._answers())
                double()
                self._watched = time.monotonic()
            if done:
                ready = ray.wait([*busy], num_returns=len(busy), timeout=0)[0]
                return {busy[reference].reference: busy[reference] for reference in ready}

    def _answers(self) -> list[Any]:
        """The last progress of every item under way; of one that two actors do, of who began first."""
        under_way = [one for one in self._workers if one.item and not one.item.done and one.answer is not None]
        first = {id(one.item): one for one in sorted(under_way, key=lambda one: one.began, reverse=True)}
        return [one.answer for one in first.values()]

    def _end_others(self, worker: Worker[T], item: Item[T]) -> None:
        """End the actor that does a finished item too, and start another: it would hold its GPU, and write what it
        makes, which rounds otherwise on another machine, over what others may be reading."""
        for other in self._workers:
            if other is not worker and other.item is item:
                self._fill(other)

    def _take_back(
        self, done: dict[Any, Worker[T]], waiting: deque[Item[T]], name: Callable[[T], str], keep_going: bool
    ) -> tuple[list[tuple[T, Any]], Exception | None]:
        """The finished items of workers with their results, and what ends the work, if anything does: what others have
        finished meanwhile is not lost."""
        finished, failure = list[tuple[T, Any]](), None
        for reference, worker in done.items():
            if worker.reference is not reference:  # ended meanwhile, as another was faster
                continue
            try:
                for item, result in self._finish(worker, waiting, name):
                    if isinstance(result, Exception) and not keep_going:
                        raise result
                    finished.append((item, result))
            except Exception as error:
                failure = failure or error
        return finished, failure

    def _finish(self, worker: Worker[T], waiting: deque[Item[T]], name: Callable[[T], str]) -> list[tuple[T, Any]]:
        """The finished item of a worker with its result or exception; empty where the constructor has finished, or the
        item is to be tried again."""
        item, reference, seconds = worker.item, worker.reference, time.monotonic() - worker.began
        idle = worker.started and item is None
        item = None if item and item.done else item  # another was faster
        worker.set_to(None)
        try:
            result = ray.get(reference)
        except RayTaskError as error:
            if item is None:
                return []
            item.done = True
            return [(item.value, _failure(name(item.value), error))]
        except RayError as error:  # the actor or its machine has gone; says nothing about the item
            if item and any(other.item is item for other in self._workers):  # which still works on it
                item = None
            failed = item and self._note_death(item, name(item.value), worker.killed_for or _reason(error))
            if item and failed:
                item.done, worker.deaths = True, 0  # the item is to blame
            elif item:
                waiting.appendleft(item)
            if idle and len(self._workers) > self._wanted:
                self._workers.remove(worker)  # this work cannot occupy another in its place
            else:
                self._replace(worker, error, counts=not idle)
            return [(item.value, failed)] if item and failed else []
        worker.started = True
        if item is None:
            return []
        item.done, worker.deaths = True, 0
        self._worked += seconds
        self._took.append(seconds)
        self._end_others(worker, item)
        self._pace.items_done += 1
        self._pace.slowest = max(self._pace.slowest, seconds)
        return [(item.value, result)]

    def _note_death(self, item: Item[T], name: str, reason: str) -> WorkFailedError | None:
        """Count a death over an item. The error where it has used up its tries; else None: it is to be done again."""
        item.deaths += 1
        if item.deaths >= self._max_attempts:
            return WorkFailedError(f"{name}: {item.deaths} actors died over it ({reason})")
        log.warning("%s: its actor died (%s); doing it again", name, reason)
        self.lost_items += 1
        return None

    def _replace(self, worker: Worker[T], error: RayError, counts: bool) -> None:
        """Put a new actor in the place of a dead one. ``counts``: whether it tried to start or to do something."""
        reason = worker.killed_for or _reason(error)
        worker.deaths += counts
        if isinstance(error, RayActorError) and error.actor_init_failed:
            raise WorkFailedError(f"actor {worker.index} cannot start: {error}") from error
        if worker.deaths > self._max_attempts:
            raise WorkFailedError(f"actor {worker.index}: {worker.deaths} died in a row ({reason})") from error
        self._fill(worker)  # an actor that is merely out of reach must not go on

    # ---- watching

    def _watch(self, busy: list[Worker[T]]) -> None:
        """Ask busy workers for their progress, and kill those that hang; Ray ends stopped processes too. Of many it
        looks after those that have waited longest for it."""
        now, most = time.monotonic(), MOST_SECONDS * -(-len(busy) // _ASKED_A_TICK)
        for worker in sorted(busy, key=lambda worker: worker.watched)[:_ASKED_A_TICK]:
            seconds, worker.watched = min(now - worker.watched, most), now
            worker.waits = not worker.started and not self._has_room(worker.actor)
            if worker.started and self._ask is not None:
                worker.hear(self._ask, seconds)
            elif not worker.started and not worker.waits:
                worker.still += seconds
            if not worker.killed_for and (reason := hung(worker, self._pace, self._item_timeout_s)):
                worker.killed_for = reason
                ray.kill(worker.actor)
        without_room = sum(worker.waits for worker in busy)
        if not without_room:
            self._said = now
            return
        if not _own_node_lives():
            raise WorkFailedError("Ray has died on this machine (its raylet); give the same command again")
        long = now - self._said >= _SAY_WAITING_SECONDS
        self._said = now if long else self._said
        self._on_waiting(without_room, long)


def _more(waiting: deque[Item[T]], later: Iterator[Item[T]]) -> bool:
    """Whether an item waits; draws the next where none does."""
    if not waiting:
        waiting.extend(islice(later, 1))
    return bool(waiting)


def _own_node_lives() -> bool:
    """Whether the driver's machine is still in the cluster; Ray starts no actor for a driver on a lost machine."""
    own = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == own and node["Alive"] for node in ray.nodes())


def _reason(error: RayError) -> str:
    """Why an actor died, shortened from Ray's message."""
    lines = str(error).splitlines() or [type(error).__name__]
    because = next((line for line in lines if " because " in line), lines[0])
    return because.partition(". ")[0].rstrip(".")


def _failure(name: str, error: RayTaskError) -> Exception:
    """The error of an item that raised: the reason in one line, then the actor's traceback."""
    cause = error.cause
    if isinstance(cause, UserError):  # it already names the setting to mend
        cause.__cause__ = error
        return cause
    reason = (str(cause).splitlines() or [""])[0]
    failed = WorkFailedError(f"{name}: {type(cause).__name__}: {reason}\n{error}")
    failed.__cause__ = error
    return failed
