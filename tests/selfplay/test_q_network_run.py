"""A whole run that trains a Q-network (paper 002): cheating search first, then the network in every seat."""

from pathlib import Path

from cluster.watching.metrics import MetricsLogger
from games.hearts.game import HeartsGame
from games.shards import read_shard
from learner.q_network.checkpoint import load_q_network
from selfplay.checks import check
from selfplay.evaluation import Evaluation
from selfplay.loop import Loop
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import InProcess
from tests.test_repository import build_command

SETTINGS = (
    "game=hearts_no_pass",
    "q_network=fc",
    "learner=q_network",
    "cluster=local",
    "engine.device=cpu",
    "engine.precision=fp32",
    "learner.device=cpu",
    "learner.num_threads=1",
    "learner.branch_weight=0",
    "selfplay.branches=0",
    "selfplay.population=false",
    "selfplay.initial_games=16",
    "selfplay.iterations=2",
    "selfplay.games_per_iteration=8",
    "selfplay.games_per_shard=8",
    "selfplay.replay_games=24",
    "selfplay.newest_player='q_values:worlds=2'",
    "selfplay.gate_deals=2",
    "evaluation.curve=[{players: ['q_values:cheat=true', hearts_simple], deals: 2, seating: pairs}]",
    "evaluation.final=[{players: ['alphahearts:worlds=2:iterations=4', hearts_complex], deals: 1, seating: pairs}]",
)


def test_a_run_with_a_q_network_goes_through_every_stage(tmp_path: Path) -> None:
    config = build_command("train", f"run.dir={tmp_path}/run", *SETTINGS)
    config.selfplay.initial.players = {"pimc:worlds=1:runs=10:cheat=true": 1.0}
    check(config)
    run = RunDirectory(config.run.dir)
    run.begin(config)
    with MetricsLogger(run.root, config.game.name) as metrics:
        Loop(config, run, InProcess(config), metrics).run()
    game, evaluation = HeartsGame(**config.game.options), Evaluation(config, run)
    assert evaluation.complete()
    (final,) = evaluation.final()
    assert final is not None and final.matches == 2
    for iteration in range(3):
        load_q_network(run.checkpoint(iteration), game)
        players = set(read_shard(f"{run.root}/iterations/{iteration:03d}/shards/00000.parquet", game).player)
        assert len(players) == 1 and players.pop().startswith("q_values:worlds=2@" if iteration else "pimc:")
