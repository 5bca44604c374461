"""Actors of stages on a Ray of this machine: what they leave to read, and learners that train one network together."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.actors import pool
from cluster.actors.connection import connect
from cluster.actors.stages import Stage, Stages
from cluster.config import ClusterConfig
from cluster.errors import UserError
from cluster.preflight import Request
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import LearnerConfig, LossConfig, TransformerConfig
from learner.task import TrainingTask
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import DealsTask
from search.arena.tournament.workers import tournament_workers
from selfplay.workers import GENERATE, LEARN, RayWorkers
from tests.learner.material import shard_of
from tests.search.material import of_hearts
from tests.selfplay.commands import Process, actors
from tests.selfplay.material import contents, initial, settings

pytestmark = pytest.mark.slow

CLUSTER = ClusterConfig(num_cpus=2, num_gpus=0, learners=2)
MODEL = TransformerConfig(n_layer=1, n_head=2, n_embd=16)
GENERATOR = settings(games_per_table=8)


def test_each_actor_has_a_log_with_each_of_its_shards(tmp_path: Path) -> None:
    plans = [initial(["random"], 8, shard=shard) for shard in range(3)]
    items = [(plan, f"{tmp_path}/{plan.name}") for plan in plans]
    cluster = ClusterConfig(num_cpus=2, num_gpus=0, generators=1)  # a second might start too late to get anything
    (tmp_path / "file").touch()
    with (
        connect(cluster),
        RayWorkers(cluster, GENERATOR, log_dir=f"{tmp_path}/logs") as workers,
    ):
        assert len(list(workers.generate(items, print))) == 3
        with pytest.raises(UserError, match="cannot be written"):
            list(workers.generate([(replace(plans[0], shard=3), f"{tmp_path}/file/3.parquet")], print))
    (log,) = (tmp_path / "logs").iterdir()
    said = log.read_text()
    assert log.name == "generators-0.log" and said.count(".parquet: done in ") == 3
    assert said.count("file/3.parquet: failed after ") == 1 and "Traceback" in said


def test_an_evaluator_says_how_far_it_is_while_it_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few places a task takes seconds, in which it is asked many times."""
    monkeypatch.setattr(pool, "_TICK_SECONDS", 0.1)
    task, heard = DealsTask(of_hearts(14), ("hearts_rules", "random"), "", Deals(1, 90)), list[float]()
    with tournament_workers(ClusterConfig(num_cpus=1, num_gpus=0, evaluators=1)) as evaluate:
        ((_, matches),) = evaluate([task], lambda so_far: heard.append(so_far.get("decisions", 0)))
    assert any(0 < decisions < matches.decisions.sum() for decisions in heard)


class Sleeper:
    def work(self, seconds: float) -> int:
        time.sleep(seconds)
        return os.getpid()

    def progress(self) -> dict[str, float]:
        return {}


def test_idle_actors_end_after_their_minutes_and_start_again_and_idle_shares_are_told() -> None:
    sleep = lambda actor, seconds: actor.work.remote(seconds)  # noqa: E731
    requests = (Request("players", 2, 0.5, gpus=0.5), Request("learner", 1, 1, gpus=1))
    cluster = ClusterConfig(num_cpus=2, num_gpus=2, idle_minutes=1 / 60)
    with connect(cluster), Stages(cluster, [Stage(request, Sleeper) for request in requests]) as stages:
        first = {process for _, process in stages.run("players", [2.0, 2.0], sleep, print)}
        stages.idle_shares()
        began, alive = time.monotonic(), list[set[int]]()
        look = lambda _: alive.append({process for process in first if Path(f"/proc/{process}").exists()})  # noqa: E731
        list(stages.run("learner", [6.0], sleep, look))
        shares, busy = stages.idle_shares(), 6.0 / (time.monotonic() - began)
        assert alive[0] == first and not alive[-1], "idle for more than a second beside an item of six"
        assert shares["players"] == 1.0 and shares["learner"] == pytest.approx(1 - busy, abs=0.1)
        assert shares["gpu"] == pytest.approx((1 + shares["learner"]) / 2), "one of two GPUs was at work"
        again = {process for _, process in stages.run("players", [0.5, 0.5], sleep, print)}
        assert again and not again & first


