"""Actors by stage of a command: generators, a learner, evaluators.

Stages take turns. Where the machines cannot hold all stages at once, the idle actors of one end to make room for the
next; else they stay, so that nothing is loaded twice. Machines may be lost at any time: room is checked whenever a
stage begins, and while actors wait for room.
"""

import logging
import math
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Self, TypeVar

import ray

from cluster.actors.connection import actor_options, nodes
from cluster.actors.groups import WATCH, ActorGroup, keep_log
from cluster.actors.hangs import Pace
from cluster.actors.pool import ActorPool
from cluster.actors.room import all_have_processes, has_process
from cluster.config import ClusterConfig
from cluster.errors import UserError
from cluster.preflight import Request, preflight, wait_for_room
from cluster.watching.progress import OnProgress

T = TypeVar("T")

_GPU_SECONDS = 60
"""Longest wait for a free GPU, and for a process there that imports torch."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stage:
    """The actors of one stage."""

    request: Request
    """Number of actors, and the resources of each."""
    worker: type
    """The plain class that each actor wraps. Its ``progress()`` returns the progress within the item, as numbers that
    add up over actors; a key ``compiling`` is above 0 while it compiles kernels."""
    arguments: tuple[Any, ...] = ()
    """Arguments of ``worker``."""
    together: bool = False
    """Whether the actors work on one item together (``actors.groups``), without ``arguments``."""


class Stages:
    """Actors of a connected Ray, started when a stage first needs them; dead ones are replaced and their work done
    again."""

    def __init__(
        self, cluster: ClusterConfig, stages: Iterable[Stage], log_dir: str = "", at_once: Collection[str] = ()
    ) -> None:
        """Start nothing yet.

        Args:
            log_dir: directory (path or URI) of the actors' log files, seen from every machine; empty for none.
            at_once: names of stages that work at the same time, each called by its own thread.
        """
        self._cluster = cluster
        self._at_once = at_once
        self._log_dir = log_dir
        self._said_compiling = False
        self._stages = {stage.request.name: stage for stage in stages}
        self._pools: dict[str, ActorPool[Any]] = {}
        self._at_work = set[str]()
        self._idle_since: dict[str, float] = {}
        """Stage -> when it last ended its work (monotonic seconds)."""
        self._paces: dict[str, Pace] = {}
        self._changing = threading.Lock()
        """Held while the set of pools or of working stages changes."""
        self._starts = count(1)
        self._lost = 0
        self._gpu_mb = 0
        self._worked = defaultdict[str, float](float)
        """Stage -> seconds at work of actors that have ended."""
        self._asked, self._worked_then = time.monotonic(), dict[str, float]()

    def check(self) -> None:
        """Check that every stage fits on the machines, that torch can use the GPUs that Ray assigns, and that their
        memory holds the actors. One GPU is asked: those of a cluster are taken to be alike.

        Raises:
            UserError: a stage asks for more than there is, with a table; or torch finds no GPU where Ray has one.
        """
        if not self._cluster.check_resources:
            return
        self._check_room()
        share = max(stage.request.gpus for stage in self._stages.values())
        seen = _memory_of_a_gpu(share) if share else None
        if seen == 0:
            raise UserError(
                "Ray lends a GPU to who asks for one, but torch finds no CUDA device there: install the driver and a "
                "torch that fits it, or set cluster.generator_gpus, evaluator_gpus and learner_gpus to 0"
            )
        if seen:
            self._gpu_mb = seen
            self._check_room()

    def _check_room(self) -> None:
        for stage in self._stages.values():
            self._preflight([stage.request.name])
        try:
            self._preflight(self._at_once)
        except UserError as error:
            names = " and ".join(self._at_once)
            raise UserError(f"selfplay.staleness has {names} work at once: {error}") from error

    def _preflight(self, names: Iterable[str]) -> None:
        """``preflight`` of these stages together, on the present machines."""
        machines = [replace(node, gpu_mb=self._gpu_mb) for node in nodes()]
        preflight([self._stages[name].request for name in names], machines)

    def run(
        self,
        name: str,
        items: Iterable[T],
        call: Callable[[Any, T], Any],
        on_progress: OnProgress,
        label: Callable[[T], str] = str,
        keep_going: bool = False,
    ) -> Iterator[tuple[T, Any]]:
        """Run items on a stage's actors, and report progress; see ``ActorPool.run``. ``label``: the item's name in
        messages."""
        pool = self._begin(name)

        def add_up(answers: list[Mapping[str, float]]) -> None:
            so_far: Counter[str] = Counter()
            for answer in answers:
                so_far.update(answer)
            if so_far.pop("compiling", 0):
                self._say_compiling()
            self._end_idle()
            on_progress(so_far)

        try:
            yield from pool.run(items, call, add_up, label, keep_going)
        finally:
            self._at_work.discard(name)
            self._idle_since[name] = time.monotonic()

    @property
    def lost_items(self) -> int:
        """Pieces of work done again because their actor died."""
        return self._lost + sum(pool.lost_items for pool in [*self._pools.values()])

    def idle_shares(self) -> dict[str, float]:
        """Shares of the time since the last call, or the beginning, in which actors had nothing to do: of each stage's,
        and as ``gpu`` of all GPUs of the cluster, where there are any."""
        with self._changing:
            pools = {name: pool.seconds_at_work for name, pool in self._pools.items()}
        worked = {name: self._worked[name] + pools.get(name, 0.0) for name in self._stages}
        seconds, self._asked = time.monotonic() - self._asked, time.monotonic()
        done = {name: now - self._worked_then.get(name, 0.0) for name, now in worked.items()}
        self._worked_then = worked
        requests = {name: stage.request for name, stage in self._stages.items()}
        # a pool of learners that train together counts as one
        together = {name: request.count if self._stages[name].together else 1 for name, request in requests.items()}
        busy = {name: together[name] * done[name] for name in requests}
        shares = {name: 1 - busy[name] / (request.count * seconds) for name, request in requests.items()}
        if gpus := sum(node.gpus for node in nodes()):
            shares["gpu"] = 1 - sum(busy[name] * request.gpus for name, request in requests.items()) / (gpus * seconds)
        return {name: min(max(share, 0.0), 1.0) for name, share in shares.items()}

    def close(self) -> None:
        """End all actors."""
        self._end([*self._pools])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _say_compiling(self) -> None:
        """Log once that kernels are being compiled, which takes the first minutes on a machine."""
        if not self._said_compiling:
            print("actors compile kernels (once; KIBITZ_CACHE_DIR keeps them)", file=sys.stderr, flush=True)
        self._said_compiling = True

    def _begin(self, name: str) -> ActorPool[Any]:
        """The pool of a stage that starts now; ends idle pools that do not fit beside it."""
        with self._changing:
            stage = self._stages[name]
            if not self._fit({*self._pools, name}):
                beside = self._at_once if name in self._at_once else ()
                self._end({*self._pools} - {name, *beside})
            if name not in self._pools:
                self._pools[name] = self._new_pool(stage)
            self._at_work.add(name)
            return self._pools[name]

    def _new_pool(self, stage: Stage) -> ActorPool[Any]:
        return ActorPool(
            lambda index: self._start(stage, index),
            1 if stage.together else stage.request.count,
            self._cluster.max_attempts,
            # no events of these: once a second from each actor they would push shards out of Ray's task table
            ask=lambda actor: actor.progress.options(concurrency_group=WATCH, enable_task_events=False).remote(),
            item_timeout_s=self._cluster.item_timeout_s,
            pace=self._paces.setdefault(stage.request.name, Pace()),
            has_room=lambda actor: has_process(actor) and (not stage.together or all_have_processes(stage.worker)),
            on_waiting=lambda waiting, long: self._make_room(stage, waiting, long),
        )

    def _make_room(self, stage: Stage, waiting: int, long: bool) -> None:
        """End idle actors of other stages for a stage that waits for room: where the stages no longer fit (a machine is
        lost), or after a ``long`` wait (others use the cluster, or Ray has placed actors badly)."""
        with self._changing:
            idle = sorted({*self._pools} - self._at_work)
            idle = idle if long or not self._fit(self._pools) else []
            self._end(idle)
        if idle or long:
            waiting = stage.request.count if stage.together else waiting
            ended = f"; idle {' and '.join(idle)} ended to make some" if idle else ""
            log.warning("%s%s", wait_for_room(stage.request, waiting, nodes()), ended)

    def _fit(self, names: Iterable[str]) -> bool:
        """Whether the present machines hold these stages at once."""
        try:
            self._preflight(names)
        except UserError:
            return not self._cluster.check_resources
        return True

    def _end_idle(self) -> None:
        """End the actors of stages that have had no work for ``cluster.idle_minutes``."""
        limit = 60 * self._cluster.idle_minutes
        with self._changing:
            idle = {*self._pools} - self._at_work if limit else set()
            long = [name for name in idle if time.monotonic() - self._idle_since.get(name, math.inf) > limit]
            self._end(long)
        for name in long:
            log.info("idle %s ended after %g minutes, cluster.idle_minutes", name, self._cluster.idle_minutes)

    def _end(self, names: Iterable[str]) -> None:
        for name in names:
            pool = self._pools.pop(name)
            self._lost += pool.lost_items
            self._worked[name] += pool.seconds_at_work
            pool.close()

    def _start(self, stage: Stage, index: int) -> Any:
        request = stage.request
        options = actor_options(request.cpus, request.gpus, request.memory_mb, request.labels)
        kind = ray.remote(concurrency_groups={WATCH: 1})(ActorGroup if stage.together else stage.worker)
        file = f"{self._log_dir}/{request.name}-{index}" if self._log_dir else ""
        if stage.together:
            actor = kind.options(num_cpus=0).remote(stage.worker, request.count, options, file)
        else:
            # for Ray's dashboard; the number, as a name is taken until Ray knows that its actor has died
            name = f"{request.name}-{index}.{next(self._starts)}"
            actor = kind.options(name=name, **options).remote(*stage.arguments)
        if file:
            actor.__ray_call__.remote(keep_log, f"{file}.log")
        return actor


def _memory_of_a_gpu(share: float) -> int | None:
    """MB of the GPU that Ray assigns, 0 where torch finds none; None, unchecked, where all GPUs are in use."""
    answer = ray.remote(num_cpus=0, num_gpus=share)(_visible_mb).remote()
    if not ray.wait([answer], timeout=_GPU_SECONDS)[0]:
        log.warning("no GPU is free within %d s; this command waits for others to end", _GPU_SECONDS)
        ray.cancel(answer)
        return None
    return int(ray.get(answer))


def _visible_mb() -> int:
    import torch

    return torch.cuda.get_device_properties(0).total_memory // 2**20 if torch.cuda.is_available() else 0
