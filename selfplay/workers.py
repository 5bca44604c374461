"""Who does the work of a run: actors on a Ray cluster.

Each stage has actors of its own: generators, the learner, evaluators. Stages take turns, so where the machines
cannot hold all of them at once the actors of one stage make room for those of the next; where they can, they stay
and nothing is loaded twice.
"""

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import ray

from cluster import logs, timeline
from cluster.config import ClusterConfig
from cluster.connection import actor_options, nodes
from cluster.errors import UserError
from cluster.pool import ActorPool
from cluster.preflight import Request, preflight
from games.compiling import cache_directory
from learner.config import EngineConfig, LearnerConfig
from learner.training.task import Learner, TrainingTask
from search.tournament.evaluator import DealsTask, Evaluator, EvaluatorSettings
from search.tournament.matches import Matches
from selfplay.evaluation import OnProgress
from selfplay.generator import Generator, GeneratorSettings, ShardReport
from selfplay.plan import ShardPlan

GENERATE, LEARN, EVALUATE = "generators", "learner", "evaluators"

T = TypeVar("T")
Device = TypeVar("Device", EngineConfig, LearnerConfig)

_WATCH = "watch"
"""Name of the thread in which an actor answers how far it is, while another does its work."""
_ACTORS = {
    stage: ray.remote(concurrency_groups={_WATCH: 1})(worker)
    for stage, worker in ((GENERATE, Generator), (LEARN, Learner), (EVALUATE, Evaluator))
}


def requests(cluster: ClusterConfig) -> dict[str, Request]:
    """What each stage asks of the machines."""
    return {
        GENERATE: Request(
            GENERATE, cluster.generators, cluster.generator_cpus, cluster.generator_gpus, cluster.generator_memory_mb
        ),
        LEARN: Request(LEARN, 1, cluster.learner_cpus, cluster.learner_gpus),
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
        log_dir: str = "",
    ) -> None:
        """Start nothing yet.

        Args:
            evaluator: may be left out where nothing is evaluated.
            log_dir: directory (path or URI) of the actors' log files, seen from every machine; empty for none.
        """
        self._log_dir = log_dir
        self._tracks: dict[Any, str] = {}
        """Actor -> its name in log files and in the timeline."""
        self._cluster = cluster
        self._requests = requests(cluster)
        self._settings: dict[str, Any] = {GENERATE: generator, EVALUATE: evaluator}
        self._pools: dict[str, ActorPool[Any]] = {}
        self._lost = 0
        self._said_compiling = False
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
        shares = [self._requests[stage].gpus for stage in stages]
        if any(shares) and not ray.get(ray.remote(num_cpus=0, num_gpus=max(shares))(_sees_gpu).remote()):
            raise UserError(
                "Ray lends a GPU to who asks for one, but torch finds no CUDA device there: install the driver and a "
                "torch that fits it, or set cluster.generator_gpus, evaluator_gpus and learner_gpus to 0"
            )

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        """Play shards, each to its path, in whatever order they are finished."""
        for _, report in self._run(
            GENERATE, plans, lambda actor, item: actor.generate.remote(*item), on_progress, lambda item: item[1]
        ):
            yield report

    def train(self, task: TrainingTask, on_progress: OnProgress) -> dict[str, float]:
        """Train one network; a learner that dies is replaced and goes on from its last checkpoint."""
        task = dataclasses.replace(task, learner=on_lent_device(task.learner, self._requests[LEARN].gpus))
        ((_, metrics),) = self._run(
            LEARN, [task], lambda actor, item: actor.train.remote(item), on_progress, lambda item: item.out
        )
        return dict(metrics)

    def evaluate(self, tasks: Iterable[DealsTask], on_progress: OnProgress) -> Iterator[tuple[DealsTask, Matches]]:
        """Play parts of tournaments, in whatever order they are finished."""
        return self._run(
            EVALUATE,
            tasks,
            lambda actor, item: actor.play.remote(item),
            on_progress,
            lambda item: f"deals {item.first}..{item.first + item.count - 1} of {' against '.join(item.players)}",
        )

    @property
    def lost_items(self) -> int:
        """Pieces of work done again because their actor died."""
        return self._lost + sum(pool.lost_items for pool in self._pools.values())

    def close(self) -> None:
        """End all actors."""
        for pool in self._pools.values():
            self._lost += pool.lost_items
            pool.close()
        self._pools.clear()

    def __enter__(self) -> "RayWorkers":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(
        self,
        stage: str,
        items: Iterable[T],
        call: Callable[[Any, T], Any],
        on_progress: OnProgress,
        name: Callable[[T], str],
    ) -> Iterator[tuple[T, Any]]:
        """Have a stage's actors do these, ask them now and then how far they are, and record who did what when."""
        pool, tracks = self._pool(stage), dict[str, str]()

        def hand_out(actor: Any, item: T) -> Any:
            timeline.end(tracks.get(name(item), ""), name(item))  # it was lost there
            tracks[name(item)] = self._tracks[actor]
            timeline.begin(self._tracks[actor], name(item))
            return call(actor, item)

        def ask() -> None:
            so_far: Counter[str] = Counter()
            for answer in pool.ask(lambda actor: actor.progress.options(concurrency_group=_WATCH).remote()):
                so_far.update(answer)
            if so_far.pop("compiling", 0):
                self._say_compiling()
            if so_far:
                on_progress(so_far)

        for item, result in pool.run(items, hand_out, ask):
            timeline.end(tracks[name(item)], name(item))
            yield item, result

    def _say_compiling(self) -> None:
        """Why the first minutes on a machine bring no games."""
        if not self._said_compiling:
            print(f"actors compile kernels (once; kept in {cache_directory()})", file=sys.stderr, flush=True)
        self._said_compiling = True

    def _pool(self, stage: str) -> ActorPool[Any]:
        if stage not in self._pools:
            if not self._together:
                self.close()
            request = self._requests[stage]
            self._pools[stage] = ActorPool(
                lambda index: self._start(stage, index), request.count, self._cluster.max_attempts
            )
        return self._pools[stage]

    def _start(self, stage: str, index: int) -> Any:
        request = self._requests[stage]
        kind = _ACTORS[stage].options(**actor_options(request.cpus, request.gpus, request.memory_mb))
        if stage == LEARN:
            actor = kind.remote()
        else:
            settings = self._settings[stage]
            actor = kind.remote(dataclasses.replace(settings, engine=on_lent_device(settings.engine, request.gpus)))
        self._tracks[actor] = f"{stage}-{index}"
        if self._log_dir:
            actor.__ray_call__.remote(_keep_log, f"{self._log_dir}/{stage}-{index}.log")
        return actor


def _keep_log(actor: object, path: str) -> None:
    """Have an actor's process log to a file; the first that it is given to do."""
    logs.keep(path)


def _fits(asked: list[Request]) -> bool:
    """Whether the machines hold all of these at once."""
    try:
        preflight(asked, nodes())
    except UserError:
        return False
    return True
