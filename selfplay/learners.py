"""Learners on a Ray cluster that train one network together (``cluster.learners``)."""

import contextlib
from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from cluster.errors import UserError
from learner.training.parallel import Group, PeerLostError
from learner.training.task import Learner, TrainingTask

_WATCH = "watch"
_LAST_WORDS_SECONDS = 10.0
"""How long the others are listened to once one has failed: what it says may only follow from what they have to say."""


class Member(Learner):
    """One of them: a learner that knows where its machine is found."""

    def __init__(self) -> None:
        super().__init__()
        self._group: Group | None = None

    def meet(self, size: int) -> str:
        """Be the first of a group of this size; the address at which it waits for the others."""
        self._group = Group(ray.util.get_node_ip_address(), size)
        return self._group.address

    def train_together(self, task: TrainingTask, size: int, rank: int, address: str) -> dict[str, float]:
        """Train with the others; metrics from the first alone."""
        group = self._group if rank == 0 else Group(ray.util.get_node_ip_address(), size, rank, address)
        try:
            return self.train(task, group)
        finally:
            self._group = None
            if group:
                group.leave()


class LearnerGroup:
    """Learners that live and die as one: the pool sees a single actor, which starts them and owns them.

    When one has gone, or does not answer the others, all end, and this actor with them. The pool then starts a new
    group, which goes on from the last checkpoint.
    """

    def __init__(self, size: int, options: Mapping[str, Any]) -> None:
        """Start ``size`` learners with these arguments of ``Actor.options``."""
        member = ray.remote(concurrency_groups={_WATCH: 1})(Member).options(**options)
        self._members = [member.remote() for _ in range(size)]

    def train(self, task: TrainingTask) -> dict[str, float]:
        """Train one network; its final metrics."""
        size = len(self._members)
        try:
            address = ray.get(self._members[0].meet.remote(size))
            work = [m.train_together.remote(task, size, rank, address) for rank, m in enumerate(self._members)]
            waiting = work
            while waiting:
                done, waiting = ray.wait(waiting)
                ray.get(done)
            return dict(ray.get(work[0]))
        except RayActorError:
            self._end()
        except RayTaskError:
            self._explain(work)
        raise AssertionError("unreachable: one of these ends this process or raises")

    def progress(self) -> Mapping[str, float]:
        """The latest metrics of the training under way; asked from another thread."""
        asked = [member.progress.options(concurrency_group=_WATCH).remote() for member in self._members]
        first, *_ = ray.get(asked)  # all are asked: a pool that hears nothing knows that one of them hangs
        return dict(first)

    def _explain(self, work: list[Any]) -> None:
        """Raise what a member raised of itself, or end where they have only lost each other."""
        done, _ = ray.wait(work, num_returns=len(work), timeout=_LAST_WORDS_SECONDS)
        for reference in done:
            try:
                ray.get(reference)
            except RayActorError:
                self._end()
            except RayTaskError as error:
                if isinstance(error.cause, UserError):
                    raise error.cause from error
                if not isinstance(error.cause, PeerLostError):
                    raise
        self._end()

    def _end(self) -> None:
        """End this process and the members: who asked hears that the actor has died."""
        for member in self._members:
            with contextlib.suppress(Exception):
                ray.kill(member)
        ray.actor.exit_actor()
