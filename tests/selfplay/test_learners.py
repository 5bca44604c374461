"""Learners that train one network together as actors of a Ray of this machine."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.actors.connection import connect
from cluster.config import ClusterConfig
from cluster.errors import UserError
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import EngineConfig, LearnerConfig, LossConfig, TransformerConfig
from learner.task import TrainingTask
from search.config import SearchConfig
from selfplay.config import GamesConfig
from selfplay.generator import GeneratorSettings
from selfplay.workers import RayWorkers
from tests.learner.material import shard_of
from tests.selfplay.commands import Process, actors

CLUSTER = ClusterConfig(num_cpus=2, num_gpus=0, learners=2)
GENERATOR = GeneratorSettings(
    GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu"), GamesConfig(games_per_table=8)
)


def task(directory: Path, out: str) -> TrainingTask:
    return TrainingTask(
        game=GameConfig("hearts"),
        model=TransformerConfig(n_layer=1, n_head=2, n_embd=16),
        learner=LearnerConfig(
            batch_size=16,
            num_epochs=40,
            max_steps=300,
            loss=LossConfig(outcome_positions=2),
            num_threads=1,
            log_every_steps=10,
            checkpoint_every_steps=10,
        ),
        shards=(shard_of(HeartsGame(), directory, 32),),
        out=str(directory / out),
        init_from=None,
        seed=7,
    )


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
            workers.train(replace(whole, model=TransformerConfig(n_layer=1, n_head=2, n_embd=32)), lambda so_far: None)
    limit = time.monotonic() + 30
    while learners("Learner") and time.monotonic() < limit:
        time.sleep(0.1)
    assert not learners("Learner")


@pytest.mark.parametrize(
    ("cluster", "overlap", "message"),
    [
        (replace(CLUSTER, learners=3), False, "the cluster has no room for 1 learner"),
        (CLUSTER, True, r"selfplay\.overlap=true has generators and learner work at once: the cluster has no room for"),
    ],
)
def test_learners_that_do_not_fit_are_refused_before_any_work(
    connected: None, cluster: ClusterConfig, overlap: bool, message: str
) -> None:
    with RayWorkers(cluster, GENERATOR, overlap=overlap) as workers, pytest.raises(UserError, match=message):
        workers.check()


def test_parts_of_a_gpu_are_no_place_for_several_learners() -> None:
    with pytest.raises(ValueError, match=r"learner_gpus=0\.5: must be 0 or at least 1 with cluster\.learners=2"):
        ClusterConfig(learners=2, learner_gpus=0.5)
