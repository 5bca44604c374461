"""Who does the work of a run: actors on a Ray cluster.

Each stage has actors of its own: generators, the learner, evaluators. Stages take turns, so where the machines
cannot hold all of them at once the actors of one stage make room for those of the next; where they can, they stay
and nothing is loaded twice.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import ray

from cluster.config import ClusterConfig
from cluster.connection import actor_options, nodes
from cluster.errors import UserError
from cluster.pool import ActorPool
from cluster.preflight import Request, preflight
from learner.config import EngineConfig, LearnerConfig
from learner.training.task import Learner, TrainingTask
from search.tournament.evaluator import DealsTask, Evaluator, EvaluatorSettings
from search.tournament.matches import Matches
from selfplay.evaluation import OnProgress
from selfplay.generator import Generator, GeneratorSettings, ShardReport
from selfplay.learners import LearnerGroup
from selfplay.plan import ShardPlan

GENERATE, LEARN, EVALUATE = "generators", "learner", "evaluators"
_AT_ONCE = (GENERATE, LEARN)
"""The stages that ``selfplay.overlap`` has work at the same time."""

T = TypeVar("T")
Device = TypeVar("Device", EngineConfig, LearnerConfig)

_WATCH = "watch"
"""Name of the thread in which an actor answers how far it is, while another does its work."""
_ACTORS = {
    stage: ray.remote(concurrency_groups={_WATCH: 1})(worker)
    for stage, worker in ((GENERATE, Generator), (LEARN, Learner), (EVALUATE, Evaluator))
}
_GROUP = ray.remote(concurrency_groups={_WATCH: 1})(LearnerGroup)


def requests(cluster: ClusterConfig) -> dict[str, Request]:
    """What each stage asks of the machines."""
    return {
        GENERATE: Request(
            GENERATE, cluster.generators, cluster.generator_cpus, cluster.generator_gpus, cluster.generator_memory_mb
        ),
        LEARN: Request(LEARN, cluster.learners, cluster.learner_cpus, cluster.learner_gpus),
        EVALUATE: Request(EVALUATE, cluster.evaluators, cluster.evaluator_cpus, cluster.evaluator_gpus),
    }


def check_devices(
    cluster: ClusterConfig, engine: EngineConfig, learner: LearnerConfig | None = None, evaluating: bool = True
) -> None:
    """Check that whoever is told to compute on a GPU is lent one.

    Raises:
        UserError: ``device=cuda`` and no share of a GPU; names both keys.
    """
    asked = [("engine.device", engine.device, "generator_gpus")]
    asked += [("engine.device", engine.device, "evaluator_gpus")] if evaluating else []
    asked += [("learner.device", learner.device, "learner_gpus")] if learner else []
    for key, device, share in asked:
        if device == "cuda" and not getattr(cluster, share):
            raise UserError(
                f"{key}=cuda: cluster.{share}=0 lends it no GPU; set cluster.{share} above 0, or {key}=auto"
            )


def on_lent_device(config: Device, gpus: float) -> Device:
    """``device=auto`` as it is for an actor with this share of a GPU, whatever the driver's machine has: ``cuda`` with
    one, as an error is better than hours on a CPU, and ``cpu`` without."""
    if config.device != "auto":
        return config
    return dataclasses.replace(config, device="cuda" if gpus else "cpu")


def _sees_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


class RayWorkers:
    """Actors of a connected Ray, started when a stage first needs them; dead ones are replaced and their work done
    again."""

    def __init__(
        self,
        cluster: ClusterConfig,
        generator: GeneratorSettings,
        evaluator: EvaluatorSettings | None = None,
        overlap: bool = False,
    ) -> None:
        """Start nothing yet. ``evaluator`` may be left out where nothing is evaluated; ``overlap``: games are
        played while a network trains."""
        self._cluster = cluster
        self._overlap = overlap
        self._requests = requests(cluster)
        self._settings: dict[str, Any] = {GENERATE: generator, EVALUATE: evaluator}
        self._pools: dict[str, ActorPool[Any]] = {}
        self._lost = 0
        self._together = not cluster.check_resources or _fits(list(self._requests.values()))

    def check(self, *stages: str) -> None:
        """Check that each of these stages fits on the machines, and that a GPU which Ray lends can be used.

        Raises:
            UserError: one asks for more than there is, with a table; or torch finds no GPU where Ray has one.
        """
        if not self._cluster.check_resources:
            return
        for stage in stages:
            preflight([self._requests[stage]], nodes())
        if self._overlap:
            try:
                preflight([self._requests[stage] for stage in _AT_ONCE], nodes())
            except UserError as error:
                raise UserError(
                    f"selfplay.overlap=true has {' and '.join(_AT_ONCE)} at work at once: {error}"
                ) from error
        shares = [self._requests[stage].gpus for stage in stages]
        if any(shares) and not ray.get(ray.remote(num_cpus=0, num_gpus=max(shares))(_sees_gpu).remote()):
            raise UserError(
                "Ray lends a GPU to who asks for one, but torch finds no CUDA device there: install the driver and a "
                "torch that fits it, or set cluster.generator_gpus, evaluator_gpus and learner_gpus to 0"
            )

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        """Play shards, each to its path, in whatever order they are finished."""
        for _, report in self._run(GENERATE, plans, lambda actor, item: actor.generate.remote(*item), on_progress):
            yield report

    def train(self, task: TrainingTask, on_progress: OnProgress) -> dict[str, float]:
        """Train one network; a learner that dies is replaced, with those that train beside it, and goes on from its
        last checkpoint."""
        task = dataclasses.replace(task, learner=on_lent_device(task.learner, self._requests[LEARN].gpus))
        ((_, metrics),) = self._run(LEARN, [task], lambda actor, item: actor.train.remote(item), on_progress)
        return dict(metrics)

    def evaluate(self, tasks: Iterable[DealsTask], on_progress: OnProgress) -> Iterator[tuple[DealsTask, Matches]]:
        """Play parts of tournaments, in whatever order they are finished."""
        return self._run(EVALUATE, tasks, lambda actor, item: actor.play.remote(item), on_progress)

    @property
    def lost_items(self) -> int:
        """Pieces of work done again because their actor died."""
        return self._lost + sum(pool.lost_items for pool in self._pools.values())

    def close(self) -> None:
        """End all actors."""
        self._end(*self._pools)

    def __enter__(self) -> "RayWorkers":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(
        self, stage: str, items: Iterable[T], call: Callable[[Any, T], Any], on_progress: OnProgress
    ) -> Iterator[tuple[T, Any]]:
        """Have a stage's actors do these, and ask them now and then how far they are."""
        pool = self._pool(stage)

        def ask() -> None:
            so_far: Counter[str] = Counter()
            for answer in pool.ask(lambda actor: actor.progress.options(concurrency_group=_WATCH).remote()):
                so_far.update(answer)
            on_progress(so_far)

        return pool.run(items, call, ask)

    def _make_room(self, stage: str) -> None:
        """End the actors of stages that are over, where the machines do not hold those of all."""
        if not self._together:
            beside = _AT_ONCE if self._overlap and stage in _AT_ONCE else ()
            self._end(*(other for other in self._pools if other not in beside))

    def _end(self, *stages: str) -> None:
        for stage in stages:
            pool = self._pools.pop(stage)
            self._lost += pool.lost_items
            pool.close()

    def _pool(self, stage: str) -> ActorPool[Any]:
        if stage not in self._pools:
            self._make_room(stage)
            request = self._requests[stage]
            size = 1 if stage == LEARN else request.count
            self._pools[stage] = ActorPool(lambda _: self._start(stage), size, self._cluster.max_attempts)
        return self._pools[stage]

    def _start(self, stage: str) -> Any:
        request = self._requests[stage]
        options = actor_options(request.cpus, request.gpus, request.memory_mb)
        if stage == LEARN and request.count > 1:
            return _GROUP.options(num_cpus=0).remote(request.count, options)
        actor = _ACTORS[stage].options(**options)
        if stage == LEARN:
            return actor.remote()
        settings = self._settings[stage]
        return actor.remote(dataclasses.replace(settings, engine=on_lent_device(settings.engine, request.gpus)))


def _fits(asked: list[Request]) -> bool:
    """Whether the machines hold all of these at once."""
    try:
        preflight(asked, nodes())
    except UserError:
        return False
    return True
