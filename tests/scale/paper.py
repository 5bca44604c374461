"""A run of a paper's preset on paper: its plan, loop, pools and files, with workers that do next to nothing.

``experiment=hearts_paper``, ten iterations after the first, cut for 1,000 generators, of which Ray has room for a few:
3,000 shards, then 1,000 an iteration, each of two deals. The learner reads all of them as a real one does, and
publishes a network of a few hundred weights. Evaluators answer at once. The run lies behind the slow line.

For each iteration the seconds that all machines wait: for the driver, while it plans and looks what is there, checks
shards, and writes its figures; and for the learner, while it reads shards. Beside them the requests of this time, and
the driver's memory without what it shares, against that of iteration 0. The naive way takes as long as it takes for 20
shards, times the shards. Without ``--full`` it is 100 generators and two iterations.
"""

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.plain import network
from benchmarks.report import Case
from cluster.actors.connection import connect
from cluster.actors.stages import Stages
from cluster.files.copies import fetched
from cluster.watching.metrics import MetricsLogger
from cluster.watching.progress import OnProgress
from games.config import GameConfig
from games.registry import make_game
from games.shards import write_shard
from learner.config import TransformerConfig
from learner.model.checkpoint import save_weights
from learner.task import TrainingTask
from learner.training.data import data_digest, load_data
from learner.training.policies.policy import PLAYED
from search.arena.tournament.evaluator import DealsTask
from search.arena.tournament.matches import Matches, part_name, to_arrays
from search.arena.tournament.workers import play_parts
from selfplay.config import TrainConfig
from selfplay.generator import ShardReport, generator_settings
from selfplay.loop import Loop
from selfplay.plan import Seating, ShardPlan
from selfplay.run_directory import RunDirectory
from selfplay.workers import RayWorkers, play_shards, stages_of
from tests.scale.objects import RUN, naively, seconds_of, slow_storage
from tests.selfplay.material import random_deals
from tests.soak import resident_mb
from tests.storage.slow_line import SlowLine
from tests.test_repository import build_command

ROOM = 4
FEW = 20


class Idle:
    """What all of these workers report meanwhile."""

    def progress(self) -> dict[str, float]:
        """Nothing."""
        return {}


class Writer(Idle):
    """Writes the same two deals as every shard, with the shard's provenance."""

    def __init__(self, game: GameConfig) -> None:
        self._game = make_game(game.name, game.options)
        _, self._deals = random_deals(self._game, 2)

    def generate(self, plan: ShardPlan, path: str) -> ShardReport:
        """The shard of a plan."""
        said = {"run_seed": str(plan.run_seed), "iteration": str(plan.iteration), "shard": str(plan.shard)}
        write_shard(path, self._deals, self._game, {**said, "seating": plan.seating.value})
        return ShardReport(plan, plan.num_games, plan.num_games * 52, 0.0, 1.0)


class Reader(Idle):
    """Reads the shards of a training as a learner does, and publishes a network that has learnt nothing."""

    def train(self, task: TrainingTask) -> dict[str, float]:
        """The seconds of reading, as a metric."""
        game, began = make_game(task.game.name, task.game.options), time.perf_counter()
        with fetched(task.shards) as shards:
            data_digest(shards)
            load_data(game, shards, PLAYED)
        seconds = time.perf_counter() - began
        save_weights(task.out, network(game, TransformerConfig(n_layer=1, n_head=1, n_embd=8)), game)
        return {"step": 1, "num_steps": 1, "loss": 1.0, "reading": seconds}


class Judge(Idle):
    """Finds all players equal."""

    def play(self, task: DealsTask) -> Matches:
        """A part of a tournament without points."""
        game = make_game(task.settings.game.name, task.settings.game.options)
        seatings, entrants = task.deals.seatings(game, len(task.players)), len(task.players)
        points = np.zeros((task.deals.count, *seatings.shape), np.float32)
        matches = Matches(task.deals, points, np.ones(entrants, np.int64), np.ones(entrants))
        task.parts.keep(part_name(matches), to_arrays(matches))
        return matches


@dataclass
class Waited:
    """What an iteration's stages waited for."""

    seconds: dict[str, float] = field(default_factory=dict)
    """By what they waited for."""
    requests: int = 0
    shards: int = 0
    megabytes: float = 0.0
    """Of the driver."""


