"""What a second actor adds, and a sweep on one queue: ``python -m benchmarks.scaling [--full]``.

``generators_2``: shards of ArgmaxVal* games, ``evaluators_2``: deals of a tournament of ArgmaxVal* against random
players, ``sweep_2``: eight points of a sweep over ArgmaxVal*'s threshold, by Ray actors of the pool that self-play
uses, each pinned to a core of its own. "Ours" is the rate of two actors, "theirs" that of one, measured one after the
other with fresh actors; the network is the size of ``model=demo``, float32 on both sides.

``processor_2``: the same without any of our code: matrix products by two processes against one. What the machine itself
gives a second process bounds the others.

``sweep_of_8``: points a second of one command ``--multirun`` on two evaluators; "theirs" are the same points as eight
commands one after the other.

``learners_2``: training tokens of one network by two learners of one thread each, at the batch of the demo preset,
against one learner. The last losses of both are printed; they differ by rounding.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import ray

from benchmarks.plain import network
from benchmarks.report import Case, report
from benchmarks.training import DEMO, random_hands
from cluster.actors.connection import connect
from cluster.actors.pool import ActorPool
from cluster.config import ClusterConfig
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import EngineConfig, LearnerConfig, LossConfig
from learner.model.checkpoint import save_weights
from learner.task import TrainingTask
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import DealsTask, Evaluator, EvaluatorSettings
from search.arena.tournament.parts import Tournament
from search.config import SearchConfig
from search.players.config import ArgmaxValConfig
from selfplay.config import GamesConfig, InitialConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Network, Seating, ShardPlan
from selfplay.workers import RayWorkers

GAME = HeartsGame()
POINTS = 8
"""Of a sweep."""


def rate(
    kind: type, arguments: Sequence[Any], cores: Sequence[int], tasks: Sequence[Any], call: Callable[[Any, Any], Any]
) -> float:
    """Tasks a second of one actor per core, each after a task to warm up."""
    actor = ray.remote(_pinned(kind))
    pool: ActorPool[Any] = ActorPool(lambda place: actor.remote(cores[place], *arguments), len(cores))
    with pool:
        for _ in pool.run(tasks[: 2 * len(cores)], call):
            pass
        began = time.perf_counter()
        for _ in pool.run(tasks[2 * len(cores) :], call):
            pass
        return (len(tasks) - 2 * len(cores)) / (time.perf_counter() - began)


def _pinned(kind: type) -> type:
    """The actor's class, on one core with one thread."""

    class Pinned(kind):  # type: ignore[misc]
        def __init__(self, core: int, *arguments: Any) -> None:
            import torch

            os.sched_setaffinity(0, {core})
            torch.set_num_threads(1)
            super().__init__(*arguments)

    return Pinned


def generators(checkpoint: str, out: Path, cores: Sequence[int], shards: int) -> float:
    """Shards a second."""
    settings = GeneratorSettings(
        GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu"), GamesConfig(games_per_table=128)
    )
    networks = (Network("000", checkpoint),)
    plans = [
        (
            str(out / f"{len(cores)}-{shard}.parquet"),
            ShardPlan(1, shard, 128, Seating.EVERYBODY, InitialConfig(), networks, 1),
        )
        for shard in range(shards * len(cores) + 2 * len(cores))
    ]
    return rate(Generator, [settings], cores, plans, lambda actor, item: actor.generate.remote(item[1], item[0]))


