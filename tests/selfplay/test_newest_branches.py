"""Branches by the newest network: what a generator and a run write of them, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.shards import read_shard, shard_info
from learner.inference.engine import QueryEngine
from learner.model.checkpoint import save_weights
from learner.model.rule_inputs import Rules
from learner.training.batches import Recipe, make_batch
from learner.training.data import load_data
from learner.training.policies.policy import PLAYED
from selfplay.checks import check_memory, generator_settings
from selfplay.config import GamesConfig, InitialConfig, TrainConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Network, Seating, ShardPlan
from tests.learner.material import changed, tiny_net
from tests.selfplay.material import tiny_config

CONFIG = tiny_config("unused")


# ---- the generator


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    path = tmp_path_factory.mktemp("network") / "000"
    save_weights(path, tiny_net(HeartsGame(), seed=4), HeartsGame())
    return Network("000", str(path))


def settings(**changes: Any) -> GeneratorSettings:
    given = {"branches": 2, "games_per_table": 5, **changes}
    return GeneratorSettings(CONFIG.game, CONFIG.search, CONFIG.engine, GamesConfig(**given))


def plan(network: Network | None) -> ShardPlan:
    seating, networks = (Seating.EVERYBODY, (network,)) if network else (Seating.INITIAL, ())
    return ShardPlan(len(networks), 2, 4, seating, InitialConfig(), networks, run_seed=9)


NEWEST: dict[str, Any] = {"newest_branch_player": "argmax_val:threshold=0.02"}
STEPS: dict[str, Any] = {**NEWEST, "branch_steps": 1, "branch_samples": 4}


def test_the_newest_network_plays_branches_out_as_soon_as_there_is_one_and_changes_nothing_else(
    network: Network, tmp_path: Path
) -> None:
    def made(name: str, there: Network | None, **changes: Any) -> Path:
        Generator(settings(**changes)).generate(plan(there), str(tmp_path / name))
        return tmp_path / name

    plain, newest, again, steps = (
        made(name, network, **changes)
        for name, changes in (("plain", {}), ("newest", NEWEST), ("again", NEWEST), ("steps", STEPS))
    )
    assert newest.read_bytes() == again.read_bytes()
    rows = [read_shard(path, HeartsGame()) for path in (plain, newest, steps)]
    for other in rows[1:]:
        assert np.array_equal(other.tokens, rows[0].tokens) and np.array_equal(other.outcome, rows[0].outcome)
    by_rules, by_network, drawn = (each.branches for each in rows)
    assert by_rules and by_network and drawn and np.array_equal(by_rules.token, by_network.token)
    assert not np.array_equal(by_rules.outcome, by_network.outcome)
    assert np.array_equal(drawn.token[drawn.first], by_network.token) and len(drawn.token) > 3 * drawn.first.sum()
    said = [shard_info(path).provenance["branches"] for path in (plain, newest, steps)]
    assert said == [
        "2 decisions of each sequence, played out by hearts_rules",
        "2 decisions of each sequence, played out by argmax_val:threshold=0.02@000",
        "2 decisions of each sequence, played out by argmax_val:threshold=0.02@000 to turn 1 of the seat, 4 outcomes "
        "expected there",
    ]
    teacher = replace(plan(None), iteration=1)  # a deal of ``selfplay.teacher_games``
    Generator(settings(**STEPS)).generate(teacher, str(tmp_path / "teacher"))
    assert shard_info(tmp_path / "teacher").provenance["branches"] == said[0]
    assert made("first", None, **STEPS).read_bytes() == made("first of before", None).read_bytes()


def test_no_input_of_training_sees_a_branch(network: Network, tmp_path: Path) -> None:
    batches = []
    for name, changes in (("plain", {}), ("steps", STEPS)):
        Generator(settings(**changes)).generate(plan(network), str(tmp_path / name))
        data = load_data(HeartsGame(), [str(tmp_path / name)], torch.device("cpu"), PLAYED, branch_weight=1.0)
        rules = Rules(HeartsGame(), tiny_net(HeartsGame()).arch)
        batches.append(make_batch(data, np.arange(9), Recipe(rules)))
    one, other = batches
    assert one.leaves is not None and other.leaves is not None
    assert torch.equal(one.tokens, other.tokens) and torch.equal(one.outcome, other.outcome)
    assert torch.equal(one.leaves.tokens, other.leaves.tokens) and torch.equal(one.leaves.places, other.leaves.places)
    assert other.leaves.weights is not None and float(other.leaves.weights.sum()) == len(other.leaves.real)


def test_a_generator_that_dies_among_branches_leaves_no_shard_and_makes_the_same_bytes_again(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Generator(settings(**STEPS)).generate(plan(network), str(tmp_path / "undisturbed"))
    begun, query = Generator(settings(**STEPS)), QueryEngine.outcomes

    def dies(engine: QueryEngine, *asked: Any) -> np.ndarray:
        query(engine, *asked)
        raise ConnectionError("gone")

    monkeypatch.setattr(QueryEngine, "outcomes", dies)
    with pytest.raises(ConnectionError):
        begun.generate(plan(network), str(tmp_path / "shard"))
    assert not (tmp_path / "shard").exists()
    monkeypatch.undo()
    begun.generate(plan(network), str(tmp_path / "shard"))  # its engine was left with handles
    assert (tmp_path / "shard").read_bytes() == (tmp_path / "undisturbed").read_bytes()


def run_config(directory: str = "unused", **changes: Any) -> TrainConfig:
    config = tiny_config(directory)
    config.learner = changed(config.learner, branch_weight=0.5)
    config.selfplay = replace(config.selfplay, **{"branches": 1, "games_per_iteration": 12, **changes})
    return config


# ---- refusals


def test_outcomes_beyond_memory_are_refused() -> None:
    many = settings(**{**STEPS, "branch_samples": 10**9})
    with pytest.raises(UserError, match="games_per_shard=10000"):
        check_memory(many, HeartsGame(), {"games_per_shard=10000": 10_000})
    check_memory(settings(**STEPS), HeartsGame(), {"games_per_shard=10000": 10_000})


def test_the_settings_of_a_run_reach_its_generators() -> None:
    games = generator_settings(run_config(**STEPS)).games
    assert (games.newest_branch_player, games.branch_steps, games.branch_samples) == ("argmax_val:threshold=0.02", 1, 4)
    assert GameConfig("hearts") == generator_settings(run_config()).game