class PaperWorkers(RayWorkers):
    """The actors of a run, which note how long the driver lets them wait."""

    def __init__(self, config: TrainConfig, line: SlowLine, log_dir: str) -> None:
        stages = stages_of(config.cluster, generator_settings(config))
        kinds = zip(stages, (Writer, Reader, Judge), ((config.game,), (), ()), strict=True)
        Stages.__init__(self, config.cluster, [replace(s, worker=w, arguments=a) for s, w, a in kinds], log_dir)
        self._line, self._since = line, time.perf_counter()
        self.iterations = list[Waited]()

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        """The same, with the time that the driver took before it."""
        plans = list(plans)
        self.iterations.append(Waited(shards=len(plans)))
        self._begins("planning")
        yield from play_shards(self, plans, on_progress)
        self._ended()

    def train(self, task: TrainingTask, on_progress: OnProgress) -> dict[str, float]:
        """The same, and the time that the learner reads."""
        self._begins("checking")
        metrics = super().train(task, on_progress)
        found = self._line.counts()["requests"]
        self.iterations[-1].requests += found
        self.iterations[-1].seconds["reading"] = metrics["reading"]
        self._ended()
        return metrics

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        """The same, with the time that the driver took before it."""
        self._begins("figures")
        yield from play_parts(self, tasks, on_progress)
        self._ended()

    def _begins(self, after: str) -> None:
        waited = self.iterations[-1]
        waited.seconds[after] = waited.seconds.get(after, 0.0) + time.perf_counter() - self._since
        waited.requests += self._line.counts()["requests"]
        waited.megabytes = resident_mb(os.getpid())

    def _ended(self) -> None:
        self._line.counts()
        self._since = time.perf_counter()


def settings(full: bool) -> TrainConfig:
    """The preset, cut for so many generators."""
    config: TrainConfig = build_command(
        "train",
        "experiment=hearts_paper",
        "cluster=local",
        "cluster.check_resources=false",
        f"cluster.num_cpus={ROOM}",
        "cluster.num_gpus=0",
        f"cluster.generators={1_000 if full else 100}",
        "cluster.generator_gpus=0",
        "cluster.learner_cpus=0",
        "cluster.learner_gpus=0",
        f"cluster.evaluators={ROOM}",
        "cluster.evaluator_cpus=0",
        "cluster.evaluator_gpus=0",
        f"selfplay.iterations={10 if full else 2}",
        f"run.dir={RUN}",
    )
    return config


def cases(full: bool) -> list[Case]:
    """Seconds, requests and the driver's memory by iteration; and the same command once more."""
    config, run = settings(full), RunDirectory(RUN)
    with slow_storage() as line, connect(config.cluster), PaperWorkers(config, line, run.logs) as workers:
        run.begin(config)
        went_through(config, run, workers)
        waited = list(workers.iterations)
        line.counts()
        again = seconds_of(lambda: went_through(config, run, workers))
        assert workers.iterations == waited, "there was nothing to do"
        print(f"the same command again: {again:.1f} s, {line.counts()['requests']} requests")
        pattern = ShardPlan(1, 0, 2, Seating.INITIAL, config.selfplay.initial, (), config.run.seed)
        few = [(pattern, run.shard(1, f"{shard:05d}.parquet")) for shard in range(FEW)]
        seconds = seconds_of(lambda: naively(few)) / FEW
        requests = line.counted(lambda: naively(few))["requests"] / FEW
    return [
        case for number, each in enumerate(waited) for case in of_iteration(number, each, seconds, requests, waited[0])
    ]


def went_through(config: TrainConfig, run: RunDirectory, workers: PaperWorkers) -> None:
    """A command on the run."""
    with MetricsLogger(run.root, config.game.name) as metrics:
        Loop(config, run, workers, metrics).run()


def of_iteration(number: int, waited: Waited, seconds: float, requests: float, first: Waited) -> list[Case]:
    """Its three figures. ``seconds``, ``requests``: of one shard in the naive way."""
    said = ", ".join(f"{value:.2f} s {what}" for what, value in waited.seconds.items())
    print(f"iteration {number}: {waited.shards} shards; {said}")
    total, name = sum(waited.seconds.values()), f"paper_{number}"
    return [
        Case("scale", f"{name}_waits", total, seconds * waited.shards, "s", less_is_better=True),
        Case("scale", f"{name}_asks", waited.requests, requests * waited.shards, "requests", less_is_better=True),
        Case("scale", f"{name}_driver", waited.megabytes, first.megabytes, "MB", less_is_better=True),
    ]
