"""Workers of a run: actors on a Ray cluster."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from cluster.actors.groups import stop
from cluster.actors.stages import Stage, Stages
from cluster.config import ClusterConfig
from cluster.preflight import Request
from cluster.watching.progress import OnProgress
from learner.devices import on_lent_device
from learner.task import Learner, TrainingTask
from search.arena.tournament.workers import EVALUATE, evaluators, play_parts
from selfplay.config import TrainConfig
from selfplay.generator import Generator, GeneratorSettings, ShardReport
from selfplay.overlap import StoppedError
from selfplay.plan import ShardPlan

GENERATE, LEARN = "generators", "learner"


def generators(cluster: ClusterConfig, settings: GeneratorSettings, gpu_mb: int = 0) -> Stage:
    """The actors that play games, each of which may take so much of a GPU's memory."""
    asked = (cluster.generators, cluster.generator_cpus, cluster.generator_gpus, cluster.generator_memory_mb)
    labels = tuple(cluster.generator_labels.items())
    return Stage(Request(GENERATE, *asked, gpu_mb, labels), Generator, (settings,))


def learner(cluster: ClusterConfig) -> Stage:
    """The actor that trains, or the actors that train one network together."""
    asked, labels = (cluster.learners, cluster.learner_cpus, cluster.learner_gpus), cluster.learner_labels
    request = Request(LEARN, *asked, labels=tuple(labels.items()))
    return Stage(request, Learner, together=cluster.learners > 1)


def stages_of(
    cluster: ClusterConfig, settings: GeneratorSettings, gpu_mb: Mapping[str, int] = MappingProxyType({})
) -> list[Stage]:
    """All stages of a run. ``gpu_mb``: stage -> what each of its actors may take of a GPU's memory."""
    stages = generators(cluster, settings), learner(cluster), evaluators(cluster)
    requests = [replace(stage.request, gpu_mb=gpu_mb.get(stage.request.name, 0)) for stage in stages]
    return [replace(stage, request=request) for stage, request in zip(stages, requests, strict=True)]


def stages_at_once(config: TrainConfig) -> tuple[str, ...]:
    """The stages that ``selfplay.staleness`` has work side by side."""
    measures = bool(config.selfplay.gate.deals or config.evaluation.curve)
    return ((GENERATE, LEARN, EVALUATE) if measures else (GENERATE, LEARN)) if config.selfplay.staleness else ()


def play_shards(
    stages: Stages, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress
) -> Iterator[ShardReport]:
    """Have generators play shards, each to its path; yields reports in order of completion."""

    def generate(actor: Any, item: tuple[ShardPlan, str]) -> Any:
        plan = item[0]
        # for Ray's dashboard, and the process's title
        name = f"Generator.generate: iteration {plan.iteration}, shard {plan.shard:05d}"
        return actor.generate.options(name=name).remote(*item)

    for _, report in stages.run(GENERATE, plans, generate, on_progress, lambda item: item[1]):
        yield report


class RayWorkers(Stages):
    """The actors of a whole run."""

    generate, evaluate = play_shards, play_parts

    def __init__(
        self,
        cluster: ClusterConfig,
        settings: GeneratorSettings,
        log_dir: str = "",
        at_once: Collection[str] = (),
        gpu_mb: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Start nothing yet.

        Args:
            log_dir: see ``Stages``.
            at_once: stages that work side by side (``stages_at_once``).
            gpu_mb: see ``stages_of``; ``selfplay.gpu_memory`` estimates it.
        """
        super().__init__(cluster, stages_of(cluster, settings, gpu_mb), log_dir, at_once)

    def train(self, task: TrainingTask, on_progress: OnProgress) -> dict[str, float]:
        """Train one network; a learner that dies is replaced, with all that train beside it, and goes on from the last
        checkpoint. A command that is to end lets it write one."""
        task = replace(task, learner=on_lent_device(task.learner, self._cluster.learner_gpus))
        under_way = list[tuple[Any, Any]]()

        def begin(actor: Any, item: TrainingTask) -> Any:
            under_way[:] = [(actor, actor.train.remote(item))]
            return under_way[0][1]

        try:
            ((_, metrics),) = self.run(LEARN, [task], begin, on_progress, lambda item: item.out)
        except (KeyboardInterrupt, SystemExit, StoppedError):
            for learner_at_work in under_way:
                stop(*learner_at_work)
            raise
        return dict(metrics)
