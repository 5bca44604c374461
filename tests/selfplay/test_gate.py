"""A network that does not beat the best one before it is left behind (``selfplay.gate``)."""

import json
from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from games.shards import shard_info
from learner.model.runs import newest
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.deals import Deals
from search.roster.registry import settled
from selfplay.config import GateConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import run, tiny_config


def gated(directory: Path, iterations: int, **gate: object) -> TrainConfig:
    config = tiny_config(str(directory))
    config.selfplay.iterations, config.selfplay.gate = iterations, GateConfig(2, **gate)
    return config


def decide(path: Path, advantage: float) -> None:
    """Let a gate have ended like this."""
    record = json.loads(path.read_text())
    record[0]["columns"][0]["comparisons"][0]["advantage"] = advantage
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(("advantage", "accepted"), [(1.0, [0, 1]), pytest.param(-1.0, [0], marks=pytest.mark.slow)])
def test_a_run_goes_on_from_the_best_network(tmp_path: Path, advantage: float, accepted: list[int]) -> None:
    run(gated(tmp_path, iterations=1))
    gate = tmp_path / "iterations/001/gate.json"
    (record,) = json.loads(gate.read_text())
    assert [name.rpartition("iterations/")[2] for name in record["players"]] == ["001/checkpoint", "000/checkpoint"]
    assert record["deals"] == 2 and not (tmp_path / "iterations/000/gate.json").exists()
    decide(gate, advantage)
    best = RunDirectory(str(tmp_path)).checkpoint(accepted[-1])
    named = settled(TournamentConfig(players=["random", f"go_mcts:num_runs=2@{tmp_path}"], checkpoint=str(tmp_path)))
    assert (named.checkpoint, named.players) == (best, ["random", f"go_mcts:num_runs=2@{best}"])

    longer = gated(tmp_path, iterations=2)
    workers, directory = run(longer), RunDirectory(longer.run.dir)
    (task,) = workers.trained
    assert task.init_from == directory.checkpoint(accepted[-1])
    networks = shard_info(next((tmp_path / "iterations/002/shards").glob("*.parquet"))).provenance["checkpoints"]
    assert [name.split(":")[0] for name in networks.split()] == [f"{i:03d}" for i in accepted]
    (against,) = json.loads((tmp_path / "iterations/002/gate.json").read_text())
    assert against["players"][1].endswith(f"iterations/{accepted[-1]:03d}/checkpoint")
    assert Evaluation(longer, directory).complete()

    for now, best in ((1.0, 2), (-1.0, accepted[-1])):
        decide(tmp_path / "iterations/002/gate.json", now)
        assert not run(longer).trained
        assert newest(tmp_path) == directory.checkpoint(best)
        (final,) = Evaluation(longer, directory).final()
        assert final is not None and final.settings["iteration"] == best
    assert run(longer).evaluated == []


def test_a_margin_must_be_exceeded(tmp_path: Path) -> None:
    config = gated(tmp_path, iterations=1, margin=0.5, seating="pairs")
    run(config)
    gate, directory = tmp_path / "iterations/001/gate.json", RunDirectory(config.run.dir)
    (record,) = json.loads(gate.read_text())
    assert record["seating"] == "pairs" and record["matches"] == 4  # two deals, each twice
    for advantage, accepted in ((0.6, [0, 1]), (0.5, [0]), (0.4, [0])):
        decide(gate, advantage)
        assert Evaluation(config, directory).accepted(2) == accepted
        assert newest(tmp_path) == directory.checkpoint(accepted[-1])


def test_every_gate_has_deals_of_its_own_and_a_missing_one_is_played_by_the_same_command(tmp_path: Path) -> None:
    config = gated(tmp_path, iterations=2)
    run(config)
    names = ("iterations/001/gate", "iterations/002/gate", "iterations/001/tournament", "results/tournament")
    paths = [tmp_path / f"{name}.json" for name in names]
    records = [json.loads(path.read_text())[0] for path in paths]
    seeds = np.concatenate([Deals(each["seed"], each["deals"]).seeds(HeartsGame()) for each in records])
    assert len(set(seeds.tolist())) == len(seeds) == 2 + 2 + 3 + 2

    paths[0].write_text(json.dumps([records[0] | {"seed": 1}]))  # as before they had deals of their own: it is kept
    paths[1].unlink()
    assert not Evaluation(config, RunDirectory(config.run.dir)).complete()
    again = run(config)
    assert not again.trained and sum(task.deals.count for task in again.evaluated) == 2
    assert json.loads(paths[1].read_text())[0]["columns"] == records[1]["columns"]
    assert json.loads(paths[0].read_text())[0]["seed"] == 1
