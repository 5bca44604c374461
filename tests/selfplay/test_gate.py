"""A network that does not beat the best one before it is left behind (``selfplay.gate``)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from games.hearts.game import HeartsGame
from learner.model.runs import newest
from search.arena.partial_results import parts_of
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.deals import Deals
from search.roster.registry import settled
from selfplay.config import GateConfig, TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import networks, run, tiny_config


def gated(directory: Path, iterations: int) -> TrainConfig:
    config = tiny_config(str(directory))
    config.selfplay.iterations, config.selfplay.gate = iterations, GateConfig(2, margin=0.5, seating="pairs")
    return config


def decide(path: Path, advantage: float) -> None:
    """Let a gate have ended like this."""
    record = json.loads(path.read_text())
    record[0]["columns"][0]["comparisons"][0]["advantage"] = advantage
    path.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one gate."""
    root = tmp_path_factory.mktemp("gated") / "run"
    run(gated(root, iterations=1))
    return root


@pytest.fixture
def root(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "run"))


def test_a_gate_is_a_tournament_whose_margin_must_be_exceeded(root: Path) -> None:
    gate, directory = root / "iterations/001/gate.json", RunDirectory(str(root))
    (record,) = json.loads(gate.read_text())
    assert [name.rpartition("iterations/")[2] for name in record["players"]] == ["001/checkpoint", "000/checkpoint"]
    assert record["deals"] == 2 and not (root / "iterations/000/gate.json").exists()
    assert record["seating"] == "pairs" and record["matches"] == 4  # two deals, each twice
    for advantage, accepted in ((0.6, [0, 1]), (0.5, [0]), (0.4, [0])):
        decide(gate, advantage)
        assert Evaluation(gated(root, 1), directory).accepted(2) == accepted
        best = directory.checkpoint(accepted[-1])
        assert newest(root) == best
        named = settled(TournamentConfig(players=["random", f"go_mcts:num_runs=2@{root}"], checkpoint=str(root)))
        assert (named.checkpoint, named.players) == (best, ["random", f"go_mcts:num_runs=2@{best}"])


@pytest.mark.parametrize(("advantage", "accepted"), [(1.0, [0, 1]), pytest.param(-1.0, [0], marks=pytest.mark.slow)])
def test_a_run_goes_on_from_the_best_network(root: Path, advantage: float, accepted: list[int]) -> None:
    decide(root / "iterations/001/gate.json", advantage)
    longer = gated(root, iterations=2)
    workers, directory = run(longer), RunDirectory(longer.run.dir)
    (task,) = workers.trained
    assert task.init_from == directory.checkpoint(accepted[-1])
    assert networks(root, 2) == [f"{i:03d}" for i in accepted]
    (against,) = json.loads((root / "iterations/002/gate.json").read_text())
    assert against["players"][1].endswith(f"iterations/{accepted[-1]:03d}/checkpoint")
    assert Evaluation(longer, directory).complete()
    check_deals_and_parts(longer, root)

    for now, best in ((1.0, 2), (-1.0, accepted[-1])):
        decide(root / "iterations/002/gate.json", now)
        assert not run(longer).trained
        assert newest(root) == directory.checkpoint(best)
        (final,) = Evaluation(longer, directory).final()
        assert final.settings["iteration"] == best
    assert run(longer).evaluated == []


def check_deals_and_parts(config: TrainConfig, root: Path) -> None:
    """Every gate has deals of its own, and a missing one is played by the same command; parts that a killed command
    left beside results are removed by the next."""
    names = ("iterations/001/gate", "iterations/002/gate", "iterations/001/tournament", "results/tournament")
    paths = [root / f"{name}.json" for name in names]
    records = [json.loads(path.read_text())[0] for path in paths]
    seeds = np.concatenate([Deals(each["seed"], each["deals"]).seeds(HeartsGame()) for each in records])
    assert len(set(seeds.tolist())) == len(seeds) == 4 * 2

    paths[0].write_text(json.dumps([records[0] | {"seed": 1}]))  # as before they had deals of their own: it is kept
    paths[1].unlink()
    assert not Evaluation(config, RunDirectory(config.run.dir)).complete()
    again = run(config)
    assert not again.trained and sum(task.deals.count for task in again.evaluated) == 2
    assert json.loads(paths[1].read_text())[0]["columns"] == records[1]["columns"]
    assert json.loads(paths[0].read_text())[0]["seed"] == 1

    parts = [Path(parts_of(str(path))) / "0" for path in paths]
    for part in parts:
        part.mkdir(parents=True)
        (part / "0.0.safetensors").touch()
    assert run(config).evaluated == []
    assert not [part for part in parts if part.parent.exists()]