# ---- learners


def task(directory: Path, out: str) -> TrainingTask:
    learner = LearnerConfig(
        batch_size=16,
        num_epochs=40,
        max_steps=300,
        loss=LossConfig(outcome_positions=2),
        num_threads=1,
        log_every_steps=10,
        checkpoint_every_steps=10,
    )
    shards = (shard_of(HeartsGame(), directory, 32),)
    return TrainingTask(GameConfig("hearts"), MODEL, learner, shards, str(directory / out), None, seed=7)


def learners(title: str) -> list[Process]:
    """The members at work, oldest first, or the actor that leads them."""
    return sorted(actors(os.getpid(), title), key=lambda process: process.pid)


def killing(title: str, out: str, which: int) -> Callable[[object], None]:
    """Kill one of them once there is a checkpoint to go on from."""
    waiting = [True]

    def on_progress(_: object) -> None:
        if waiting and list(Path(f"{out}.partial").glob("step-*[0-9]")):
            waiting.clear()
            learners(title)[which].kill()

    return on_progress


@pytest.fixture(scope="module")
def connected() -> Iterator[None]:
    with connect(CLUSTER):
        yield


@pytest.mark.chaos  # for its length
def test_a_group_is_replaced_when_one_of_it_dies_and_goes_on_to_the_same_bytes(connected: None, tmp_path: Path) -> None:
    with RayWorkers(CLUSTER, GENERATOR) as workers:
        workers.check()
        whole = task(tmp_path, "whole")
        metrics = workers.train(whole, lambda so_far: None)
        assert metrics["step"] == 300
        for number, (title, which) in enumerate((("Learner", -1), ("ActorGroup", 0)), 1):
            killed = task(tmp_path, f"killed-{number}")
            assert workers.train(killed, killing(title, killed.out, which))["loss"] == metrics["loss"]
            assert workers.lost_items == number
            weights = [Path(one.out, "model.safetensors").read_bytes() for one in (whole, killed)]
            assert weights[0] == weights[1]
        with pytest.raises(UserError, match=r"model\.n_embd=16, now model\.n_embd=32 is asked for"):
            workers.train(replace(whole, model=replace(MODEL, n_embd=32)), lambda so_far: None)
    limit = time.monotonic() + 30
    while learners("Learner") and time.monotonic() < limit:
        time.sleep(0.1)
    assert not learners("Learner")


@pytest.mark.parametrize("size", [1, 2])
def test_an_interrupted_command_lets_its_learners_write_what_they_have_done(connected, tmp_path, size: int) -> None:
    def interrupt(so_far: Mapping[str, float]) -> None:
        if so_far.get("step"):
            reached.append(so_far["step"])
            raise KeyboardInterrupt

    def seldom(out: str) -> TrainingTask:
        whole = task(tmp_path, out)
        longer = {"max_steps": 1500, "num_epochs": 800, "checkpoint_every_steps": 9999}
        return replace(whole, learner=replace(whole.learner, **longer))

    interrupted, reached = seldom("interrupted"), list[float]()
    with RayWorkers(replace(CLUSTER, learners=size), GENERATOR) as workers:
        workers.train(seldom("whole"), lambda so_far: None)
        with pytest.raises(KeyboardInterrupt):
            workers.train(interrupted, interrupt)
    (step,) = Path(f"{interrupted.out}.partial").iterdir()
    assert step.name >= f"step-{reached[0]:09.0f}"
    with RayWorkers(replace(CLUSTER, learners=size), GENERATOR) as workers:
        workers.train(interrupted, lambda so_far: None)
    assert contents(Path(interrupted.out), "*.safetensors") == contents(tmp_path / "whole", "*.safetensors")


def test_stages_at_once_that_do_not_fit_are_refused_before_any_work(connected: None) -> None:
    message = r"selfplay\.staleness has generators and learner work at once: the cluster has no room for"
    with RayWorkers(CLUSTER, GENERATOR, at_once=(GENERATE, LEARN)) as workers, pytest.raises(UserError, match=message):
        workers.check()
