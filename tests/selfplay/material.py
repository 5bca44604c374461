"""A run small enough for tests, and workers without Ray."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from omegaconf import OmegaConf

from cluster.composing import overridden
from cluster.watching.metrics import MetricsLogger
from cluster.watching.progress import OnProgress
from games.config import GameConfig
from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.shards import Sequences, read_shard, shard_info
from learner.config import EngineConfig, LearnerConfig, LossConfig, TransformerConfig
from learner.task import Learner, TrainingTask
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.tournament.matches import Matches
from selfplay.config import (
    EvaluationConfig,
    GamesConfig,
    InitialConfig,
    MatchConfig,
    RunConfig,
    SelfplayConfig,
    TrainConfig,
)
from selfplay.generator import Generator, GeneratorSettings, ShardReport, generator_settings
from selfplay.loop import Loop
from selfplay.plan import Seating, ShardPlan
from selfplay.run_directory import RunDirectory

C = TypeVar("C")


def tiny_config(directory: str) -> TrainConfig:
    """Three iterations of a few deals with a network of a few thousand weights."""
    return TrainConfig(
        run=RunConfig(dir=directory, seed=3),
        game=GameConfig(name="hearts"),
        model=TransformerConfig(n_layer=1, n_head=2, n_embd=16, embd_pdrop=0.0, resid_pdrop=0.0),
        learner=LearnerConfig(
            batch_size=16, num_epochs=1, num_threads=1, learning_rate=1e-3, loss=LossConfig(outcome_positions=4)
        ),
        selfplay=SelfplayConfig(
            initial=InitialConfig(players=["hearts_rules", "random"], keep=["hearts_rules"]),
            initial_games=24,
            iterations=2,
            games_per_iteration=20,
            games_per_shard=8,
            games_per_table=8,
        ),
        evaluation=EvaluationConfig(
            curve=[MatchConfig(players=["argmax_val", "random"], deals=2)],
            final=[MatchConfig(players=["imitation", "argmax_val"], deals=2)],
            deals_per_task=2,
        ),
        engine=EngineConfig(device="cpu"),
    )


def over(config: C, settings: str) -> C:
    """A copy of a configuration with other values, ``KEY=VALUE; KEY=VALUE``, that is checked again."""
    return overridden(config, OmegaConf.from_dotlist(settings.split("; ")), "")


TINY_RUN = tiny_config("unused")


def settings(**games: object) -> GeneratorSettings:
    """A generator's, for Hearts."""
    return GeneratorSettings(
        TINY_RUN.game, TINY_RUN.search, TINY_RUN.engine, GamesConfig(**{"games_per_table": 5, **games})
    )


def initial(players: list[str], num_games: int = 6, **changes: Any) -> ShardPlan:
    """A shard of deals of these players."""
    plan = ShardPlan(0, 2, num_games, Seating.INITIAL, InitialConfig(players=players), (), run_seed=9)
    return replace(plan, **changes)


def generated(plan: ShardPlan, path: Path, **games: object) -> tuple[Sequences, Mapping[str, str]]:
    """The rows of a shard, and what it says of how they were made."""
    Generator(settings(**games)).generate(plan, str(path))
    return read_shard(path, HeartsGame()), shard_info(path).provenance


def random_deals(game: Game, count: int, keep: np.ndarray | None = None) -> tuple[np.ndarray, Sequences]:
    """Final states, and the sequences of the seats that are kept (``bool[count, P]``), all of them if None."""
    seeds = derive_many(5, count)
    states = game.deal(seeds)
    game.playout(states, derive_many(6, count))
    row, seat = np.nonzero(np.ones((count, game.num_players)) if keep is None else keep)
    names = np.full(len(row), "random", object)
    outcome = game.outcome(states)[row, seat]
    return states, Sequences(game.histories(states[row], seat)[0], outcome, seat, names, seeds[row], row)


def first_of(sequences: Sequences, count: int) -> Sequences:
    return Sequences(**{name: column[:count] for name, column in vars(sequences).items() if column is not None})


class InProcess:
    """``Workers`` in this process: the plain classes that the actors are shells around."""

    def __init__(self, config: TrainConfig) -> None:
        self._generator = Generator(generator_settings(config))
        self._evaluator = Evaluator()
        self.lost_items = 0
        self.generated: list[str] = []
        self.trained: list[TrainingTask] = []
        self.evaluated: list[DealsTask] = []

    def generate(self, plans: Iterable[tuple[ShardPlan, str]], on_progress: OnProgress) -> Iterator[ShardReport]:
        for plan, path in plans:
            self.generated.append(path)
            yield self._generator.generate(plan, path)

    def idle_shares(self) -> Mapping[str, float]:
        return {"learner": 0.25}

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        self.trained.append(task)
        learner = Learner()
        metrics = learner.train(task)
        on_progress(learner.progress() or metrics)
        return metrics

    def evaluate(
        self, tasks: Iterable[DealsTask], on_progress: OnProgress
    ) -> Iterator[tuple[DealsTask, Matches | Exception]]:
        for task in tasks:
            self.evaluated.append(task)
            yield from self._evaluator.evaluate([task], on_progress)


def run(config: TrainConfig, kind: Callable[[TrainConfig], InProcess] = InProcess) -> InProcess:
    """A whole run, or what is missing of one, in this process."""
    directory = RunDirectory(config.run.dir)
    directory.check(config)
    directory.begin(config)
    workers = kind(config)
    with MetricsLogger(directory.root, config.game.name) as metrics:
        Loop(config, directory, workers, metrics).run()
    return workers


MADE = ("iterations/*/shards/*.parquet", "iterations/*/checkpoint/model.safetensors")
"""What equal runs have in common, byte for byte."""


def contents(root: Path, *patterns: str) -> dict[str, bytes]:
    """Path below ``root`` -> content of the files that fit one of the patterns."""
    files = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def networks(root: Path, iteration: int) -> list[str]:
    """Who plays, as every shard of an iteration says."""
    paths = sorted((root / f"iterations/{iteration:03d}/shards").glob("*.parquet"))
    (said,) = {shard_info(path).provenance["checkpoints"] for path in paths}
    return [name.split(":")[0] for name in said.split()]


def remove(*paths: Path) -> None:
    """Remove files, and directories with what is in them."""
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
