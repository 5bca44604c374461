"""Actors that do one piece of work together, as learners do that train one network."""

import contextlib
from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from cluster.errors import PeerLostError, UserError
from cluster.watching import logs

WATCH = "watch"
"""Name of the thread in which an actor answers how far it is, while another does its work."""
_LAST_WORDS_SECONDS = 10.0
"""How long the others are listened to once one has failed: what it says may only follow from what they have to say."""


class ActorGroup:
    """Actors that live and die as one: the pool sees this actor alone, which starts and owns them.

    When one has gone, or does not answer the others, all end, and this actor with them. The pool then starts a new
    group, which does the work again from wherever it can be resumed.
    """

    def __init__(self, worker: type, size: int, options: Mapping[str, Any], log: str = "") -> None:
        """Start the actors.

        Args:
            worker: the plain class that each is a shell around. ``meet(host, size)`` opens the place where the others
                find the first of them, and returns its address; ``train_together(task, host, size, rank, address)``
                does the work and raises ``PeerLostError`` where another has gone; ``progress()`` says how far it is.
            options: arguments of ``Actor.options`` for each.
            log: how the names of their log files begin; empty for none.
        """
        actor = ray.remote(concurrency_groups={WATCH: 1})(worker).options(**options)
        self._actors = [actor.remote() for _ in range(size)]
        for rank, actor in enumerate(self._actors if log else []):
            actor.__ray_call__.remote(keep_log, f"{log}-{rank}.log")
        # Until all of them have room this one is not ready either, so that the driver says what it waits for.
        ray.wait([actor.__ray_ready__.remote() for actor in self._actors], num_returns=size)

    def train(self, task: Any) -> Any:
        """Do one piece of work; what the first of them returns."""
        size, work = len(self._actors), list[Any]()
        try:
            hosts = ray.get([actor.__ray_call__.remote(_host) for actor in self._actors])
            address = ray.get(self._actors[0].meet.remote(hosts[0], size))
            for rank, (actor, host) in enumerate(zip(self._actors, hosts, strict=True)):
                work.append(actor.train_together.remote(task, host, size, rank, address))
            waiting = work
            while waiting:
                done, waiting = ray.wait(waiting)
                ray.get(done)
        except RayActorError:
            self._end()
        except RayTaskError as error:
            self._raise_cause(work, error)
        return ray.get(work[0])

    def progress(self) -> Mapping[str, float]:
        """How far the first of them is; asked from another thread."""
        asked = [actor.progress.options(concurrency_group=WATCH).remote() for actor in self._actors]
        first, *_ = ray.get(asked)  # all are asked: who hears nothing knows that one of them hangs
        return dict(first)

    def _raise_cause(self, work: list[Any], error: RayTaskError) -> None:
        """Raise what an actor raised of itself, or end where they have only lost each other."""
        errors = [error]
        done, _ = ray.wait(work, num_returns=len(work), timeout=_LAST_WORDS_SECONDS) if work else ([], [])
        for reference in done:
            try:
                ray.get(reference)
            except RayActorError:
                self._end()
            except RayTaskError as other:
                errors.append(other)
        own = [one for one in errors if not isinstance(one.cause, PeerLostError)]
        if not own:
            self._end()
        raise own[0].cause if isinstance(own[0].cause, UserError) else own[0]

    def _end(self) -> None:
        """End all, and this process: who asked hears that its actor has died."""
        for actor in self._actors:
            with contextlib.suppress(Exception):
                ray.kill(actor)
        ray.actor.exit_actor()


def keep_log(_: object, path: str) -> None:
    """Have an actor's process log to a file; the first that it is given to do."""
    logs.keep(path)


def _host(_: object) -> str:
    """The address at which the machine of an actor is found."""
    return ray.util.get_node_ip_address()
