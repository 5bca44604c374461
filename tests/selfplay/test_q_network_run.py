"""A whole run of AlphaHearts Zero (paper 002): cheating search first, then the network in every seat."""

from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.watching.metrics import MetricsLogger
from games.hearts.game import HeartsGame
from games.shards import read_shard
from learner.q_network.checkpoint import load_q_network
from selfplay.checks import check
from selfplay.config import TrainConfig
from selfplay.evaluation import Evaluation
from selfplay.loop import Loop
from selfplay.report.contents import read_run
from selfplay.report.page import sample
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import InProcess
from tests.test_repository import build_command

SMALL = (
    "engine.device=cpu",
    "engine.precision=fp32",
    "learner.device=cpu",
    "learner.num_threads=1",
    "selfplay.initial_games=20",
    "selfplay.initial_games_per_shard=8",
    "selfplay.iterations=2",
    "selfplay.games_per_iteration=8",
    "selfplay.games_per_shard=4",
    "selfplay.gate={deals: 2, margin: 0.5, seating: pairs}",
    "initial_learner.max_steps=10",
    "evaluation.curve=[{players: ['q_values:cheat=true', hearts_simple], deals: 2, seating: pairs}]",
    "evaluation.final=[{players: ['alphahearts:worlds=2:iterations=4', hearts_complex], deals: 1, seating: pairs}]",
)


@pytest.mark.parametrize(
    ("experiment", "newest"),
    [
        ("alphahearts", "q_values:worlds=2"),
        ("alphahearts", "alphahearts:worlds=2:iterations=3"),
        ("alphahearts_long", "q_values:worlds=2"),
    ],
)
def test_the_preset_goes_through_every_stage(tmp_path: Path, experiment: str, newest: str) -> None:
    config = build_command("train", f"experiment={experiment}", f"run.dir={tmp_path}/run", *SMALL)
    config.selfplay.newest_player = newest
    config.learner.max_steps = min(config.learner.max_steps, 10)
    assert any(
        "trains a Q-network (model.kind=q_network); learner.loss.observation_weight" in note for note in check(config)
    )
    run = RunDirectory(config.run.dir)
    run.begin(config)
    with MetricsLogger(run.root, config.game.name) as metrics:
        Loop(config, run, InProcess(config), metrics).run()
    game, evaluation = HeartsGame(**config.game.options), Evaluation(config, run)
    assert evaluation.complete()
    assert "Its network reads whole deals" in sample(read_run(run.root), 1, 0).reason
    (final,) = evaluation.final()
    assert final is not None and final.matches == 2
    for iteration, num_shards in enumerate((3, 2, 2)):
        load_q_network(run.checkpoint(iteration), game)
        shards = sorted(Path(run.iteration(iteration), "shards").glob("*.parquet"))
        sequences = [read_shard(str(shard), game) for shard in shards]
        assert len(shards) == num_shards
        players = {player for part in sequences for player in part.player}
        assert len(players) == 1 and players.pop().startswith(f"{newest}@" if iteration else "pimc:")
        branched = {part.branches is not None and len(part.branches.place) > 0 for part in sequences}
        assert branched == {True}  # every network learns from them
    gate = evaluation.gate(2)
    assert gate is not None and gate.matches == 4  # two deals in pairs


def test_earlier_networks_in_some_seats_are_refused_before_any_game(tmp_path: Path) -> None:
    config: TrainConfig = build_command(
        "train", "experiment=alphahearts", f"run.dir={tmp_path}/run", "selfplay.past_share=0.25"
    )
    with pytest.raises(UserError, match=r"a Q-network learns from deals .*; give selfplay\.past_share=0"):
        check(config)


@pytest.mark.parametrize(("iterations", "noted"), [(1, True), (2, False)])
def test_a_replay_that_no_iteration_has_is_said(tmp_path: Path, iterations: int, noted: bool) -> None:
    config: TrainConfig = build_command(
        "train", "experiment=alphahearts_long", f"run.dir={tmp_path}/run", *SMALL, f"selfplay.iterations={iterations}"
    )
    note = f"selfplay.replay_from=1: with selfplay.iterations={iterations} no network learns from earlier deals"
    assert (note in check(config)) == noted
