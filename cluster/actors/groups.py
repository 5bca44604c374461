"""Actors that do one piece of work together, such as learners that train one network."""

import contextlib
from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from cluster.errors import PeerLostError, UserError
from cluster.watching import logs

WATCH = "watch"
"""Concurrency group (thread) of an actor that answers progress queries while another thread works."""
_LAST_WORDS_SECONDS = 10.0
"""Wait for the other actors' errors once one has failed: its error may only be a consequence of theirs."""
_LAST_STEP_SECONDS = 20.0
"""Wait for a piece of work that was asked to stop."""


class ActorGroup:
    """Actors that live and die together. The pool sees only this actor, which starts and owns the members.

    When a member dies or stops answering the others, all members and this actor end. The pool then starts a new group,
    which resumes the work from its last checkpoint.
    """

    def __init__(self, worker: type, size: int, options: Mapping[str, Any], log: str = "") -> None:
        """Start the actors.

        Args:
            worker: the plain class that each member wraps. ``meet(host, size)`` opens the rendezvous on rank 0 and
                returns its address; ``train_together(task, host, size, rank, address)`` does the work and raises
                ``PeerLostError`` when another member has died; ``progress()`` returns the progress,
                ``stop()`` ends the work on rank 0.
            options: arguments of ``Actor.options`` for each.
            log: prefix of the members' log files; empty for none.
        """
        actor = ray.remote(concurrency_groups={WATCH: 1})(worker).options(**options)
        self._actors = [actor.remote() for _ in range(size)]
        for rank, actor in enumerate(self._actors if log else []):
            actor.__ray_call__.remote(keep_log, f"{log}-{rank}.log")
        # This actor is ready only once all members have room, so that the driver reports what it waits for.
        ray.wait([actor.__ray_ready__.remote() for actor in self._actors], num_returns=size)

    def train(self, task: Any) -> Any:
        """Do one piece of work; returns the result of rank 0."""
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
        """Progress of rank 0; called from another thread."""
        asked = [actor.progress.options(concurrency_group=WATCH).remote() for actor in self._actors]
        first, *_ = ray.get(asked)  # all are asked: no answer means that one of them hangs
        return dict(first)

    def stop(self) -> None:
        """Have the work end as rank 0 ends its own."""
        ray.get(self._actors[0].stop.options(concurrency_group=WATCH).remote())

    def _raise_cause(self, work: list[Any], error: RayTaskError) -> None:
        """Raise the error that a member raised itself; end the group where all errors are ``PeerLostError``."""
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
        """End all members and this process; the caller gets Ray's actor-died error."""
        for actor in self._actors:
            with contextlib.suppress(Exception):
                ray.kill(actor)
        ray.actor.exit_actor()


def stop(actor: Any, work: Any) -> None:
    """Ask an actor to end a piece of work, the reference of one of its calls, and wait until it has: at most for some
    seconds, in which a second signal to this process ends the wait."""
    actor.stop.options(concurrency_group=WATCH).remote()
    ray.wait([work], timeout=_LAST_STEP_SECONDS)


def keep_log(_: object, path: str) -> None:
    """Have an actor's process log to a file; its first call."""
    logs.keep(path)


def _host(_: object) -> str:
    """IP address of the actor's machine."""
    return ray.util.get_node_ip_address()
