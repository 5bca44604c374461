"""How long the GPUs of a node of eight idle in an iteration of ``hearts_paper``.

The loop, its stages and Ray are real and the GPUs are pretended: generators and the learner sleep as long as their work
would take, a twentieth of it here: by a rate measured for the learner, and one estimated for generators. Ours is
``selfplay.staleness=1``; in the naive run stages take turns. Tournaments are left out.
"""

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.plain import network
from benchmarks.report import Case
from cluster.actors.connection import connect
from cluster.actors.stages import Stage, Stages
from cluster.config import ClusterConfig
from cluster.files import storage
from cluster.preflight import Request
from cluster.watching.metrics import MetricsLogger
from cluster.watching.progress import OnProgress
from games.hearts.game import HeartsGame
from games.shards import write_shard
from learner.config import TransformerConfig
from learner.model.checkpoint import save_weights
from learner.task import TrainingTask
from selfplay.generator import ShardReport
from selfplay.loop import Loop
from selfplay.playing import Planned
from selfplay.run_directory import RunDirectory
from selfplay.workers import GENERATE, LEARN
from tests.selfplay.material import random_deals, tiny_config

DEALS, DECISIONS, TOKENS = 500_000, 61, 90
"""Deals of an iteration; decisions of a deal, and tokens of the one sequence of it that is kept."""
DECISIONS_A_SECOND, TOKENS_A_SECOND = 7_500, 269_000
"""Of one generator of the two of a GPU, an estimate; of the learner, measured on an H100 (docs/performance.md)."""
GENERATORS, SHARDS, ITERATIONS, SLOWED = 14, 56, 4, 20
GAME = HeartsGame()


class Sleeper:
    """Work that takes its time and nothing else."""

    def work(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)

    def progress(self) -> dict[str, float]:
        """Nothing to tell."""
        return {}


class Sleeping(Stages):
    """``Workers`` whose actors sleep; this process writes what they would have made."""

    def __init__(self, cluster: ClusterConfig, at_once: Sequence[str]) -> None:
        requests = (Request(GENERATE, GENERATORS, 0.1, 0.5), Request(LEARN, 1, 0.1, 1.0))
        super().__init__(cluster, [Stage(request, Sleeper) for request in requests], at_once=at_once)
        _, self._some = random_deals(GAME, 2)
        self._net = network(GAME, TransformerConfig(n_layer=1, n_head=2, n_embd=16))

    def generate(self, plans: Iterable[Planned], on_progress: OnProgress) -> Iterator[ShardReport]:
        """Shards by so many generators; one takes up to a tenth more or less than the mean."""
        mean = DEALS / SHARDS * DECISIONS / DECISIONS_A_SECOND / SLOWED

        def sleep(actor: Any, item: Planned) -> Any:
            return actor.work.remote(mean * (0.9 + 0.2 * (item[0].shard * 0.618 % 1)))

        for (plan, path), _ in self.run(GENERATE, plans, sleep, on_progress, str):
            said = {"run_seed": plan.run_seed, "iteration": plan.iteration, "shard": plan.shard}
            write_shard(path, self._some, GAME, {key: str(value) for key, value in said.items()})
            yield ShardReport(plan, plan.num_games, DECISIONS * plan.num_games, 0.0, 1.0)

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        """A network of no use."""
        seconds = DEALS * TOKENS / TOKENS_A_SECOND / SLOWED
        list(self.run(LEARN, [task], lambda actor, _: actor.work.remote(seconds), on_progress, str))
        save_weights(task.out, self._net, GAME)
        return {"step": 1, "num_steps": 1}

    def evaluate(self, tasks: Iterable[object], on_progress: OnProgress) -> Iterator[Any]:
        """There are no tournaments."""
        assert not [*tasks]
        yield from ()


def idle(directory: str, staleness: int) -> float:
    """Mean share of the GPUs' time without work, over iterations 2 and 3: the first two begin the run, and beside the
    last there is nothing to play."""
    config = tiny_config(directory)
    games = {"initial_games": 2, "games_per_shard": 2, "games_per_iteration": 2 * SHARDS, "iterations": ITERATIONS}
    config.selfplay = replace(config.selfplay, staleness=staleness, **games)
    config.evaluation = replace(config.evaluation, curve=[], final=[])
    cluster = ClusterConfig(mode="local", num_cpus=4, num_gpus=8)
    run, at_once = RunDirectory(directory), (GENERATE, LEARN) if staleness else ()
    run.begin(config)
    with connect(cluster), Sleeping(cluster, at_once) as workers, MetricsLogger(directory, "hearts") as metrics:
        Loop(config, run, workers, metrics).run()
    shares = [storage.read_json(run.metrics(i))["idle/gpu"] for i in range(2, ITERATIONS)]
    print(f"staleness={staleness}: " + ", ".join(f"{share:.1%}" for share in shares))
    return sum(shares) / len(shares)


def cases(full: bool) -> list[Case]:
    """Shares of the GPUs' time."""
    with tempfile.TemporaryDirectory() as place:
        turns, beside = (idle(str(Path(place) / str(staleness)), staleness) for staleness in (0, 1))
    return [Case("scale", "idle_gpus", beside, turns, "share", less_is_better=True)]