def evaluators(checkpoint: str, cores: Sequence[int], parts: int) -> float:
    """Parts of a tournament a second."""
    settings = EvaluatorSettings(GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu"), table_size=140)
    tasks = [
        DealsTask(settings, ("argmax_val", "random"), checkpoint, Deals(1, 10, first=10 * part))
        for part in range(parts * len(cores) + 2 * len(cores))
    ]
    return rate(Evaluator, [], cores, tasks, lambda actor, task: actor.play.remote(task))


def sweep(checkpoint: str, cores: Sequence[int], parts: int) -> float:
    """Parts of the points' tournaments a second; the queue holds one point after the other."""
    tasks = []
    for point in range(POINTS):
        search = SearchConfig(argmax_val=ArgmaxValConfig(threshold=0.01 * (point + 1)))
        settings = EvaluatorSettings(GameConfig("hearts"), search, EngineConfig(device="cpu"), table_size=140)
        one = Tournament(settings, ("argmax_val", "random"), checkpoint, Deals(1, 10 * parts), deals_per_task=10)
        tasks += one.tasks(point)
    return rate(Evaluator, [], cores, [*tasks[: 2 * len(cores)], *tasks], lambda actor, task: actor.play.remote(task))


class Products:
    """Matrix products of a size that stays in the processor's caches."""

    def multiply(self, times: int) -> float:
        """Do so many, and return a sum of what came out."""
        import torch

        matrix = torch.full((256, 256), 1 / 256)
        for _ in range(times):
            matrix = matrix @ matrix
        return float(matrix.sum())


def processor(cores: Sequence[int], times: int) -> float:
    """Thousands of products a second."""
    tasks = [times] * (7 * len(cores))
    return rate(Products, [], cores, tasks, lambda actor, task: actor.multiply.remote(task)) * times / 1000


def sweep_command(checkpoint: str, out: Path, deals: int) -> tuple[float, float]:
    """Points a second of one command for all of them, and of a command for each."""
    line = [sys.executable, "-m", "search.arena.tournament", f"checkpoint={checkpoint}", "players=[argmax_val,random]"]
    line += [f"deals={deals}", "engine.device=cpu", "cluster=local", "cluster.num_gpus=0", "cluster.evaluators=2"]
    thresholds = [f"{0.01 * (point + 1):g}" for point in range(POINTS)]
    key = "search.argmax_val.threshold"
    together = seconds([*line, "--multirun", f"out={out / 'together'}", f"{key}={','.join(thresholds)}"])
    apart = sum(seconds([*line, f"out={out / low}.json", f"{key}={low}"]) for low in thresholds)
    return POINTS / together, POINTS / apart


def seconds(line: Sequence[str], cores: Collection[int] = ()) -> float:
    """Wall time of a command, on these cores if any are given."""
    place = cores or os.sched_getaffinity(0)
    began = time.perf_counter()
    subprocess.run(line, check=True, capture_output=True, preexec_fn=lambda: os.sched_setaffinity(0, place))
    return time.perf_counter() - began


def learners(shard: str, out: Path, count: int, steps: int) -> tuple[float, float]:
    """Tokens a second of ``steps`` steps, behind as many to warm up, and the mean loss of these steps."""
    cluster = ClusterConfig(learners=count, num_gpus=0)
    config = LearnerConfig(
        batch_size=64,
        max_steps=2 * steps,
        log_every_steps=steps,
        loss=LossConfig(outcome_positions=8),
        num_threads=1,
        device="cpu",
    )
    task = TrainingTask(GameConfig("hearts"), DEMO, config, (shard,), str(out / f"learners-{count}"), None, 1)
    unused = GeneratorSettings(
        GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu"), GamesConfig(games_per_table=1)
    )
    with RayWorkers(cluster, unused) as workers:
        metrics = workers.train(task, lambda so_far: None)
    return metrics["tokens_per_second"], metrics["loss"]


def learners_2(scratch: Path, steps: int) -> Case:
    """Two against one."""
    shard = random_hands(scratch / "hands.parquet", 2000)
    (one, loss), (two, same) = (learners(shard, scratch, count, steps) for count in (1, 2))
    print(f"loss at the end: {loss:.6f} of one learner, {same:.6f} of two")
    return Case("scaling", "learners_2", two, one, "tokens/s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as much work")
    scale = 4 if parser.parse_args().full else 1
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise SystemExit("two actors on two cores need two cores; this process may use one")
    with tempfile.TemporaryDirectory() as directory:
        scratch, checkpoint = Path(directory), Path(directory) / "checkpoint"
        save_weights(checkpoint, network(GAME, DEMO), GAME)
        cases = []
        with connect(ClusterConfig(num_cpus=4, num_gpus=0)):
            for name, measure, unit in (
                ("generators_2", lambda some: generators(str(checkpoint), scratch, some, 5 * scale), "shards/s"),
                ("evaluators_2", lambda some: evaluators(str(checkpoint), some, 5 * scale), "parts/s"),
                ("sweep_2", lambda some: sweep(str(checkpoint), some, 2 * scale), "parts/s"),
                ("processor_2", lambda some: processor(some, 5_000 * scale), "1000 products/s"),
            ):
                one, two = measure(cores[:1]), measure(cores)
                cases.append(Case("scaling", name, two, one, unit))
            cases.append(learners_2(scratch, 60 * scale))
        cases.append(Case("scaling", "sweep_of_8", *sweep_command(str(checkpoint), scratch, 10 * scale), "points/s"))
    report(cases)


if __name__ == "__main__":
    main()
